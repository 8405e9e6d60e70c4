//===- CudaPanelPrograms.cpp - loops with the panel schedule --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

namespace heddle::test {

void addPanelLoops(WrittenPrograms &programs) {
  programs.add("LoopOverMatricesByIteration", R"mlir(
func.func @balance(%x: !mats, %row: !list, %col: !list, %schedule: !foreach.list<tensor<?xf64>>, %history: !list,
                   %limit: tensor<i32>, %bound: !each) -> (!list, !list, !list, !iteration) {
  %u, %v, %h, %iterations = foreach.while (%u = %row, %v = %col, %h = %history : !list) upto %limit
      -> (!list, !list, !list, !iteration) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.mulf %x, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%r = %r : !list, %s = %schedule[iteration] as f32, %n = %schedule[next] as f32 : !foreach.list<tensor<?xf64>>) -> !list {
      %w = arith.mulf %s, %n : f32
      %y = arith.mulf %r, %w : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce add along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list) -> !list {
      %y = arith.mulf %x, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%v = %v, %c = %c : !list) -> !list {
      %small = arith.constant 1.0e-3 : f32
      %d = arith.mulf %c, %small : f32
      %y = arith.addf %v, %d : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u, %u1 : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %h1 = foreach.record %e in %h : !each in !list
    %more = foreach.map (%e = %e, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %e, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %h1 while %more : !list, !list, !list while !flag
  }
  return %u, %v, %h, %iterations : !list, !list, !list, !iteration
})mlir");
  programs.last().keepsOrder = false;

  // Means of rows and columns, and one over the number of elements.
  programs.add("LoopOfMeans", R"mlir(
func.func @means(%x: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %e, %iterations = foreach.while (%u = %row, %v = %col : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %r = foreach.reduce mean along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.mulf %x, %v : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce mean along i (%x = %x[i, j] : !mats, %u = %r[i] : !list) -> !list {
      %n = foreach.extent member : i64
      %f = arith.sitofp %n : i64 to f32
      %s = arith.addf %x, %f : f32
      %y = arith.mulf %s, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%v = %v, %c = %c : !list) -> !list {
      %small = arith.constant 1.0e-3 : f32
      %d = arith.mulf %c, %small : f32
      %y = arith.addf %v, %d : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce mean along member (%v = %v, %v1 = %v1 : !list) -> !each {
      %d = arith.subf %v, %v1 : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %more = foreach.map (%e = %e, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %e, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %r, %v1, %e while %more : !list, !list, !each while !flag
  }
  return %u, %v, %e, %iterations : !list, !list, !each, !iteration
})mlir");
  programs.last().keepsOrder = false;

  // Stops when the sum of the changes of columns is small.
  programs.add("LoopStopsByColumns", R"mlir(
func.func @stops_by_columns(%x: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %e, %iterations = foreach.while (%u = %row, %v = %col : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.mulf %x, %v : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce add along i (%x = %x[i, j] : !mats, %u = %r[i] : !list) -> !list {
      %y = arith.mulf %x, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%v = %v, %c = %c : !list) -> !list {
      %small = arith.constant 1.0e-3 : f32
      %d = arith.mulf %c, %small : f32
      %y = arith.addf %v, %d : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce add along member (%v = %v, %v1 = %v1 : !list) -> !each {
      %d = arith.subf %v, %v1 : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %more = foreach.map (%e = %e, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %e, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %r, %v1, %e while %more : !list, !list, !each while !flag
  }
  return %u, %v, %e, %iterations : !list, !list, !each, !iteration
})mlir");
  programs.last().keepsOrder = false;

  // Equilibration: the norms of rows and of columns stop the loop, and the
  // position of the largest is a result.
  programs.add("LoopStopsByRowsAndColumns", R"mlir(
!lg = !foreach.list<tensor<i64>>
func.func @equilibrates(%x: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each)
    -> (!list, !list, !each, !lg, !each, !iteration) {
  %u, %v, %e, %where, %sum, %iterations = foreach.while (%u = %row, %v = %col : !list) upto %limit
      -> (!list, !list, !each, !lg, !each, !iteration) {
    %r = foreach.reduce max along j (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list) -> !list {
      %a = math.absf %x : f32
      %y = arith.mulf %a, %v : f32
      %z = arith.mulf %y, %u : f32
      foreach.yield %z : f32
    }
    %c = foreach.reduce max along i (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list) -> !list {
      %a = math.absf %x : f32
      %y = arith.mulf %a, %v : f32
      %z = arith.mulf %y, %u : f32
      foreach.yield %z : f32
    }
    %u1 = foreach.map (%u = %u, %r = %r : !list) -> !list {
      %s = math.sqrt %r : f32
      %y = arith.divf %u, %s : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%v = %v, %c = %c : !list) -> !list {
      %s = math.sqrt %c : f32
      %y = arith.divf %v, %s : f32
      foreach.yield %y : f32
    }
    %er = foreach.reduce max along i (%r = %r : !list) -> !each {
      %one = arith.constant 1.0 : f32
      %d = arith.subf %one, %r : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %ec, %where = foreach.reduce argmax along member (%c = %c : !list) -> (!each, !lg) {
      %one = arith.constant 1.0 : f32
      %d = arith.subf %one, %c : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %sum = foreach.reduce add along member (%c = %c, %v1 = %v1 : !list) -> !each {
      %y = arith.mulf %c, %v1 : f32
      foreach.yield %y : f32
    }
    %e, %more = foreach.map (%er = %er, %ec = %ec, %bound = %bound : !each) -> (!each, !flag) {
      %e = arith.maximumf %er, %ec : f32
      %more = arith.cmpf ogt, %e, %bound : f32
      foreach.yield %e, %more : f32, i1
    }
    foreach.yield %u1, %v1, %e, %where, %sum while %more : !list, !list, !each, !lg, !each while !flag
  }
  return %u, %v, %e, %where, %sum, %iterations : !list, !list, !each, !lg, !each, !iteration
})mlir");
  programs.last().keepsOrder = false;

  // Log-domain matrix balancing that stops by its columns, with a flag that
  // some column has.
  programs.add("LoopBalancesColumns", R"mlir(
func.func @balances_columns(%x: !mats, %row: !list, %col: !list, %row_u: !list {foreach.donate = 0 : i64},
                            %col_v: !list {foreach.donate = 1 : i64}, %limit: tensor<i32>, %bound: !each)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %error, %iterations = foreach.while (%u = %row_u, %v = %col_v : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %r = foreach.reduce logsumexp along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.addf %x, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%a = %row, %r = %r : !list) -> !list {
      %y = arith.subf %a, %r : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list) -> !list {
      %y = arith.addf %x, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%b = %col, %c = %c : !list) -> !list {
      %y = arith.subf %b, %c : f32
      foreach.yield %y : f32
    }
    %error = foreach.reduce add along member (%v = %v, %v1 = %v1 : !list) -> !each {
      %d = arith.subf %v, %v1 : f32
      %y = math.absf %d : f32
      foreach.yield %y : f32
    }
    %rows = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u, %u1 : f32
      %y = math.absf %d : f32
      foreach.yield %y : f32
    }
    %moves = foreach.reduce any along member (%v = %v, %v1 = %v1 : !list) -> !flag {
      %y = arith.cmpf une, %v, %v1 : f32
      foreach.yield %y : i1
    }
    %more = foreach.map (%error = %error, %rows = %rows, %bound = %bound : !each, %moves = %moves : !flag) -> !flag {
      %sum = arith.addf %error, %rows : f32
      %above = arith.cmpf ogt, %sum, %bound : f32
      %more = arith.andi %above, %moves : i1
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %u, %v, %error, %iterations : !list, !list, !each, !iteration
})mlir",
               /*isExact=*/false);
  programs.last().keepsOrder = false;

  // Log-domain matrix balancing: rows and columns share exponentials.
  programs.add("LoopBalances", R"mlir(
func.func @balances(%x: !mats, %row: !list, %col: !list, %row_u: !list {foreach.donate = 0 : i64},
                    %col_v: !list {foreach.donate = 1 : i64}, %limit: tensor<i32>, %bound: !each, %sharp: !each)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %error, %iterations = foreach.while (%u = %row_u, %v = %col_v : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %r = foreach.reduce logsumexp along j (%x = %x[i, j] : !mats, %v = %v[j] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : f32
      %y = arith.addf %sx, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%a = %row, %r = %r : !list) -> !list {
      %y = arith.subf %a, %r : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : f32
      %y = arith.addf %sx, %u : f32
      foreach.yield %y : f32
    }
    %v1 = foreach.map (%b = %col, %c = %c : !list) -> !list {
      %y = arith.subf %b, %c : f32
      foreach.yield %y : f32
    }
    %error = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u, %u1 : f32
      %y = math.absf %d : f32
      foreach.yield %y : f32
    }
    %more = foreach.map (%error = %error, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %error, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %u, %v, %error, %iterations : !list, !list, !each, !iteration
})mlir",
               /*isExact=*/false);

  // Exponentials of columns only, about a constant, whose exponents contain
  // sums of rows.
  programs.add("LoopOfColumnPowers", R"mlir(
func.func @powers(%x: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each) -> (!list, !list, !iteration) {
  %u, %v, %iterations = foreach.while (%u = %row, %v = %col : !list) upto %limit -> (!list, !list, !iteration) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.mulf %x, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%r = %r : !list) -> !list {
      %a = math.absf %r : f32
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      %y = arith.divf %r, %b : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list) -> !list {
      %low = arith.constant -3.0 : f32
      %d = arith.subf %u, %low : f32
      %y = arith.addf %x, %d : f32
      %shift = arith.constant -2.0 : f32
      foreach.yield %y, %shift : f32, f32
    }
    %most = foreach.reduce max along i (%u = %u1 : !list) -> !each {
      foreach.yield %u : f32
    }
    %more = foreach.map (%most = %most, %bound = %bound : !each) -> !flag {
      %no = arith.cmpf oeq, %most, %bound : f32
      %yes = arith.constant true
      %more = arith.xori %no, %yes : i1
      foreach.yield %more : i1
    }
    foreach.yield %u1, %c while %more : !list, !list while !flag
  }
  return %u, %v, %iterations : !list, !list, !iteration
})mlir",
               /*isExact=*/false);

  // Balancing, with names that the source of a panel loop uses itself.
  programs.add("LoopWithNamesOfPanels", R"mlir(
func.func @loop_params(%params: !mats, %rows: !list, %columns: !list, %r: !list {foreach.donate = 0 : i64},
                       %column_values: !list {foreach.donate = 1 : i64}, %loop: !num, %iteration_limit: !num,
                       %limit: tensor<i32>, %barrier: !each)
    -> (!list, !list, !each, !iteration) {
  %begin, %panel, %sums, %thread = foreach.while (%m = %r, %c = %column_values : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %lane = foreach.reduce logsumexp along j (%c = %params[i, j] : !mats, %member_index = %c[j] : !list) -> !list {
      %has_column = arith.addf %c, %member_index : f32
      foreach.yield %has_column : f32
    }
    %batch = foreach.map (%member = %rows, %lane = %lane, %m = %m : !list, %loop = %loop as f32, %iteration_limit = %iteration_limit as f32 : !num) -> !list {
      %is_row = arith.subf %member, %lane : f32
      %b = arith.mulf %loop, %is_row : f32
      %scalars = arith.subf %b, %m : f32
      %inputs = arith.mulf %iteration_limit, %scalars : f32
      %run = arith.addf %m, %inputs : f32
      foreach.yield %run : f32
    }
    %warp = foreach.reduce logsumexp along i (%offset = %params[i, j] : !mats, %block = %batch[i] : !list) -> !list {
      %resident = arith.addf %offset, %block : f32
      foreach.yield %resident : f32
    }
    %to = foreach.map (%r = %columns, %warp = %warp : !list) -> !list {
      %elements = arith.subf %r, %warp : f32
      foreach.yield %elements : f32
    }
    %of_member = foreach.reduce max along i (%m = %m, %batch = %batch : !list) -> !each {
      %is_first = arith.subf %batch, %m : f32
      %unsafe = math.absf %is_first : f32
      foreach.yield %unsafe : f32
    }
    %active = foreach.map (%count = %of_member, %barrier = %barrier : !each) -> !flag {
      %more = arith.cmpf ogt, %count, %barrier : f32
      foreach.yield %more : i1
    }
    foreach.yield %batch, %to, %of_member while %active : !list, !list, !each while !flag
  }
  return %begin, %panel, %sums, %thread : !list, !list, !each, !iteration
})mlir",
               /*isExact=*/false);

  // Two sums with one read of the matrix; the second uses the first.
  programs.add("LoopOfGrams", R"mlir(
func.func @grams(%x: !mats, %w: !mats, %row: !list, %col: !list, %limit: tensor<i32>, %bound: !each) -> (!list, !list, !iteration) {
  %q, %p, %iterations = foreach.while (%q = %row, %p = %col : !list) upto %limit -> (!list, !list, !iteration) {
    %t = foreach.reduce add along j (%x = %x[i, j], %w = %w[i, j] : !mats, %p = %p[j] : !list) -> !list {
      %m = arith.mulf %x, %w : f32
      %y = arith.mulf %m, %p : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce add along i (%x = %x[i, j] : !mats, %t = %t[i] : !list) -> !list {
      %y = arith.mulf %x, %t : f32
      foreach.yield %y : f32
    }
    %most = foreach.reduce max along i (%x = %x[i, j] : !mats, %t = %t[i] : !list) -> !list {
      %y = arith.subf %x, %t : f32
      foreach.yield %y : f32
    }
    %p1 = foreach.map (%c = %c, %most = %most : !list) -> !list {
      %a = math.absf %c : f32
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      %n = arith.divf %c, %b : f32
      %tenth = arith.constant 0.1 : f32
      %s = arith.mulf %most, %tenth : f32
      %y = arith.addf %n, %s : f32
      foreach.yield %y : f32
    }
    %size = foreach.reduce add along i (%t = %t : !list) -> !each {
      %y = arith.mulf %t, %t : f32
      foreach.yield %y : f32
    }
    %more = foreach.map (%size = %size, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %size, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %t, %p1 while %more : !list, !list while !flag
  }
  return %q, %p, %iterations : !list, !list, !iteration
})mlir");
  programs.last().keepsOrder = false;
  programs.last().isExact = false;
}

} // namespace heddle::test
