// Names of sweeps and the order of bodies.
// RUN: %heddle_opt --fused-prepare-cuda --split-input-file %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

// Equal operations are merged; the order is list, member, element, after.
// CHECK-LABEL: fused.program @step
// CHECK:         fused.sweep name "step" (
// CHECK-NEXT:      arith.constant 1.0{{.*}} : f64
// CHECK-NEXT:      arith.subf %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:      arith.truncf
// CHECK-NEXT:      arith.addf %t, %t : f32
// CHECK-NEXT:      arith.mulf %x
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      fused.reduce add member
// CHECK-NEXT:      math.sqrt
// CHECK-NEXT:      fused.yield
fused.program @step(%x: !list, %t: !each, %b: !num) -> (!list, !each) {
  %y, %n = fused.sweep (%x = %x : !list, %t = %t : !each, %b = %b : !num) -> (!list, !each) {
    %s = fused.reduce add member %x : f32
    %n = math.sqrt %s : f32
    %u = arith.addf %t, %t : f32
    %v = arith.addf %t, %t : f32
    %y = arith.mulf %x, %u : f32
    %one = arith.constant 1.0 : f64
    %w = arith.subf %one, %b : f64
    %f = arith.truncf %w : f64 to f32
    %z = arith.mulf %y, %f : f32
    fused.yield %z, %n : f32, f32
  }
  fused.yield %y, %n : !list, !each
}

// -----

!list = !foreach.list<tensor<?xf32>>

// Names are C identifiers for any names of the program and its values.
// CHECK-LABEL: fused.program @"\22; __trap(); //"
// CHECK:         name "trap_a_b"
// CHECK:         name "trap_a_b_2"
// CHECK:         name "trap_sweep"
// CHECK:         name "trap_sweep_int"
fused.program @"\"; __trap(); //"(%x: !list) -> (!list, !list, !list, !list) {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  } loc("a b")
  %b = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  } loc("a*b")
  %c = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  %d = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  } loc("int")
  fused.yield %a, %b, %c, %d : !list, !list, !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: fused.program @"7"
// CHECK:         name "program_7"
fused.program @"7"(%x: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  fused.yield %a : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// A sweep called like a keyword.
// CHECK-LABEL: fused.program @co_await
// CHECK:         name "program_co_await"
fused.program @co_await(%x: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  fused.yield %a : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: fused.program @"\C3\A9"
// CHECK:         name "program"
fused.program @"\C3\A9"(%x: !list) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !list {
    fused.yield %x : f32
  }
  fused.yield %a : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: fused.program @iterate
// CHECK:         fused.loop name "iterate_loop" (
// CHECK:           fused.sweep name "iterate" (
fused.program @iterate(%x0: !list, %n: tensor<i32>) -> !list {
  %x, %t = fused.loop (%x = %x0 : !list) upto %n -> (!list, tensor<i32>) {
    %y, %m = fused.sweep (%x = %x : !list) -> !list {
      fused.yield %x : f32
    } epilogue [] () -> tensor<i1> {
      %true = arith.constant true
      fused.yield %true : i1
    }
    fused.yield %y while %m : !list while tensor<i1>
  }
  fused.yield %x : !list
}
