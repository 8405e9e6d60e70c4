// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>

// Results of every level: element, row, column, member and list.
// CHECK-LABEL: fused.program @levels
fused.program @levels(%c: !mats, %u: !list, %v: !list, %s: !each) -> (!mats, !list, !list, !each, tensor<f32>) {
  // CHECK: fused.sweep (%x = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %ui = %{{.*}}[i], %vj = %{{.*}}[j] : !foreach.list<tensor<?xf32>>, %m = %{{.*}} : !foreach.list<tensor<f32>>)
  // CHECK-SAME: -> (!foreach.list<tensor<?x?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>, tensor<f32>) {
  %e, %r, %k, %n, %t = fused.sweep (%x = %c : !mats, %ui = %u[i], %vj = %v[j] : !list, %m = %s : !each)
      -> (!mats, !list, !list, !each, tensor<f32>) {
    // A row value and a column value give an element value.
    %outer = arith.mulf %ui, %vj : f32
    %e = arith.addf %x, %outer : f32
    %row = fused.reduce add row %e : f32
    // A row value may be used with the elements of its row.
    %scaled = arith.divf %e, %row : f32
    %column = fused.reduce max column %scaled : f32
    %member = fused.reduce add member %row : f32
    %moved = arith.addf %member, %m : f32
    %list = fused.reduce add list %moved : f32
    fused.yield %scaled, %row, %column, %moved, %list : f32, f32, f32, f32, f32
  }
  fused.yield %e, %r, %k, %n, %t : !mats, !list, !list, !each, tensor<f32>
}

// CHECK-LABEL: fused.program @segments
fused.program @segments(%x: !list, %y: !half, %scale: tensor<f64>) -> (!list, !half, tensor<f64>) {
  // CHECK: %{{.*}}:5 = fused.sweep (%a = %{{.*}} : !foreach.list<tensor<?xf32>>, %s = %{{.*}} as f32 : tensor<f64>) -> (!foreach.list<tensor<?xf32>>, tensor<f64>) {
  %p, %s1, %q, %s2, %norm = fused.sweep (%a = %x : !list, %s = %scale as f32 : tensor<f64>) -> (!list, tensor<f64>) {
    %b = arith.mulf %a, %s : f32
    %sum = fused.reduce add list %b : f32
    fused.yield %b, %sum : f32, f32
  // CHECK: } and (%a = %{{.*}} as f32 : !foreach.list<tensor<?xbf16>>) -> (!foreach.list<tensor<?xbf16>>, tensor<f64>) {
  } and (%a = %y as f32 : !half) -> (!half, tensor<f64>) {
    %sum = fused.reduce add list %a : f32
    fused.yield %a, %sum : f32, f32
  // CHECK: } epilogue [%one: f64, %two: f64] () -> tensor<f64> {
  } epilogue [%one : f64, %two : f64] () -> tensor<f64> {
    %sum = arith.addf %one, %two : f64
    %norm = math.sqrt %sum : f64
    fused.yield %norm : f64
  }
  fused.yield %p, %q, %norm : !list, !half, tensor<f64>
}

// CHECK-LABEL: fused.program @modifiers
fused.program @modifiers(%x: !list, %flag: !flag, %all: tensor<i1>) -> (!list, !list) {
  // CHECK: fused.sweep reversed where %{{.*}} : !foreach.list<tensor<i1>> schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "elementwise, no row or column values"> name "first" (%a = %{{.*}} : !foreach.list<tensor<?xf32>>)
  %y = fused.sweep reversed where %flag : !flag
      schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "elementwise, no row or column values">
      name "first" (%a = %x : !list) -> !list {
    fused.yield %a : f32
  }
  // CHECK: fused.sweep where %{{.*}} : tensor<i1> schedule #fused.schedule<rows, threads = 128, vector = [1, 8], tile = [1, 2], reason = "two">
  %z, %w = fused.sweep where %all : tensor<i1>
      schedule #fused.schedule<rows, threads = 128, vector = [1, 8], tile = [1, 2], reason = "two">
      (%a = %x : !list) -> !list {
    fused.yield %a : f32
  } and (%a = %y : !list) -> !list {
    fused.yield %a : f32
  }
  fused.yield %z, %w : !list, !list
}

// A sweep over member scalars alone has a domain of rank 0.
// CHECK-LABEL: fused.program @member_scalars
fused.program @member_scalars(%x: !each) -> (!each, tensor<f32>) {
  // CHECK: fused.sweep (%a = %{{.*}} : !foreach.list<tensor<f32>>) -> (!foreach.list<tensor<f32>>, tensor<f32>) {
  %y, %s = fused.sweep (%a = %x : !each) -> (!each, tensor<f32>) {
    %b = arith.addf %a, %a : f32
    %s = fused.reduce add list %b : f32
    fused.yield %b, %s : f32, f32
  }
  fused.yield %y, %s : !each, tensor<f32>
}
