// Sweeps of loops with the schedule `panel`, and reasons against it.
// RUN: %heddle_opt --fused-schedule=remarks=true --split-input-file %s -o /dev/null 2>&1 | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// Rows are reduced, and then, from the results, columns.
// CHECK: remark: a sweep has the schedule 'panel': a loop that reduces rows and then columns in every iteration keeps columns on chip and reads each element once
fused.program @sums(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// Sums of exponentials with a shift and shared exponentials.
// CHECK: remark: a sweep has the schedule 'panel': a loop that reduces rows and then columns in every iteration keeps columns on chip and reads each element once
fused.program @exponentials(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j], %u = %u[i] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.addf %x, %v : f32
      %row_shift = arith.subf %t, %u : f32
      %r = fused.reduce logsumexp row %m shift %row_shift : f32
      %d = arith.subf %t, %r : f32
      %n = arith.addf %x, %d : f32
      %shift = arith.subf %t, %v : f32
      %c = fused.reduce logsumexp column %n shift %shift sharing %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because a log-sum-exp over rows has no shift
fused.program @no_shift(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because a log-sum-exp over columns has no shift and shares no exponentials
fused.program @not_shared(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce logsumexp column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because its rows are sums of exponentials, but some of its columns are not
fused.program @sums_beside_exponentials(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %m shift %t : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because panels do not combine positions of maxima
fused.program @positions(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %r, %at = fused.reduce argmax row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because a reduction over rows depends on another one
fused.program @row_after_row(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %s = fused.reduce add row %m : f32
      %k = arith.mulf %x, %s : f32
      %r = fused.reduce add row %k : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because a reduction over rows has an operand that is not an element value
fused.program @counts_in_rows(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %r = fused.reduce add row %t from element : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because a reduction over columns has an operand that is not an element value
fused.program @counts_in_columns(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %c = fused.reduce add column %v from element : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// The reduction of columns to a member may be a stopping test.
// CHECK: remark: a sweep has the schedule 'panel'
fused.program @columns_of_members(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %d = arith.subf %c, %v : f32
      %s, %k = fused.reduce argmax member %d : f32
      %more = arith.cmpf ogt, %s, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it reduces values over a member that are neither row values nor column values
fused.program @members(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %s = fused.reduce add member %n : f32
      %more = arith.cmpf ogt, %s, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it reads no elements
fused.program @no_elements(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %u, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %m, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it does not reduce both rows and columns
fused.program @rows_alone(%x: !mats, %a: !list, %t: !each, %limit: tensor<i32>) -> (!list, !iteration) {
  %u, %iterations = fused.loop (%u = %a : !list) upto %limit active %active : !flag -> (!list, !iteration) {
    %u1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i] : !list, %t = %t : !each) -> (!list, !flag) {
      %m = arith.mulf %x, %u : f32
      %r = fused.reduce add row %m : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %more : f32, i1
    }
    fused.yield %u1 while %more : !list while !flag
  }
  fused.yield %u, %iterations : !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it writes elements or list values
fused.program @writes(%x0: !mats, %t: !each, %limit: tensor<i32>) -> (!mats, !iteration) {
  %y, %iterations = fused.loop (%x = %x0 : !mats) upto %limit active %active : !flag -> (!mats, !iteration) {
    %x1, %more = fused.sweep where %active : !flag (%x = %x[i, j] : !mats, %t = %t : !each) -> (!mats, !flag) {
      %r = fused.reduce add row %x : f32
      %n = arith.mulf %x, %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %n, %more : f32, i1
    }
    fused.yield %x1 while %more : !mats while !flag
  }
  fused.yield %y, %iterations : !mats, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because its loop has other sweeps
// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because its loop has other sweeps
fused.program @two_sweeps(%x: !mats, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !iteration) {
  %v, %iterations = fused.loop (%v = %b : !list) upto %limit active %active : !flag -> (!list, !iteration) {
    %r = fused.sweep where %active : !flag (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      fused.yield %r : f32
    }
    %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %r = %r[i] : !list, %t = %t : !each) -> (!list, !flag) {
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %c, %more : f32, i1
    }
    fused.yield %v1 while %more : !list while !flag
  }
  fused.yield %v, %iterations : !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it is not in a loop with a flag for every member
fused.program @together(%x: !mats, %a: !list, %b: !list, %limit: tensor<i32>) -> (!list, !list, tensor<i32>) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, tensor<i32>) {
    %u1, %v1, %most, %more = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!list, !list, tensor<f32>) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %s = fused.reduce max list %r : f32
      fused.yield %r, %c, %s : f32, f32, f32
    } epilogue [%s : f32] () -> tensor<i1> {
      %more = arith.cmpf ogt, %s, %s : f32
      fused.yield %more : i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while tensor<i1>
  }
  fused.yield %u, %v, %iterations : !list, !list, tensor<i32>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it has several segments or an epilogue
fused.program @segments(%x: !mats, %y: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %more, %v1 = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %t = %t : !each) -> (!list, !flag) {
      %r = fused.reduce add row %x : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %more : f32, i1
    } and (%y = %y[i, j] : !mats) -> !list {
      %c = fused.reduce add column %y : f32
      fused.yield %c : f32
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it uses precomputed scalars
fused.program @precomputed(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %k = fused.precompute (%t = %t : f32) -> f32 {
        %e = math.exp %t : f32
        fused.yield %e : f32
      }
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %k, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because the element terms of an exponent depend on row values that the iteration replaces
fused.program @row_factor(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %u : f32
      %y = arith.addf %m, %v : f32
      %r = fused.reduce logsumexp row %y shift %u : f32
      %u1 = arith.subf %u, %r : f32
      %z = arith.addf %m, %u1 : f32
      %c = fused.reduce logsumexp column %z sharing %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because the exponents of a column depend on two reductions of the row
fused.program @two_row_reductions(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y shift %u : f32
      %m = fused.reduce max row %x : f32
      %u1 = arith.subf %m, %r : f32
      %z = arith.addf %x, %u1 : f32
      %c = fused.reduce logsumexp column %z sharing %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// The columns have exponentials of their own, because their elements are scaled.
// CHECK: remark: a sweep has the schedule 'panel': a loop that reduces rows and then columns in every iteration keeps columns on chip and reads each element once
fused.program @own_exponentials(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y shift %u : f32
      %u1 = arith.subf %u, %r : f32
      %w = arith.mulf %x, %t : f32
      %z = arith.addf %w, %u1 : f32
      %c = fused.reduce logsumexp column %z shift %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// Beside a plain sum over rows, which has no fallback.
// CHECK: remark: a sweep has the schedule 'panel': a loop that reduces rows and then columns in every iteration keeps columns on chip and reads each element once
fused.program @beside_sums(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.mulf %x, %v : f32
      %u1 = fused.reduce add row %y : f32
      %z = arith.addf %x, %u1 : f32
      %c = fused.reduce logsumexp column %z shift %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because the exponents of a column depend on two reductions of the row
fused.program @two_row_logsumexps(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y shift %u : f32
      %w = arith.mulf %x, %t : f32
      %q = fused.reduce logsumexp row %w shift %u : f32
      %u1 = arith.subf %q, %r : f32
      %z = arith.addf %w, %u1 : f32
      %c = fused.reduce logsumexp column %z shift %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because the exponents of a column multiply elements by a reduction of their row
fused.program @multiplies(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y shift %u : f32
      %u1 = arith.subf %u, %r : f32
      %z = arith.mulf %x, %u1 : f32
      %c = fused.reduce logsumexp column %z shift %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because the element terms of an exponent depend on row values that the iteration replaces
fused.program @row_factor_of_columns(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y shift %u : f32
      %u1 = arith.subf %u, %r : f32
      %w = arith.mulf %x, %u : f32
      %z = arith.addf %w, %u1 : f32
      %c = fused.reduce logsumexp column %z shift %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
!each = !foreach.list<tensor<f32>>
!iteration = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep has the schedule 'rows': {{.*}}; not 'panel', because it uses a position
fused.program @position(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %n = foreach.index j : i64
      %f = arith.sitofp %n : i64 to f32
      %y = arith.divf %x, %f : f32
      %z = arith.addf %y, %v : f32
      %r = fused.reduce add row %z : f32
      %c = fused.reduce add column %y : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
!each = !foreach.list<tensor<f32>>
!iteration = !foreach.list<tensor<i32>>

// A mean divides by an extent.
// CHECK: remark: a sweep has the schedule 'panel'
fused.program @extents(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %n = foreach.extent j : i64
      %f = arith.sitofp %n : i64 to f32
      %y = arith.divf %x, %f : f32
      %z = arith.addf %y, %v : f32
      %r = fused.reduce add row %z : f32
      %c = fused.reduce add column %y : f32
      %m = foreach.extent i : i64
      %g = arith.sitofp %m : i64 to f32
      %d = arith.divf %c, %g : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %d, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}
