//===- CudaLoopPrograms.cpp - loops without the panel schedule ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

namespace heddle::test {

void addLoops(WrittenPrograms &programs) {
  programs.add("LoopForAll", R"mlir(
func.func @halve(%x0: !list {foreach.donate = 0 : i64}, %n0: tensor<i32>, %limit: tensor<i32>, %tol: !num)
    -> (!list, tensor<i32>, !num, tensor<i32>) {
  %x, %n, %sum, %iterations = foreach.while (%x = %x0 : !list, %n = %n0 : tensor<i32>) upto %limit
      -> (!list, tensor<i32>, !num, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    %sum = foreach.reduce add along list (%x = %x1 as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %more, %n1 = foreach.map (%s = %sum, %tol = %tol : !num, %n = %n : tensor<i32>) -> (tensor<i1>, tensor<i32>) {
      %more = arith.cmpf ogt, %s, %tol : f64
      %two = arith.constant 2 : i32
      %n1 = arith.addi %n, %two : i32
      foreach.yield %more, %n1 : i1, i32
    }
    foreach.yield %x1, %n1, %sum while %more : !list, tensor<i32>, !num while tensor<i1>
  }
  return %x, %n, %sum, %iterations : !list, tensor<i32>, !num, tensor<i32>
})mlir");

  // Loops of a given number of iterations: of an argument, and of a constant.
  programs.add("LoopWithoutFlag", R"mlir(
func.func @fixed(%x0: !list, %limit: tensor<i32>) -> (!list, tensor<i32>, !each, tensor<i32>) {
  %three = arith.constant dense<3> : tensor<i32>
  %x, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.75 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    foreach.yield %x1 : !list
  }
  %y, %sum, %done = foreach.while (%y = %x : !list) upto %three -> (!list, !each, tensor<i32>) {
    %sum = foreach.reduce add along member (%y = %y : !list) -> !each {
      foreach.yield %y : f32
    }
    %y1 = foreach.map (%y = %y : !list, %s = %sum : !each) -> !list {
      %d = arith.subf %y, %s : f32
      foreach.yield %d : f32
    }
    foreach.yield %y1, %sum : !list, !each
  }
  return %y, %iterations, %sum, %done : !list, tensor<i32>, !each, tensor<i32>
})mlir");
  programs.last().keepsOrder = false;

  programs.add("LoopForAllInTwoSweeps", R"mlir(
func.func @shrink(%x0: !list, %limit: tensor<i32>, %tol: !num)
    -> (!list, !num, tensor<i32>) {
  %x, %norm, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !num, tensor<i32>) {
    %norm = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %x1 = foreach.map (%x = %x : !list, %n = %norm as f32 : !num) -> !list {
      %one = arith.constant 1.0 : f32
      %d = arith.addf %n, %one : f32
      %r = math.sqrt %d : f32
      %y = arith.divf %x, %r : f32
      foreach.yield %y : f32
    }
    %more = foreach.map (%s = %norm, %tol = %tol : !num) -> tensor<i1> {
      %more = arith.cmpf ogt, %s, %tol : f64
      foreach.yield %more : i1
    }
    foreach.yield %x1, %norm while %more : !list, !num while tensor<i1>
  }
  return %x, %norm, %iterations : !list, !num, tensor<i32>
})mlir");

  programs.add("LoopForEveryMember", R"mlir(
func.func @roots(%a: !list, %x0: !list {foreach.donate = 0 : i64}, %limit: tensor<i32>, %tol: !num)
    -> (!list, !each, !iteration) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !each, !iteration) {
    %x1 = foreach.map (%x = %x, %a = %a : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %c = math.absf %a : f32
      %b = math.absf %x : f32
      %tiny = arith.constant 1.0e-3 : f32
      %d = arith.addf %b, %tiny : f32
      %q = arith.divf %c, %d : f32
      %s = arith.addf %d, %q : f32
      %y = arith.mulf %half, %s : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along member (%x = %x, %y = %x1 : !list) -> !each {
      %d = arith.subf %x, %y : f32
      %s = math.absf %d : f32
      foreach.yield %s : f32
    }
    %more = foreach.map (%e = %e : !each, %tol = %tol as f32 : !num) -> !flag {
      %more = arith.cmpf ogt, %e, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %e while %more : !list, !each while !flag
  }
  return %x, %change, %iterations : !list, !each, !iteration
})mlir");

