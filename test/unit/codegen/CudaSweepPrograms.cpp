//===- CudaSweepPrograms.cpp - maps and reductions outside of loops -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

namespace heddle::test {

void addSweeps(WrittenPrograms &programs) {
  programs.add("Scale", R"mlir(
func.func @scale(%x: !list {foreach.donate = 0 : i64}, %by: !num {foreach.default = 2.5 : f64}) -> !list {
  %y = foreach.map (%x = %x : !list, %by = %by as f32 : !num) -> !list {
    %y = arith.mulf %x, %by : f32
    foreach.yield %y : f32
  }
  return %y : !list
})mlir");

  // The second operand of one segment has elements, that of the other a value
  // of each member, which the launch that ends members reads. So its address is
  // never a distance.
  programs.add("ElementsBesideMemberValues", R"mlir(
func.func @elements_beside_member_values(%x: !list, %a: !list, %y: !foreach.list<tensor<?xbf16>>, %s: !each) -> (!each, !each) {
  %m = foreach.reduce add along member (%x = %x, %a = %a : !list) -> !each {
    %1 = arith.mulf %x, %a : f32
    foreach.yield %1 : f32
  }
  %n0 = foreach.reduce add along member (%y = %y as f32 : !foreach.list<tensor<?xbf16>>) -> !each {
    foreach.yield %y : f32
  }
  %n = foreach.map (%n0 = %n0, %s = %s : !each) -> !each {
    %1 = arith.mulf %n0, %s : f32
    foreach.yield %1 : f32
  }
  return %m, %n : !each, !each
})mlir");

  // Scalar arguments of types that CUDA's `__ldg` does not read.
  programs.add("ScalarsOfAllTypes", R"mlir(
func.func @scalars_of_all_types(%x: !list {foreach.donate = 0 : i64}, %flag: tensor<i1>, %half: tensor<f16>,
                                %brain: tensor<bf16>, %byte: tensor<i8>, %short: tensor<i16>) -> !list {
  %y = foreach.map (%x = %x : !list, %flag = %flag : tensor<i1>, %half = %half as f32 : tensor<f16>,
                    %brain = %brain as f32 : tensor<bf16>, %byte = %byte : tensor<i8>,
                    %short = %short : tensor<i16>) -> !list {
    %b = arith.sitofp %byte : i8 to f32
    %s = arith.sitofp %short : i16 to f32
    %p = arith.mulf %x, %half : f32
    %q = arith.addf %p, %brain : f32
    %r = arith.addf %q, %b : f32
    %t = arith.addf %r, %s : f32
    %y = arith.select %flag, %t, %x : f32
    foreach.yield %y : f32
  }
  return %y : !list
})mlir");

  // Positions in a vector, in a tile that is whole and in one that is not.
  programs.add("PositionsOfElements", R"mlir(
func.func @positions(%x: !list {foreach.donate = 0 : i64}) -> (!list, !longs, !each) {
  %y, %at = foreach.map (%x = %x : !list) -> (!list, !longs) {
    %k = foreach.index member : i64
    %n = foreach.extent member : i64
    %kf = arith.sitofp %k : i64 to f32
    %nf = arith.sitofp %n : i64 to f32
    %d = arith.divf %kf, %nf : f32
    %y = arith.addf %x, %d : f32
    foreach.yield %y, %k : f32, i64
  }
  %s = foreach.reduce add along member (%x = %x : !list) -> !each {
    %k = foreach.index i : i64
    %n = foreach.extent i : i64
    %kf = arith.sitofp %k : i64 to f32
    %nf = arith.sitofp %n : i64 to f32
    %d = arith.divf %kf, %nf : f32
    %y = arith.mulf %x, %d : f32
    foreach.yield %y : f32
  }
  return %y, %at, %s : !list, !longs, !each
})mlir");

  // Positions in a matrix, by rows and by columns, beside row and column lists
  // whose own positions become those of the matrix.
  programs.add("PositionsOfRows", R"mlir(
func.func @positions_of_rows(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %col: !list) -> (!mats, !list, !list, !list) {
  %r = foreach.map (%w = %row : !list) -> !list {
    %i = foreach.index i : i64
    %n = foreach.extent member : i64
    %rest = arith.subi %n, %i : i64
    %f = arith.sitofp %rest : i64 to f32
    %r = arith.mulf %w, %f : f32
    foreach.yield %r : f32
  }
  %c = foreach.map (%v = %col : !list) -> !list {
    %i = foreach.index member : i64
    %n = foreach.extent i : i64
    %rest = arith.subi %n, %i : i64
    %f = arith.sitofp %rest : i64 to f32
    %c = arith.mulf %v, %f : f32
    foreach.yield %c : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %r[i], %c = %c[j] : !list) -> !mats {
    %i = foreach.index i : i64
    %j = foreach.index j : i64
    %isOn = arith.cmpi eq, %i, %j : i64
    %k = foreach.index member : i64
    %kf = arith.sitofp %k : i64 to f32
    %a = arith.addf %x, %r : f32
    %b = arith.addf %a, %c : f32
    %y = arith.select %isOn, %kf, %b : f32
    foreach.yield %y : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    %j = foreach.index j : i64
    %m = foreach.extent j : i64
    %jf = arith.sitofp %j : i64 to f32
    %mf = arith.sitofp %m : i64 to f32
    %w = arith.divf %jf, %mf : f32
    %p = arith.mulf %x, %w : f32
    foreach.yield %p : f32
  }
  return %y, %r, %c, %sum : !mats, !list, !list, !list
})mlir");
  programs.add("PositionsOfColumns", R"mlir(
func.func @positions_of_columns(%x: !mats, %col: !list) -> (!list, !list, !mats) {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    %k = foreach.index member : i64
    %n = foreach.extent i : i64
    %kf = arith.sitofp %k : i64 to f32
    %nf = arith.sitofp %n : i64 to f32
    %w = arith.divf %kf, %nf : f32
    %p = arith.mulf %x, %w : f32
    foreach.yield %p : f32
  }
  %scaled = foreach.map (%s = %sum, %v = %col : !list) -> !list {
    %j = foreach.index i : i64
    %n = foreach.extent i : i64
    %rest = arith.subi %n, %j : i64
    %f = arith.sitofp %rest : i64 to f32
    %a = arith.mulf %s, %f : f32
    %c = arith.addf %a, %v : f32
    foreach.yield %c : f32
  }
  // Without row and column values: a matrix that is visited as a vector.
  %y = foreach.map (%x = %x : !mats) -> !mats {
    %k = foreach.index member : i64
    %n = foreach.extent member : i64
    %kf = arith.sitofp %k : i64 to f32
    %nf = arith.sitofp %n : i64 to f32
    %w = arith.divf %kf, %nf : f32
    %p = arith.mulf %x, %w : f32
    foreach.yield %p : f32
  }
  return %sum, %scaled, %y : !list, !list, !mats
})mlir");
  programs.last().keepsOrder = false;

