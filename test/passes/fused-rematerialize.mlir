// Values that a later sweep recomputes, and values that it reads, because that moves no more bytes.
// RUN: %heddle_opt --fused-rematerialize=remarks=true --split-input-file --verify-diagnostics %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The first sweep stores m1 anyway, and the second reads p.
// CHECK-LABEL: fused.program @from_stored
// CHECK:         %[[A:.+]]:2 = fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>)
// CHECK:         fused.sweep
// CHECK-SAME:      (%[[P:.+]] = %{{.+}} : !foreach.list<tensor<?xf32>>, %[[S:.+]] = %[[A]]#1 : !foreach.list<tensor<f32>>, %[[M:.+]] = %[[A]]#0 : !foreach.list<tensor<?xf32>>)
// CHECK-NEXT:      %[[U:.+]] = arith.addf %[[M]], %[[P]] : f32
// CHECK-NEXT:      arith.mulf %[[U]], %[[S]] : f32
fused.program @from_stored(%m: !list {foreach.donate = 0 : i64} loc("m"), %g: !list, %p: !list {foreach.donate = 1 : i64}) -> (!list, !list) {
  %m1, %u, %s = fused.sweep (%m = %m, %g = %g, %p = %p : !list) -> (!list, !list, !each) {
    %m1 = arith.addf %m, %g : f32
    %u = arith.addf %m1, %p : f32
    %s = fused.reduce add member %u : f32
    fused.yield %m1, %u, %s : f32, f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 4 B per element of 'm'}}
  %p1 = fused.sweep (%p = %p, %u = %u : !list, %s = %s : !each) -> !list {
    %change = arith.mulf %u, %s : f32
    %p1 = arith.subf %p, %change : f32
    fused.yield %p1 : f32
  }
  fused.yield %m1, %p1 : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Neither u nor v alone is worth reading m and g again. m1 replaces m, so it moves with them.
