// Buffers of values: in place, results, shared temporaries.
// RUN: %heddle_opt --fused-assign-buffers --split-input-file %s | FileCheck %s
// RUN: %heddle_opt --fused-assign-buffers=remarks=true --split-input-file %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Donated arguments are updated in place: elements, member scalars, device
// scalars.
// CHECK-LABEL: fused.program @in_place
// CHECK-SAME:    buffers = [], result_buffers = array<i64: 0, 2, 3>
// CHECK:         fused.sweep result_buffers [0, 2, 3] (
fused.program @in_place(%p: !list {foreach.donate = 0 : i64}, %g: !list, %t: !each {foreach.donate = 1 : i64},
                       %n: tensor<f32> {foreach.donate = 2 : i64}) -> (!list, !each, tensor<f32>) {
  %p1, %t1, %n1 = fused.sweep (%p = %p, %g = %g : !list, %t = %t : !each, %n = %n : tensor<f32>) -> (!list, !each) {
    %a = arith.addf %p, %g : f32
    %b = arith.addf %t, %n : f32
    fused.yield %a, %b : f32, f32
  } epilogue [] (%n = %n : tensor<f32>) -> tensor<f32> {
    %m = arith.addf %n, %n : f32
    fused.yield %m : f32
  }
  fused.yield %p1, %t1, %n1 : !list, !each, tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// Results and temporaries, with their extents. A value that only the epilogue
// reads has no buffer.
// CHECK-LABEL: fused.program @roles
// CHECK-SAME:    buffers = [#fused.buffer<"y", result, !foreach.list<tensor<?xf32>>, extents = {{\[\[}}0, 0]], members = 0>, #fused.buffer<"n", temporary, tensor<f64>>]
// CHECK-SAME:    result_buffers = array<i64: 1>
// CHECK:         result_buffers [-1, 2] (
// CHECK:         result_buffers [1] (
fused.program @roles(%x: !list loc("x")) -> !list {
  %s, %n = fused.sweep (%x = %x as f64 : !list) -> !num {
    %s = fused.reduce add list %x : f64
    fused.yield %s : f64
  } epilogue [%s : f64] () -> !num {
    %n = math.sqrt %s : f64
    fused.yield %n : f64
  } loc(fused[callsite("s" at "k"), "n"])
  %y = fused.sweep (%x = %x : !list, %n = %n as f32 : !num) -> !list {
    %y = arith.divf %x, %n : f32
    fused.yield %y : f32
  } loc("y")
  fused.yield %y : !list
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// A sweep by rows reads the matrix more than once, and overwrites it in the
// last traversal of a row.
// CHECK-LABEL: fused.program @matrix
// CHECK-SAME:    buffers = []
// CHECK-SAME:    result_buffers = array<i64: 0, 1, 2>
// CHECK:         result_buffers [0, 1, 2] (
fused.program @matrix(%l: !mats {foreach.donate = 0 : i64}, %u: !vec {foreach.donate = 1 : i64}, %v: !vec {foreach.donate = 2 : i64}) -> (!mats, !vec, !vec) {
  %p, %r, %c = fused.sweep (%l = %l[i, j] : !mats, %u = %u[i], %v = %v[j] : !vec) -> (!mats, !vec, !vec) {
    %x = arith.addf %l, %u : f32
    %y = arith.addf %x, %v : f32
    %r = fused.reduce add row %y : f32
    %q = arith.divf %y, %r : f32
    %c = fused.reduce add column %q : f32
    fused.yield %q, %r, %c : f32, f32, f32
  }
  fused.yield %p, %r, %c : !mats, !vec, !vec
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// An old value that is read later is kept: the new value is computed in a
// temporary and copied at the end.
// REMARK: remark: a value is copied to the buffer of a value at the end: the old value is read again later
// CHECK-LABEL: fused.program @read_again
// CHECK-SAME:    #fused.buffer<"temporary", temporary,
// CHECK-SAME:    result_buffers = array<i64: 0, 1>
// CHECK:         result_buffers [2] (
// CHECK:         result_buffers [1] (
fused.program @read_again(%p: !list {foreach.donate = 0 : i64}) -> (!list, !list) {
  %a = fused.sweep (%p = %p : !list) -> !list {
    %a = arith.addf %p, %p : f32
    fused.yield %a : f32
  }
  %b = fused.sweep (%p = %p, %a = %a : !list) -> !list {
    %b = arith.mulf %p, %a : f32
    fused.yield %b : f32
  }
  fused.yield %a, %b : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// A sweep that reads the old value, and not the new one, moves to the front.
// CHECK-LABEL: fused.program @read_first
// CHECK-NOT:     "temporary"
// CHECK:         result_buffers [1] (
// CHECK:           arith.mulf
// CHECK:         result_buffers [0] (
// CHECK:           arith.addf
fused.program @read_first(%p: !list {foreach.donate = 0 : i64}) -> (!list, !list) {
  %a = fused.sweep (%p = %p : !list) -> !list {
    %a = arith.addf %p, %p : f32
    fused.yield %a : f32
  }
  %b = fused.sweep (%p = %p : !list) -> !list {
    %b = arith.mulf %p, %p : f32
    fused.yield %b : f32
  }
  fused.yield %a, %b : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>

// Temporaries of one type and shape share a buffer if their lifetimes do not
// overlap (a and c), or in place (e over c). Other types have buffers of their
// own.
// CHECK-LABEL: fused.program @share
// CHECK-SAME:    buffers = [#fused.buffer<"{{.*}}", result, {{.*}}>, #fused.buffer<"{{.*}}", temporary, {{.*}}>, #fused.buffer<"{{.*}}", temporary, {{.*}}xbf16{{.*}}>]
// CHECK:         result_buffers [2] (
// CHECK:         result_buffers [3] (
// CHECK:         result_buffers [2] (
// CHECK:         result_buffers [2] (
// CHECK:         result_buffers [1] (
fused.program @share(%x: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  %b = fused.sweep (%x = %a : !list) -> !half {
    fused.yield %x : f32
  }
  %c = fused.sweep (%x = %b as f32 : !half) -> !list {
    fused.yield %x : f32
  }
  %e = fused.sweep (%x = %c : !list) -> !list {
    fused.yield %x : f32
  }
  %f = fused.sweep (%x = %e, %y = %e : !list) -> !list {
    %z = arith.addf %x, %y : f32
    fused.yield %z : f32
  }
  fused.yield %f : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// A carried value has one buffer: for x, the donated argument's. y is not
// donated, so its initial value is copied to the buffer of its result.
// CHECK-LABEL: fused.program @loop
// CHECK-SAME:    buffers = [#fused.buffer<"{{.*}}", result, !foreach.list<tensor<?xf32>>, {{.*}}>, #fused.buffer<"{{.*}}", result, tensor<i32>>, #fused.buffer<"{{.*}}", temporary, tensor<i1>>]
// CHECK-SAME:    result_buffers = array<i64: 0, 3, 4>
// CHECK:         fused.loop result_buffers [0, 3, 4] condition_buffer 5 (
// CHECK:           fused.sweep result_buffers [0, 3, 5] (
fused.program @loop(%x0: !list {foreach.donate = 0 : i64}, %y0: !list, %n: tensor<i32>) -> (!list, !list, tensor<i32>) {
  %x, %y, %t = fused.loop (%x = %x0, %y = %y0 : !list) upto %n -> (!list, !list, tensor<i32>) {
    %a, %b, %m = fused.sweep (%x = %x, %y = %y : !list) -> (!list, !list) {
      %a = arith.addf %x, %y : f32
      fused.yield %a, %x : f32, f32
    } epilogue [] () -> tensor<i1> {
      %true = arith.constant true
      fused.yield %true : i1
    }
    fused.yield %a, %b while %m : !list, !list while tensor<i1>
  }
  fused.yield %x, %y, %t : !list, !list, tensor<i32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// Flags of members are overwritten in place; one device scalar counts the
// iterations. The new x is copied at the end of the body, because the old x is
// read again. The copied value has a buffer of its own, so stopped members keep
// their values.
// CHECK-LABEL: fused.program @members
// CHECK-SAME:    #fused.buffer<"temporary_2", temporary, !foreach.list<tensor<?xf32>>
// CHECK:         fused.loop result_buffers [2, [[ITERATIONS:[0-9]+]]] condition_buffer [[FLAGS:[0-9]+]] (
// CHECK:           result_buffers {{\[}}[[Y:[0-9]+]]] (
// CHECK:           result_buffers {{\[}}[[FLAGS]]] (
// REMARK: remark: a value is copied to the buffer of 'x' at the end: the old value is read again later
fused.program @members(%x0: !list, %n: tensor<i32>) -> !list {
  %x, %t = fused.loop (%x = %x0 : !list) upto %n active %on : !flag -> (!list, !iteration) {
    %y = fused.sweep where %on : !flag (%x = %x : !list) -> !list {
      %y = math.sqrt %x : f32
      fused.yield %y : f32
    }
    %more = fused.sweep where %on : !flag (%x = %x, %y = %y : !list) -> !flag {
      %d = arith.subf %x, %y : f32
      %m = fused.reduce max member %d : f32
      %zero = arith.constant 0.0 : f32
      %c = arith.cmpf ogt, %m, %zero : f32
      fused.yield %c : i1
    }
    fused.yield %y while %more : !list while !flag
  }
  fused.yield %x : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// Results have buffers of their own, also if they have the same value or are an
// argument: the value is copied at the end.
// CHECK-LABEL: fused.program @same
// CHECK-SAME:    result_buffers = array<i64: 1, 2, 3>
fused.program @same(%x: !list) -> (!list, !list, !list) {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  fused.yield %a, %a, %x : !list, !list, !list
}
