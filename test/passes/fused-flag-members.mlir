// A loop of a given number of iterations gets a flag for every member if it is a panel loop then.
// RUN: %heddle_opt --fused-flag-members=remarks=true --split-input-file --verify-diagnostics %s | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// The count is the limit, but not below 0.
// CHECK-LABEL: fused.program @panel
// CHECK:         %[[COUNT:.+]] = fused.sweep (%{{.+}} = %{{.+}} : !foreach.list<tensor<?xf32>>) {
// CHECK:         epilogue [] (%[[LIMIT:.+]] = %{{.+}} : tensor<i32>) -> tensor<i32>
// CHECK:           %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK:           %[[MOST:.+]] = arith.maxsi %[[LIMIT]], %[[ZERO]] : i32
// CHECK:           fused.yield %[[MOST]] : i32
// CHECK:         %[[LOOP:.+]]:3 = fused.loop ({{.*}}) upto %{{.+}} active %[[ACTIVE:.+]]: !foreach.list<tensor<i1>> -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<i32>>)
// CHECK:           %[[SWEEP:.+]]:3 = fused.sweep where %[[ACTIVE]] : !foreach.list<tensor<i1>> (
// CHECK:             %[[TRUE:.+]] = arith.constant true
// CHECK-NOT:       epilogue
// CHECK:             fused.yield %{{.+}}, %{{.+}}, %[[TRUE]] : f32, f32, i1
// CHECK:           fused.yield %[[SWEEP]]#0, %[[SWEEP]]#1 while %[[SWEEP]]#2
// CHECK:         fused.yield %[[LOOP]]#0, %[[LOOP]]#1, %[[COUNT]]
fused.program @panel(%x: !mats, %a: !list, %b: !list, %limit: tensor<i32>) -> (!list, !list, tensor<i32>) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, tensor<i32>) {
    // expected-remark@+1 {{a sweep gets a flag for every member, so its loop can have the schedule 'panel'}}
    %u1, %v1, %more = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!list, !list) {
      %y = arith.mulf %x, %v : f32
      %r = fused.reduce add row %y : f32
      %z = arith.mulf %x, %r : f32
      %c = fused.reduce add column %z : f32
      fused.yield %r, %c : f32, f32
    } epilogue [] () -> tensor<i1> {
      %true = arith.constant true
      fused.yield %true : i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while tensor<i1>
  }
  fused.yield %u, %v, %iterations : !list, !list, tensor<i32>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// A constant limit that is not negative is the count.
// CHECK-LABEL: fused.program @constant
// CHECK:         %[[LIMIT:.+]] = fused.sweep
// CHECK:         fused.loop ({{.*}}) upto %[[LIMIT]] active
// CHECK:         fused.yield %{{.+}}, %{{.+}}, %[[LIMIT]]
fused.program @constant(%x: !mats, %a: !list, %b: !list) -> (!list, !list, tensor<i32>) {
  %limit = fused.sweep (%a = %a : !list) {
    fused.yield
  } epilogue [] () -> tensor<i32> {
    %n = arith.constant 20 : i32
    fused.yield %n : i32
  }
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, tensor<i32>) {
    // expected-remark@+1 {{gets a flag for every member}}
    %u1, %v1, %more = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!list, !list) {
      %y = arith.mulf %x, %v : f32
      %r = fused.reduce add row %y : f32
      %z = arith.mulf %x, %r : f32
      %c = fused.reduce add column %z : f32
      fused.yield %r, %c : f32, f32
    } epilogue [] () -> tensor<i1> {
      %true = arith.constant true
      fused.yield %true : i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while tensor<i1>
  }
  fused.yield %u, %v, %iterations : !list, !list, tensor<i32>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: fused.program @rows_only
// CHECK-NOT:     active
fused.program @rows_only(%x: !mats, %a: !list, %limit: tensor<i32>) -> (!list, tensor<i32>) {
  %u, %iterations = fused.loop (%u = %a : !list) upto %limit -> (!list, tensor<i32>) {
    // expected-remark@+1 {{a sweep gets no flag for every member: it would still not have the schedule 'panel', because it does not reduce both rows and columns}}
    %u1, %more = fused.sweep (%x = %x[i, j] : !mats, %u = %u[i] : !list) -> !list {
      %y = arith.mulf %x, %u : f32
      %r = fused.reduce add row %y : f32
      fused.yield %r : f32
    } epilogue [] () -> tensor<i1> {
      %true = arith.constant true
      fused.yield %true : i1
    }
    fused.yield %u1 while %more : !list while tensor<i1>
  }
  fused.yield %u, %iterations : !list, tensor<i32>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// The flag may become false.
// CHECK-LABEL: fused.program @stops
// CHECK-NOT:     active
fused.program @stops(%x: !mats, %a: !list, %b: !list, %limit: tensor<i32>) -> (!list, !list, tensor<i32>) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, tensor<i32>) {
    %u1, %v1, %s, %more = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!list, !list, tensor<f32>) {
      %y = arith.mulf %x, %v : f32
      %r = fused.reduce add row %y : f32
      %z = arith.mulf %x, %r : f32
      %c = fused.reduce add column %z : f32
      %s = fused.reduce add list %y : f32
      fused.yield %r, %c, %s : f32, f32, f32
    } epilogue [%s : f32] () -> tensor<i1> {
      %zero = arith.constant 0.0 : f32
      %more = arith.cmpf ogt, %s, %zero : f32
      fused.yield %more : i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while tensor<i1>
  }
  fused.yield %u, %v, %iterations : !list, !list, tensor<i32>
}