  programs.add("LoopOverMemberScalars", R"mlir(
func.func @counters(%a: !each, %x0: !each, %limit: tensor<i32>, %tol: !num) -> (!each, !each, !iteration) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !each) upto %limit -> (!each, !each, !iteration) {
    %x1, %d = foreach.map (%x = %x, %a = %a : !each) -> (!each, !each) {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      %d = arith.subf %x1, %a : f32
      foreach.yield %x1, %d : f32, f32
    }
    %more = foreach.map (%d = %d : !each, %tol = %tol as f32 : !num) -> !flag {
      %s = math.absf %d : f32
      %more = arith.cmpf ogt, %s, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %d while %more : !each, !each while !flag
  }
  return %x, %change, %iterations : !each, !each, !iteration
})mlir");

  // The loop returns and does not carry vectors of rows and columns, and a
  // matrix, whose extents only a matrix among the arguments has.
  programs.add("LoopWithFurtherResults", R"mlir(
func.func @norms(%x0: !mats, %limit: tensor<i32>, %tol: !num)
    -> (!mats, !list, !list, !mats, tensor<i32>) {
  %x, %rows, %columns, %sums, %iterations = foreach.while (%x = %x0 : !mats) upto %limit
      -> (!mats, !list, !list, !mats, tensor<i32>) {
    %rows = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
      foreach.yield %x : f32
    }
    %columns = foreach.reduce max along i (%x = %x[i, j] : !mats) -> !list {
      foreach.yield %x : f32
    }
    %sums = foreach.map (%r = %rows[i], %c = %columns[j] : !list) -> !mats {
      %s = arith.addf %r, %c : f32
      foreach.yield %s : f32
    }
    %x1 = foreach.map (%x = %x[i, j] : !mats) -> !mats {
      %half = arith.constant 0.5 : f32
      %y = arith.mulf %half, %x : f32
      foreach.yield %y : f32
    }
    %largest = foreach.reduce max along list (%r = %rows as f64 : !list) -> !num {
      foreach.yield %r : f64
    }
    %more = foreach.map (%l = %largest, %tol = %tol : !num) -> tensor<i1> {
      %more = arith.cmpf ogt, %l, %tol : f64
      foreach.yield %more : i1
    }
    foreach.yield %x1, %rows, %columns, %sums while %more : !mats, !list, !list, !mats while tensor<i1>
  }
  return %x, %rows, %columns, %sums, %iterations : !mats, !list, !list, !mats, tensor<i32>
})mlir");

  // Reads a schedule and records the remaining values by iteration; also
  // reads the entries of the first and of the next iteration.
  programs.add("LoopByIteration", R"mlir(
func.func @shrink(%x0: !list {foreach.donate = 0 : i64}, %schedule: !list, %history: !half {foreach.donate = 1 : i64},
                  %limit: tensor<i32>, %tol: !num) -> (!list, !half, !each, !iteration) {
  %start = foreach.map (%x = %x0, %s = %schedule[first] : !list) -> !list {
    %y = arith.addf %x, %s : f32
    foreach.yield %y : f32
  }
  %x, %h, %last, %iterations = foreach.while (%x = %start : !list, %h = %history : !half) upto %limit -> (!list, !half, !each, !iteration) {
    %x1 = foreach.map (%x = %x, %s = %schedule[iteration], %n = %schedule[next] : !list) -> !list {
      %tenth = arith.constant 0.1 : f32
      %m = arith.mulf %n, %tenth : f32
      %w = arith.addf %s, %m : f32
      %t = arith.mulf %w, %tenth : f32
      %y = arith.mulf %x, %t : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along member (%y = %x1 : !list) -> !each {
      %s = math.absf %y : f32
      foreach.yield %s : f32
    }
    %h1 = foreach.record %e in %h : !each in !half
    %last, %more = foreach.map (%e = %e : !each, %tol = %tol as f32 : !num) -> (!each, !flag) {
      %k = foreach.iteration : i32
      %two = arith.constant 2 : i32
      %early = arith.cmpi slt, %k, %two : i32
      %f = arith.sitofp %k : i32 to f32
      %large = arith.cmpf ogt, %e, %tol : f32
      %more = arith.ori %early, %large : i1
      foreach.yield %f, %more : f32, i1
    }
    foreach.yield %x1, %h1, %last while %more : !list, !half, !each while !flag
  }
  return %x, %h, %last, %iterations : !list, !half, !each, !iteration
})mlir");

  // Two families of vectors and one flag for a member of both, which the
  // second of two sweeps computes.
  programs.add("LoopInTwoSweepsByIteration", R"mlir(
func.func @together(%x0: !list {foreach.donate = 0 : i64}, %y0: !half {foreach.donate = 1 : i64}, %bound: !each,
                    %history: !list, %limit: tensor<i32>) -> (!list, !half, !list, !iteration) {
  %x, %y, %h, %iterations = foreach.while (%x = %x0 : !list, %y = %y0 : !half, %h = %history : !list) upto %limit
      -> (!list, !half, !list, !iteration) {
    %y1 = foreach.map (%y = %y as f32 : !half) -> !half {
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f32
      %half = arith.constant 0.5 : f32
      %a = arith.mulf %half, %y : f32
      %b = arith.addf %a, %f : f32
      foreach.yield %b : f32
    }
    %s = foreach.reduce add along member (%y = %y1 as f32 : !half) -> !each {
      foreach.yield %y : f32
    }
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %most = arith.constant 0.75 : f32
      %z = arith.mulf %x, %most : f32
      foreach.yield %z : f32
    }
    %e = foreach.reduce max along member (%x = %x1 : !list) -> !each {
      foreach.yield %x : f32
    }
    %h1 = foreach.record %e in %h : !each in !list
    %more = foreach.map (%e = %e, %s = %s, %bound = %bound : !each) -> !flag {
      %sum = arith.addf %e, %s : f32
      %more = arith.cmpf ogt, %sum, %bound : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %y1, %h1 while %more : !list, !half, !list while !flag
  }
  return %x, %y, %h, %iterations : !list, !half, !list, !iteration
})mlir");

  programs.add("LoopForAllByIteration", R"mlir(
func.func @norms(%x0: !list, %history: !half, %limit: tensor<i32>, %tol: !num) -> (!list, !half, !num, tensor<i32>) {
  %x, %h, %sum, %iterations = foreach.while (%x = %x0 : !list, %h = %history : !half) upto %limit
      -> (!list, !half, !num, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    %sum = foreach.reduce add along list (%x = %x1 as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %h1 = foreach.record %sum in %h : !num in !half
    %part, %more = foreach.map (%s = %sum, %tol = %tol : !num) -> (!num, tensor<i1>) {
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f64
      %part = arith.mulf %s, %f : f64
      %more = arith.cmpf ogt, %s, %tol : f64
      foreach.yield %part, %more : f64, i1
    }
    foreach.yield %x1, %h1, %part while %more : !list, !half, !num while tensor<i1>
  }
  return %x, %h, %sum, %iterations : !list, !half, !num, tensor<i32>
})mlir");
}

} // namespace heddle::test
