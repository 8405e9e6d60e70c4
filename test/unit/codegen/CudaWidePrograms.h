//===- CudaWidePrograms.h - programs over wide rows -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs whose wide rows have several forms; CudaWideTest.cpp executes them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_CUDAWIDEPROGRAMS_H
#define HEDDLE_TEST_UNIT_CODEGEN_CUDAWIDEPROGRAMS_H

namespace heddle::test {

/// Sums and largest elements of columns.
constexpr const char *kColumns = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @wide_columns(%x: !mats, %col: !vecs) -> (!vecs, !vecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !mats, %c = %col[j] : !vecs) -> !vecs {
    %y = arith.mulf %x, %c : f32
    foreach.yield %y : f32
  }
  %most = foreach.reduce max along i (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %scaled = foreach.map (%s = %sum, %c = %col : !vecs) -> !vecs {
    %z = arith.addf %s, %c : f32
    foreach.yield %z : f32
  }
  return %scaled, %most : !vecs, !vecs
})mlir";

/// Rows are divided, and a thread holds its columns of a part for all phases.
constexpr const char *kRows = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @wide_rows(%x: !mats, %col: !vecs) -> (!mats, !vecs, !each, tensor<f32>) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %c = %col[j], %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %y = arith.mulf %d, %c : f32
    foreach.yield %y : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %y = arith.divf %d, %s : f32
    foreach.yield %y : f32
  }
  %all = foreach.reduce add along i (%s = %sum[i] : !vecs) -> !each {
    foreach.yield %s : f32
  }
  %largest = foreach.reduce max along list (%m = %most : !vecs) -> tensor<f32> {
    foreach.yield %m : f32
  }
  return %y, %sum, %all, %largest : !mats, !vecs, !each, tensor<f32>
})mlir";

/// A column needs one word, so a block holds rows of up to 16384 columns.
constexpr const char *kSoftmax = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @wide_softmax(%x: !mats) -> (!mats, !vecs) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %y = arith.divf %e, %s : f32
    foreach.yield %y : f32
  }
  return %y, %sum : !mats, !vecs
})mlir";

/// An exponential is kept for the last phase; another value of its phase needs
/// the element, too.
constexpr const char *kEntropy = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @wide_entropy(%x: !mats) -> (!mats, !vecs) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %mean = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %xe = arith.mulf %x, %e : f32
    foreach.yield %xe : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i], %n = %mean[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %y = arith.mulf %e, %s : f32
    %z = arith.subf %y, %n : f32
    foreach.yield %z : f32
  }
  return %y, %mean : !mats, !vecs
})mlir";

/// Two values are kept, the second computed of the first.
constexpr const char *kChain = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @wide_chain(%x: !mats) -> (!mats, !vecs) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %two = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %es = arith.addf %e, %s : f32
    %f = math.log %es : f32
    foreach.yield %f : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i], %t = %two[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %es = arith.addf %e, %s : f32
    %f = math.log %es : f32
    %g = arith.mulf %f, %e : f32
    %h = arith.subf %g, %t : f32
    foreach.yield %h : f32
  }
  return %y, %two : !mats, !vecs
})mlir";

/// Rows of 16 bits of which only sums are needed: the first block of a row
/// receives the states of the others.
constexpr const char *kHalfSums = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @wide_half_sums(%x: !mats) -> (!vecs, !vecs) {
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32 : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %most = foreach.reduce max along j (%x = %x[i, j] as f32 : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  return %sum, %most : !vecs, !vecs
})mlir";

/// Blocks wait for each other twice, and hold parts of 4096 columns.
constexpr const char *kDoubleSoftmax = R"mlir(
!mats = !foreach.list<tensor<?x?xf64>>
!vecs = !foreach.list<tensor<?xf64>>
func.func @double_softmax(%x: !mats) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f64
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f64
    %e = math.exp %d : f64
    foreach.yield %e : f64
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f64
    %e = math.exp %d : f64
    %y = arith.divf %e, %s : f64
    foreach.yield %y : f64
  }
  return %y : !mats
})mlir";

/// Rows are only reduced, so that a block loads two wide ones at a time.
constexpr const char *kRowSums = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @row_sums(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  return %sum : !vecs
})mlir";

/// The same in 16 bits.
constexpr const char *kHalfRowSums = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @half_row_sums(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32 : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  return %sum : !vecs
})mlir";

/// The same, with operands of columns and of rows, which it replaces.
constexpr const char *kHalfRowProducts = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!halves = !foreach.list<tensor<?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @half_row_products(%x: !mats, %col: !halves, %mean: !vecs {foreach.donate = 0 : i64}) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32 : !mats, %c = %col[j] as f32 : !halves, %r = %mean[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %r : f32
    %y = arith.mulf %d, %c : f32
    foreach.yield %y : f32
  }
  %next = foreach.map (%s = %sum, %r = %mean : !vecs) -> !vecs {
    %z = arith.addf %s, %r : f32
    foreach.yield %z : f32
  }
  return %next : !vecs
})mlir";