// CHECK-LABEL: fused.program @moves
// CHECK:         fused.sweep
// CHECK-SAME:      -> !foreach.list<tensor<f32>> {
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>)
fused.program @moves(%m: !list {foreach.donate = 0 : i64} loc("m"), %g: !list, %p: !list {foreach.donate = 1 : i64}) -> (!list, !list) {
  %m1, %u, %v, %s = fused.sweep (%m = %m, %g = %g : !list) -> (!list, !list, !list, !each) {
    %m1 = arith.addf %m, %g : f32
    %u = arith.subf %m, %g : f32
    %v = arith.mulf %m, %g : f32
    %w = arith.addf %u, %v : f32
    %s = fused.reduce add member %w : f32
    fused.yield %m1, %u, %v, %s : f32, f32, f32, f32
  }
  // expected-remark@+1 {{a value, a value are computed again in a sweep: saves 8 B per element of 'm'; a value moves there}}
  %p1 = fused.sweep (%p = %p, %u = %u, %v = %v : !list, %s = %s : !each) -> !list {
    %a = arith.mulf %u, %s : f32
    %b = arith.mulf %v, %a : f32
    %p1 = arith.subf %p, %b : f32
    fused.yield %p1 : f32
  }
  fused.yield %m1, %p1 : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// m1 cannot move: a sweep before the reader needs it.
// CHECK-LABEL: fused.program @cannot_move
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>)
fused.program @cannot_move(%m: !list {foreach.donate = 0 : i64} loc("m"), %g: !list loc("g")) -> (!list, !list) {
  %m1, %u, %v, %s = fused.sweep (%m = %m, %g = %g : !list) -> (!list, !list, !list, !each) {
    %m1 = arith.addf %m, %g : f32
    %u = arith.subf %m, %g : f32
    %v = arith.mulf %m, %g : f32
    %w = arith.addf %u, %v : f32
    %s = fused.reduce add member %w : f32
    fused.yield %m1, %u, %v, %s : f32, f32, f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that needs 'm', which a value has replaced}}
  %t = fused.sweep (%m1 = %m1 : !list, %s = %s : !each) -> !each {
    %x = arith.mulf %m1, %s : f32
    %t = fused.reduce add member %x : f32
    fused.yield %t : f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that needs 'm', which a value has replaced}}
  %p1 = fused.sweep (%u = %u, %v = %v : !list, %t = %t : !each) -> !list {
    %a = arith.mulf %u, %t : f32
    %b = arith.mulf %v, %a : f32
    fused.yield %b : f32
  }
  fused.yield %m1, %p1 : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: fused.program @as_many_bytes
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>)
fused.program @as_many_bytes(%a: !list loc("a"), %b: !list loc("b")) -> !list {
  %u, %s = fused.sweep (%a = %a, %b = %b : !list) -> (!list, !each) {
    %u = arith.addf %a, %b : f32
    %s = fused.reduce add member %u : f32
    fused.yield %u, %s : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that moves no fewer bytes, because it reads 'a', 'b'}}
  %y = fused.sweep (%u = %u : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %u, %s : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// An exponential costs as much as 4 bytes. It pays off only if its operand is read anyway.
// CHECK-LABEL: fused.program @exponential
// CHECK:         %[[A:.+]]:2 = fused.sweep
// CHECK:           math.exp
// CHECK:         fused.sweep
// CHECK-NOT:       math.exp
// CHECK:         fused.sweep
// CHECK:           math.exp
fused.program @exponential(%a: !list, %b: !list loc("b")) -> (!list, !list) {
  %u, %s = fused.sweep (%a = %a : !list) -> (!list, !each) {
    %u = math.exp %a : f32
    %s = fused.reduce add member %u : f32
    fused.yield %u, %s : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: its operations take longer}}
  %y = fused.sweep (%u = %u : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %u, %s : f32
    fused.yield %y : f32
  }
  %v, %t = fused.sweep (%b = %b : !list) -> (!list, !each) {
    %v = math.exp %b : f32
    %t = fused.reduce add member %v : f32
    fused.yield %v, %t : f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 8 B per element of 'b'}}
  %z = fused.sweep (%v = %v, %b = %b : !list, %t = %t : !each) -> !list {
    %x = arith.mulf %v, %t : f32
    %z = arith.addf %x, %b : f32
    fused.yield %z : f32
  }
  fused.yield %y, %z : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A value between would be stored and read instead of the result. That is no reason, because 'a' has fewer bytes.
