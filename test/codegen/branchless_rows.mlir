// Divisions and roots of elements of rows have no branches where they take longer than
// memory accesses. Their results go into arrays, before reductions and stores use them.
// RUN: split-file %s %t
// RUN: %heddle emit %t/often.mlir | FileCheck %s
// RUN: %heddle emit %t/rarely.mlir | FileCheck %s --check-prefix=RARELY

// CHECK:      #include "branchless.cuh"
//                 A held row.
// CHECK:      often_sum_held(
// CHECK:            float q[Items];
// CHECK-NEXT:       bool exact = true;
// CHECK:            #pragma unroll
// CHECK:              heddle::element_math math = {true};
// CHECK-NEXT:         const float root = math.root(v[k]);
// CHECK-NEXT:         q[k] = math.divide(x[r][k], root);
//                     An element that does not exist may be out of range.
// CHECK-NEXT:         exact &= math.exact | !(group.has(k, present));
// CHECK-NEXT:       }
// CHECK-NEXT:       if (!exact) {
// CHECK:                const float root = sqrtf(v[k]);
// CHECK-NEXT:           q[k] = x[r][k] / root;
// CHECK:              if (there && group.has(k, present_3)) {
// CHECK-NEXT:           sum_part = heddle::add<float>::combine(sum_part, heddle::add<float>::lift(q[k]));
//                 A wider row.
// CHECK:      often_sum_walk(
// CHECK:            float q[8];
// CHECK-NEXT:       bool exact = true;
// CHECK:              q[k] = math.divide(x[k], root);
// CHECK-NEXT:         exact &= math.exact;
// CHECK:            if (!exact) {
// CHECK:                q[k] = x[k] / root;
// CHECK:            sum_part = heddle::add<float>::combine(sum_part, heddle::add<float>::lift(q[k]));
//                 Short rows, which one of the blocks that share rows processes.
// CHECK:      often_y_held(
// CHECK:              y[k] = math.divide(x[r][k], root);
// CHECK-NEXT:         exact &= math.exact | !(column < end_of_row);
// CHECK:              y[k] = x[r][k] / root;
//                 Rows that blocks share.
// CHECK:      often_y_walk(
// CHECK:            float y[4][4];
// CHECK-NEXT:       bool exact = true;
// CHECK:              y[row][k] = math.divide(x[row][k], root);
// CHECK:            if (!exact) {
// CHECK:                y[row][k] = x[row][k] / root;
// CHECK:            heddle::write_evict_first<float>(&y_slice[k * 256], y[row][k]);

// One division for 12 bytes does not limit.
// RARELY-NOT: branchless
// RARELY-NOT: math.divide

//--- often.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @often(%x: !mats, %v: !vecs) -> (!each, !mats) {
  %sum = foreach.reduce add along member (%x = %x[i, j] : !mats, %v = %v[j] : !vecs) -> !each {
    %root = math.sqrt %v : f32
    %q = arith.divf %x, %root : f32
    foreach.yield %q : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %v = %v[j] : !vecs, %sum = %sum : !each) -> !mats {
    %shifted = arith.addf %v, %sum : f32
    %root = math.sqrt %shifted : f32
    %y = arith.divf %x, %root : f32
    foreach.yield %y : f32
  }
  return %sum, %y : !each, !mats
}

//--- rarely.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @rarely(%x: !mats, %z: !mats, %v: !vecs) -> !mats {
  %y = foreach.map (%x = %x[i, j], %z = %z[i, j] : !mats, %v = %v[j] : !vecs) -> !mats {
    %q = arith.divf %x, %v : f32
    %y = arith.addf %q, %z : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}
