// The sweeps of whole programs, with and without fusion.
// RUN: %heddle_opt --heddle-pipeline --split-input-file %s | FileCheck %s
// RUN: %heddle_opt --heddle-pipeline=fuse=false --split-input-file %s | FileCheck %s --check-prefix=UNFUSED

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!dbl = !foreach.list<tensor<f64>>
!num = tensor<f64>

// One sweep: bias corrections are precomputed, 1 - beta is in the body, every list
// is updated in place.
// CHECK-LABEL: fused.program @adamw
// CHECK-SAME:    buffers = [], result_buffers = array<i64: 0, 2, 3, 4>
// CHECK-NEXT:    fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "elementwise, no row or column values"> name "adamw" launch <variants = [{{.*}}], arrive = [early]> result_buffers [4, 0, 2, 3] (
// CHECK:           fused.precompute
// CHECK-COUNT-2:     math.fpowi
// CHECK:             math.sqrt %{{.*}} : f64
// CHECK:             fused.yield
// CHECK-NOT:       f64
// CHECK:           fused.yield
// CHECK-NOT:     fused.sweep
// UNFUSED-LABEL: fused.program @adamw
// UNFUSED-COUNT-2: fused.sweep
// UNFUSED-NOT:   fused.sweep
func.func @adamw(%param: !list {foreach.donate = 0 : i64}, %grad: !list,
    %exp_avg: !list {foreach.donate = 1 : i64}, %exp_avg_sq: !list {foreach.donate = 2 : i64},
    %step: !each {foreach.donate = 3 : i64},
    %lr: !num {foreach.default = 0.001 : f64}, %beta1: !num {foreach.default = 0.9 : f64}, %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}, %weight_decay: !num {foreach.default = 0.01 : f64}) -> (!list, !list, !list, !each) {
  %t1, %bc1, %root = foreach.map (%t = %step : !each, %b1 = %beta1, %b2 = %beta2 : !num) -> (!each, !dbl, !dbl) {
    %onef = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %onef : f32
    %n = arith.fptosi %t1 : f32 to i32
    %one = arith.constant 1.0 : f64
    %p1 = math.fpowi %b1, %n : f64, i32
    %p2 = math.fpowi %b2, %n : f64, i32
    %bc1 = arith.subf %one, %p1 : f64
    %bc2 = arith.subf %one, %p2 : f64
    %root = math.sqrt %bc2 : f64
    foreach.yield %t1, %bc1, %root : f32, f64, f64
  }
  %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %p1, %m1, %v1 = foreach.map (%p = %param, %g = %grad, %m = %exp_avg, %v = %exp_avg_sq : !list,
      %bc1 = %bc1 as f32, %root = %root as f32 : !dbl,
      %lr = %lr as f32, %b2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %eps = %eps as f32, %wd = %weight_decay as f32 : !num)
      -> (!list, !list, !list) {
    %one = arith.constant 1.0 : f32
    %lw = arith.mulf %lr, %wd : f32
    %decay = arith.subf %one, %lw : f32
    %shrunk = arith.mulf %p, %decay : f32
    %gm = arith.subf %g, %m : f32
    %dm = arith.mulf %w1, %gm : f32
    %m1 = arith.addf %m, %dm : f32
    %bv = arith.mulf %b2, %v : f32
    %wg = arith.mulf %w2, %g : f32
    %wgg = arith.mulf %wg, %g : f32
    %v1 = arith.addf %bv, %wgg : f32
    %rv = math.sqrt %v1 : f32
    %vh = arith.divf %rv, %root : f32
    %den = arith.addf %vh, %eps : f32
    %q = arith.divf %m1, %den : f32
    %size = arith.divf %lr, %bc1 : f32
    %step = arith.mulf %size, %q : f32
    %p1 = arith.subf %shrunk, %step : f32
    foreach.yield %p1, %m1, %v1 : f32, f32, f32
  }
  return %p1, %m1, %v1, %t1 : !list, !list, !list, !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>
!dbl = !foreach.list<tensor<f64>>
!num = tensor<f64>

// Two sweeps over two dtypes: the norm of both lists with one epilogue, then the
// reversed update. The clipped bf16 gradient keeps the rounding of its list.
// CHECK-LABEL: fused.program @clip_sgdm
// CHECK-SAME:    result_buffers = array<i64: 0, 2, 3, 5, 9>
// CHECK:         fused.sweep schedule
// CHECK:         } and (
// CHECK:         } epilogue [
// CHECK:         fused.sweep reversed
// CHECK-NOT:       bf16
// CHECK:         } and (
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:      arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT:     fused.sweep
// UNFUSED-LABEL: fused.program @clip_sgdm
// UNFUSED-COUNT-6: fused.sweep
// UNFUSED-NOT:   fused.sweep
func.func @clip_sgdm(%param: !list {foreach.donate = 0 : i64}, %grad: !list, %buf: !list {foreach.donate = 1 : i64},
    %param16: !half {foreach.donate = 2 : i64}, %grad16: !half, %buf16: !half {foreach.donate = 3 : i64},
    %lr: !num, %mu: !num, %max_norm: !num) -> (!list, !list, !half, !half, !num) {
  %s32 = foreach.reduce add along list (%g = %grad as f64 : !list) -> !num {
    %gg = arith.mulf %g, %g : f64
    foreach.yield %gg : f64
  }
  %s16 = foreach.reduce add along list (%g = %grad16 as f64 : !half) -> !num {
    %gg = arith.mulf %g, %g : f64
    foreach.yield %gg : f64
  }
  %norm = foreach.map (%a = %s32, %b = %s16 : !num) -> !num {
    %s = arith.addf %a, %b : f64
    %n = math.sqrt %s : f64
    foreach.yield %n : f64
  }
  %clip = foreach.map (%n = %norm, %max = %max_norm : !num) -> !num {
    %tiny = arith.constant 1.0e-6 : f64
    %den = arith.addf %n, %tiny : f64
    %ratio = arith.divf %max, %den : f64
    %one = arith.constant 1.0 : f64
    %c = arith.minimumf %ratio, %one : f64
    foreach.yield %c : f64
  }
  %g32 = foreach.map (%g = %grad : !list, %c = %clip as f32 : !num) -> !list {
    %x = arith.mulf %g, %c : f32
    foreach.yield %x : f32
  }
  %g16 = foreach.map (%g = %grad16 as f32 : !half, %c = %clip as f32 : !num) -> !half {
    %x = arith.mulf %g, %c : f32
    foreach.yield %x : f32
  }
  %p1, %b1 = foreach.map (%p = %param, %g = %g32, %b = %buf : !list, %lr = %lr as f32, %mu = %mu as f32 : !num) -> (!list, !list) {
    %mb = arith.mulf %mu, %b : f32
    %b1 = arith.addf %mb, %g : f32
    %st = arith.mulf %lr, %b1 : f32
    %p1 = arith.subf %p, %st : f32
    foreach.yield %p1, %b1 : f32, f32
  }
  %p2, %b2 = foreach.map (%p = %param16 as f32, %g = %g16 as f32, %b = %buf16 as f32 : !half, %lr = %lr as f32, %mu = %mu as f32 : !num) -> (!half, !half) {
    %mb = arith.mulf %mu, %b : f32
    %b1 = arith.addf %mb, %g : f32
    %st = arith.mulf %lr, %b1 : f32
    %p1 = arith.subf %p, %st : f32
    foreach.yield %p1, %b1 : f32, f32
  }
  return %p1, %b1, %p2, %b2, %norm : !list, !list, !half, !half, !num
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Row softmax, written out, and the sums of its columns: one sweep.
// CHECK-LABEL: fused.program @softmax
// CHECK:         %{{.*}}:2 = fused.sweep schedule #fused.schedule<rows,
// CHECK-SAME:    (%[[L:.*]] = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>) -> (!foreach.list<tensor<?x?xf32>>, !foreach.list<tensor<?xf32>>) {
// CHECK-NEXT:      %[[M:.*]] = fused.reduce max row %[[L]]
// CHECK-NEXT:      %[[D:.*]] = arith.subf %[[L]], %[[M]]
// CHECK-NEXT:      %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT:      %[[S:.*]] = fused.reduce add row %[[E]]
// CHECK-NEXT:      %[[P:.*]] = arith.divf %[[E]], %[[S]]
// CHECK-NEXT:      %[[C:.*]] = fused.reduce add column %[[P]]
// CHECK-NEXT:      fused.yield %[[P]], %[[C]]
// CHECK-NOT:     fused.sweep
// UNFUSED-LABEL: fused.program @softmax
// UNFUSED-COUNT-4: fused.sweep
// UNFUSED-NOT:   fused.sweep
func.func @softmax(%L: !mats) -> (!mats, !vec) {
  %m = foreach.reduce max along j (%l = %L : !mats) -> !vec {
    foreach.yield %l : f32
  }
  %s = foreach.reduce add along j (%l = %L : !mats, %m = %m[i] : !vec) -> !vec {
    %d = arith.subf %l, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %p = foreach.map (%l = %L : !mats, %m = %m[i], %s = %s[i] : !vec) -> !mats {
    %d = arith.subf %l, %m : f32
    %e = math.exp %d : f32
    %q = arith.divf %e, %s : f32
    foreach.yield %q : f32
  }
  %c = foreach.reduce add along i (%p = %p : !mats) -> !vec {
    foreach.yield %p : f32
  }
  return %p, %c : !mats, !vec
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// A fixed point with one flag for all members: one sweep in the loop, and one sweep
// before it for the initial value of the error. x is updated in place.
// CHECK-LABEL: fused.program @uniform
// CHECK:         fused.sweep
// CHECK:         fused.loop
// CHECK-SAME:      result_buffers [0, 4, 5]
// CHECK:           fused.sweep
// CHECK-NOT:       fused.sweep
// CHECK:         fused.yield {{.*}} while
// With a flag per member, each member stops alone and counts its iterations.
// CHECK-LABEL: fused.program @members
// CHECK:         fused.sweep
// CHECK:         fused.loop {{.*}} active %[[ON:.*]]: !foreach.list<tensor<i1>>
// CHECK:           fused.sweep where %[[ON]] :
// CHECK-NOT:       fused.sweep
// CHECK:         fused.yield {{.*}} while
// UNFUSED-LABEL: fused.program @uniform
// UNFUSED:       fused.loop
// UNFUSED-COUNT-2: fused.sweep
// UNFUSED-LABEL: fused.program @members
// UNFUSED:       fused.loop
// UNFUSED-COUNT-4: fused.sweep where
func.func @uniform(%x0: !list {foreach.donate = 0 : i64}, %a: !list, %tol: tensor<f32>, %limit: tensor<i32>) -> (!list, tensor<f32>, tensor<i32>) {
  %x, %err, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, tensor<f32>, tensor<i32>) {
    %x1 = foreach.map (%x = %x, %a = %a : !list) -> !list {
      %h = arith.constant 0.5 : f32
      %q = arith.divf %a, %x : f32
      %s = arith.addf %x, %q : f32
      %y = arith.mulf %s, %h : f32
      foreach.yield %y : f32
    }
    %err = foreach.reduce max along list (%x = %x, %y = %x1 : !list) -> tensor<f32> {
      %d = arith.subf %y, %x : f32
      %e = math.absf %d : f32
      foreach.yield %e : f32
    }
    %more = foreach.map (%e = %err, %t = %tol : tensor<f32>) -> tensor<i1> {
      %c = arith.cmpf ogt, %e, %t : f32
      foreach.yield %c : i1
    }
    foreach.yield %x1, %err while %more : !list, tensor<f32> while tensor<i1>
  }
  return %x, %err, %iterations : !list, tensor<f32>, tensor<i32>
}
func.func @members(%x0: !list, %a: !list, %tol: tensor<f32>, %limit: tensor<i32>) -> (!list, !each, !iteration) {
  %x, %err, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !each, !iteration) {
    %x1 = foreach.map (%x = %x, %a = %a : !list) -> !list {
      %h = arith.constant 0.5 : f32
      %q = arith.divf %a, %x : f32
      %s = arith.addf %x, %q : f32
      %y = arith.mulf %s, %h : f32
      foreach.yield %y : f32
    }
    %err = foreach.reduce max along i (%x = %x, %y = %x1 : !list) -> !each {
      %d = arith.subf %y, %x : f32
      %e = math.absf %d : f32
      foreach.yield %e : f32
    }
    %more = foreach.map (%e = %err : !each, %t = %tol : tensor<f32>) -> !flag {
      %c = arith.cmpf ogt, %e, %t : f32
      foreach.yield %c : i1
    }
    foreach.yield %x1, %err while %more : !list, !each while !flag
  }
  return %x, %err, %iterations : !list, !each, !iteration
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// Both halves of an iteration, the error and the flags: one sweep.
// CHECK-LABEL: fused.program @sinkhorn
// CHECK:         fused.loop
// CHECK:           fused.sweep where
// CHECK-NOT:       fused.sweep
// CHECK:             fused.reduce logsumexp row
// CHECK:             fused.reduce add member
// CHECK:             fused.reduce logsumexp column
// CHECK-NOT:       fused.sweep
// CHECK:         fused.yield {{.*}} while
func.func @sinkhorn(%L: !mats, %log_a: !list, %log_b: !list, %u0: !list, %v0: !list, %tol: !each, %limit: tensor<i32>)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %err, %iterations = foreach.while (%u = %u0, %v = %v0 : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !mats, %vj = %v[j] : !list) -> !list {
      %x = arith.addf %l, %vj : f32
      foreach.yield %x : f32
    }
    %u1 = foreach.map (%la = %log_a, %s = %row : !list) -> !list {
      %x = arith.subf %la, %s : f32
      foreach.yield %x : f32
    }
    %col = foreach.reduce logsumexp along i (%l = %L[i, j] : !mats, %ui = %u1[i] : !list) -> !list {
      %x = arith.addf %l, %ui : f32
      foreach.yield %x : f32
    }
    %v1 = foreach.map (%lb = %log_b, %s = %col : !list) -> !list {
      %x = arith.subf %lb, %s : f32
      foreach.yield %x : f32
    }
    %err = foreach.reduce add along i (%ui = %u, %s = %row, %la = %log_a : !list) -> !each {
      %lr = arith.addf %ui, %s : f32
      %r = math.exp %lr : f32
      %a = math.exp %la : f32
      %d = arith.subf %r, %a : f32
      %x = math.absf %d : f32
      foreach.yield %x : f32
    }
    %more = foreach.map (%e = %err, %t = %tol : !each) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    foreach.yield %u1, %v1, %err while %more : !list, !list, !each while !flag
  }
  return %u, %v, %err, %iterations : !list, !list, !each, !iteration
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

// An update that is skipped if a gradient is not finite: two sweeps.
// CHECK-LABEL: fused.program @skip
// CHECK:         fused.sweep
// CHECK:           fused.reduce any list
// CHECK:         fused.sweep reversed
// CHECK:           arith.select
// CHECK:           and
// CHECK:           arith.select
// CHECK-NOT:     fused.sweep
func.func @skip(%p: !list {foreach.donate = 0 : i64}, %g: !list, %t: !each {foreach.donate = 1 : i64}, %lr: !num) -> (!list, !each) {
  %bad = foreach.reduce any along list (%g = %g : !list) -> tensor<i1> {
    %f = math.isfinite %g : f32
    %true = arith.constant true
    %n = arith.xori %f, %true : i1
    foreach.yield %n : i1
  }
  %ok = foreach.map (%b = %bad : tensor<i1>) -> tensor<i1> {
    %true = arith.constant true
    %n = arith.xori %b, %true : i1
    foreach.yield %n : i1
  }
  %p1, %t1 = foreach.if %ok -> (!list, !each) {
    %a = foreach.map (%p = %p, %g = %g : !list, %lr = %lr as f32 : !num) -> !list {
      %s = arith.mulf %lr, %g : f32
      %q = arith.subf %p, %s : f32
      foreach.yield %q : f32
    }
    %b = foreach.map (%t = %t : !each) -> !each {
      %one = arith.constant 1.0 : f32
      %q = arith.addf %t, %one : f32
      foreach.yield %q : f32
    }
    foreach.yield %a, %b : !list, !each
  } else (%p, %t)
  return %p1, %t1 : !list, !each
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Log-domain matrix balancing: one sweep in the loop, one read and one
// exponential per element. Without fusion there are no hints.
// CHECK-LABEL: fused.program @balance
// CHECK:         fused.loop
// CHECK:           fused.sweep
// CHECK:             %[[R:.*]] = fused.reduce logsumexp row %{{.*}} shift
// CHECK:             fused.reduce logsumexp column %{{.*}} shift %{{.*}} sharing %[[R]]
// CHECK-NOT:       fused.sweep
// CHECK:         fused.yield {{.*}} while
// UNFUSED-LABEL: fused.program @balance
// UNFUSED-NOT:   shift
// UNFUSED-NOT:   sharing
func.func @balance(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs, %limit: tensor<i32>, %go: tensor<i1>) -> (!vecs, !vecs) {
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
  return %p, %q : !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// P^T D P x: a sum over rows, and a sum over columns that depends on it, in one
// sweep with one read of P.
// CHECK-LABEL: fused.program @normal
// CHECK:         fused.sweep
// CHECK-SAME:    (%[[P:.*]] = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %[[X:.*]] = %{{.*}}[j], %[[D:.*]] = %{{.*}}[i] :
// CHECK-NEXT:      %[[PX:.*]] = arith.mulf %[[P]], %[[X]]
// CHECK-NEXT:      %[[R:.*]] = fused.reduce add row %[[PX]]
// CHECK-NEXT:      %[[DR:.*]] = arith.mulf %[[D]], %[[R]]
// CHECK-NEXT:      %[[Q:.*]] = arith.mulf %[[P]], %[[DR]]
// CHECK-NEXT:      %[[C:.*]] = fused.reduce add column %[[Q]]
// CHECK-NEXT:      fused.yield %[[C]]
// CHECK-NOT:     fused.sweep
// UNFUSED-LABEL: fused.program @normal
// UNFUSED-COUNT-3: fused.sweep
func.func @normal(%P: !mats, %d: !vecs, %x: !vecs) -> !vecs {
  %px = foreach.reduce add along j (%p = %P : !mats, %x = %x[j] : !vecs) -> !vecs {
    %y = arith.mulf %p, %x : f32
    foreach.yield %y : f32
  }
  %dpx = foreach.map (%d = %d, %y = %px : !vecs) -> !vecs {
    %z = arith.mulf %d, %y : f32
    foreach.yield %z : f32
  }
  %r = foreach.reduce add along i (%p = %P : !mats, %y = %dpx[i] : !vecs) -> !vecs {
    %z = arith.mulf %p, %y : f32
    foreach.yield %z : f32
  }
  return %r : !vecs
}
