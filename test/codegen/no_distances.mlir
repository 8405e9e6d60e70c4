// Sweeps without an entry that takes distances.
// RUN: %heddle emit %s --stage plan | FileCheck %s --implicit-check-not='"distances"'
// CHECK: "nodes"

// In slot 1, one segment has elements of %a, the other values of members of %s. The
// launch that ends members reads them. Slot 0 has elements in both, and distances.
// RUN: %heddle emit %S/Inputs/mixed_slots.mlir --stage plan | %python %S/Inputs/plan.py | FileCheck %s --check-prefix=MIXED
// MIXED: mixed: mixed_distances address when min_elements, distances 0{{$}}

!list = !foreach.list<tensor<?xf32>>
!matrices = !foreach.list<tensor<?x?xf32>>
func.func @none(%x: !list {foreach.donate = 0 : i64}, %m: !matrices, %v0: !list, %limit: tensor<i32>,
    %a: !list, %b: !list, %c: !list, %d: !list, %e: !list) -> (!list, !list, !list, tensor<i32>, !list) {
  // All lists are replaced.
  %x1 = foreach.map (%x = %x : !list) -> !list {
    %1 = arith.negf %x : f32
    foreach.yield %1 : f32
  }
  // Rows.
  %r = foreach.reduce add along i (%m = %m : !matrices) -> !list {
    foreach.yield %m : f32
  }
  // In a loop.
  %v, %n = foreach.while (%v = %v0 : !list) upto %limit -> (!list, tensor<i32>) {
    %w = foreach.map (%v = %v, %a = %a : !list) -> !list {
      %1 = arith.addf %v, %a : f32
      foreach.yield %1 : f32
    }
    foreach.yield %w : !list
  }
  // Five operands: each would have distances of 96 members only.
  %s = foreach.map (%a = %a, %b = %b, %c = %c, %d = %d, %e = %e : !list) -> !list {
    %1 = arith.addf %a, %b : f32
    %2 = arith.addf %1, %c : f32
    %3 = arith.addf %2, %d : f32
    %4 = arith.addf %3, %e : f32
    foreach.yield %4 : f32
  }
  return %x1, %r, %v, %n, %s : !list, !list, !list, tensor<i32>, !list
}
