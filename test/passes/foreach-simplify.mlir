// Folds, bindings, scalar math and `if`; and code that must not change.
// RUN: %heddle_opt --foreach-simplify --split-input-file %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>

// Only exact IEEE identities fold: x * 1, x - 0.0 and x + -0.0, but not x + 0.0
// (x may be -0.0), x - x or x * 0.0 (x may be NaN or infinite).
// CHECK-LABEL: func.func @exact
// CHECK:         foreach.map (%[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>)
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0.0{{.*}} : f32
// CHECK-NEXT:      %[[A:.*]] = arith.addf %[[X]], %[[ZERO]] : f32
// CHECK-NEXT:      %[[B:.*]] = arith.subf %[[A]], %[[A]] : f32
// CHECK-NEXT:      %[[C:.*]] = arith.mulf %[[B]], %[[ZERO]] : f32
// CHECK-NEXT:      foreach.yield %[[C]] : f32
func.func @exact(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %minus = arith.constant -0.0 : f32
    %a = arith.mulf %x, %one : f32
    %b = arith.subf %a, %zero : f32
    %c = arith.addf %b, %minus : f32
    %d = arith.addf %c, %zero : f32
    %e = arith.subf %d, %d : f32
    %f = arith.mulf %e, %zero : f32
    foreach.yield %f : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// Operands bound twice, unused operands and results, and equal computations.
// CHECK-LABEL: func.func @unused
// CHECK-SAME:    (%[[X:.*]]: !foreach.list<tensor<?xf32>>, %[[Z:.*]]: !foreach
// CHECK:         %{{.*}} = foreach.map (%[[A:.*]] = %[[X]] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?xf32>> {
// CHECK-NEXT:      %[[B:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT:      %[[C:.*]] = arith.addf %[[B]], %[[B]] : f32
// CHECK-NEXT:      foreach.yield %[[C]] : f32
func.func @unused(%x: !list, %z: !list, %lr: !num) -> !list {
  %y, %no = foreach.map (%a = %x, %b = %x, %z = %z : !list, %lr = %lr as f32 : !num) -> (!list, !list) {
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %p, %q : f32
    %t = arith.mulf %lr, %z : f32
    foreach.yield %s, %t : f32, f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// An unused operand stays if it alone spans a dimension of the domain: the
// reduction counts the row's value once per column.
// CHECK-LABEL: func.func @spans
// CHECK:         foreach.reduce add along j (%{{.*}} = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %{{.*}} = %{{.*}}[i] :
func.func @spans(%m: !mats, %u: !list) -> !list {
  %r = foreach.reduce add along j (%m = %m : !mats, %u = %u[i] : !list) -> !list {
    foreach.yield %u : f32
  }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: func.func @along_i
// CHECK:         foreach.reduce add along member
func.func @along_i(%x: !list) -> !each {
  %r = foreach.reduce add along i (%x = %x : !list) -> !each {
    foreach.yield %x : f32
  }
  return %r : !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// A division in double, and the rounding that depends on it alone, leave the body.
// The cheap difference in double and the division in f32 stay.
// CHECK-LABEL: func.func @uniform
// CHECK:         %[[S:.*]] = foreach.map (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}} : tensor<f64>) -> tensor<f32> {
// CHECK-NEXT:      %[[Q:.*]] = arith.divf %[[A]], %[[B]] : f64
// CHECK-NEXT:      %[[R:.*]] = arith.truncf %[[Q]] : f64 to f32
// CHECK-NEXT:      foreach.yield %[[R]] : f32
// CHECK:         foreach.map (%{{.*}} = %{{.*}} : !foreach.list<tensor<?xf32>>, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}} : tensor<f64>, %[[T:.*]] = %[[S]] : tensor<f32>)
// CHECK-NOT:       f64 to f64
// CHECK:           arith.subf {{.*}} : f64
// CHECK:           arith.divf {{.*}} : f32
func.func @uniform(%x: !list, %a: !num, %b: !num) -> !list {
  %y = foreach.map (%x = %x : !list, %a = %a, %b = %b : !num) -> !list {
    %q = arith.divf %a, %b : f64
    %r = arith.truncf %q : f64 to f32
    %d = arith.subf %a, %b : f64
    %e = arith.truncf %d : f64 to f32
    %m = arith.mulf %x, %r : f32
    %n = arith.divf %m, %e : f32
    foreach.yield %n : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>

// `if` becomes one select per result. A result that is equal on both branches
// needs none.
// CHECK-LABEL: func.func @if
// CHECK-SAME:    (%[[P:.*]]: !foreach.list<tensor<?xf32>>, %[[H:.*]]: !foreach.list<tensor<?xbf16>>, %[[T:.*]]: !foreach.list<tensor<f32>>, %[[OK:.*]]: tensor<i1>)
// CHECK-NOT:     foreach.if
// CHECK:         %[[A:.*]] = foreach.map
// CHECK:         %[[S:.*]] = foreach.map (%[[C:.*]] = %[[OK]] : tensor<i1>, %[[Y:.*]] = %[[A]], %[[N:.*]] = %[[P]] : !foreach.list<tensor<?xf32>>)
// CHECK-NEXT:      %[[V:.*]] = arith.select %[[C]], %[[Y]], %[[N]] : f32
// CHECK:         %[[U:.*]] = foreach.map (%{{.*}} = %[[OK]] : tensor<i1>, %{{.*}} = %{{.*}} as f32, %{{.*}} = %[[H]] as f32 : !foreach.list<tensor<?xbf16>>)
// CHECK:         return %[[S]], %[[U]], %[[T]]
func.func @if(%p: !list, %h: !half, %t: !each, %ok: tensor<i1>) -> (!list, !half, !each) {
  %p1, %h1, %t1 = foreach.if %ok -> (!list, !half, !each) {
    %a = foreach.map (%p = %p : !list) -> !list {
      %q = arith.addf %p, %p : f32
      foreach.yield %q : f32
    }
    %b = foreach.map (%p = %h as f32 : !half) -> !half {
      %q = arith.addf %p, %p : f32
      foreach.yield %q : f32
    }
    foreach.yield %a, %b, %t : !list, !half, !each
  } else (%p, %h, %t)
  return %p1, %h1, %t1 : !list, !half, !each
}

// -----

!each = !foreach.list<tensor<f32>>

// A reduction over the single value of a member becomes a map.
// CHECK-LABEL: func.func @single
// CHECK-NOT:     foreach.reduce
// CHECK:         foreach.map
func.func @single(%t: !each) -> !each {
  %r = foreach.reduce max along member (%t = %t : !each) -> !each {
    %a = arith.addf %t, %t : f32
    foreach.yield %a : f32
  }
  return %r : !each
}

// -----

!list = !foreach.list<tensor<?xf32>>

// Math on an extent does not leave the body: it depends on the member.
// CHECK-LABEL: func.func @extent
// CHECK-COUNT-1: foreach.map
// CHECK:         foreach.extent member : i64
// CHECK:         math.exp
// CHECK-NOT:     foreach.map
func.func @extent(%x: !list, %t: tensor<f32>) -> !list {
  %y = foreach.map (%x = %x : !list, %t = %t : tensor<f32>) -> !list {
    %n = foreach.extent member : i64
    %f = arith.sitofp %n : i64 to f32
    %s = arith.mulf %f, %t : f32
    %e = math.exp %s : f32
    %y = arith.mulf %x, %e : f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xi32>>

// Equal maps of two loops, one in the other, have different values if they read
// the iteration.
// CHECK-LABEL: func.func @iterations
// CHECK:         foreach.while
// CHECK:           %[[OUTER:.*]] = foreach.map
// CHECK:           foreach.while
// CHECK:             %[[INNER:.*]] = foreach.map
// CHECK-NEXT:          foreach.iteration : i32
// CHECK:             foreach.map (%{{.*}} = %[[OUTER]], %{{.*}} = %[[INNER]],
func.func @iterations(%x: !list, %n: tensor<i32>) -> !list {
  %y, %i = foreach.while (%c = %x : !list) upto %n -> (!list, tensor<i32>) {
    %p = foreach.map (%x = %x : !list) -> !list {
      %k = foreach.iteration : i32
      %p = arith.addi %x, %k : i32
      foreach.yield %p : i32
    }
    %z, %j = foreach.while (%d = %c : !list) upto %n -> (!list, tensor<i32>) {
      %q = foreach.map (%x = %x : !list) -> !list {
        %k = foreach.iteration : i32
        %q = arith.addi %x, %k : i32
        foreach.yield %q : i32
      }
      %w = foreach.map (%p = %p, %q = %q, %d = %d : !list) -> !list {
        %s = arith.addi %p, %q : i32
        %t = arith.muli %s, %d : i32
        foreach.yield %t : i32
      }
      foreach.yield %w : !list
    }
    foreach.yield %z : !list
  }
  return %y : !list
}
