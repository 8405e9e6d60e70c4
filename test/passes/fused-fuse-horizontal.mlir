// Which independent sweeps become segments of one sweep.
// RUN: %heddle_opt --fused-fuse-horizontal --split-input-file %s | FileCheck %s
// RUN: %heddle_opt --fused-fuse-horizontal=remarks=true --split-input-file %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!num = tensor<f64>

// Reductions over two lists are combined in one epilogue.
// REMARK: remark: a sweep joined to a sweep as a segment: independent, saves a sweep
// CHECK-LABEL: fused.program @norm
// CHECK:         %[[R:.*]]:3 = fused.sweep (%{{.*}} = %{{.*}} as f64 : !foreach.list<tensor<?xf32>>) -> tensor<f64> {
// CHECK:         } and (%{{.*}} = %{{.*}} as f64 : !foreach.list<tensor<?xbf16>>) -> tensor<f64> {
// CHECK:         } epilogue [%[[A:.*]]: f64, %[[B:.*]]: f64] () -> tensor<f64> {
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[A]], %[[B]] : f64
// CHECK-NEXT:      fused.yield %[[S]]
// CHECK-NOT:     fused.sweep
fused.program @norm(%x: !list, %y: !half) -> !num {
  %a = fused.sweep (%x = %x as f64 : !list) -> !num {
    %a = fused.reduce add list %x : f64
    fused.yield %a : f64
  }
  %b, %s = fused.sweep (%y = %y as f64 : !half) -> !num {
    %b = fused.reduce add list %y : f64
    fused.yield %b : f64
  } epilogue [%b : f64] (%a = %a : !num) -> !num {
    %s = arith.addf %a, %b : f64
    fused.yield %s : f64
  }
  fused.yield %s : !num
}

// -----

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!num = tensor<f32>

// Chains over different lists are joined sweep by sweep.
// CHECK-LABEL: fused.program @chains
// CHECK:         %[[N:.*]]:2 = fused.sweep
// CHECK:         and
// CHECK:         fused.sweep ({{.*}} = %[[N]]#0 : tensor<f32>)
// CHECK:         and ({{.*}} = %[[N]]#1 : tensor<f32>)
// CHECK-NOT:     fused.sweep
fused.program @chains(%x: !list, %y: !half) -> (!list, !half) {
  %a = fused.sweep (%x = %x : !list) -> !num {
    %a = fused.reduce add list %x : f32
    fused.yield %a : f32
  }
  %x1 = fused.sweep (%x = %x : !list, %a = %a : !num) -> !list {
    %q = arith.divf %x, %a : f32
    fused.yield %q : f32
  }
  %b = fused.sweep (%y = %y as f32 : !half) -> !num {
    %b = fused.reduce add list %y : f32
    fused.yield %b : f32
  }
  %y1 = fused.sweep (%y = %y as f32 : !half, %b = %b : !num) -> !half {
    %q = arith.divf %y, %b : f32
    fused.yield %q : f32
  }
  fused.yield %x1, %y1 : !list, !half
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// Sweeps of different rank classes are not joined.
// CHECK-LABEL: fused.program @classes
// CHECK-COUNT-3: fused.sweep
fused.program @classes(%x: !list, %m: !mats, %l: !mats) -> (!list, !mats, !list) {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  %b = fused.sweep (%m = %m[i, j] : !mats) -> !mats {
    fused.yield %m : f32
  }
  %c = fused.sweep (%l = %l[i, j] : !mats) -> !list {
    %r = fused.reduce add row %l : f32
    fused.yield %r : f32
  }
  fused.yield %a, %b, %c : !list, !mats, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// A sweep whose elements depend on another sweep is not joined to it.
// CHECK-LABEL: fused.program @dependent
// CHECK-COUNT-2: fused.sweep
fused.program @dependent(%x: !list, %y: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !num {
    %a = fused.reduce add list %x : f32
    fused.yield %a : f32
  }
  %y1 = fused.sweep (%y = %y : !list, %a = %a : !num) -> !list {
    %q = arith.divf %y, %a : f32
    fused.yield %q : f32
  }
  fused.yield %y1 : !list
}
