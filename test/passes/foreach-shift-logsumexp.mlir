// RUN: %heddle_opt --foreach-simplify --foreach-shift-logsumexp --split-input-file %s | FileCheck %s
// RUN: %heddle_opt --foreach-simplify '--foreach-shift-logsumexp=remarks=true' --split-input-file %s 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Log-domain matrix balancing: each half estimates its result from the carried
// scaling.
// CHECK-LABEL: func.func @balance
// CHECK:       foreach.while (%[[P:.*]] = %{{.*}}, %[[Q:.*]] = %{{.*}} : {{.*}}) upto
// CHECK:       foreach.reduce logsumexp along j
// CHECK-SAME:    (%m = %{{.*}}[i, j] : {{.*}}, %[[QJ:.*]] = %[[Q]][j], %[[PI:.*]] = %[[P]][i], %[[RI:.*]] = %{{.*}}[i] :
// CHECK-NEXT:    %[[X:.*]] = arith.addf %m, %[[QJ]]
// CHECK-NEXT:    %[[G:.*]] = arith.subf %[[RI]], %[[PI]]
// CHECK-NEXT:    foreach.yield %[[X]], %[[G]] : f32, f32
// CHECK:       foreach.reduce logsumexp along i
// CHECK-SAME:    %[[QJ:[a-z0-9_]+]] = %[[Q]][j], %[[CJ:[a-z0-9_]+]] = %{{.*}}[j] :
// CHECK:         %[[G:.*]] = arith.subf %[[CJ]], %[[QJ]]
// CHECK-NEXT:    foreach.yield %{{.*}}, %[[G]] : f32, f32
// REMARK: [[#@LINE+5]]:17: remark: a value is shifted by an estimate from the carried value 'p': no running maximum
// REMARK: [[#@LINE+12]]:20: remark: a value is shifted by an estimate from the carried value 'q': no running maximum
func.func @balance(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs, %limit: tensor<i32>, %go: tensor<i1>)
    -> (!vecs, !vecs, tensor<i32>) {
  %p, %q, %iterations = foreach.while (%p = %p0, %q = %q0 : !vecs) upto %limit -> (!vecs, !vecs, tensor<i32>) {
    %row_mass = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %q = %q[j] : !vecs) -> !vecs {
      %x = arith.addf %m, %q : f32
      foreach.yield %x : f32
    }
    %p1 = foreach.map (%r = %log_rows, %s = %row_mass : !vecs) -> !vecs {
      %x = arith.subf %r, %s : f32
      foreach.yield %x : f32
    }
    %column_mass = foreach.reduce logsumexp along i (%m = %M[i, j] : !mats, %p = %p1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %p : f32
      foreach.yield %x : f32
    }
    %q1 = foreach.map (%c = %log_columns, %s = %column_mass : !vecs) -> !vecs {
      %x = arith.subf %c, %s : f32
      foreach.yield %x : f32
    }
    foreach.yield %p1, %q1 while %go : !vecs, !vecs while tensor<i1>
  }
  return %p, %q, %iterations : !vecs, !vecs, tensor<i32>
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Columns first, then rows.
// CHECK-LABEL: func.func @columns_first
// CHECK:       foreach.reduce logsumexp along i
// CHECK:         %[[G:.*]] = arith.subf %c, %q{{.*}} : f32
// CHECK-NEXT:    foreach.yield %{{.*}}, %[[G]]
// CHECK:       foreach.reduce logsumexp along j
// CHECK:         %[[G:.*]] = arith.subf %r, %p{{.*}} : f32
// CHECK-NEXT:    foreach.yield %{{.*}}, %[[G]]
func.func @columns_first(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs, %limit: tensor<i32>, %go: tensor<i1>)
    -> (!vecs, !vecs) {
  %p, %q, %iterations = foreach.while (%p = %p0, %q = %q0 : !vecs) upto %limit -> (!vecs, !vecs, tensor<i32>) {
    %column_mass = foreach.reduce logsumexp along i (%m = %M[i, j] : !mats, %pi = %p[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %pi : f32
      foreach.yield %x : f32
    }
    %q1 = foreach.map (%c = %log_columns, %s = %column_mass : !vecs) -> !vecs {
      %x = arith.subf %c, %s : f32
      foreach.yield %x : f32
    }
    %row_mass = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %qj = %q1[j] : !vecs) -> !vecs {
      %x = arith.addf %m, %qj : f32
      foreach.yield %x : f32
    }
    %p1 = foreach.map (%r = %log_rows, %s = %row_mass : !vecs) -> !vecs {
      %x = arith.subf %r, %s : f32
      foreach.yield %x : f32
    }
    foreach.yield %p1, %q1 while %go : !vecs, !vecs while tensor<i1>
  }
  return %p, %q : !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

// Damping in two maps: at the fixed point, the damped and the undamped value are
// equal.
// CHECK-LABEL: func.func @damped
// CHECK:       foreach.reduce logsumexp along j
// CHECK-SAME:    (%m = %{{.*}}[i, j] : {{.*}}, %[[U:.*]] = %u[i], %r = %{{.*}}[i] : {{[^,]*}}) ->
// CHECK-NEXT:    %[[G:.*]] = arith.subf %r, %[[U]] : f32
// CHECK-NEXT:    foreach.yield %m, %[[G]] : f32, f32
// Damping written as a mean is inverted as a mean.
// CHECK-LABEL: func.func @mean
// CHECK:       foreach.reduce logsumexp along j
// CHECK-SAME:    %[[U:[a-z0-9_]+]] = %u[i]
// CHECK:         %[[WU:.*]] = arith.mulf %w, %[[U]]
// CHECK:         %[[D:.*]] = arith.subf %[[U]], %[[WU]]
// CHECK:         %[[X:.*]] = arith.divf %[[D]], %v
// CHECK:         foreach.yield %m, %[[X]]
// A factor of the whole value, as for a relaxed side.
// CHECK-LABEL: func.func @scaled
// CHECK:       foreach.reduce logsumexp along j
// CHECK:         %[[X:.*]] = arith.divf %{{u.*}}, %t
// CHECK:         %[[G:.*]] = arith.subf %r, %[[X]]
// CHECK:         foreach.yield %m, %[[G]]
func.func @damped(%M: !mats, %log_rows: !vecs, %w: !num, %u0: !vecs, %limit: tensor<i32>, %go: tensor<i1>) -> !vecs {
  %u, %iterations = foreach.while (%u = %u0 : !vecs) upto %limit -> (!vecs, tensor<i32>) {
    %s = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
    %full = foreach.map (%r = %log_rows, %s = %s : !vecs) -> !vecs {
      %x = arith.subf %r, %s : f32
      foreach.yield %x : f32
    }
    %u1 = foreach.map (%x = %full, %u = %u : !vecs, %w = %w as f32 : !num) -> !vecs {
      %d = arith.subf %x, %u : f32
      %wd = arith.mulf %w, %d : f32
      %y = arith.addf %u, %wd : f32
      foreach.yield %y : f32
    }
    foreach.yield %u1 while %go : !vecs while tensor<i1>
  }
  return %u : !vecs
}
func.func @mean(%M: !mats, %w: !num, %v: !num, %u0: !vecs, %limit: tensor<i32>, %go: tensor<i1>) -> !vecs {
  %u, %iterations = foreach.while (%u = %u0 : !vecs) upto %limit -> (!vecs, tensor<i32>) {
    %s = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
    %u1 = foreach.map (%s = %s, %u = %u : !vecs, %w = %w as f32, %v = %v as f32 : !num) -> !vecs {
      %vs = arith.mulf %s, %v : f32
      %wu = arith.mulf %w, %u : f32
      %y = arith.addf %wu, %vs : f32
      foreach.yield %y : f32
    }
    foreach.yield %u1 while %go : !vecs while tensor<i1>
  }
  return %u : !vecs
}
func.func @scaled(%M: !mats, %log_rows: !vecs, %tau: !num, %u0: !vecs, %limit: tensor<i32>, %go: tensor<i1>) -> !vecs {
  %u, %iterations = foreach.while (%u = %u0 : !vecs) upto %limit -> (!vecs, tensor<i32>) {
    %s = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
    %u1 = foreach.map (%r = %log_rows, %s = %s : !vecs, %t = %tau as f32 : !num) -> !vecs {
      %x = arith.subf %r, %s : f32
      %y = arith.mulf %t, %x : f32
      foreach.yield %y : f32
    }
    foreach.yield %u1 while %go : !vecs while tensor<i1>
  }
  return %u : !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

// If an iteration scales the carried value first, the shift uses the scaled value.
// If the map that scales comes later, the reduction computes the scaled value.
// CHECK-LABEL: func.func @annealed
// CHECK:       foreach.while (%[[U:.*]] = %arg
// CHECK:       %[[SCALED:.*]] = foreach.map (%{{.*}} = %[[U]]
// CHECK:       foreach.reduce logsumexp along j (%m = %{{.*}}[i, j] : {{.*}}, %[[S:.*]] = %[[SCALED]][i],
// CHECK:         arith.subf %r, %[[S]]
// CHECK-LABEL: func.func @annealed_later
// CHECK:       foreach.while (%[[U:.*]] = %arg
// CHECK:       foreach.reduce logsumexp along j
// CHECK-SAME:    %[[UI:[a-z0-9_]+]] = %[[U]][i]
// CHECK:         %[[S:.*]] = arith.mulf %[[UI]], %ratio
// CHECK:         arith.subf %r, %[[S]]
func.func @annealed(%M: !mats, %log_rows: !vecs, %ratio: !num, %u0: !vecs, %limit: tensor<i32>, %go: tensor<i1>) -> (!vecs, !vecs) {
  %u, %e, %iterations = foreach.while (%u = %u0 : !vecs) upto %limit -> (!vecs, !vecs, tensor<i32>) {
    %scaled = foreach.map (%u = %u : !vecs, %ratio = %ratio as f32 : !num) -> !vecs {
      %y = arith.mulf %u, %ratio : f32
      foreach.yield %y : f32
    }
    %s = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
    %u1, %err = foreach.map (%r = %log_rows, %s = %s, %u = %scaled : !vecs) -> (!vecs, !vecs) {
      %x = arith.subf %r, %s : f32
      %d = arith.subf %x, %u : f32
      foreach.yield %x, %d : f32, f32
    }
    foreach.yield %u1, %err while %go : !vecs, !vecs while tensor<i1>
  }
  return %u, %e : !vecs, !vecs
}
func.func @annealed_later(%M: !mats, %log_rows: !vecs, %ratio: !num, %u0: !vecs, %limit: tensor<i32>, %go: tensor<i1>) -> (!vecs, !vecs) {
  %u, %e, %iterations = foreach.while (%u = %u0 : !vecs) upto %limit -> (!vecs, !vecs, tensor<i32>) {
    %s = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
    %scaled = foreach.map (%u = %u : !vecs, %ratio = %ratio as f32 : !num) -> !vecs {
      %y = arith.mulf %u, %ratio : f32
      foreach.yield %y : f32
    }
    %u1, %err = foreach.map (%r = %log_rows, %s = %s, %u = %scaled : !vecs) -> (!vecs, !vecs) {
      %x = arith.subf %r, %s : f32
      %d = arith.subf %x, %u : f32
      foreach.yield %x, %d : f32, f32
    }
    foreach.yield %u1, %err while %go : !vecs, !vecs while tensor<i1>
  }
  return %u, %e : !vecs, !vecs
}

// -----

!each = !foreach.list<tensor<f64>>
!half = !foreach.list<tensor<?xbf16>>
!flag = !foreach.list<tensor<i1>>

// A member scalar, a carried value that is the result itself, and different
// types.
// CHECK-LABEL: func.func @members
// CHECK:       foreach.while (%[[Z:.*]] = %arg
// CHECK:       foreach.reduce logsumexp along member (%x = %{{.*}} as f32 : {{.*}}, %[[G:.*]] = %[[Z]] as f32 : !foreach.list<tensor<f64>>)
// CHECK:         foreach.yield %{{.*}}, %[[G]] : f32, f32
// CHECK-LABEL: func.func @kept
// CHECK:       foreach.reduce logsumexp along member (%x = %{{.*}} as f32 : {{.*}}, %[[Z:.*]] = %{{.*}} : !foreach.list<tensor<f64>>)
// CHECK:         %[[N:.*]] = arith.negf %[[Z]] : f64
// CHECK:         %[[G:.*]] = arith.truncf %[[N]] : f64 to f32
// CHECK:         foreach.yield %x, %[[G]] : f32, f32
func.func @members(%x: !half, %z0: !each, %limit: tensor<i32>, %go: !flag) -> !each {
  %z, %iterations = foreach.while (%z = %z0 : !each) upto %limit -> (!each, !foreach.list<tensor<i32>>) {
    %z1 = foreach.reduce logsumexp along member (%x = %x as f32 : !half) -> !each { foreach.yield %x : f32 }
    foreach.yield %z1 while %go : !each while !flag
  }
  return %z : !each
}
func.func @kept(%x: !half, %z0: !each, %on: !flag, %limit: tensor<i32>, %go: !flag) -> !each {
  %z, %iterations = foreach.while (%z = %z0 : !each) upto %limit -> (!each, !foreach.list<tensor<i32>>) {
    %s = foreach.reduce logsumexp along member (%x = %x as f32 : !half) -> !each { foreach.yield %x : f32 }
    %z1 = foreach.map (%s = %s, %z = %z : !each, %on = %on : !flag) -> !each {
      %n = arith.negf %s : f64
      %y = arith.select %on, %n, %z : f64
      %none = arith.constant 0xFFF0000000000000 : f64
      %empty = arith.cmpf oeq, %s, %none : f64
      %w = arith.select %empty, %none, %y : f64
      foreach.yield %w : f64
    }
    foreach.yield %z1 while %go : !each while !flag
  }
  return %z : !each
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Reductions without a shift, with the reasons.
// CHECK-LABEL: func.func @left
// CHECK-NOT:   f32, f32
// REMARK: remark: a value is not shifted: a value depends on it in more than one way
// REMARK: remark: a value is not shifted: 'math.exp' cannot be inverted
// REMARK: remark: a value is not shifted: the shift depends on a value, which is computed after the reduction
// REMARK: remark: a value is not shifted: a value depends on it through a condition only
// REMARK: remark: a value is not shifted: no carried value depends on it
func.func @left(%M: !mats, %a0: !vecs, %b0: !vecs, %c0: !vecs, %e0: !vecs, %limit: tensor<i32>, %go: tensor<i1>)
    -> (!vecs, !vecs, !vecs, !vecs, !vecs) {
  %a, %b, %c, %e, %d, %iterations = foreach.while (%a = %a0, %b = %b0, %c = %c0, %e = %e0 : !vecs) upto %limit
      -> (!vecs, !vecs, !vecs, !vecs, !vecs, tensor<i32>) {
    %twice = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
    %a1 = foreach.map (%a = %a, %s = %twice : !vecs) -> !vecs {
      %x = arith.subf %a, %s : f32
      %y = arith.mulf %x, %s : f32
      foreach.yield %y : f32
    }
    %power = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %a = %a1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %a : f32
      foreach.yield %x : f32
    }
    %b1 = foreach.map (%b = %b, %s = %power : !vecs) -> !vecs {
      %e = math.exp %s : f32
      %x = arith.subf %b, %e : f32
      foreach.yield %x : f32
    }
    %later = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %b = %b1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %b : f32
      foreach.yield %x : f32
    }
    %after = foreach.reduce max along j (%m = %M[i, j] : !mats, %b = %b1[i] : !vecs) -> !vecs {
      %x = arith.subf %m, %b : f32
      foreach.yield %x : f32
    }
    %c1 = foreach.map (%m = %after, %s = %later : !vecs) -> !vecs {
      %x = arith.subf %m, %s : f32
      foreach.yield %x : f32
    }
    %chooses = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %c = %c1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %c : f32
      foreach.yield %x : f32
    }
    %e1 = foreach.map (%s = %chooses, %e = %e, %c = %c : !vecs) -> !vecs {
      %zero = arith.constant 0.0 : f32
      %on = arith.cmpf ogt, %s, %zero : f32
      %x = arith.select %on, %e, %c : f32
      foreach.yield %x : f32
    }
    %free = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %c = %c[i] : !vecs) -> !vecs {
      %x = arith.subf %m, %c : f32
      foreach.yield %x : f32
    }
    foreach.yield %a1, %b1, %c1, %e1, %free while %go : !vecs, !vecs, !vecs, !vecs, !vecs while tensor<i1>
  }
  return %a, %b, %c, %e, %d : !vecs, !vecs, !vecs, !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Reductions outside of loops have no shift.
// CHECK-LABEL: func.func @once
// CHECK-NOT:   f32, f32
// REMARK-NOT:  remark
func.func @once(%M: !mats, %u: !vecs) -> !vecs {
  %s = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats) -> !vecs { foreach.yield %m : f32 }
  %v = foreach.map (%s = %s, %u = %u : !vecs) -> !vecs {
    %x = arith.subf %u, %s : f32
    foreach.yield %x : f32
  }
  return %v : !vecs
}