/// Elements of 32 bits whose sums are stored in 16 bits.
constexpr const char *kRoundedRowSums = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!halves = !foreach.list<tensor<?xbf16>>
func.func @rounded_row_sums(%x: !mats) -> !halves {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !halves {
    foreach.yield %x : f32
  }
  return %sum : !halves
})mlir";

/// Several rows of a tile, one after the other, exchange states: the sums of
/// rows are added up in each member.
constexpr const char *kHalfRows = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @wide_half_rows(%x: !mats) -> (!mats, !vecs, !each) {
  %most = foreach.reduce max along j (%x = %x[i, j] as f32 : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32 : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    foreach.yield %d : f32
  }
  %y = foreach.map (%x = %x[i, j] as f32 : !mats, %n = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %n : f32
    %y = arith.addf %d, %s : f32
    foreach.yield %y : f32
  }
  %all = foreach.reduce add along i (%s = %sum[i] : !vecs) -> !each {
    foreach.yield %s : f32
  }
  return %y, %most, %all : !mats, !vecs, !each
})mlir";

/// Threads have too many operands to hold their columns of a part, and read
/// each row twice. A row result replaces an operand.
constexpr const char *kTraversed = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @traversed_rows(%a: !mats, %b: !mats, %c: !mats, %d: !mats, %mean: !vecs {foreach.donate = 1 : i64}) -> (!mats, !vecs) {
  %sum = foreach.reduce add along j (%a = %a[i, j], %b = %b[i, j], %c = %c[i, j], %d = %d[i, j] : !mats) -> !vecs {
    %ab = arith.mulf %a, %b : f32
    %cd = arith.mulf %c, %d : f32
    %y = arith.addf %ab, %cd : f32
    foreach.yield %y : f32
  }
  %new = foreach.map (%m = %mean : !vecs, %s = %sum : !vecs) -> !vecs {
    %y = arith.addf %m, %s : f32
    foreach.yield %y : f32
  }
  %y = foreach.map (%a = %a[i, j], %b = %b[i, j] : !mats, %m = %mean[i], %n = %new[i] : !vecs) -> !mats {
    %d = arith.subf %a, %m : f32
    %e = arith.mulf %d, %b : f32
    %y = arith.subf %e, %n : f32
    foreach.yield %y : f32
  }
  return %y, %new : !mats, !vecs
})mlir";

/// Rows and columns are reduced. Elements and a row result replace operands.
constexpr const char *kAcross = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @across_columns(%x: !mats {foreach.donate = 0 : i64}, %col: !vecs, %mean: !vecs {foreach.donate = 1 : i64})
    -> (!mats, !vecs, !vecs, !vecs, !vecs, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %c = %col[j], %m = %mean[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %y = arith.mulf %d, %c : f32
    foreach.yield %y : f32
  }
  %sum = foreach.reduce add along j (%y = %y[i, j] : !mats) -> !vecs {
    foreach.yield %y : f32
  }
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %down = foreach.reduce add along i (%y = %y[i, j] : !mats) -> !vecs {
    %j = foreach.index j : i64
    %f = arith.sitofp %j : i64 to f32
    %z = arith.mulf %y, %f : f32
    foreach.yield %z : f32
  }
  %least = foreach.reduce min along i (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %new = foreach.map (%m = %mean, %s = %sum : !vecs) -> !vecs {
    %z = arith.addf %m, %s : f32
    foreach.yield %z : f32
  }
  %all = foreach.reduce add along i (%n = %new[i] : !vecs) -> !each {
    foreach.yield %n : f32
  }
  return %y, %new, %most, %down, %least, %all : !mats, !vecs, !vecs, !vecs, !vecs, !each
})mlir";

/// The same for elements of 16 bits, in f64: states have two words.
constexpr const char *kHalfAcross = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf64>>
func.func @half_across_columns(%x: !mats, %col: !vecs) -> (!vecs, !vecs) {
  %mass = foreach.reduce add along j (%x = %x[i, j] as f64 : !mats, %c = %col[j] : !vecs) -> !vecs {
    %y = arith.mulf %x, %c : f64
    foreach.yield %y : f64
  }
  %down = foreach.reduce add along i (%x = %x[i, j] as f64 : !mats) -> !vecs {
    foreach.yield %x : f64
  }
  return %mass, %down : !vecs, !vecs
})mlir";

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAWIDEPROGRAMS_H
