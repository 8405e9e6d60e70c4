// A sweep that writes elements, a value of each member and a value of the list. A
// launch of its own ends the members: the tiles write elements, that launch writes
// the others. Only that launch runs without tiles, for the value of the list.
// RUN: %heddle emit %s --stage plan > %t
// RUN: %python %S/Inputs/plan.py < %t | FileCheck %s --check-prefix=PLAN
// RUN: %python %S/Inputs/plan_parts.py < %t | FileCheck %s --check-prefix=PARTS
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle explain %s --shapes %S/../cli/Inputs/shapes.json:none --json | %python %S/../cli/Inputs/json_path.py - launches kernels.1.ends kernels.1.members | FileCheck %s --check-prefix=NONE

// PLAN:      2 nodes: kernel kernel
// PLAN-NEXT: edges: 0->1 programmatic
// PLAN-NEXT: parts: parts_evict_first value when fits_l2
// PLAN-NEXT: parts: parts_distances value when min_elements
// PLAN-NEXT: parts: parts_tiles value
// PLAN-NEXT: parts: parts_tiles_by_address address
// PLAN-NEXT: parts_ends: parts_ends value
// PLAN-NEXT: parts_ends: parts_ends_by_address address
// PARTS:      parts: tiles of parts, grid tiles, always False, writes x
// PARTS-NEXT: parts_ends: ends of parts, grid members, always True, writes step m s
// NONE: launches 1
// NONE: kernels.1.ends parts
// NONE: kernels.1.members 0

// Each segment has a function for its tiles and one for the ends of its members.
// CHECK:     // parts, stream: a block of 256 threads processes a tile, then another ends a member
// CHECK-NOT: arrive
// CHECK:     parts_tiles_by_address(
// CHECK:     // Runs once per member, when its tiles are complete.
// CHECK:     parts_end_0(
// CHECK:       *tile.step = n;
// CHECK:     parts_end_1(
// CHECK:       *tile.m = m;
// CHECK:     parts_end(
// CHECK:       switch (tile.segment) {
// CHECK:     parts_member(
// CHECK-NOT:   launch_dependents
// CHECK:       if (params.table.member_count == 0) {
// CHECK:       .first_tile;
// CHECK:       heddle::wait_for_dependency();
// CHECK-NEXT:  parts_end(params, tile, tile_index);
// CHECK:     parts_ends(
// CHECK:     parts_ends_by_address(

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>
func.func @parts(%x: !list {foreach.donate = 0 : i64}, %y: !list, %step: !each {foreach.donate = 1 : i64}, %lr: !num) -> (!list, !each, !each, !num) {
  %z = foreach.map (%x = %x, %y = %y : !list, %lr = %lr as f32 : !num) -> !list {
    %a = arith.mulf %y, %lr : f32
    %b = arith.subf %x, %a : f32
    foreach.yield %b : f32
  }
  %t = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %n = arith.addf %t, %one : f32
    foreach.yield %n : f32
  }
  %m = foreach.reduce max along member (%y = %y : !list) -> !each {
    foreach.yield %y : f32
  }
  %s = foreach.reduce add along list (%y = %y as f64 : !list) -> !num {
    foreach.yield %y : f64
  }
  return %z, %t, %m, %s : !list, !each, !each, !num
}
