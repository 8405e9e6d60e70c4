// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: fused.program @kinds
fused.program @kinds(%c: !mats, %s: !each) -> !each {
  %r = fused.sweep (%x = %c : !mats, %m = %s : !each) -> !each {
    // CHECK: fused.reduce mul row %{{.*}} : f32
    %0 = fused.reduce mul row %x : f32
    // CHECK: fused.reduce min column %{{.*}} : f32
    %1 = fused.reduce min column %x : f32
    // CHECK: fused.reduce max member %{{.*}} : f32
    %2 = fused.reduce max member %x : f32
    // CHECK: fused.reduce logsumexp row %{{.*}} : f32
    %3 = fused.reduce logsumexp row %x : f32
    // CHECK: fused.reduce argmax row %{{.*}} : f32
    %4, %at = fused.reduce argmax row %x : f32
    %zero = arith.constant 0.0 : f32
    %flag = arith.cmpf ogt, %x, %zero : f32
    // CHECK: fused.reduce any member %{{.*}} : i1
    %5 = fused.reduce any member %flag : i1
    // CHECK: fused.reduce all list %{{.*}} : i1
    %6 = fused.reduce all list %flag : i1
    // A member value counts once for every element of its member.
    // CHECK: fused.reduce add member %{{.*}} from element : f32
    %7 = fused.reduce add member %m from element : f32
    // CHECK: fused.reduce add list %{{.*}} {note = "kept"} : i64
    %8 = fused.reduce add list %at {note = "kept"} : i64
    fused.yield %7 : f32
  }
  fused.yield %r : !each
}

// Hints: a shift, shared exponentials, inactive columns.
// CHECK-LABEL: fused.program @hints
fused.program @hints(%c: !mats, %a: !list, %b: !list, %e: !each) -> (!list, !list, !each) {
  %r, %s, %m = fused.sweep (%x = %c : !mats, %ai = %a[i], %bj = %b[j] : !list, %e = %e : !each) -> (!list, !list, !each) {
    // CHECK: %[[ROW:.*]] = fused.reduce logsumexp row %[[X:.*]] shift %[[A:.*]] : f32
    %row = fused.reduce logsumexp row %x shift %ai : f32
    // CHECK: fused.reduce logsumexp column %[[X]] shift %{{.*}} sharing %[[ROW]] : f32
    %0 = fused.reduce logsumexp column %x shift %bj sharing %row : f32
    // CHECK: fused.reduce logsumexp column %[[X]] sharing %[[ROW]] {note = "kept"} : f32
    %1 = fused.reduce logsumexp column %x sharing %row {note = "kept"} : f32
    // A shift may be of a lower level.
    // CHECK: fused.reduce logsumexp member %[[A]] from element shift %[[E:.*]] : f32
    %2 = fused.reduce logsumexp member %ai from element shift %e : f32
    // CHECK: fused.reduce logsumexp row %[[X]] shift %[[E]] : f32
    %3 = fused.reduce logsumexp row %x shift %e : f32
    fused.yield %3, %0, %2 : f32, f32, f32
  }
  fused.yield %r, %s, %m : !list, !list, !each
}

// CHECK-LABEL: fused.program @inactive
// CHECK:         fused.reduce logsumexp column %{{.*}} inactive %{{.*}} : f32
fused.program @inactive(%x: !foreach.list<tensor<?x?xf32>>, %b: !foreach.list<tensor<?xf32>>) {
  fused.sweep (%a = %x[i, j] : !foreach.list<tensor<?x?xf32>>, %c = %b[j] : !foreach.list<tensor<?xf32>>) {
    %p = math.isnan %c : f32
    %s = fused.reduce logsumexp column %a inactive %p : f32
    fused.yield
  }
  fused.yield
}
