// RUN: %heddle_opt --fused-share-exponentials --split-input-file %s | FileCheck %s
// RUN: %heddle_opt '--fused-share-exponentials=remarks=true' --split-input-file %s 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// CHECK-LABEL: fused.program @balance
// CHECK:       %[[R:.*]] = fused.reduce logsumexp row %{{.*}} shift %{{.*}} : f32
// CHECK:       fused.reduce logsumexp column %{{.*}} shift %{{.*}} sharing %[[R]] : f32
// REMARK: [[#@LINE+9]]:10: remark: a value shares the exponentials of a value: one exponential per element instead of two
fused.program @balance(%M: !mats, %a: !vecs, %b: !vecs, %p: !vecs, %q: !vecs) -> (!vecs, !vecs) {
  %p1, %q1 = fused.sweep (%m = %M : !mats, %a = %a[i], %p = %p[i], %b = %b[j], %q = %q[j] : !vecs) -> (!vecs, !vecs) {
    %s = arith.subf %a, %p : f32
    %t = arith.subf %b, %q : f32
    %x = arith.addf %m, %q : f32
    %r = fused.reduce logsumexp row %x shift %s : f32
    %u = arith.subf %a, %r : f32
    %y = arith.addf %u, %m : f32
    %c = fused.reduce logsumexp column %y shift %t : f32
    %v = arith.subf %b, %c : f32
    fused.yield %u, %v : f32, f32
  }
  fused.yield %p1, %q1 : !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

// A cost times -1/eps for rows and columns, written in three ways: the terms are
// equal.
// CHECK-LABEL: fused.program @scaled
// CHECK:       %[[R:.*]] = fused.reduce logsumexp row
// CHECK:       fused.reduce logsumexp column %{{.*}} sharing %[[R]]
// CHECK:       fused.reduce logsumexp column %{{.*}} sharing %[[R]]
fused.program @scaled(%C: !mats, %D: !mats, %f: !vecs, %g: !vecs, %inv_eps: !num) -> (!vecs, !vecs, !vecs) {
  %r, %c, %d = fused.sweep (%c = %C, %d = %D : !mats, %f = %f[i], %g = %g[j] : !vecs, %ie = %inv_eps as f32 : !num) -> (!vecs, !vecs, !vecs) {
    // (g - C - D/4) * inv_eps
    %quarter = arith.constant 0.25 : f32
    %d4 = arith.mulf %quarter, %d : f32
    %gc = arith.subf %g, %c : f32
    %gcd = arith.subf %gc, %d4 : f32
    %x = arith.mulf %gcd, %ie : f32
    %r = fused.reduce logsumexp row %x shift %f : f32
    // -(inv_eps * C) + (f + r) * inv_eps - inv_eps * D / 4
    %ic = arith.mulf %ie, %c : f32
    %nc = arith.negf %ic : f32
    %fr = arith.addf %f, %r : f32
    %ifr = arith.mulf %fr, %ie : f32
    %y0 = arith.addf %nc, %ifr : f32
    %id = arith.mulf %ie, %d : f32
    %four = arith.constant 4.0 : f32
    %id4 = arith.divf %id, %four : f32
    %y = arith.subf %y0, %id4 : f32
    %q = fused.reduce logsumexp column %y : f32
    // inv_eps * (f - (D/4 + C))
    %dc = arith.addf %d4, %c : f32
    %fdc = arith.subf %f, %dc : f32
    %z = arith.mulf %ie, %fdc : f32
    %s = fused.reduce logsumexp column %z : f32
    fused.yield %r, %q, %s : f32, f32, f32
  }
  fused.yield %r, %c, %d : !vecs, !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f32>

// A value that is neither a sum nor a product with a scalar is one term. Here:
// costs from points, divided by a temperature.
// CHECK-LABEL: fused.program @points
// CHECK:       %[[R:.*]] = fused.reduce logsumexp row
// CHECK:       fused.reduce logsumexp column %{{.*}} sharing %[[R]]
fused.program @points(%a: !vecs, %b: !vecs, %p: !vecs, %q: !vecs, %eps: !num) -> (!vecs, !vecs) {
  %r, %c = fused.sweep (%a = %a[i], %b = %b[j], %p = %p[i], %q = %q[j] : !vecs, %eps = %eps : !num) -> (!vecs, !vecs) {
    %d = arith.subf %a, %b : f32
    %dd = arith.mulf %d, %d : f32
    %l = arith.divf %dd, %eps : f32
    %x = arith.subf %q, %l : f32
    %r = fused.reduce logsumexp row %x shift %p : f32
    %y = arith.subf %r, %l : f32
    %c = fused.reduce logsumexp column %y : f32
    fused.yield %r, %c : f32, f32
  }
  fused.yield %r, %c : !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f32>

// Nothing is shared if the elements, the temperature, the sign or a factor of the
// row differ, or if the reduction over rows has no shift.
// CHECK-LABEL: fused.program @different
// CHECK-NOT:   sharing
// CHECK-LABEL: fused.program @no_shift
// CHECK-NOT:   sharing
// REMARK-COUNT-4: remark: a value and a value compute one exponential each per element: their operands differ by more than row and column values
// REMARK: remark: a value and a value compute one exponential each per element: the reduction over rows has no shift
// REMARK-NOT: remark
fused.program @different(%L: !mats, %M: !mats, %p: !vecs, %s: !num, %t: !num) -> (!vecs, !vecs, !vecs, !vecs, !vecs) {
  %0:5 = fused.sweep (%l = %L, %m = %M : !mats, %p = %p[i] : !vecs, %s = %s, %t = %t : !num) -> (!vecs, !vecs, !vecs, !vecs, !vecs) {
    %ls = arith.mulf %l, %s : f32
    %r = fused.reduce logsumexp row %ls shift %p : f32
    %ms = arith.mulf %m, %s : f32
    %w = fused.reduce logsumexp column %ms : f32
    %lt = arith.mulf %l, %t : f32
    %x = fused.reduce logsumexp column %lt : f32
    %n = arith.negf %ls : f32
    %y = fused.reduce logsumexp column %n : f32
    %lp = arith.mulf %ls, %p : f32
    %z = fused.reduce logsumexp column %lp : f32
    fused.yield %r, %w, %x, %y, %z : f32, f32, f32, f32, f32
  }
  fused.yield %0#0, %0#1, %0#2, %0#3, %0#4 : !vecs, !vecs, !vecs, !vecs, !vecs
}
fused.program @no_shift(%L: !mats) -> (!vecs, !vecs) {
  %r, %c = fused.sweep (%l = %L : !mats) -> (!vecs, !vecs) {
    %r = fused.reduce logsumexp row %l : f32
    %x = arith.subf %l, %r : f32
    %c = fused.reduce logsumexp column %x : f32
    fused.yield %r, %c : f32, f32
  }
  fused.yield %r, %c : !vecs, !vecs
}

// -----

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Other reduction kinds, and reductions of row values, compute no exponential per
// element.
// CHECK-LABEL: fused.program @others
// CHECK-NOT:   sharing
// REMARK-NOT:  remark
fused.program @others(%L: !mats, %p: !vecs) -> (!vecs, !vecs) {
  %r, %c = fused.sweep (%l = %L : !mats, %p = %p[i] : !vecs) -> (!vecs, !vecs) {
    %r = fused.reduce logsumexp row %l shift %p : f32
    %s = fused.reduce logsumexp column %r from element : f32
    %c = fused.reduce max column %l : f32
    %d = arith.addf %s, %c : f32
    fused.yield %r, %d : f32, f32
  }
  fused.yield %r, %c : !vecs, !vecs
}
