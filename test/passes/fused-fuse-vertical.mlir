// Which sweeps over one domain become one.
// RUN: %heddle_opt --fused-fuse-vertical --split-input-file %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>

// A map into a map: the list between them is removed, its rounding remains.
// CHECK-LABEL: fused.program @rounding
// CHECK-NEXT:    %[[R:.*]] = fused.sweep (%[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?xf32>> {
// CHECK-NEXT:      %[[A:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT:      %[[B:.*]] = arith.truncf %[[A]] : f32 to bf16
// CHECK-NEXT:      %[[C:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK-NEXT:      %[[D:.*]] = arith.addf %[[C]], %[[X]] : f32
// CHECK-NEXT:      fused.yield %[[D]] : f32
// CHECK-NOT:     fused.sweep
fused.program @rounding(%x: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !half {
    %a = arith.mulf %x, %x : f32
    fused.yield %a : f32
  }
  %b = fused.sweep (%a = %a as f32 : !half, %x = %x : !list) -> !list {
    %b = arith.addf %a, %x : f32
    fused.yield %b : f32
  }
  fused.yield %b : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!wide = !foreach.list<tensor<?xf64>>

// A wider list does not change the value: no conversion remains.
// CHECK-LABEL: fused.program @wider
// CHECK:           %[[A:.*]] = arith.mulf
// CHECK-NEXT:      arith.addf %[[A]], %[[A]] : f32
// CHECK-NOT:     fused.sweep
fused.program @wider(%x: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !wide {
    %a = arith.mulf %x, %x : f32
    fused.yield %a : f32
  }
  %b = fused.sweep (%a = %a as f32 : !wide) -> !list {
    %b = arith.addf %a, %a : f32
    fused.yield %b : f32
  }
  fused.yield %b : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

// A map into a reduction, siblings that read one list (in two types), and a
// result that the program returns.
// CHECK-LABEL: fused.program @siblings
// CHECK:         %[[R:.*]]:3 = fused.sweep (%[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>)
// CHECK-DAG:       arith.extf %[[X]] : f32 to f64
// CHECK-DAG:       fused.reduce add list %{{.*}} : f64
// CHECK-DAG:       fused.reduce max member %{{.*}} : f32
// CHECK-NOT:     fused.sweep
fused.program @siblings(%x: !list) -> (!num, !each, !list) {
  %s = fused.sweep (%x = %x as f64 : !list) -> !num {
    %xx = arith.mulf %x, %x : f64
    %s = fused.reduce add list %xx : f64
    fused.yield %s : f64
  }
  %a = fused.sweep (%x = %x : !list) -> !list {
    %a = math.absf %x : f32
    fused.yield %a : f32
  }
  %m = fused.sweep (%a = %a : !list) -> !each {
    %m = fused.reduce max member %a : f32
    fused.yield %m : f32
  }
  fused.yield %s, %m, %a : !num, !each, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A sweep over members is merged into a sweep over their elements.
// CHECK-LABEL: fused.program @members
// CHECK:         %[[R:.*]]:2 = fused.sweep (%[[T:.*]] = %{{.*}} : !foreach.list<tensor<f32>>, %[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>) -> (!foreach.list<tensor<f32>>, !foreach.list<tensor<?xf32>>) {
// CHECK:           %[[T1:.*]] = arith.addf %[[T]]
// CHECK:           arith.divf %[[X]], %[[T1]]
// CHECK-NOT:     fused.sweep
fused.program @members(%t: !each, %x: !list) -> (!each, !list) {
  %t1 = fused.sweep (%t = %t : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    fused.yield %t1 : f32
  }
  %y = fused.sweep (%x = %x : !list, %t = %t1 : !each) -> !list {
    %y = arith.divf %x, %t : f32
    fused.yield %y : f32
  }
  fused.yield %t1, %y : !each, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A member's value is complete after the sweep. Elements that depend on it need
// another sweep, member scalars do not.
// CHECK-LABEL: fused.program @after
// CHECK:         %[[N:.*]] = fused.sweep
// CHECK:           %[[S:.*]] = fused.reduce add member
// CHECK:           math.sqrt %[[S]] : f32
// CHECK:         %{{.*}} = fused.sweep (%{{.*}} = %{{.*}} : !foreach.list<tensor<?xf32>>, %{{.*}} = %[[N]] :
// CHECK-NOT:     fused.sweep
fused.program @after(%x: !list) -> !list {
  %s = fused.sweep (%x = %x : !list) -> !each {
    %xx = arith.mulf %x, %x : f32
    %s = fused.reduce add member %xx : f32
    fused.yield %s : f32
  }
  %n = fused.sweep (%s = %s : !each) -> !each {
    %n = math.sqrt %s : f32
    fused.yield %n : f32
  }
  %y = fused.sweep (%x = %x : !list, %n = %n : !each) -> !list {
    %y = arith.divf %x, %n : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// A list value is complete after the sweep, too. The first and the third sweep
// read the same list, but the third depends on the first through the second.
// CHECK-LABEL: fused.program @between
// CHECK:         fused.sweep
// CHECK:         fused.sweep
// CHECK-NOT:     fused.sweep
fused.program @between(%x: !list) -> !list {
  %n = fused.sweep (%x = %x : !list) -> !num {
    %s = fused.reduce add list %x : f32
    fused.yield %s : f32
  }
  %y = fused.sweep (%x = %x : !list, %n = %n : !num) -> !list {
    %y = arith.divf %x, %n : f32
    fused.yield %y : f32
  }
  %z = fused.sweep (%x = %x, %y = %y : !list) -> !list {
    %z = arith.mulf %x, %y : f32
    fused.yield %z : f32
  }
  fused.yield %z : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// Lists that are not bound together may have different members and extents.
// CHECK-LABEL: fused.program @unrelated
// CHECK-COUNT-2: fused.sweep
fused.program @unrelated(%x: !list, %y: !list) -> (!list, !list) {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  %b = fused.sweep (%y = %y : !list) -> !list {
    fused.yield %y : f32
  }
  fused.yield %a, %b : !list, !list
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// Sweeps over rows and columns are merged into the sweep over the matrix. Elements
// may use a row's value; values that depend on a column are computed after the
// sweep. A count of the vector's elements becomes a count of rows.
// CHECK-LABEL: fused.program @matrix
// CHECK:         %[[R:.*]]:3 = fused.sweep (%{{.*}} = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %{{.*}} = %{{.*}}[i], %{{.*}} = %{{.*}}[j] :
// CHECK:           fused.reduce add row
// CHECK:           fused.reduce add column
// CHECK:           fused.reduce add member %{{.*}} from row : f32
// CHECK-NOT:     fused.sweep
fused.program @matrix(%l: !mats, %a: !vec, %b: !vec) -> (!vec, !vec, !each) {
  %r = fused.sweep (%l = %l[i, j] : !mats) -> !vec {
    %r = fused.reduce add row %l : f32
    fused.yield %r : f32
  }
  %u = fused.sweep (%r = %r, %a = %a : !vec) -> !vec {
    %u = arith.divf %a, %r : f32
    fused.yield %u : f32
  }
  %c = fused.sweep (%l = %l[i, j] : !mats, %u = %u[i] : !vec) -> !vec {
    %x = arith.mulf %l, %u : f32
    %c = fused.reduce add column %x : f32
    fused.yield %c : f32
  }
  %v = fused.sweep (%c = %c, %b = %b : !vec) -> !vec {
    %v = arith.divf %b, %c : f32
    fused.yield %v : f32
  }
  %n = fused.sweep (%a = %a : !vec) -> !each {
    %one = arith.constant 1.0 : f32
    %n = fused.reduce add member %one from element : f32
    fused.yield %n : f32
  }
  fused.yield %u, %v, %n : !vec, !vec, !each
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// A column's value is complete only after the sweep.
// CHECK-LABEL: fused.program @column_first
// CHECK-COUNT-2: fused.sweep
fused.program @column_first(%l: !mats) -> !mats {
  %c = fused.sweep (%l = %l[i, j] : !mats) -> !vec {
    %c = fused.reduce add column %l : f32
    fused.yield %c : f32
  }
  %p = fused.sweep (%l = %l[i, j] : !mats, %c = %c[j] : !vec) -> !mats {
    %p = arith.divf %l, %c : f32
    fused.yield %p : f32
  }
  fused.yield %p : !mats
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// The epilogues become one. A value that the second takes from the first keeps its
// rounding.
// CHECK-LABEL: fused.program @epilogues
// CHECK:         epilogue [%[[S:.*]]: f64] () -> (tensor<f32>, tensor<f64>) {
// CHECK-NEXT:      %[[N:.*]] = math.sqrt %[[S]] : f64
// CHECK-NEXT:      %[[T:.*]] = arith.truncf %[[N]] : f64 to f32
// CHECK-NEXT:      %[[E:.*]] = arith.extf %[[T]] : f32 to f64
// CHECK-NEXT:      %[[M:.*]] = arith.addf %[[E]], %[[S]] : f64
// CHECK-NEXT:      fused.yield %[[N]], %[[M]]
// CHECK-NOT:     fused.sweep
fused.program @epilogues(%x: !list) -> (tensor<f32>, !num, !list) {
  %s, %n = fused.sweep (%x = %x as f64 : !list) -> !num {
    %s = fused.reduce add list %x : f64
    fused.yield %s : f64
  } epilogue [%s : f64] () -> tensor<f32> {
    %n = math.sqrt %s : f64
    fused.yield %n : f64
  }
  %y, %m = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  } epilogue [] (%n = %n as f64 : tensor<f32>, %s = %s : !num) -> !num {
    %m = arith.addf %n, %s : f64
    fused.yield %m : f64
  }
  fused.yield %n, %m, %y : tensor<f32>, !num, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>

// Sweeps of a loop with the same flags are merged.
// CHECK-LABEL: fused.program @loop
// CHECK:         fused.loop
// CHECK:           fused.sweep where %{{.*}} : !foreach.list<tensor<i1>>
// CHECK:             fused.reduce max member
// CHECK-NOT:       fused.sweep
fused.program @loop(%x0: !list, %tol: tensor<f32>, %n: tensor<i32>) -> !list {
  %x, %t = fused.loop (%x = %x0 : !list) upto %n active %on : !flag -> (!list, !foreach.list<tensor<i32>>) {
    %y = fused.sweep where %on : !flag (%x = %x : !list) -> !list {
      %y = math.sqrt %x : f32
      fused.yield %y : f32
    }
    %more = fused.sweep where %on : !flag (%y = %y : !list, %t = %tol : tensor<f32>) -> !flag {
      %m = fused.reduce max member %y : f32
      %c = arith.cmpf ogt, %m, %t : f32
      fused.yield %c : i1
    }
    fused.yield %y while %more : !list while !flag
  }
  fused.yield %x : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A member scalar is still counted once per element.
// CHECK-LABEL: fused.program @broadcast
// CHECK:         fused.sweep
// CHECK:           fused.reduce add list %{{.*}} from element : f32
// CHECK-NOT:     fused.sweep
fused.program @broadcast(%x: !list, %t: !each) -> tensor<f32> {
  %y = fused.sweep (%x = %x : !list, %t = %t : !each) -> !list {
    fused.yield %t : f32
  }
  %s = fused.sweep (%y = %y : !list) -> tensor<f32> {
    %s = fused.reduce add list %y : f32
    fused.yield %s : f32
  }
  fused.yield %s : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The same after a fold that shows the value to be a member scalar.
// CHECK-LABEL: fused.program @either
// CHECK:         fused.sweep
// CHECK-NOT:       arith.select
// CHECK:           fused.reduce add list %{{.*}} from element : f32
// CHECK-NOT:     fused.sweep
fused.program @either(%x: !list, %t: !each) -> tensor<f32> {
  %yz:2 = fused.sweep (%x = %x : !list, %t = %t : !each) -> (!list, !list) {
    fused.yield %t, %t : f32, f32
  }
  %s = fused.sweep (%x = %x, %y = %yz#0, %z = %yz#1 : !list) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %x, %zero : f32
    %v = arith.select %positive, %y, %z : f32
    %s = fused.reduce add list %v : f32
    fused.yield %s : f32
  }
  fused.yield %s : tensor<f32>
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Where rows and columns are equally many, a vector is read at one index: the
// values of `r` at [j] follow from those of `v` at [j].
// CHECK-LABEL: fused.program @columns_of_a_square
// CHECK:         fused.sweep (%[[V:.*]] = %{{.*}}[j] : {{.*}}, %{{.*}} = %{{.*}}[i, j] : {{.*}}, %[[A:.*]] = %{{.*}}[i] :
// CHECK:           %[[R:.*]] = arith.mulf %[[V]], %[[V]] : f32
// CHECK:           arith.addf %{{.*}}, %[[R]] : f32
// CHECK:           arith.mulf %{{.*}}, %[[A]] : f32
// CHECK-NOT:     fused.sweep
fused.program @columns_of_a_square(%l: !mats, %v: !vec) -> !mats {
  %r = fused.sweep (%v = %v : !vec) -> !vec {
    %r = arith.mulf %v, %v : f32
    fused.yield %r : f32
  }
  %y = fused.sweep (%l = %l[i, j] : !mats, %a = %v[i], %b = %r[j] : !vec) -> !mats {
    %s = arith.addf %l, %b : f32
    %y = arith.mulf %s, %a : f32
    fused.yield %y : f32
  }
  fused.yield %y : !mats
}

// -----

!list = !foreach.list<tensor<?xf32>>

// An entry of a vector is not the element that a sweep computes at a time.
// CHECK-LABEL: fused.program @entry
// CHECK-COUNT-2: fused.sweep
fused.program @entry(%x: !list) -> !list {
  %r = fused.sweep (%x = %x : !list) -> !list {
    %r = arith.mulf %x, %x : f32
    fused.yield %r : f32
  }
  %y = fused.sweep (%x = %x : !list, %e = %r[first] : !list) -> !list {
    %y = arith.addf %x, %e : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!each = !foreach.list<tensor<f32>>

// A sum over the list is complete only after the sweep, also for a reduction
// that counts it once per member.
// CHECK-LABEL: fused.program @sum_of_a_sum
// CHECK-COUNT-2: fused.sweep
fused.program @sum_of_a_sum(%x: !each) -> tensor<f32> {
  %a = fused.sweep (%x = %x : !each) -> tensor<f32> {
    %a = fused.reduce add list %x : f32
    fused.yield %a : f32
  }
  %b = fused.sweep (%s = %a : tensor<f32>, %x = %x : !each) -> tensor<f32> {
    %b = fused.reduce add list %s from member : f32
    fused.yield %b : f32
  }
  fused.yield %b : tensor<f32>
}

// -----

// The sums of columns are reduced over the member at the end of the sweep. A
// column value that needs the result belongs in another sweep.
// CHECK-LABEL: fused.program @columns_over_member
// CHECK:         fused.sweep
// CHECK:           %[[SUM:.*]] = fused.reduce add column
// CHECK:           %[[ALL:.*]] = fused.reduce max member %[[SUM]]
// CHECK:           %[[MORE:.*]] = arith.cmpf ogt, %[[ALL]]
// CHECK:           fused.yield %[[SUM]], %[[ALL]], %[[MORE]]
// CHECK:         fused.sweep
// CHECK:           arith.divf
// CHECK:         fused.yield
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
fused.program @columns_over_member(%l: !mats, %v: !list, %t: !each) -> (!list, !flag) {
  %c = fused.sweep (%x = %l : !mats, %v = %v[j] : !list) -> !list {
    %c = fused.reduce add column %x : f32
    fused.yield %c : f32
  }
  %all = fused.sweep (%c = %c, %v = %v : !list) -> !each {
    %all = fused.reduce max member %c : f32
    fused.yield %all : f32
  }
  %more = fused.sweep (%all = %all, %t = %t : !each) -> !flag {
    %more = arith.cmpf ogt, %all, %t : f32
    fused.yield %more : i1
  }
  %share = fused.sweep (%c = %c : !list, %all = %all : !each) -> !list {
    %share = arith.divf %c, %all : f32
    fused.yield %share : f32
  }
  fused.yield %share, %more : !list, !flag
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// The elements of a sweep over columns are the columns of the merged sweep.
// CHECK-LABEL: fused.program @positions_of_columns
// CHECK-COUNT-1: fused.sweep
// CHECK:         foreach.index j : i64
// CHECK-NEXT:    foreach.extent j : i64
// CHECK:         foreach.index member : i64
// CHECK-NOT:     fused.sweep
fused.program @positions_of_columns(%x: !mats, %v: !list) -> !mats {
  %c = fused.sweep (%v = %v : !list) -> !list {
    %i = foreach.index i : i64
    %n = foreach.extent member : i64
    %s = arith.subi %n, %i : i64
    %f = arith.sitofp %s : i64 to f32
    %c = arith.mulf %v, %f : f32
    fused.yield %c : f32
  }
  %y = fused.sweep (%x = %x[i, j] : !mats, %c = %c[j] : !list) -> !mats {
    %k = foreach.index member : i64
    %f = arith.sitofp %k : i64 to f32
    %a = arith.mulf %c, %f : f32
    %y = arith.addf %x, %a : f32
    fused.yield %y : f32
  }
  fused.yield %y : !mats
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Both dimensions of the domain are those of a list that the second sweep gets
// from the first. A merged sweep over rows would not have its columns.
// CHECK-LABEL: fused.program @domain_of_forwarded_list
// CHECK:         %[[W:.*]] = fused.sweep
// CHECK:         fused.sweep (%{{.*}} = %[[W]][i], %{{.*}} = %[[W]][j] :
// CHECK-NEXT:      fused.reduce max column
fused.program @domain_of_forwarded_list(%e: !each, %x: !list) -> !list {
  %w = fused.sweep (%x = %x : !list, %e = %e : !each) -> !list {
    fused.yield %e : f32
  }
  %r = fused.sweep (%a = %w[i], %b = %w[j] : !list) -> !list {
    %r = fused.reduce max column %b from element : f32
    fused.yield %r : f32
  }
  fused.yield %r : !list
}
