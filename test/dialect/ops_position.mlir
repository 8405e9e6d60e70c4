// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: func.func @positions
func.func @positions(%x: !mats, %v: !list) -> (!mats, !list) {
  %y = foreach.map (%x = %x : !mats) -> !mats {
    // CHECK: foreach.index i : i64
    %i = foreach.index i : i64
    // CHECK: foreach.index j : i64
    %j = foreach.index j : i64
    // CHECK: foreach.extent member : i64
    %n = foreach.extent member : i64
    %s = arith.addi %i, %j : i64
    %r = arith.addi %s, %n : i64
    %f = arith.sitofp %r : i64 to f32
    %y = arith.mulf %x, %f : f32
    foreach.yield %y : f32
  }
  %s = foreach.reduce add along j (%x = %x : !mats) -> !list {
    // CHECK: foreach.extent j : i64
    %n = foreach.extent j : i64
    %f = arith.sitofp %n : i64 to f32
    %y = arith.divf %x, %f : f32
    foreach.yield %y : f32
  }
  return %y, %s : !mats, !list
}

// CHECK-LABEL: fused.program @levels
fused.program @levels(%x: !mats) -> !list {
  %r = fused.sweep (%x = %x : !mats) -> !list {
    // CHECK: foreach.index i : i64
    %i = foreach.index i : i64
    // CHECK: foreach.extent i : i64
    %n = foreach.extent i : i64
    %s = arith.subi %n, %i : i64
    %f = arith.sitofp %s : i64 to f32
    // A row value can be stored for each row.
    fused.yield %f : f32
  }
  fused.yield %r : !list
}