// CHECK-LABEL: fused.program @exponentials
// CHECK:         fused.sweep
// CHECK:         fused.sweep
// CHECK-NOT:       math.exp
fused.program @exponentials(%a: !list loc("a")) -> !list {
  %u, %s = fused.sweep (%a = %a : !list) -> (!list, !each) {
    %d = math.exp %a : f32
    %e = math.exp %d : f32
    %u = math.exp %e : f32
    %s = fused.reduce add member %u : f32
    fused.yield %u, %s : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: its operations take longer}}
  %y = fused.sweep (%u = %u : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %u, %s : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>

// The recomputed value is rounded as the list rounds it.
// CHECK-LABEL: fused.program @rounds
// CHECK:         fused.sweep
// CHECK:         fused.sweep
// CHECK:           %[[U:.+]] = arith.mulf
// CHECK-NEXT:      %[[T:.+]] = arith.truncf %[[U]] : f32 to bf16
// CHECK-NEXT:      %[[E:.+]] = arith.extf %[[T]] : bf16 to f32
// CHECK-NEXT:      arith.mulf %[[E]]
fused.program @rounds(%a: !list loc("a")) -> !list {
  %u, %s = fused.sweep (%a = %a : !list) -> (!half, !each) {
    %u = arith.mulf %a, %a : f32
    %s = fused.reduce add member %u : f32
    fused.yield %u, %s : f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 4 B per element of 'a'}}
  %y = fused.sweep (%u = %u as f32 : !half, %a = %a : !list, %s = %s : !each) -> !list {
    %x = arith.mulf %u, %s : f32
    %y = arith.addf %x, %a : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Two lists follow from one value, which is stored in their place.
// CHECK-LABEL: fused.program @stores_another
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<f32>>, !foreach.list<tensor<?xf32>>) {
// CHECK:           %[[C:.+]] = arith.mulf
// CHECK:           fused.yield %{{.+}}, %[[C]]
fused.program @stores_another(%a: !list loc("a"), %b: !list) -> !list {
  %u, %v, %s = fused.sweep (%a = %a, %b = %b : !list) -> (!list, !list, !each) {
    %c = arith.mulf %a, %b : f32
    %u = arith.negf %c : f32
    %v = math.absf %c : f32
    %w = arith.addf %u, %v : f32
    %s = fused.reduce add member %w : f32
    fused.yield %u, %v, %s : f32, f32, f32
  }
  // expected-remark@+1 {{a value, a value are computed again in a sweep: saves 8 B per element of 'a'}}
  %y = fused.sweep (%u = %u, %v = %v : !list, %s = %s : !each) -> !list {
    %x = arith.mulf %u, %s : f32
    %y = arith.addf %x, %v : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

// Expensive scalar math stays in the first sweep, which stores its result. The step counter is replaced there.
// CHECK-LABEL: fused.program @member_scalar
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<f32>>, !foreach.list<tensor<f32>>, !foreach.list<tensor<f32>>) {
// CHECK:           math.powf
// CHECK:         fused.sweep
// CHECK-NOT:       math.powf
// CHECK:         fused.yield
fused.program @member_scalar(%m: !list loc("m"), %t: !each {foreach.donate = 0 : i64} loc("t")) -> (!each, !list) {
  %t1, %u, %s = fused.sweep (%m = %m : !list, %t = %t : !each) -> (!each, !list, !each) {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    %power = math.powf %one, %t1 : f32
    %u = arith.mulf %m, %power : f32
    %s = fused.reduce add member %u : f32
    fused.yield %t1, %u, %s : f32, f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 8 B per element of 'm', and moves 8 B per member of 't' instead}}
  %y = fused.sweep (%u = %u, %m = %m : !list, %s = %s : !each) -> !list {
    %x = arith.mulf %u, %s : f32
    %y = arith.addf %x, %m : f32
    fused.yield %y : f32
  }
  fused.yield %t1, %y : !each, !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Values of rows are recomputed, too. A reduction is not.
// CHECK-LABEL: fused.program @rows
// CHECK:         %[[A:.+]]:2 = fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>) {
// CHECK:         fused.sweep
// CHECK:           %[[Q:.+]] = arith.mulf %[[R:.+]], %[[R]] : f32
fused.program @rows(%x: !mats loc("x"), %v: !list loc("v")) -> (!mats, !list) {
  %r, %q, %s = fused.sweep (%x = %x[i, j] : !mats, %v = %v[i] : !list) -> (!list, !list, !each) {
    %r = fused.reduce add row %x : f32
    %q = arith.mulf %r, %r : f32
    %s = fused.reduce add member %q : f32
    fused.yield %r, %q, %s : f32, f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 8 B per element of 'v'}}
  %y = fused.sweep (%x = %x[i, j] : !mats, %r = %r[i], %q = %q[i] : !list, %s = %s : !each) -> !mats {
    %a = arith.mulf %x, %q : f32
    %b = arith.mulf %a, %r : f32
    %y = arith.mulf %b, %s : f32
    fused.yield %y : f32
  }
  fused.yield %y, %r : !mats, !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A value of a column would be computed once for each element.
// CHECK-LABEL: fused.program @columns
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>) {
fused.program @columns(%x: !mats loc("x"), %v: !list loc("v")) -> !mats {
  %q, %s = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!list, !each) {
    %q = arith.mulf %v, %v : f32
    %a = arith.mulf %x, %q : f32
    %s = fused.reduce add member %a : f32
    fused.yield %q, %s : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: its operations take longer}}
  %y = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j], %q = %q[j] : !list, %s = %s : !each) -> !mats {
    %a = arith.mulf %x, %q : f32
    %b = arith.mulf %a, %v : f32
    %y = arith.mulf %b, %s : f32
    fused.yield %y : f32
  }
  fused.yield %y : !mats
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A sweep that reduces does not begin to visit rows, because that would change the order of its sums.
// CHECK-LABEL: fused.program @keeps_order
// CHECK:         fused.sweep
// CHECK:         fused.sweep
// CHECK-SAME:      !foreach.list<tensor<?x?xf32>>, %{{.+}} = %{{.+}} : !foreach.list<tensor<f32>>) -> !foreach.list<tensor<f32>> {
fused.program @keeps_order(%x: !mats loc("x"), %v: !list loc("v")) -> !each {
  %u, %s = fused.sweep (%x = %x[i, j] : !mats, %v = %v[i] : !list) -> (!mats, !each) {
    %u = arith.mulf %x, %v : f32
    %s = fused.reduce add member %u : f32
    fused.yield %u, %s : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that needs 'v', which it cannot read without another order of its sums}}
  %t = fused.sweep (%x = %x, %u = %u : !mats, %s = %s : !each) -> !each {
    %a = arith.mulf %u, %s : f32
    %b = arith.addf %a, %x : f32
    %t = fused.reduce add member %b : f32
    fused.yield %t : f32
  }
  fused.yield %t : !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The first of two readers computes u although that saves nothing by itself: then no sweep reads u.
// CHECK-LABEL: fused.program @two_readers
// CHECK:         fused.sweep
// CHECK-SAME:      -> !foreach.list<tensor<f32>> {
fused.program @two_readers(%a: !list loc("a")) -> !list {
  %u, %s = fused.sweep (%a = %a : !list) -> (!list, !each) {
    %u = arith.mulf %a, %a : f32
    %s = fused.reduce add member %u : f32
    fused.yield %u, %s : f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves no bytes by itself}}
  %t = fused.sweep (%u = %u : !list, %s = %s : !each) -> !each {
    %x = arith.subf %u, %s : f32
    %t = fused.reduce max member %x : f32
    fused.yield %t : f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 4 B per element of 'a'}}
  %y = fused.sweep (%u = %u : !list, %t = %t : !each) -> !list {
    %y = arith.mulf %u, %t : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The second sweep reads p, which the first would replace. Computed there, q needs no temporary and no copy.
// CHECK-LABEL: fused.program @instead_of_a_copy
// CHECK:         fused.sweep
// CHECK-SAME:      -> !foreach.list<tensor<f32>> {
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>) {
fused.program @instead_of_a_copy(%p: !list {foreach.donate = 0 : i64} loc("p"), %g: !list) -> (!list, !list) {
  %q, %s = fused.sweep (%p = %p, %g = %g : !list) -> (!list, !each) {
    %q = arith.addf %p, %g : f32
    %s = fused.reduce add member %q : f32
    fused.yield %q, %s : f32, f32
  }
  // expected-remark@+1 {{a value moves to a sweep, which reads 'p': saves 4 B per element of 'p'}}
  %y = fused.sweep (%p = %p : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %p, %s : f32
    fused.yield %y : f32
  }
  fused.yield %q, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The new value is several operations away from the arguments. Reading g again is cheaper than the copy of q.
// CHECK-LABEL: fused.program @chain_instead_of_a_copy
// CHECK:         fused.sweep
// CHECK-SAME:      -> !foreach.list<tensor<f32>> {
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>) {
fused.program @chain_instead_of_a_copy(%p: !list {foreach.donate = 0 : i64} loc("p"), %g: !list loc("g")) -> (!list, !list) {
  %q, %s = fused.sweep (%p = %p, %g = %g : !list) -> (!list, !each) {
    %c = arith.constant 0.1 : f32
    %t = arith.mulf %c, %g : f32
    %u = arith.addf %t, %c : f32
    %v = arith.mulf %u, %t : f32
    %q = arith.subf %p, %v : f32
    %s = fused.reduce add member %q : f32
    fused.yield %q, %s : f32, f32
  }
  // expected-remark@+1 {{a value moves to a sweep, which reads 'p': saves 4 B per element of 'p'}}
  %y = fused.sweep (%p = %p : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %p, %s : f32
    fused.yield %y : f32
  }
  fused.yield %q, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The reader also reads q. It reads g again, and no new list holds t.
// CHECK-LABEL: fused.program @argument_instead_of_a_temporary
// CHECK:         fused.sweep
// CHECK-SAME:      -> !foreach.list<tensor<f32>> {
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>) {
fused.program @argument_instead_of_a_temporary(%p: !list {foreach.donate = 0 : i64} loc("p"), %g: !list loc("g")) -> (!list, !list) {
  %q, %s = fused.sweep (%p = %p, %g = %g : !list) -> (!list, !each) {
    %c = arith.constant 0.1 : f32
    %t = arith.mulf %c, %g : f32
    %q = arith.subf %p, %t : f32
    %s = fused.reduce add member %q : f32
    fused.yield %q, %s : f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 8 B per element of 'p'; a value moves there}}
  %y = fused.sweep (%p = %p, %q = %q : !list, %s = %s : !each) -> !list {
    %x = arith.mulf %p, %s : f32
    %y = arith.addf %x, %q : f32
    fused.yield %y : f32
  }
  fused.yield %q, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The copy of q moves as many bytes as another list for v.
// CHECK-LABEL: fused.program @copy
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>) {
fused.program @copy(%p: !list {foreach.donate = 0 : i64} loc("p"), %g: !list loc("g"), %h: !list loc("h")) -> (!list, !list) {
  %q, %s = fused.sweep (%p = %p, %g = %g, %h = %h : !list) -> (!list, !each) {
    %t = arith.mulf %h, %g : f32
    %u = arith.mulf %t, %g : f32
    %v = arith.mulf %u, %h : f32
    %q = arith.subf %p, %v : f32
    %s = fused.reduce add member %q : f32
    fused.yield %q, %s : f32, f32
  }
  // expected-remark@+1 {{a value does not move to a sweep, which reads 'p': that moves no fewer bytes, because it stores and reads a value}}
  %y = fused.sweep (%p = %p : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %p, %s : f32
    fused.yield %y : f32
  }
  fused.yield %q, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Another sweep reads q before.
// CHECK-LABEL: fused.program @read_before
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>) {
fused.program @read_before(%p: !list {foreach.donate = 0 : i64} loc("p"), %g: !list loc("g"), %h: !list loc("h")) -> (!list, !list, !each) {
  %q, %s = fused.sweep (%p = %p, %g = %g, %h = %h : !list) -> (!list, !each) {
    %t = arith.mulf %h, %g : f32
    %q = arith.subf %p, %t : f32
    %s = fused.reduce add member %q : f32
    fused.yield %q, %s : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that needs 'p', which a value has replaced}}
  %t = fused.sweep (%q = %q : !list, %s = %s : !each) -> !each {
    %x = arith.mulf %q, %s : f32
    %t = fused.reduce add member %x : f32
    fused.yield %t : f32
  }
  // expected-remark@+1 {{a value does not move to a sweep, which reads 'p': an earlier operation reads it}}
  %y = fused.sweep (%p = %p : !list, %t = %t : !each) -> !list {
    %y = arith.mulf %p, %t : f32
    fused.yield %y : f32
  }
  fused.yield %q, %y, %t : !list, !list, !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// u needs n, which a list holds. That list needs m, which n has replaced, but the reader need not compute n.
// CHECK-LABEL: fused.program @replaced_behind_a_list
fused.program @replaced_behind_a_list(%m: !list {foreach.donate = 0 : i64} loc("m"), %g: !list loc("g")) -> (!list, !list) {
  %n, %u, %s = fused.sweep (%m = %m, %g = %g : !list) -> (!list, !list, !each) {
    %n = arith.addf %m, %g : f32
    %u = arith.mulf %n, %g : f32
    %s = fused.reduce add member %u : f32
    fused.yield %n, %u, %s : f32, f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that moves no fewer bytes, because it reads a value, 'g'}}
  %y = fused.sweep (%u = %u : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %u, %s : f32
    fused.yield %y : f32
  }
  fused.yield %n, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The second sweep does not need the first and can run before it.
// CHECK-LABEL: fused.program @runs_first
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>) {
fused.program @runs_first(%p: !list {foreach.donate = 0 : i64}, %g: !list, %s: !each) -> (!list, !each, !list) {
  %q, %t = fused.sweep (%p = %p, %g = %g : !list) -> (!list, !each) {
    %q = arith.addf %p, %g : f32
    %t = fused.reduce add member %q : f32
    fused.yield %q, %t : f32, f32
  }
  %y = fused.sweep (%p = %p : !list, %s = %s : !each) -> !list {
    %y = arith.mulf %p, %s : f32
    fused.yield %y : f32
  }
  fused.yield %q, %t, %y : !list, !each, !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!wide = !foreach.list<tensor<?x?xf64>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A value of columns that is stored for each element stays in its list.
// CHECK-LABEL: fused.program @columns_as_elements
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?x?xf64>>, !foreach.list<tensor<f32>>) {
fused.program @columns_as_elements(%x: !mats, %v: !list) -> !mats {
  %u, %s = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!wide, !each) {
    %u = arith.mulf %v, %v : f32
    %s = fused.reduce add member %x : f32
    fused.yield %u, %s : f32, f32
  }
  %y = fused.sweep (%x = %x[i, j] : !mats, %u = %u[i, j] as f32 : !wide, %s = %s : !each) -> !mats {
    %a = arith.mulf %x, %u : f32
    %y = arith.mulf %a, %s : f32
    fused.yield %y : f32
  }
  fused.yield %y : !mats
}

// -----

!list = !foreach.list<tensor<?xf32>>
!single = tensor<f32>

// The first sweep replaces the counter, so its epilogue stores the old value, too.
// CHECK-LABEL: fused.program @device_counter
// CHECK:         %[[ENDS:.*]]:2, %[[OLD:.*]] = fused.sweep
// CHECK-SAME:      -> tensor<f32> {
// CHECK:         epilogue [{{.*}}] (%[[T:.*]] = %{{.*}} : tensor<f32>) -> (tensor<f32>, tensor<f32>)
// CHECK:           fused.yield %{{.*}}, %[[T]] : f32, f32
// CHECK:         fused.sweep ({{.*}} = %[[OLD]] : tensor<f32>)
// CHECK:         fused.yield %[[ENDS]]#1,
fused.program @device_counter(%m: !list, %t: !single {foreach.donate = 0 : i64} loc("t")) -> (!single, !list) {
  %u, %s, %t1 = fused.sweep (%m = %m : !list, %t = %t : !single) -> (!list, !single) {
    %u = arith.mulf %m, %t : f32
    %s = fused.reduce add list %u : f32
    fused.yield %u, %s : f32, f32
  } epilogue [%s : f32] (%t = %t : !single) -> !single {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    fused.yield %t1 : f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep: saves 8 B per element}}
  %y = fused.sweep (%u = %u, %m = %m : !list, %s = %s : !single) -> !list {
    %x = arith.mulf %u, %s : f32
    %y = arith.addf %x, %m : f32
    fused.yield %y : f32
  }
  fused.yield %t1, %y : !single, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!single = tensor<f32>

// The epilogue does not read the counter that it replaces.
// CHECK-LABEL: fused.program @device_counter_of_nothing
// CHECK:         fused.sweep
// CHECK-SAME:      -> (!foreach.list<tensor<?xf32>>, tensor<f32>) {
fused.program @device_counter_of_nothing(%m: !list, %t: !single {foreach.donate = 0 : i64} loc("t")) -> (!single, !list) {
  %u, %s, %t1 = fused.sweep (%m = %m : !list, %t = %t : !single) -> (!list, !single) {
    %u = arith.mulf %m, %t : f32
    %s = fused.reduce add list %u : f32
    fused.yield %u, %s : f32, f32
  } epilogue [%s : f32] () -> !single {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %s, %one : f32
    fused.yield %t1 : f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again: that needs 't', which a value has replaced}}
  %y = fused.sweep (%u = %u, %m = %m : !list, %s = %s : !single) -> !list {
    %x = arith.mulf %u, %s : f32
    %y = arith.addf %x, %m : f32
    fused.yield %y : f32
  }
  fused.yield %t1, %y : !single, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!numbers = !foreach.list<tensor<?xi64>>
!flags = !foreach.list<tensor<?xi8>>
!mats = !foreach.list<tensor<?x?xf32>>
!matsOfNumbers = !foreach.list<tensor<?x?xi64>>

// The elements of a vector are the rows or columns of the reader.
// CHECK-LABEL: fused.program @positions_of_rows_and_columns
// CHECK:         foreach.index j : i64
// CHECK:         foreach.index i : i64
// CHECK-NEXT:    foreach.extent i : i64
fused.program @positions_of_rows_and_columns(%x: !list, %m: !mats) -> (!flags, !matsOfNumbers, !matsOfNumbers) {
  %c, %p, %k = fused.sweep (%x = %x : !list) -> (!flags, !numbers, !numbers) {
    %one = arith.constant 1 : i8
    %p = foreach.index member : i64
    %n = foreach.extent member : i64
    %k = arith.addi %p, %n : i64
    fused.yield %one, %p, %k : i8, i64, i64
  }
  // expected-remark@+1 {{a value is computed again in a sweep}}
  %a = fused.sweep (%p = %p[j] : !numbers, %m = %m[i, j] : !mats) -> !matsOfNumbers {
    fused.yield %p : i64
  }
  // expected-remark@+1 {{a value is computed again in a sweep}}
  %b = fused.sweep (%k = %k[i] : !numbers, %m = %m[i, j] : !mats) -> !matsOfNumbers {
    fused.yield %k : i64
  }
  fused.yield %c, %a, %b : !flags, !matsOfNumbers, !matsOfNumbers
}

// -----

!list = !foreach.list<tensor<?xf32>>
!numbers = !foreach.list<tensor<?xi64>>
!flags = !foreach.list<tensor<?xi8>>
!mats = !foreach.list<tensor<?x?xf32>>

// A sweep over the rows does not have the number of columns.
// CHECK-LABEL: fused.program @columns_of_rows
// CHECK:         foreach.extent j : i64
// CHECK:         fused.sweep (%{{.*}} = %{{.*}}#1 :
// CHECK-NOT:     foreach.extent
// CHECK:         fused.yield
fused.program @columns_of_rows(%x: !list, %m: !mats) -> (!numbers, !numbers) {
  %c, %k = fused.sweep (%x = %x[i] : !list, %m = %m[i, j] : !mats) -> (!numbers, !numbers) {
    %p = foreach.index i : i64
    %n = foreach.extent j : i64
    %k = arith.addi %p, %n : i64
    fused.yield %p, %k : i64, i64
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again}}
  %b = fused.sweep (%k = %k : !numbers, %x = %x : !list) -> !numbers {
    %t = arith.fptosi %x : f32 to i64
    %u = arith.addi %t, %k : i64
    fused.yield %u : i64
  }
  fused.yield %c, %b : !numbers, !numbers
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// Two sweeps need the root of a value of the row, which the first sweep stores anyway. A root costs less than half of a
// write, so both compute it.
// CHECK-LABEL: fused.program @roots_of_rows
// CHECK:         %[[A:.+]] = fused.sweep
// CHECK-NOT:       rsqrt
// CHECK:         fused.sweep
// CHECK:           math.rsqrt
// CHECK:         fused.sweep
// CHECK:           math.rsqrt
// CHECK:         fused.yield
fused.program @roots_of_rows(%m: !mats {foreach.donate = 0 : i64} loc("m"), %v: !list {foreach.donate = 1 : i64} loc("v")) -> (!mats, !list) {
  %s, %root = fused.sweep (%m = %m[i, j] : !mats, %v = %v[i] : !list) -> (!list, !list) {
    %sum = fused.reduce add row %m : f32
    %s = arith.addf %sum, %v : f32
    %root = math.rsqrt %s : f32
    fused.yield %s, %root : f32, f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep}}
  %t = fused.sweep (%m = %m[i, j] : !mats, %r = %root[i] : !list) -> !each {
    %scaled = arith.mulf %m, %r : f32
    %t = fused.reduce add member %scaled : f32
    fused.yield %t : f32
  }
  // expected-remark@+1 {{a value is computed again in a sweep}}
  %m1 = fused.sweep (%m = %m[i, j] : !mats, %r = %root[i] : !list, %t = %t : !each) -> !mats {
    %scaled = arith.mulf %m, %r : f32
    %m1 = arith.subf %scaled, %t : f32
    fused.yield %m1 : f32
  }
  fused.yield %m1, %s : !mats, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// The root is a value of columns, too, which would be computed for each element. So it is written, and read.
// CHECK-LABEL: fused.program @roots_of_rows_and_columns
// CHECK:         fused.sweep
// CHECK:           math.rsqrt
// CHECK:         fused.sweep
// CHECK-NOT:       math.rsqrt
// CHECK:         fused.yield %{{.*}}, %{{.*}} : !foreach.list<tensor<?x?xf32>>, !foreach.list<tensor<?xf32>>
fused.program @roots_of_rows_and_columns(%m: !mats {foreach.donate = 0 : i64} loc("m"), %v: !list {foreach.donate = 1 : i64} loc("v")) -> (!mats, !list) {
  %s, %root = fused.sweep (%m = %m[i, j] : !mats, %v = %v[i] : !list) -> (!list, !list) {
    %sum = fused.reduce add row %m : f32
    %s = arith.addf %sum, %v : f32
    %root = math.rsqrt %s : f32
    fused.yield %s, %root : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again}}
  %t = fused.sweep (%m = %m[i, j] : !mats, %r = %root[i], %c = %root[j] : !list) -> !each {
    %scaled = arith.mulf %m, %r : f32
    %both = arith.mulf %scaled, %c : f32
    %t = fused.reduce add member %both : f32
    fused.yield %t : f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again}}
  %m1 = fused.sweep (%m = %m[i, j] : !mats, %r = %root[i], %c = %root[j] : !list, %t = %t : !each) -> !mats {
    %scaled = arith.mulf %m, %r : f32
    %both = arith.mulf %scaled, %c : f32
    %m1 = arith.subf %both, %t : f32
    fused.yield %m1 : f32
  }
  fused.yield %m1, %s : !mats, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// The first of three readers reads the root as a value of columns, so the list is written, and the others read it.
// CHECK-LABEL: fused.program @roots_that_are_written
// CHECK:         fused.sweep
// CHECK:           math.rsqrt
// CHECK-NOT:       math.rsqrt
// CHECK:         fused.yield %{{.*}}, %{{.*}} : !foreach.list<tensor<?x?xf32>>, !foreach.list<tensor<?xf32>>
fused.program @roots_that_are_written(%m: !mats {foreach.donate = 0 : i64} loc("m"), %v: !list {foreach.donate = 1 : i64} loc("v")) -> (!mats, !list) {
  %s, %root = fused.sweep (%m = %m[i, j] : !mats, %v = %v[i] : !list) -> (!list, !list) {
    %sum = fused.reduce add row %m : f32
    %s = arith.addf %sum, %v : f32
    %root = math.rsqrt %s : f32
    fused.yield %s, %root : f32, f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again}}
  %t = fused.sweep (%m = %m[i, j] : !mats, %c = %root[j] : !list) -> !each {
    %scaled = arith.mulf %m, %c : f32
    %t = fused.reduce add member %scaled : f32
    fused.yield %t : f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again}}
  %u = fused.sweep (%m = %m[i, j] : !mats, %r = %root[i] : !list, %t = %t : !each) -> !each {
    %scaled = arith.mulf %m, %r : f32
    %moved = arith.subf %scaled, %t : f32
    %u = fused.reduce add member %moved : f32
    fused.yield %u : f32
  }
  // expected-remark@+1 {{a value is read by a sweep and not computed again}}
  %m1 = fused.sweep (%m = %m[i, j] : !mats, %r = %root[i] : !list, %u = %u : !each) -> !mats {
    %scaled = arith.mulf %m, %r : f32
    %m1 = arith.subf %scaled, %u : f32
    fused.yield %m1 : f32
  }
  fused.yield %m1, %s : !mats, !list
}
