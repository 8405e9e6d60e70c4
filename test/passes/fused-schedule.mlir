// Schedules, precomputed scalars and reversed sweeps.
// RUN: %heddle_opt --fused-schedule --split-input-file %s | FileCheck %s
// RUN: %heddle_opt --fused-schedule=precompute=false --split-input-file %s | FileCheck %s --check-prefix=PLAIN
// RUN: %heddle_opt --fused-schedule=remarks=true --split-input-file %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// PLAIN-NOT: fused.precompute

!f32 = !foreach.list<tensor<?xf32>>
!bf16 = !foreach.list<tensor<?xbf16>>
!f64 = !foreach.list<tensor<?xf64>>
!i8 = !foreach.list<tensor<?xi8>>
!each = !foreach.list<tensor<f32>>

// The vector width depends on the smallest type. A segment that maps elements of
// 16 bits has two rounds, and one that reduces elements has eight rounds of four
// elements. A member of rank 0 is one tile.
// REMARK: remark: a sweep has the schedule 'stream': elementwise, no row or column values
// CHECK-LABEL: fused.program @tiles
// CHECK:         schedule #fused.schedule<stream, threads = 256, vector = [4, 8, 2, 16, 4, 1], tile = [1024, 4096, 512, 4096, 8192, 1],
fused.program @tiles(%a: !f32, %b: !bf16, %c: !f64, %d: !i8, %t: !each) -> (!f32, !bf16, !f64, !i8, tensor<f32>, !each) {
  %r:6 = fused.sweep (%a = %a : !f32) -> !f32 {
    fused.yield %a : f32
  } and (%b = %b as f32 : !bf16) -> !bf16 {
    fused.yield %b : f32
  } and (%c = %c : !f64) -> !f64 {
    fused.yield %c : f64
  } and (%d = %d : !i8) -> !i8 {
    fused.yield %d : i8
  } and (%a = %a : !f32) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } and (%t = %t : !each) -> !each {
    fused.yield %t : f32
  }
  fused.yield %r#0, %r#1, %r#2, %r#3, %r#4, %r#5 : !f32, !bf16, !f64, !i8, tensor<f32>, !each
}

// -----

!f32 = !foreach.list<tensor<?xf32>>
!bf16 = !foreach.list<tensor<?xbf16>>
!f64 = !foreach.list<tensor<?xf64>>

// Elements of 16 bits have two rounds. Of elements with several sizes, a thread
// loads at most 80 bytes, but one access of the largest type.
// CHECK-LABEL: fused.program @mixed
// CHECK:         vector = [8, 8, 4, 4], tile = [4096, 4096, 2048, 1024]
fused.program @mixed(%a: !bf16, %b: !f32, %c: !f32, %d: !f64, %e: !bf16) -> (!bf16, !bf16, !bf16, !f32) {
  %r:4 = fused.sweep (%a = %a as f32 : !bf16) -> !bf16 {
    %x = arith.mulf %a, %a : f32
    fused.yield %x : f32
  } and (%a = %a as f32 : !bf16, %b = %b : !f32) -> !bf16 {
    %x = arith.mulf %a, %b : f32
    fused.yield %x : f32
  } and (%a = %a as f32 : !bf16, %b = %b : !f32, %c = %c : !f32, %e = %e as f32 : !bf16) -> !bf16 {
    %x = arith.mulf %a, %b : f32
    %y = arith.mulf %x, %c : f32
    %z = arith.mulf %y, %e : f32
    fused.yield %z : f32
  } and (%b = %b : !f32, %d = %d : !f64) -> !f32 {
    %x = arith.truncf %d : f64 to f32
    %y = arith.mulf %x, %b : f32
    fused.yield %y : f32
  }
  fused.yield %r#0, %r#1, %r#2, %r#3 : !bf16, !bf16, !bf16, !f32
}

// -----

!bf16 = !foreach.list<tensor<?xbf16>>

