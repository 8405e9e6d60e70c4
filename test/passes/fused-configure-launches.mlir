// Entries, tickets, dependent launches and forms of loops. test/codegen
// tests the numbers of blocks.
// RUN: %heddle_opt --heddle-pipeline --split-input-file %s | FileCheck %s
// RUN: %heddle_opt --heddle-pipeline=remarks=true --split-input-file %s -o /dev/null 2>&1 | grep -E "evict-first|cooperative|ends its members|has its ends" | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// The second sweep depends on the first only. Before it waits, it loads elements
// that the first sweep does not write. A launch of its own ends the first sweep.
// CHECK-LABEL: fused.program @chain
// CHECK:         fused.sweep {{.*}}launch <variants = [<scalars = value, blocks = [[#]]>], arrive = [own_launch]>
// CHECK:         fused.sweep {{.*}}launch <variants = [<scalars = value, blocks = [[#]], evict_first_l2_percent = 225>, <scalars = value, blocks = [[#]]>, <scalars = address, blocks = [[#]]>], arrive = [none], wait = [after_loads]>
// REMARK:      remark: a sweep has its ends in a launch of its own, so no block of a tile waits for its stores
// REMARK:      remark: a sweep has an evict-first variant: replaced elements leave the cache first if all elements take at most 225 % of the L2 cache
func.func @chain(%x: !list {foreach.donate = 0 : i64}, %lr: !num) -> !list {
  %s = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
    foreach.yield %x : f64
  }
  %y = foreach.map (%x = %x : !list, %s = %s as f32, %lr = %lr as f32 : !num) -> !list {
    %a = arith.mulf %x, %s : f32
    %b = arith.mulf %a, %lr : f32
    foreach.yield %b : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// The second sweep reads elements that the first writes.
// CHECK-LABEL: fused.program @written
// CHECK:         fused.sweep {{.*}}arrive = [own_launch]>
// CHECK:         fused.sweep {{.*}}wait = [first]>
// REMARK:      remark: a sweep has an evict-first variant
// REMARK:      remark: a sweep has its ends in a launch of its own
// REMARK:      remark: a sweep has an evict-first variant
func.func @written(%x: !list) -> (!list, !list) {
  %y = foreach.map (%x = %x : !list) -> !list {
    %a = math.absf %x : f32
    foreach.yield %a : f32
  }
  %s = foreach.reduce max along list (%y = %y : !list) -> tensor<f32> {
    foreach.yield %y : f32
  }
  %z = foreach.map (%y = %y : !list, %s = %s : tensor<f32>) -> !list {
    %a = arith.divf %y, %s : f32
    foreach.yield %a : f32
  }
  return %y, %z : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// In a loop, a sweep has one entry, by address, and no dependent launch; its
// blocks end the members. One launch runs the whole loop.
// CHECK-LABEL: fused.program @loop
// CHECK:         fused.loop name "loop_loop" cooperative <threads = 256, blocks = 2, tiles = 8192> result_buffers
// CHECK:           fused.sweep {{.*}}launch <variants = [<scalars = address, blocks = [[#]]>], arrive = [late]>
// REMARK:      remark: a sweep ends its members in the last blocks of their tiles: it is in a loop
// REMARK:      remark: 'loop_loop' has the cooperative form up to 8192 tiles
func.func @loop(%x0: !list {foreach.donate = 0 : i64}, %tol: !num, %limit: tensor<i32>) -> (!list, tensor<i32>) {
  %x, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, tensor<i32>) {
    %y = foreach.map (%x = %x : !list) -> !list {
      %h = arith.constant 0.5 : f32
      %a = arith.mulf %x, %h : f32
      foreach.yield %a : f32
    }
    %s = foreach.reduce max along list (%x = %x : !list) -> !num {
      foreach.yield %x : f32
    }
    %more = foreach.map (%s = %s, %t = %tol : !num) -> tensor<i1> {
      %m = arith.cmpf ogt, %s, %t : f32
      foreach.yield %m : i1
    }
    foreach.yield %y while %more : !list while tensor<i1>
  }
  return %x, %iterations : !list, tensor<i32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// The old value of a list is read after a sweep has read the new one, so an
// iteration ends with a copy.
// CHECK-LABEL: fused.program @copies
// CHECK:         fused.loop name "copies_loop" result_buffers
// REMARK-COUNT-2: remark: a sweep ends its members in the last blocks of their tiles: it is in a loop
// REMARK:      remark: 'copies_loop' has no cooperative form: an iteration ends with copies
func.func @copies(%x0: !list, %y0: !list, %tol: !num, %limit: tensor<i32>) -> (!list, !list, tensor<i32>) {
  %x, %y, %iterations = foreach.while (%x = %x0, %y = %y0 : !list) upto %limit -> (!list, !list, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %a = math.absf %x : f32
      foreach.yield %a : f32
    }
    %s = foreach.reduce max along list (%x = %x1 : !list) -> !num {
      foreach.yield %x : f32
    }
    %u = foreach.reduce max along list (%x = %x1 : !list, %s = %s : !num) -> !num {
      %a = arith.subf %x, %s : f32
      foreach.yield %a : f32
    }
    %y1 = foreach.map (%x = %x, %y = %y : !list, %s = %u : !num) -> !list {
      %a = arith.mulf %x, %s : f32
      %b = arith.addf %a, %y : f32
      foreach.yield %b : f32
    }
    %more = foreach.map (%s = %s, %t = %tol : !num) -> tensor<i1> {
      %m = arith.cmpf ogt, %s, %t : f32
      foreach.yield %m : i1
    }
    foreach.yield %x1, %y1 while %more : !list, !list while tensor<i1>
  }
  return %x, %y, %iterations : !list, !list, tensor<i32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// If one segment reduces elements, all segments with an end have it in that
// launch; `steps` alone would arrive early.
// CHECK-LABEL: fused.program @segments
// CHECK:         fused.sweep {{.*}}arrive = [own_launch, own_launch]>
// REMARK:      remark: a sweep has an evict-first variant
// REMARK:      remark: a sweep has its ends in a launch of its own
func.func @segments(%x: !list, %y: !list {foreach.donate = 0 : i64}, %step: !each {foreach.donate = 1 : i64}) -> (!list, !each, !each) {
  %s = foreach.reduce add along member (%x = %x : !list) -> !each {
    foreach.yield %x : f32
  }
  %t = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %n = arith.addf %t, %one : f32
    foreach.yield %n : f32
  }
  %z = foreach.map (%y = %y : !list, %t = %t : !each) -> !list {
    %a = arith.divf %y, %t : f32
    foreach.yield %a : f32
  }
  return %z, %t, %s : !list, !each, !each
}

// -----

!each = !foreach.list<tensor<f32>>
!num = tensor<f32>

// Without elements, no block of a tile has stores for which it waits.
// CHECK-LABEL: fused.program @members
// CHECK:         fused.sweep {{.*}}arrive = [late]>
// REMARK:      remark: a sweep ends its members in the last blocks of their tiles: it visits no elements
func.func @members(%x: !each) -> !num {
  %s = foreach.reduce add along list (%x = %x : !each) -> !num {
    foreach.yield %x : f32
  }
  return %s : !num
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// A sweep of rows has entries for held rows. In those of up to 512 and 1024 columns, a warp has
// each row. The others have rows of up to 16384 columns, or of fewer if a
// thread would hold too many words. An entry that leaves room for fewer blocks runs if
// most elements need it. A sweep that reduces columns alone has no such entry.
// CHECK-LABEL: fused.program @held
// CHECK:         fused.sweep {{.*}}launch <variants = [<max_columns = 512, scalars = value, blocks = 6>, <max_columns = 1024, mostly_over = 256, scalars = value, blocks = 4>, <max_columns = 4096, scalars = value, blocks = 5>, <max_columns = 8192, scalars = value, blocks = 5>, <max_columns = 16384, scalars = value, blocks = 3>, <max_parts = 128, scalars = value, blocks = 5>, <scalars = value, blocks = 3>]
// CHECK-LABEL: fused.program @held_pairs
// CHECK:         fused.sweep {{.*}}launch <variants = [<max_columns = 512, scalars = value, blocks = 4>, <max_columns = 4096, scalars = value, blocks = 4>, <max_columns = 8192, mostly_over = 4096, scalars = value, blocks = 3>, <max_parts = 256, scalars = value, blocks = 5>, <scalars = value, blocks = 4>]
// CHECK-LABEL: fused.program @held_less
// CHECK:         fused.sweep {{.*}}launch <variants = [<max_columns = 2048, scalars = value, blocks = [[#]]>, <scalars = value, blocks = [[#]]>]
// CHECK-LABEL: fused.program @down
// CHECK-NOT:     max_columns
func.func @held(%x: !mats) -> !list {
  %s = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %s : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @held_pairs(%x: !mats, %y: !mats) -> !list {
  %s = foreach.reduce add along j (%x = %x[i, j], %y = %y[i, j] : !mats) -> !list {
    %a = arith.mulf %x, %y : f32
    foreach.yield %a : f32
  }
  return %s : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @held_less(%x: !mats, %y: !mats, %z: !mats, %w: !mats) -> !list {
  %s = foreach.reduce add along j (%x = %x[i, j], %y = %y[i, j], %z = %z[i, j], %w = %w[i, j] : !mats) -> !list {
    %a = arith.mulf %x, %y : f32
    %b = arith.mulf %z, %w : f32
    %c = arith.addf %a, %b : f32
    foreach.yield %c : f32
  }
  return %s : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @down(%x: !mats) -> !list {
  %c = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %c : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// Blocks of `rows` combine tiles in groups. The vector is as short as a row. The
// matrix is visited as a vector.
// CHECK-LABEL: fused.program @matrices
// CHECK:         fused.sweep {{.*}}<rows{{.*}}arrive = [late]>
// CHECK:         fused.sweep {{.*}}<stream{{.*}}arrive = [late]>
// CHECK:         fused.sweep {{.*}}<stream{{.*}}arrive = [own_launch]>
// REMARK:      remark: a sweep ends its members in the last blocks of their tiles: vectors beside matrices are short
// REMARK:      remark: a sweep has its ends in a launch of its own
func.func @matrices(%x: !mats, %v: !list, %y: !mats) -> (!list, !list, !each, !each) {
  %r = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %c = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %w = foreach.reduce add along member (%v = %v : !list) -> !each {
    foreach.yield %v : f32
  }
  %m = foreach.reduce add along member (%y = %y : !mats) -> !each {
    foreach.yield %y : f32
  }
  return %r, %c, %w, %m : !list, !list, !each, !each
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// A launch of its own ends a sweep over rows that reduces elements over members, unless it
// reduces over columns, too: then blocks combine the columns of tiles.
// CHECK-LABEL: fused.program @rows_over_members
// CHECK:         fused.sweep {{.*}}<rows{{.*}}arrive = [own_launch]>
// REMARK:      remark: a sweep has its ends in a launch of its own, so no block of a tile waits for its stores
// CHECK-LABEL: fused.program @rows_and_columns
// CHECK:         fused.sweep {{.*}}<rows{{.*}}arrive = [late]>
// REMARK-NOT:  remark: a sweep ends its members
func.func @rows_over_members(%x: !mats, %r: !vecs) -> !each {
  %s = foreach.reduce add along member (%x = %x[i, j] : !mats, %r = %r[i] : !vecs) -> !each {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  return %s : !each
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

func.func @rows_and_columns(%x: !mats, %r: !vecs) -> (!each, !vecs) {
  %s = foreach.reduce add along member (%x = %x[i, j] : !mats, %r = %r[i] : !vecs) -> !each {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  %c = foreach.reduce add along i (%x = %x[i, j] : !mats, %r = %r[i] : !vecs) -> !vecs {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  return %s, %c : !each, !vecs
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!halves = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>

// The blocks of a row are a cluster if they exchange states twice, or if they read 16 bits for
// each element, but not if they only add up elements: then a block has several parts. Sums of
// exponentials of f32 are faster without clusters. Rows of any number of short parts have an
// entry of their own, without clusters.
// CHECK-LABEL: fused.program @twice
// CHECK:         fused.sweep {{.*}}<mostly_over = 131072, scalars = value, blocks = 3>, <max_parts = 16, cluster = true, scalars = value, blocks = 4>, <scalars = value, blocks = 3>]
// CHECK-LABEL: fused.program @halves
// CHECK:         fused.sweep {{.*}}<max_columns = 4096, scalars = value, blocks = 6>, <max_columns = 8192, scalars = value, blocks = 6>, <max_columns = 16384, scalars = value, blocks = 4>, <max_parts = 128, scalars = value, blocks = 5>
// CHECK-LABEL: fused.program @halves_of_function
// CHECK:         fused.sweep {{.*}}<max_parts = 16, cluster = true, scalars = value, blocks = 4>, <max_parts = 128, scalars = value, blocks = 4>
// CHECK-LABEL: fused.program @sums
// CHECK:         fused.sweep {{.*}}<max_columns = 16384, scalars = value, blocks = 3>, <max_parts = 128, scalars = value, blocks = 5>
// CHECK-LABEL: fused.program @once
// CHECK-NOT:     cluster
// CHECK:         <max_parts = 128, scalars = value, blocks = 4>
func.func @twice(%x: !mats) -> !vecs {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    foreach.yield %d : f32
  }
  return %sum : !vecs
}

func.func @halves(%x: !halves) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32 : !halves) -> !vecs {
    foreach.yield %x : f32
  }
  return %sum : !vecs
}

func.func @halves_of_function(%x: !halves) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32 : !halves) -> !vecs {
    %e = math.exp %x : f32
    foreach.yield %e : f32
  }
  return %sum : !vecs
}

func.func @sums(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  return %sum : !vecs
}

func.func @once(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    %e = math.exp %x : f32
    foreach.yield %e : f32
  }
  return %sum : !vecs
}

// -----

!doubles = !foreach.list<tensor<?x?xf64>>
!reals = !foreach.list<tensor<?xf64>>
!halves = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>

// Sums of f64 leave registers for more blocks.
// CHECK-LABEL: fused.program @doubles
// CHECK:         fused.sweep {{.*}}<max_columns = 512, scalars = value, blocks = 5>, <max_columns = 4096, scalars = value, blocks = 5>, <max_columns = 8192, mostly_over = 4096, scalars = value, blocks = 3>, <max_parts = 256, scalars = value, blocks = 6>, <scalars = value, blocks = 4>]
// CHECK-LABEL: fused.program @products_of_halves
// CHECK:         fused.sweep {{.*}}<max_parts = 256, scalars = value, blocks = 5>
func.func @doubles(%x: !doubles) -> !reals {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !doubles) -> !reals {
    foreach.yield %x : f64
  }
  return %sum : !reals
}

func.func @products_of_halves(%x: !halves, %y: !halves) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] as f32, %y = %y[i, j] as f32 : !halves) -> !vecs {
    %z = arith.mulf %x, %y : f32
    foreach.yield %z : f32
  }
  return %sum : !vecs
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// New addresses of a large list that is only read are parameters of a launch.
// CHECK-LABEL: fused.program @read_only
// CHECK:         fused.sweep {{.*}}launch <variants = [<scalars = value, blocks = [[#]], evict_first_l2_percent = 97>, <min_elements = 16777216, scalars = value, blocks = [[#]]>, <scalars = value, blocks = [[#]]>, <scalars = address, blocks = [[#]]>], arrive = [none]>
// REMARK:      remark: a sweep has an evict-first variant
func.func @read_only(%x: !list {foreach.donate = 0 : i64}, %g: !list, %lr: !num) -> !list {
  %y = foreach.map (%x = %x, %g = %g : !list, %lr = %lr as f32 : !num) -> !list {
    %a = arith.mulf %lr, %g : f32
    %b = arith.subf %x, %a : f32
    foreach.yield %b : f32
  }
  return %y : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!wide = !foreach.list<tensor<?x?xf64>>
!vecs = !foreach.list<tensor<?xf32>>

// Rows that blocks share and only map have an entry for vectors, unless elements are doubles.
// CHECK-LABEL: fused.program @mapped
// CHECK:         fused.sweep {{.*}}launch <variants = [<mostly_multiples_of = 4, scalars = value, blocks = 6>, <scalars = value, blocks = 5>]
// CHECK-LABEL: fused.program @doubles
// CHECK:         fused.sweep {{.*}}launch <variants = [<scalars = value, blocks = 2>]
func.func @mapped(%x: !mats, %row: !vecs) -> !mats {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !vecs) -> !mats {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}

func.func @doubles(%x: !wide, %row: !vecs) -> !wide {
  %y = foreach.map (%x = %x[i, j] : !wide, %r = %row[i] as f64 : !vecs) -> !wide {
    %y = arith.mulf %x, %r : f64
    foreach.yield %y : f64
  }
  return %y : !wide
}
