// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s | %heddle_opt | FileCheck %s

// The attributes that passes set on programs, sweeps and loops.

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: fused.program @decided
// CHECK-SAME:    attributes {buffers = [#fused.buffer<"more", temporary, tensor<i1>>, #fused.buffer<"each", temporary, !foreach.list<tensor<f32>>, members = 0>, #fused.buffer<"y", result, !foreach.list<tensor<?xf32>>, extents = {{\[\[}}0, 0]], members = 0>], result_buffers = array<i64: 0>, traffic = [#fused.traffic<argument = 0, rank = 1, read = 4, written = 4, per_iteration = true>]} {
fused.program @decided(%x: !list {foreach.donate = 0 : i64}, %n: tensor<i32>) -> !list
    attributes {buffers = [#fused.buffer<"more", temporary, tensor<i1>>,
                           #fused.buffer<"each", temporary, !each, members = 0>,
                           #fused.buffer<"y", result, !list, extents = [[0, 0]], members = 0>],
                result_buffers = array<i64: 0>,
                traffic = [#fused.traffic<argument = 0, rank = 1, read = 4, written = 4, per_iteration = true>]} {
  // CHECK: fused.sweep schedule {{.*}} name "first" launch <variants = [<scalars = value, blocks = 6, evict_first_l2_percent = 97>, <scalars = value, blocks = 6>, <scalars = address, blocks = 5>], arrive = [own_launch]> result_buffers [3] (
  %e = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [8192], reason = "">
      name "first" launch <variants = [<scalars = value, blocks = 6, evict_first_l2_percent = 97>, <scalars = value, blocks = 6>, <scalars = address, blocks = 5>], arrive = [own_launch]>
      result_buffers [3] (%a = %x : !list) -> !each {
    %s = fused.reduce add member %a : f32
    fused.yield %s : f32
  }
  // CHECK: fused.sweep schedule {{.*}} name "second" launch <variants = [<scalars = value, blocks = 4>], arrive = [none], wait = [after_loads]> result_buffers [4] (
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "">
      name "second" launch #fused.launch<variants = [<scalars = value, blocks = 4>], arrive = [none], wait = [after_loads]>
      result_buffers [4] (%a = %x : !list, %s = %e : !each) -> !list {
    %b = arith.addf %a, %s : f32
    fused.yield %b : f32
  }
  // CHECK: fused.sweep schedule {{.*}} name "third" launch <variants = [<max_columns = 4096, scalars = value, blocks = 6>, <max_columns = 16384, mostly_over = 4096, scalars = value, blocks = 2>, <mostly_over = 131072, scalars = value, blocks = 3>, <max_parts = 16, cluster = true, scalars = value, blocks = 4>, <mostly_multiples_of = 4, scalars = value, blocks = 6>, <scalars = value, blocks = 4>], arrive = [none]> result_buffers [4] (
  %h = fused.sweep schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [1], reason = "">
      name "third" launch <variants = [<max_columns = 4096, scalars = value, blocks = 6>, <max_columns = 16384, mostly_over = 4096, scalars = value, blocks = 2>, <mostly_over = 131072, scalars = value, blocks = 3>, <max_parts = 16, cluster = true, scalars = value, blocks = 4>, <mostly_multiples_of = 4, scalars = value, blocks = 6>, <scalars = value, blocks = 4>], arrive = [none]>
      result_buffers [4] (%a = %y : !list) -> !list {
    fused.yield %a : f32
  }
  // CHECK: fused.loop name "loop" cooperative <threads = 256, blocks = 2, tiles = 8192> result_buffers [0, 1] condition_buffer 2 (
  %r, %t = fused.loop name "loop" cooperative <threads = 256, blocks = 2, tiles = 8192> result_buffers [0, 1] condition_buffer 2
      (%a = %y : !list) upto %n -> (!list, tensor<i32>) {
    %z, %more = fused.sweep (%b = %a : !list) -> (!list, tensor<i1>) {
      %p = math.isnan %b : f32
      %m = fused.reduce any list %p : i1
      fused.yield %b, %m : f32, i1
    }
    fused.yield %z while %more : !list while tensor<i1>
  }
  fused.yield %r : !list
}