// Elements of 16 bits that are rounded at random have four rounds.
// CHECK-LABEL: fused.program @drawn
// CHECK:         vector = [8], tile = [8192]
fused.program @drawn(%a: !bf16, %seed: tensor<i64>) -> !bf16 {
  %r = fused.sweep (%a = %a as f32 : !bf16, %seed = %seed : tensor<i64>) -> !bf16 {
    %x = arith.mulf %a, %a : f32
    %zero = arith.constant 0 : i64
    %at = foreach.index member : i64
    %bits = foreach.random seed %seed stream %zero block %zero at %at : i16
    %y = foreach.round %x to bf16 by %bits : f32
    fused.yield %y : f32
  }
  fused.yield %r : !bf16
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A count of members reduces no elements; a count of elements does.
// CHECK-LABEL: fused.program @counts
// CHECK:         vector = [4], tile = [1024]
// CHECK:         vector = [4], tile = [8192]
fused.program @counts(%a: !list, %b: !list) -> (!list, tensor<f32>, !list, tensor<f32>) {
  %r:2 = fused.sweep (%a = %a : !list) -> (!list, tensor<f32>) {
    %one = arith.constant 1.0 : f32
    %n = fused.reduce add list %one from member : f32
    fused.yield %a, %n : f32, f32
  }
  %s:2 = fused.sweep (%b = %b : !list) -> (!list, tensor<f32>) {
    %one = arith.constant 1.0 : f32
    %n = fused.reduce add list %one from element : f32
    fused.yield %b, %n : f32, f32
  }
  fused.yield %r#0, %r#1, %s#0, %s#1 : !list, tensor<f32>, !list, tensor<f32>
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// A matrix has the schedule `rows` if there are row or column values. A reduction
// over columns has tiles of 16 rows.
// REMARK: remark: a sweep has the schedule 'stream': a matrix without row or column values is processed as one vector
// REMARK: remark: a sweep has the schedule 'rows': rows are complete while they are on chip
// CHECK-LABEL: fused.program @matrices
// CHECK:         schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024],
// CHECK:         schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [1], reason = "rows are complete while they are on chip">
// CHECK:         schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [16],
fused.program @matrices(%l: !mats, %m: !mats, %n: !mats) -> (!mats, !vec, !vec) {
  %a = fused.sweep (%l = %l[i, j] : !mats) -> !mats {
    fused.yield %l : f32
  }
  %b = fused.sweep (%l = %m[i, j] : !mats) -> !vec {
    %r = fused.reduce add row %l : f32
    fused.yield %r : f32
  }
  %c = fused.sweep (%l = %n[i, j] : !mats) -> !vec {
    %r = fused.reduce add column %l : f32
    fused.yield %r : f32
  }
  fused.yield %a, %b, %c : !mats, !vec, !vec
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!wide = !foreach.list<tensor<?x?xf64>>

// Blocks share rows that are only mapped. A block takes as many columns as its
// threads can load at once. Blocks do not share rows that have a row result.
// REMARK: remark: a sweep has the schedule 'rows': rows are only mapped, so blocks share them
// CHECK-LABEL: fused.program @mapped
// CHECK:         schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4] by 1024,
// CHECK:         schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4] by 1024,
// CHECK:         schedule #fused.schedule<rows, threads = 256, vector = [2], tile = [4] by 512,
// CHECK:         schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [1], reason
fused.program @mapped(%l: !mats, %m: !mats, %r: !list, %c: !list, %w: !wide) -> (!mats, !mats, !wide, !mats, !list) {
  %a = fused.sweep (%l = %l[i, j] : !mats, %r = %r[i], %c = %c[j] : !list) -> !mats {
    %p = arith.mulf %l, %r : f32
    %q = arith.addf %p, %c : f32
    fused.yield %q : f32
  }
  %b = fused.sweep (%l = %l[i, j], %m = %m[i, j] : !mats, %r = %r[i] : !list) -> !mats {
    %p = arith.mulf %l, %r : f32
    %q = arith.addf %p, %m : f32
    fused.yield %q : f32
  }
  %d = fused.sweep (%w = %w[i, j] : !wide, %c = %c[j] as f64 : !list) -> !wide {
    %p = arith.mulf %w, %c : f64
    fused.yield %p : f64
  }
  %e:2 = fused.sweep (%l = %l[i, j] : !mats, %r = %r[i] : !list) -> (!mats, !list) {
    %p = arith.mulf %l, %r : f32
    %q = arith.negf %r : f32
    fused.yield %p, %q : f32, f32
  }
  fused.yield %a, %b, %d, %e#0, %e#1 : !mats, !mats, !wide, !mats, !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// A matrix whose rows are counted has the schedule `rows`, too.
// CHECK-LABEL: fused.program @rows
// CHECK:         schedule #fused.schedule<rows,
fused.program @rows(%l: !mats) -> (!mats, !each) {
  %r:2 = fused.sweep (%l = %l[i, j] : !mats) -> (!mats, !each) {
    %one = arith.constant 1.0 : f32
    %n = fused.reduce add member %one from row : f32
    fused.yield %l, %n : f32, f32
  }
  fused.yield %r#0, %r#1 : !mats, !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

// Powers are precomputed, with the values that they need (such as the incremented
// step counter) and the values that depend on them alone. The increment is cheap,
// so the body computes it, too. The learning rate changes often, so its division
// stays in the body, in f32.
// REMARK: remark: a sweep uses 1 scalar per member that the previous step computed
// CHECK-LABEL: fused.program @precomputed
// CHECK:         fused.sweep {{.*}} (%[[X:.*]] = {{.*}} : !foreach.list<tensor<?xf32>>, %[[T:.*]] = %{{.*}} : !foreach.list<tensor<f32>>, %[[B:.*]] = %{{.*}}, %[[LR:.*]] = %{{.*}} as f32 : tensor<f64>)
// CHECK-NEXT:      %[[BC:.*]] = fused.precompute (%[[T2:.*]] = %[[T]], %[[B2:.*]] = %[[B]] : f32, f64) -> f32 {
// CHECK:             %[[T3:.*]] = arith.addf %[[T2]]
// CHECK:             %[[N:.*]] = arith.fptosi %[[T3]]
// CHECK:             %[[P:.*]] = math.fpowi %[[B2]], %[[N]]
// CHECK:             %[[D:.*]] = arith.subf %{{.*}}, %[[P]] : f64
// CHECK:             %[[F:.*]] = arith.truncf %[[D]] : f64 to f32
// CHECK:             fused.yield %[[F]] : f32
// CHECK:           %[[T1:.*]] = arith.addf %[[T]]
// CHECK-NOT:       math.fpowi
// CHECK:           arith.divf %[[LR]], %[[BC]] : f32
// CHECK:           fused.yield %[[T1]]
fused.program @precomputed(%x: !list, %t: !each {foreach.donate = 0 : i64}, %beta: !num, %lr: !num) -> (!each, !list) {
  %t1, %y = fused.sweep (%x = %x : !list, %t = %t : !each, %b = %beta : !num, %lr = %lr as f32 : !num) -> (!each, !list) {
    %onef = arith.constant 1.0 : f32
    %one = arith.constant 1.0 : f64
    %t1 = arith.addf %t, %onef : f32
    %n = arith.fptosi %t1 : f32 to i32
    %p = math.fpowi %b, %n : f64, i32
    %d = arith.subf %one, %p : f64
    %f = arith.truncf %d : f64 to f32
    %s = arith.divf %lr, %f : f32
    %y = arith.mulf %x, %s : f32
    fused.yield %t1, %y : f32, f32
  }
  fused.yield %t1, %y : !each, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

// A thread that loads more than 64 bytes next to precomputed scalars has two
// rounds: here the second sweep, which loads 80.
// CHECK-LABEL: fused.program @crowded
// CHECK:         vector = [4], tile = [1024]
// CHECK:         vector = [4], tile = [2048]
// PLAIN-LABEL: fused.program @crowded
// PLAIN-COUNT-2: vector = [4], tile = [1024]
fused.program @crowded(%a: !list, %b: !list, %c: !list, %d: !list, %e: !list, %t: !each, %beta: !num) -> (!list, !list) {
  %x = fused.sweep (%a = %a, %b = %b, %c = %c, %d = %d : !list, %t = %t : !each, %beta = %beta as f32 : !num) -> !list {
    %power = math.powf %beta, %t : f32
    %ab = arith.mulf %a, %b : f32
    %cd = arith.mulf %c, %d : f32
    %abcd = arith.mulf %ab, %cd : f32
    %scaled = arith.mulf %abcd, %power : f32
    fused.yield %scaled : f32
  }
  %y = fused.sweep (%a = %a, %b = %b, %c = %c, %d = %d, %e = %e : !list, %t = %t : !each, %beta = %beta as f32 : !num) -> !list {
    %power = math.powf %beta, %t : f32
    %ab = arith.mulf %a, %b : f32
    %cd = arith.mulf %c, %d : f32
    %abcd = arith.mulf %ab, %cd : f32
    %abcde = arith.mulf %abcd, %e : f32
    %scaled = arith.mulf %abcde, %power : f32
    fused.yield %scaled : f32
  }
  fused.yield %x, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// A value that the program computes is not known before the step begins.
// REMARK: remark: a sweep computes 'math.exp' of scalars in its body: the operands are not known before the step begins
// CHECK-LABEL: fused.program @unknown
// CHECK-NOT:     fused.precompute
// REMARK: remark: a sweep is reversed: after the previous sweep, the end of a value is in cache
// CHECK:         fused.sweep reversed
fused.program @unknown(%x: !list) -> !list {
  %s = fused.sweep (%x = %x as f64 : !list) -> !num {
    %s = fused.reduce add list %x : f64
    fused.yield %s : f64
  }
  %y = fused.sweep (%x = %x : !list, %s = %s : !num) -> !list {
    %e = math.exp %s : f64
    %f = arith.truncf %e : f64 to f32
    %y = arith.mulf %x, %f : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Nor is a step counter that another sweep replaces.
// CHECK-LABEL: fused.program @replaced
// CHECK-NOT:     fused.precompute
fused.program @replaced(%x: !list, %t: !each {foreach.donate = 0 : i64}) -> (!each, !list) {
  %y = fused.sweep (%x = %x : !list, %t = %t : !each) -> !list {
    %e = math.exp %t : f32
    %y = arith.mulf %x, %e : f32
    fused.yield %y : f32
  }
  %t1 = fused.sweep (%y = %y : !list) -> !each {
    %m = fused.reduce max member %y : f32
    fused.yield %m : f32
  }
  fused.yield %t1, %y : !each, !list
}

// -----

!each = !foreach.list<tensor<f32>>

// A segment of rank 0 computes its scalars once per member anyway.
// CHECK-LABEL: fused.program @members
// CHECK-NOT:     fused.precompute
fused.program @members(%t: !each) -> !each {
  %y = fused.sweep (%t = %t : !each) -> !each {
    %e = math.exp %t : f32
    fused.yield %e : f32
  }
  fused.yield %y : !each
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>

// A matrix is visited as a vector unless its rows or columns are counted.
// CHECK-LABEL: fused.program @extents
// CHECK:         fused.sweep schedule #fused.schedule<stream
// CHECK:         fused.sweep {{.*}}schedule #fused.schedule<rows
fused.program @extents(%x: !mats, %y: !mats) -> (!mats, !mats) {
  %a = fused.sweep (%x = %x : !mats) -> !mats {
    %n = foreach.extent member : i64
    %k = foreach.index member : i64
    %s = arith.subi %n, %k : i64
    %f = arith.sitofp %s : i64 to f32
    %y = arith.mulf %x, %f : f32
    fused.yield %y : f32
  }
  %b = fused.sweep (%x = %y : !mats) -> !mats {
    %n = foreach.extent j : i64
    %f = arith.sitofp %n : i64 to f32
    %y = arith.mulf %x, %f : f32
    fused.yield %y : f32
  }
  fused.yield %a, %b : !mats, !mats
}

// -----

!list = !foreach.list<tensor<?xf32>>

// The epilogue replaces %t by a value that depends on scalars alone, so its
// power is known in the previous step; %s depends on a reduction.
// CHECK-LABEL: fused.program @counters
// CHECK:         fused.precompute (%{{.*}} = %t, %{{.*}} = %b : f32, f64) -> f64
// CHECK:         %[[M:.*]] = arith.fptosi %s : f32 to i32
// CHECK:         math.fpowi %b, %[[M]] : f64, i32
fused.program @counters(%x: !list {foreach.donate = 0 : i64}, %t: tensor<f32> {foreach.donate = 1 : i64},
                        %s: tensor<f32> {foreach.donate = 2 : i64}, %b: tensor<f64>) -> (!list, tensor<f32>, tensor<f32>) {
  %y, %most, %t2, %s2 = fused.sweep (%x = %x : !list, %t = %t, %s = %s : tensor<f32>, %b = %b : tensor<f64>) -> (!list, tensor<f32>) {
    %n = arith.fptosi %t : f32 to i32
    %p = math.fpowi %b, %n : f64, i32
    %m = arith.fptosi %s : f32 to i32
    %q = math.fpowi %b, %m : f64, i32
    %r = arith.addf %p, %q : f64
    %f = arith.truncf %r : f64 to f32
    %y = arith.mulf %x, %f : f32
    %most = fused.reduce max list %x : f32
    fused.yield %y, %most : f32, f32
  } epilogue [%most : f32] (%t = %t, %s = %s : tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    %s1 = arith.addf %s, %most : f32
    fused.yield %t1, %s1 : f32, f32
  }
  fused.yield %y, %t2, %s2 : !list, tensor<f32>, tensor<f32>
}