  // Means along every axis; those of the whole list divide two sums.
  programs.add("Means", R"mlir(
func.func @means(%x: !mats, %m: !each) -> (!list, !list, !each, !num, !num) {
  %rows = foreach.reduce mean along j (%x = %x : !mats) -> !list {
    foreach.yield %x : f32
  }
  %columns = foreach.reduce mean along i (%x = %x : !mats) -> !list {
    foreach.yield %x : f32
  }
  %each = foreach.reduce mean along member (%x = %x as f64 : !mats, %m = %m as f64 : !each) -> !each {
    %y = arith.mulf %x, %m : f64
    foreach.yield %y : f64
  }
  %all = foreach.reduce mean along list (%x = %x as f64 : !mats) -> !num {
    foreach.yield %x : f64
  }
  %members = foreach.reduce mean along list (%m = %m as f64 : !each) -> !num {
    foreach.yield %m : f64
  }
  return %rows, %columns, %each, %all, %members : !list, !list, !each, !num, !num
})mlir");
  programs.last().keepsOrder = false;

  // Calls of functions of scalars, and scalar operations outside of bodies.
  programs.add("FunctionsOfScalars", R"mlir(
func.func private @softSign(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %size = math.absf %x : f32
  %sum = arith.addf %size, %one : f32
  %y = arith.divf %x, %sum : f32
  return %y : f32
}
func.func private @twice(%x: f32) -> f32 {
  %a = func.call @softSign(%x) : (f32) -> f32
  %b = func.call @softSign(%a) : (f32) -> f32
  return %b : f32
}
func.func @functions(%x: !list {foreach.donate = 0 : i64}, %lr: !num {foreach.default = 0.5 : f64}) -> (!list, !num) {
  %half = arith.constant dense<0.5> : tensor<f64>
  %rate = arith.mulf %lr, %half : tensor<f64>
  %root = math.sqrt %rate : tensor<f64>
  %s = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
    foreach.yield %x : f64
  }
  %scaled = arith.mulf %s, %root : tensor<f64>
  %y = foreach.map (%x = %x : !list, %r = %root as f32 : !num) -> !list {
    %s = func.call @twice(%x) : (f32) -> f32
    %y = arith.mulf %s, %r : f32
    foreach.yield %y : f32
  }
  return %y, %scaled : !list, !num
})mlir");

  // One step counter for all tensors: its powers are computed in the previous
  // step. A second one follows from a reduction, so its powers are not.
  programs.add("OneStepCounter", R"mlir(
func.func @one_counter(%p: !list {foreach.donate = 0 : i64}, %g: !list, %t: tensor<f32> {foreach.donate = 1 : i64},
    %s: tensor<f32> {foreach.donate = 2 : i64}, %b: !num {foreach.default = 0.9 : f64}) -> (!list, tensor<f32>, tensor<f32>) {
  %t1 = foreach.map (%t = %t : tensor<f32>) -> tensor<f32> {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    foreach.yield %t1 : f32
  }
  %most = foreach.reduce max along list (%g = %g : !list) -> tensor<f32> {
    foreach.yield %g : f32
  }
  %s1 = foreach.map (%s = %s, %m = %most : tensor<f32>) -> tensor<f32> {
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %isUp = arith.cmpf ogt, %m, %zero : f32
    %up = arith.addf %s, %one : f32
    %s1 = arith.select %isUp, %up, %s : f32
    foreach.yield %s1 : f32
  }
  %p1 = foreach.map (%p = %p, %g = %g : !list, %t1 = %t1, %s = %s : tensor<f32>, %b = %b : !num) -> !list {
    %one = arith.constant 1.0 : f64
    %n = arith.fptosi %t1 : f32 to i32
    %bn = math.fpowi %b, %n : f64, i32
    %m = arith.fptosi %s : f32 to i32
    %bm = math.fpowi %b, %m : f64, i32
    %c = arith.subf %one, %bn : f64
    %d = arith.addf %c, %bm : f64
    %df = arith.truncf %d : f64 to f32
    %q = arith.divf %g, %df : f32
    %p1 = arith.subf %p, %q : f32
    foreach.yield %p1 : f32
  }
  return %p1, %t1, %s1 : !list, tensor<f32>, tensor<f32>
})mlir");

  // Members are counted beside a map of elements.
  programs.add("CountMembers", R"mlir(
func.func @count_members(%x: !list {foreach.donate = 0 : i64}, %m: !each) -> (!list, !single) {
  %s = foreach.map (%x = %x : !list, %m = %m : !each) -> !list {
    %s = arith.addf %x, %m : f32
    foreach.yield %s : f32
  }
  %n = foreach.reduce add along list (%m = %m : !each) -> !single {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  return %s, %n : !list, !single
})mlir");

  // A launch of its own ends members of three segments: a segment that writes
  // elements and reduces them, one that only reduces, and one that updates a
  // counter from which elements are computed. The next sweep reads results of
  // tiles, of members and of the list.
  programs.add("EndsOfSegments", R"mlir(
func.func @ends(%x: !list {foreach.donate = 0 : i64}, %y: !list, %w: !list, %step: !each {foreach.donate = 1 : i64}, %beta: !num {foreach.default = 0.9 : f64}, %lr: !num {foreach.default = 0.5 : f64}) -> (!list, !each, !each, !num, !list) {
  %t = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %n = arith.addf %t, %one : f32
    foreach.yield %n : f32
  }
  %z = foreach.map (%x = %x, %y = %y : !list, %t = %t : !each, %b = %beta, %lr = %lr : !num) -> !list {
    %n = arith.fptosi %t : f32 to i32
    %p = math.fpowi %b, %n : f64, i32
    %one = arith.constant 1.0 : f64
    %c = arith.subf %one, %p : f64
    %q = arith.mulf %lr, %c : f64
    %r = arith.truncf %q : f64 to f32
    %a = arith.mulf %y, %r : f32
    %d = arith.subf %x, %a : f32
    foreach.yield %d : f32
  }
  %m = foreach.reduce max along member (%z = %z : !list) -> !each {
    foreach.yield %z : f32
  }
  %s = foreach.reduce add along list (%w = %w as f64 : !list) -> !num {
    %q = arith.mulf %w, %w : f64
    foreach.yield %q : f64
  }
  %v = foreach.map (%z = %z : !list, %m = %m : !each, %s = %s as f32, %lr = %lr as f32 : !num) -> !list {
    %a = arith.addf %z, %m : f32
    %b = arith.mulf %a, %s : f32
    %c = arith.addf %b, %lr : f32
    foreach.yield %c : f32
  }
  return %z, %t, %m, %s, %v : !list, !each, !each, !num, !list
})mlir");

  // Without values of the list, the counter's end needs no states of tiles: one
  // thread updates it in place, in the launch that ends the reduced members.
  programs.add("EndOfACounter", R"mlir(
func.func @counter(%x: !list, %step: !each {foreach.donate = 0 : i64}) -> (!each, !each) {
  %t = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %n = arith.addf %t, %one : f32
    foreach.yield %n : f32
  }
  %m = foreach.reduce max along member (%x = %x : !list) -> !each {
    foreach.yield %x : f32
  }
  return %t, %m : !each, !each
})mlir");

  programs.add("SoftmaxColumns", R"mlir(
func.func @softmax_columns(%x: !mats {foreach.donate = 0 : i64}) -> (!mats, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %p = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !list) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %p = arith.divf %e, %s : f32
    foreach.yield %p : f32
  }
  %column = foreach.reduce add along i (%p = %p[i, j] : !mats) -> !list {
    foreach.yield %p : f32
  }
  return %p, %column : !mats, !list
})mlir",
               false);

  // Columns without row values, and column values reduced over the member.
  programs.add("ColumnsOfTwoMatrices", R"mlir(
func.func @columns(%x: !mats, %y: !mats, %row: !list, %col: !list, %t: !each) -> (!list, !list, !longs, !each) {
  %s = foreach.reduce add along i (%x = %x[i, j], %y = %y[i, j] : !mats, %w = %row[i], %v = %col[j] : !list, %t = %t : !each) -> !list {
    %a = arith.mulf %x, %w : f32
    %b = arith.mulf %y, %t : f32
    %c = arith.addf %a, %v : f32
    %d = arith.addf %b, %c : f32
    foreach.yield %d : f32
  }
  %most, %at = foreach.reduce argmax along i (%y = %y[i, j] : !mats) -> (!list, !longs) {
    foreach.yield %y : f32
  }
  %e = foreach.reduce add along member (%c = %col[j], %w = %row[i] : !list) -> !each {
    foreach.yield %c : f32
  }
  return %s, %most, %at, %e : !list, !list, !longs, !each
})mlir");
  programs.last().keepsOrder = false;

  programs.add("RowsAndColumns", R"mlir(
func.func @balance(%x: !mats, %row: !list, %col: !list, %t: !each) -> (!mats, !list, !list, !each) {
  %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %c = %col[j] : !list) -> !list {
    %y = arith.mulf %x, %c : f32
    foreach.yield %y : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %r[i], %own = %row[i], %c = %col[j] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %r : f32
    %b = arith.addf %a, %own : f32
    %d = arith.subf %b, %c : f32
    %y = arith.mulf %d, %t : f32
    foreach.yield %y : f32
  }
  %s = foreach.reduce add along i (%y = %y[i, j] : !mats, %c = %col[j] : !list) -> !list {
    %z = arith.mulf %y, %c : f32
    foreach.yield %z : f32
  }
  %e = foreach.reduce add along member (%r = %r[i] : !list) -> !each {
    %q = arith.mulf %r, %r : f32
    foreach.yield %q : f32
  }
  return %y, %r, %s, %e : !mats, !list, !list, !each
})mlir");
  programs.last().keepsOrder = false;

  // Blocks share rows that are only mapped; one block reduces.
  // Both matrices change places. The first traversal could store one of them.
  programs.add("RowsInPlace", R"mlir(
func.func @in_place(%x: !mats {foreach.donate = 1 : i64}, %y: !mats {foreach.donate = 0 : i64}, %row: !list {foreach.donate = 2 : i64}) -> (!mats, !mats, !list) {
  %r = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    %s = arith.mulf %x, %x : f32
    foreach.yield %s : f32
  }
  %q = foreach.reduce max along j (%y = %y[i, j] : !mats, %r = %r[i] : !list) -> !list {
    %s = arith.subf %y, %r : f32
    foreach.yield %s : f32
  }
  %x1 = foreach.map (%x = %x, %y = %y : !mats) -> !mats {
    %s = arith.subf %x, %y : f32
    foreach.yield %s : f32
  }
  %y1 = foreach.map (%x = %x1[i, j], %y = %y[i, j] : !mats, %q = %q[i], %own = %row[i] : !list) -> !mats {
    %s = arith.mulf %x, %q : f32
    %t = arith.addf %s, %own : f32
    %u = arith.subf %y, %t : f32
    foreach.yield %u : f32
  }
  return %x1, %y1, %q : !mats, !mats, !list
})mlir");

  // The last traversal is one for a row value, and visits no elements.
  programs.add("RowsAndColumnsInPlace", R"mlir(
func.func @in_place(%x: !mats {foreach.donate = 0 : i64}, %row: !list {foreach.donate = 1 : i64}, %col: !list {foreach.donate = 2 : i64}) -> (!mats, !list, !list) {
  %x1 = foreach.map (%x = %x[i, j] : !mats, %v = %row[i], %c = %col[j] : !list) -> !mats {
    %a = arith.mulf %x, %v : f32
    %b = arith.addf %a, %c : f32
    foreach.yield %b : f32
  }
  %r = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %s = foreach.reduce add along i (%x = %x1[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %x1, %r, %s : !mats, !list, !list
})mlir");

  programs.add("SharedRows", R"mlir(
func.func @shared(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %col: !list, %t: !each) -> (!mats, !each, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i], %c = %col[j] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %r : f32
    %y = arith.subf %b, %c : f32
    foreach.yield %y : f32
  }
  %rows = foreach.reduce max along member (%r = %row[i] : !list, %t = %t : !each) -> !each {
    %q = arith.mulf %r, %t : f32
    foreach.yield %q : f32
  }
  %columns = foreach.reduce add along member (%c = %col : !list) -> !each {
    foreach.yield %c : f32
  }
  return %y, %rows, %columns : !mats, !each, !each
})mlir");
  programs.last().keepsOrder = false;

  // Values of the member from columns that are complete after the sweep; the
  // last is again reduced over the list.
  programs.add("ColumnsOverMember", R"mlir(
!lg = !foreach.list<tensor<i64>>
func.func @columns_over_member(%x: !mats, %row: !list, %col: !list {foreach.donate = 0 : i64}, %t: !each {foreach.donate = 1 : i64})
    -> (!list, !each, !each, !lg, !each, tensor<f32>) {
  %most = foreach.reduce max along i (%x = %x[i, j] : !mats, %r = %row[i] : !list) -> !list {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  %c = foreach.map (%c = %col, %most = %most : !list, %t = %t : !each) -> !list {
    %ct = arith.mulf %c, %t : f32
    %y = arith.addf %ct, %most : f32
    foreach.yield %y : f32
  }
  %at, %where = foreach.reduce argmax along member (%c = %c : !list) -> (!each, !lg) {
    foreach.yield %c : f32
  }
  %sum = foreach.reduce add along member (%c = %c, %most = %most : !list) -> !each {
    %y = arith.mulf %c, %most : f32
    foreach.yield %y : f32
  }
  %rows = foreach.reduce max along member (%r = %row : !list) -> !each {
    foreach.yield %r : f32
  }
  %t1 = foreach.map (%t = %t, %at = %at, %rows = %rows : !each) -> !each {
    %a = arith.addf %t, %at : f32
    %b = arith.subf %a, %rows : f32
    foreach.yield %b : f32
  }
  %all = foreach.reduce add along list (%t = %t1 : !each) -> tensor<f32> {
    foreach.yield %t : f32
  }
  return %c, %t1, %at, %where, %sum, %all : !list, !each, !each, !lg, !each, tensor<f32>
})mlir");
  programs.last().keepsOrder = false;

  // In the order of columns, whatever the launches.
  programs.add("ColumnMaximaOverMember", R"mlir(
func.func @column_maxima(%x: !mats) -> (!list, !each) {
  %most = foreach.reduce max along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %least = foreach.reduce min along member (%most = %most : !list) -> !each {
    %a = math.absf %most : f32
    foreach.yield %a : f32
  }
  return %most, %least : !list, !each
})mlir");

  // Other threads read the value of a row before it is replaced.
  programs.add("RowsReplacedBesideColumns", R"mlir(
func.func @rows_replaced(%x: !mats, %row: !list {foreach.donate = 1 : i64}) -> (!list, !list) {
  %most = foreach.reduce max along i (%x = %x[i, j] : !mats, %r = %row[i] : !list) -> !list {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  %less = foreach.map (%r = %row : !list) -> !list {
    %y = arith.negf %r : f32
    foreach.yield %y : f32
  }
  return %most, %less : !list, !list
})mlir");

  // No column is reduced or stored: columns are complete with the member.
  programs.add("ColumnsOfTheMember", R"mlir(
func.func @columns_of_the_member(%x: !mats, %col: !list) -> (!each, !each) {
  %sum = foreach.reduce max along member (%x = %x[i, j] : !mats, %c = %col[j] : !list) -> !each {
    %y = arith.mulf %x, %c : f32
    foreach.yield %y : f32
  }
  %of_columns = foreach.reduce max along member (%c = %col : !list, %s = %sum : !each) -> !each {
    %y = arith.mulf %c, %s : f32
    foreach.yield %y : f32
  }
  return %sum, %of_columns : !each, !each
})mlir");

  programs.add("SharedRowsOfManyTypes", R"mlir(
!hm = !foreach.list<tensor<?x?xf16>>
!wm = !foreach.list<tensor<?x?xf64>>
!bm = !foreach.list<tensor<?x?xi1>>
!lg = !foreach.list<tensor<i64>>
func.func @of_many_types(%h: !hm {foreach.donate = 0 : i64}, %x: !mats, %row: !list, %col: !list, %t: !each) -> (!hm, !wm, !bm, !each, !each, !lg, !each, !each, !lg, tensor<f32>) {
  %y, %z, %p = foreach.map (%x = %x[i, j] : !mats, %h = %h[i, j] as f32 : !hm, %r = %row[i], %c = %col[j] : !list) -> (!hm, !wm, !bm) {
    %b = arith.addf %x, %r : f32
    %y = arith.subf %b, %c : f32
    %q = arith.addf %y, %h : f32
    %f = arith.extf %y : f32 to f64
    %p = arith.cmpf ogt, %y, %h : f32
    foreach.yield %q, %f, %p : f32, f64, i1
  }
  %s = foreach.reduce add along member (%r = %row : !list, %t = %t : !each) -> !each {
    %q = arith.mulf %r, %t : f32
    foreach.yield %q : f32
  }
  %am, %a = foreach.reduce argmax along member (%r = %row : !list) -> (!each, !lg) {
    foreach.yield %r : f32
  }
  %cs = foreach.reduce add along member (%r = %col : !list) -> !each {
    foreach.yield %r : f32
  }
  %cam, %ca = foreach.reduce argmax along member (%r = %col : !list) -> (!each, !lg) {
    foreach.yield %r : f32
  }
  %all = foreach.reduce add along list (%s = %s : !each) -> tensor<f32> {
    foreach.yield %s : f32
  }
  return %y, %z, %p, %s, %am, %a, %cs, %cam, %ca, %all : !hm, !wm, !bm, !each, !each, !lg, !each, !each, !lg, tensor<f32>
})mlir");
  programs.last().keepsOrder = false;

  programs.add("SharedRowsBackwards", R"mlir(
!hm = !foreach.list<tensor<?x?xf16>>
func.func @backwards(%x: !mats, %row: !list, %col: !list) -> (!hm, !each, !each) {
  %s = foreach.reduce add along member (%x = %x : !mats) -> !each {
    foreach.yield %x : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i], %c = %col[j] : !list, %s = %s : !each) -> !hm {
    %b = arith.addf %x, %r : f32
    %d = arith.subf %b, %c : f32
    %y = arith.addf %d, %s : f32
    foreach.yield %y : f32
  }
  %m = foreach.reduce add along member (%r = %row : !list, %s = %s : !each) -> !each {
    %q = arith.mulf %r, %s : f32
    foreach.yield %q : f32
  }
  return %y, %s, %m : !hm, !each, !each
})mlir");
  programs.last().keepsOrder = false;

  programs.add("SharedRowsOfTwo", R"mlir(
func.func @shared_of_two(%x: !mats, %w: !mats, %row: !list) -> (!mats, !mats) {
  %y = foreach.map (%x = %x[i, j], %w = %w[i, j] : !mats, %r = %row[i] : !list) -> !mats {
    %y = arith.mulf %x, %r : f32
    %z = arith.addf %y, %w : f32
    foreach.yield %z : f32
  }
  %z = foreach.map (%w = %w[i, j] : !mats, %r = %row[i] : !list) -> !mats {
    %z = arith.subf %w, %r : f32
    foreach.yield %z : f32
  }
  return %y, %z : !mats, !mats
})mlir");

  programs.add("SharedRowsOfLateReaders", R"mlir(
func.func @late(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %s: !each, %z: !list) -> (!mats, !list) {
  %t = foreach.map (%s = %s : !each) -> !each {
    %t = math.exp %s : f32
    foreach.yield %t : f32
  }
  %q = foreach.reduce add along member (%r = %row : !list, %t = %t : !each) -> !each {
    %p = arith.mulf %r, %t : f32
    foreach.yield %p : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %q = %q : !each) -> !mats {
    %a = arith.mulf %x, %q : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list, %q = %q : !each) -> !each {
    %p = arith.mulf %r, %q : f32
    foreach.yield %p : f32
  }
  %w = foreach.map (%z = %z : !list, %m = %most : !each) -> !list {
    %a = arith.mulf %z, %m : f32
    foreach.yield %a : f32
  }
  return %y, %w : !mats, !list
})mlir");
  programs.last().keepsOrder = false;

  // Rows are not shared here: the first block that ends a member would
  // replace a value that others have not read.
  programs.add("RowsWhoseScalarChanges", R"mlir(
func.func @changes(%x: !mats, %row: !list, %t: !each {foreach.donate = 1 : i64}) -> (!mats, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row[i] : !list) -> !each {
    foreach.yield %r : f32
  }
  %next = foreach.map (%t = %t, %m = %most : !each) -> !each {
    %n = arith.addf %t, %m : f32
    foreach.yield %n : f32
  }
  return %y, %next : !mats, !each
})mlir");

  programs.add("NormalizeMembers", R"mlir(
func.func @normalize(%x: !list {foreach.donate = 0 : i64}, %h: !half {foreach.donate = 1 : i64}, %count: !iteration {foreach.donate = 2 : i64}) -> (!list, !half, !iteration, !each64) {
  %sum = foreach.reduce add along member (%x = %x as f64 : !list) -> !each64 {
    %q = arith.mulf %x, %x : f64
    foreach.yield %q : f64
  }
  %norm, %more = foreach.map (%s = %sum : !each64, %n = %count : !iteration) -> (!each64, !iteration) {
    %tiny = arith.constant 1.0e-6 : f64
    %r = math.sqrt %s : f64
    %d = arith.addf %r, %tiny : f64
    %one = arith.constant 1 : i32
    %n1 = arith.addi %n, %one : i32
    foreach.yield %d, %n1 : f64, i32
  }
  %y, %z = foreach.map (%x = %x : !list, %h = %h as f32 : !half, %n = %norm as f32 : !each64) -> (!list, !half) {
    %y = arith.divf %x, %n : f32
    %z = arith.subf %h, %y : f32
    foreach.yield %y, %z : f32, f32
  }
  return %y, %z, %more, %norm : !list, !half, !iteration, !each64
})mlir");

  programs.add("Integers", R"mlir(
func.func @integers(%n: !ints {foreach.donate = 0 : i64}, %m: !longs) -> (!ints, !longs, !eachlong, tensor<i64>, tensor<i32>) {
  %a, %b = foreach.map (%n = %n : !ints, %m = %m : !longs) -> (!ints, !longs) {
    %k = arith.constant 3 : i32
    %p = arith.muli %n, %k : i32
    %q = arith.maxsi %p, %n : i32
    %w = arith.extsi %q : i32 to i64
    %c = arith.cmpi slt, %w, %m : i64
    %s = arith.select %c, %w, %m : i64
    foreach.yield %q, %s : i32, i64
  }
  %sum = foreach.reduce add along member (%b = %b : !longs) -> !eachlong {
    foreach.yield %b : i64
  }
  %most = foreach.reduce max along list (%m = %m : !longs) -> tensor<i64> {
    foreach.yield %m : i64
  }
  %least = foreach.reduce min along list (%n = %n : !ints) -> tensor<i32> {
    foreach.yield %n : i32
  }
  return %a, %b, %sum, %most, %least : !ints, !longs, !eachlong, tensor<i64>, tensor<i32>
})mlir");

  programs.add("SkipWhenInfinite", R"mlir(
func.func @guarded(%p: !list {foreach.donate = 0 : i64}, %g: !list, %lr: !num {foreach.default = 0.1 : f64}) -> (!list, tensor<i1>) {
  %ok = foreach.reduce all along list (%g = %g : !list) -> tensor<i1> {
    %f = math.isfinite %g : f32
    foreach.yield %f : i1
  }
  %q = foreach.if %ok -> (!list) {
    %r = foreach.map (%p = %p, %g = %g : !list, %lr = %lr as f32 : !num) -> !list {
      %s = arith.mulf %lr, %g : f32
      %r = arith.subf %p, %s : f32
      foreach.yield %r : f32
    }
    foreach.yield %r : !list
  } else (%p)
  return %q, %ok : !list, tensor<i1>
})mlir");

  // Random numbers of a thread's elements, in tiles that are mapped, with and
  // without branchless divisions, and in one that is reduced in rounds; and
  // numbers of rows and columns.
  programs.add("RandomNumbers", R"mlir(
func.func @random(%x: !half {foreach.donate = 0 : i64}, %first: !eachlong, %stream: !eachlong,
                  %y: !list {foreach.donate = 1 : i64}, %seed: tensor<i64> {foreach.default = 8198552921648689 : i64})
    -> (!half, !list, !ints, !eachlong, !eachlong) {
  %x1 = foreach.map (%x = %x as f32 : !half, %first = %first, %stream = %stream : !eachlong, %seed = %seed : tensor<i64>) -> !half {
    %k = foreach.index member : i64
    %bits = foreach.random seed %seed stream %stream block %first at %k : i16
    %other = foreach.random seed %first stream %seed block %stream at %k : i16
    %big = arith.constant 1.25 : f32
    %s = arith.mulf %x, %x : f32
    %root = math.sqrt %s : f32
    %sum = arith.addf %root, %big : f32
    %ratio = arith.divf %x, %sum : f32
    %half = foreach.round %ratio to f16 by %other : f32
    %r = foreach.round %half to bf16 by %bits : f32
    foreach.yield %r : f32
  }
  %y1, %words = foreach.map (%y = %y : !list, %seed = %seed : tensor<i64>) -> (!list, !ints) {
    %k = foreach.index member : i64
    %stream = arith.constant -2 : i64
    %block = arith.constant -1 : i64
    %word = foreach.random seed %seed stream %stream block %block at %k : i32
    %bits = foreach.random seed %stream stream %seed block %block at %k : i16
    %r = foreach.round %y to bf16 by %bits : f32
    foreach.yield %r, %word : f32, i32
  }
  %most = foreach.reduce max along member (%y = %y : !list, %seed = %seed : tensor<i64>) -> !eachlong {
    %k = foreach.index member : i64
    %bits = foreach.random seed %k stream %seed block %seed at %k : i16
    %wide = arith.extsi %bits : i16 to i64
    foreach.yield %wide : i64
  }
  %least = foreach.reduce min along member (%y = %y : !list, %seed = %seed : tensor<i64>) -> !eachlong {
    %k = foreach.index member : i64
    %bits = foreach.random seed %seed stream %seed block %seed at %k : i32
    %wide = arith.extsi %bits : i32 to i64
    foreach.yield %wide : i64
  }
  return %x1, %y1, %words, %most, %least : !half, !list, !ints, !eachlong, !eachlong
})mlir");
  programs.add("RandomRows", R"mlir(
func.func @random_rows(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %seed: tensor<i64> {foreach.default = 7 : i64})
    -> (!mats, !list) {
  %zero = foreach.map (%seed = %seed : tensor<i64>) -> tensor<i64> {
    %zero = arith.constant 0 : i64
    foreach.yield %zero : i64
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %seed = %seed, %zero = %zero : tensor<i64>) -> !list {
    %k = foreach.index member : i64
    %bits = foreach.random seed %seed stream %zero block %zero at %k : i16
    %r = foreach.round %x to bf16 by %bits : f32
    foreach.yield %r : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %row = %row[i], %sum = %sum[i] : !list, %seed = %seed, %zero = %zero : tensor<i64>) -> !mats {
    %i = foreach.index i : i64
    %j = foreach.index j : i64
    %ofRow = foreach.random seed %seed stream %zero block %i at %zero : i16
    %ofElement = foreach.random seed %seed stream %i block %zero at %j : i16
    %r = foreach.round %row to bf16 by %ofRow : f32
    %a = arith.addf %x, %r : f32
    %b = arith.addf %a, %sum : f32
    %y = foreach.round %b to f16 by %ofElement : f32
    foreach.yield %y : f32
  }
  return %y, %sum : !mats, !list
})mlir");

  programs.add("ScalarFunctions", R"mlir(
func.func @functions(%x: !list, %y: !list) -> (!list, !list, !list) {
  %a, %b, %c = foreach.map (%x = %x, %y = %y : !list) -> (!list, !list, !list) {
    %ax = math.absf %x : f32
    %l = math.log1p %ax : f32
    %e = math.exp %y : f32
    %t = math.tanh %x : f32
    %s = math.sin %y : f32
    %f = math.floor %x : f32
    %g = foreach.sign %y : f32
    %p = math.powf %ax, %t : f32
    %m = arith.maximumf %e, %l : f32
    %n = arith.minimumf %s, %p : f32
    %o = math.copysign %f, %g : f32
    %q = math.erf %x : f32
    %r = arith.addf %m, %n : f32
    %u = arith.mulf %o, %q : f32
    %v = math.expm1 %y : f32
    foreach.yield %r, %u, %v : f32, f32, f32
  }
  return %a, %b, %c : !list, !list, !list
})mlir",
               false);
}

} // namespace heddle::test
