// Which sweeps of loops are walked by panels, and why others are not.
// RUN: %heddle_opt --fused-schedule=remarks=true --split-input-file %s -o /dev/null 2>&1 | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// A row is reduced, and then its columns, of what followed.
// CHECK: remark: a sweep is walked by 'panel': a loop whose rows meet their columns in every trip keeps columns on chip and reads each element once
fused.kernel @sums(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// So are sums of exponentials that have a guess and are shared.
// CHECK: remark: a sweep is walked by 'panel': a loop whose rows meet their columns in every trip keeps columns on chip and reads each element once
fused.kernel @exponentials(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j], %u = %u[i] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.addf %x, %v : f32
      %guess = arith.subf %t, %u : f32
      %r = fused.reduce logsumexp row %m about %guess : f32
      %d = arith.subf %t, %r : f32
      %n = arith.addf %x, %d : f32
      %about = arith.subf %t, %v : f32
      %c = fused.reduce logsumexp column %n about %about sharing %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for a log-sum-exp of rows has nothing to be taken about
fused.kernel @no_guess(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for a log-sum-exp of columns has nothing to be taken about, and shares no exponential with one of rows
fused.kernel @not_shared(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for its rows sum up exponentials, and not all of its columns do
fused.kernel @sums_beside_exponentials(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %m about %t : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for positions of maxima are not combined in panels
fused.kernel @positions(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for a row is reduced after another reduction of it
fused.kernel @three_passes(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for what a row is reduced from is no value of elements
fused.kernel @counts_in_rows(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for what a column is reduced from is no value of elements
fused.kernel @counts_in_columns(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for it reduces other values over a member than those of rows, or of columns as the trip begins
fused.kernel @members(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for it reads no elements
fused.kernel @no_elements(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for it does not reduce both rows and columns
fused.kernel @rows_alone(%x: !mats, %a: !list, %t: !each, %limit: tensor<i32>) -> (!list, !trip) {
  %u, %trips = fused.loop (%u = %a : !list) upto %limit active %active : !flag -> (!list, !trip) {
    %u1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i] : !list, %t = %t : !each) -> (!list, !flag) {
      %m = arith.mulf %x, %u : f32
      %r = fused.reduce add row %m : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %more : f32, i1
    }
    fused.yield %u1 while %more : !list while !flag
  }
  fused.yield %u, %trips : !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for it writes elements, or a value of the whole list
fused.kernel @writes(%x0: !mats, %t: !each, %limit: tensor<i32>) -> (!mats, !trip) {
  %y, %trips = fused.loop (%x = %x0 : !mats) upto %limit active %active : !flag -> (!mats, !trip) {
    %x1, %more = fused.sweep where %active : !flag (%x = %x[i, j] : !mats, %t = %t : !each) -> (!mats, !flag) {
      %r = fused.reduce add row %x : f32
      %n = arith.mulf %x, %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %n, %more : f32, i1
    }
    fused.yield %x1 while %more : !mats while !flag
  }
  fused.yield %y, %trips : !mats, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for its loop has other sweeps besides
// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for its loop has other sweeps besides
fused.kernel @two_sweeps(%x: !mats, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !trip) {
  %v, %trips = fused.loop (%v = %b : !list) upto %limit active %active : !flag -> (!list, !trip) {
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
  fused.yield %v, %trips : !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for it is in no loop whose members stop on their own
fused.kernel @together(%x: !mats, %a: !list, %b: !list, %limit: tensor<i32>) -> (!list, !list, tensor<i32>) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, tensor<i32>) {
    %u1, %v1, %most, %more = fused.sweep (%x = %x[i, j] : !mats, %v = %v[j] : !list) -> (!list, !list, tensor<f32>) {
      %m = arith.mulf %x, %v : f32
      %r = fused.reduce add row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %s = fused.reduce max list %r : f32
      fused.yield %r, %c, %s : f32, f32, f32
    } finish [%s : f32] () -> tensor<i1> {
      %more = arith.cmpf ogt, %s, %s : f32
      fused.yield %more : i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while tensor<i1>
  }
  fused.yield %u, %v, %trips : !list, !list, tensor<i32>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for its lists differ, or meet
fused.kernel @segments(%x: !mats, %y: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for it keeps scalars from trip to trip
fused.kernel @ahead(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %k = fused.ahead (%t = %t : f32) -> f32 {
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
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for the elements of an exponent are made of values of rows that the trip replaces
fused.kernel @weighs(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.mulf %x, %u : f32
      %y = arith.addf %m, %v : f32
      %r = fused.reduce logsumexp row %y about %u : f32
      %u1 = arith.subf %u, %r : f32
      %z = arith.addf %m, %u1 : f32
      %c = fused.reduce logsumexp column %z sharing %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for the exponents of a column depend on another reduction of the row than the one whose exponentials they share or that they wait for
fused.kernel @leans(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y about %u : f32
      %m = fused.reduce max row %x : f32
      %u1 = arith.subf %m, %r : f32
      %z = arith.addf %x, %u1 : f32
      %c = fused.reduce logsumexp column %z sharing %r : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// Exponentials of their own, for the columns' elements are scaled.
// CHECK: remark: a sweep is walked by 'panel': a loop whose rows meet their columns in every trip keeps columns on chip and reads each element once
fused.kernel @own_exponentials(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y about %u : f32
      %u1 = arith.subf %u, %r : f32
      %w = arith.mulf %x, %t : f32
      %z = arith.addf %w, %u1 : f32
      %c = fused.reduce logsumexp column %z about %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// Beside a sum of rows, which is never taken anew.
// CHECK: remark: a sweep is walked by 'panel': a loop whose rows meet their columns in every trip keeps columns on chip and reads each element once
fused.kernel @beside_sums(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.mulf %x, %v : f32
      %u1 = fused.reduce add row %y : f32
      %z = arith.addf %x, %u1 : f32
      %c = fused.reduce logsumexp column %z about %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for the exponents of a column depend on another reduction of the row than the one whose exponentials they share or that they wait for
fused.kernel @waits_for_two(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y about %u : f32
      %w = arith.mulf %x, %t : f32
      %q = fused.reduce logsumexp row %w about %u : f32
      %u1 = arith.subf %q, %r : f32
      %z = arith.addf %w, %u1 : f32
      %c = fused.reduce logsumexp column %z about %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for the exponents of a column multiply elements by what their row is reduced to
fused.kernel @multiplies(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y about %u : f32
      %u1 = arith.subf %u, %r : f32
      %z = arith.mulf %x, %u1 : f32
      %c = fused.reduce logsumexp column %z about %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!trip = !foreach.list<tensor<i32>>

// CHECK: remark: a sweep is walked by 'rows': {{.*}}; not by panels, for the elements of an exponent are made of values of rows that the trip replaces
fused.kernel @weighs_columns(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !trip) {
  %u, %v, %trips = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !trip) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %y = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %y about %u : f32
      %u1 = arith.subf %u, %r : f32
      %w = arith.mulf %x, %u : f32
      %z = arith.addf %w, %u1 : f32
      %c = fused.reduce logsumexp column %z about %v : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %u1, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %trips : !list, !list, !trip
}
