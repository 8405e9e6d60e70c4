// Hints `inactive` for columns.
// RUN: %heddle_opt --fused-mark-inactive-columns --split-input-file %s | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>

// The flag is computed before the reduction.
// CHECK-LABEL: fused.program @column
// CHECK:         %[[FLAG:.*]] = arith.cmpf oeq, %b
// CHECK:         fused.reduce logsumexp column %{{.*}} shift %{{.*}} sharing %{{.*}} inactive %[[FLAG]] : f32
// CHECK:         %[[BOUNDED:.*]] = arith.cmpf olt
// CHECK:         arith.andi %[[FLAG]], %[[BOUNDED]]
fused.program @column(%x: !mats, %a: !vecs, %b: !vecs, %u0: !vecs, %v0: !vecs, %on: !flag, %n: tensor<i32>) -> (!vecs, !vecs) {
  %u, %v, %t = fused.loop (%u = %u0, %v = %v0 : !vecs) upto %n active %active : !flag -> (!vecs, !vecs, !foreach.list<tensor<i32>>) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        schedule #fused.schedule<panel, threads = 256, vector = [4], tile = [16], reason = "">
        (%x = %x[i, j] : !mats, %a = %a[i], %b = %b[j], %u = %u[i], %v = %v[j] : !vecs) -> (!vecs, !vecs, !flag) {
      %nothing = arith.constant 0xFF800000 : f32
      %most = arith.constant 0x7F800000 : f32
      %y = arith.addf %x, %v : f32
      %s = arith.subf %a, %u : f32
      %r = fused.reduce logsumexp row %y shift %s : f32
      %u1 = arith.subf %a, %r : f32
      %z = arith.addf %x, %u1 : f32
      %w = arith.subf %b, %v : f32
      %c = fused.reduce logsumexp column %z shift %w sharing %r : f32
      %d = arith.subf %b, %c : f32
      %empty = arith.cmpf oeq, %b, %nothing : f32
      %bounded = arith.cmpf olt, %c, %most : f32
      %inactive = arith.andi %empty, %bounded : i1
      %v1 = arith.select %inactive, %nothing, %d : f32
      %m = fused.reduce max member %u1 from row : f32
      %more = arith.cmpf ogt, %m, %nothing : f32
      fused.yield %u1, %v1, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !vecs, !vecs while !flag
  }
  fused.yield %u, %v : !vecs, !vecs
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>

// The result is yielded for every column.
// CHECK-LABEL: fused.program @always
// CHECK-NOT:     inactive
fused.program @always(%x: !mats, %a: !vecs, %b: !vecs, %u0: !vecs, %v0: !vecs, %on: !flag, %n: tensor<i32>) -> (!vecs, !vecs) {
  %u, %v, %t = fused.loop (%u = %u0, %v = %v0 : !vecs) upto %n active %active : !flag -> (!vecs, !vecs, !foreach.list<tensor<i32>>) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        schedule #fused.schedule<panel, threads = 256, vector = [4], tile = [16], reason = "">
        (%x = %x[i, j] : !mats, %a = %a[i], %b = %b[j], %u = %u[i], %v = %v[j] : !vecs) -> (!vecs, !vecs, !flag) {
      %nothing = arith.constant 0xFF800000 : f32
      %y = arith.addf %x, %v : f32
      %s = arith.subf %a, %u : f32
      %r = fused.reduce logsumexp row %y shift %s : f32
      %u1 = arith.subf %a, %r : f32
      %z = arith.addf %x, %u1 : f32
      %w = arith.subf %b, %v : f32
      %c = fused.reduce logsumexp column %z shift %w sharing %r : f32
      %v1 = arith.subf %b, %c : f32
      %m = fused.reduce max member %u1 from row : f32
      %more = arith.cmpf ogt, %m, %nothing : f32
      fused.yield %u1, %v1, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !vecs, !vecs while !flag
  }
  fused.yield %u, %v : !vecs, !vecs
}
