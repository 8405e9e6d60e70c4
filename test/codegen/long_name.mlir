// The long name of a program is unchanged in the plan's entries and the source, so
// that the runtime finds every kernel of a program with several sweeps.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// CHECK: scale_every_gradient_by_the_inverse_of_its_global_norm_norm_tiles(
// CHECK: scale_every_gradient_by_the_inverse_of_its_global_norm_scaled_tiles(
// PLAN-DAG: "entry": "scale_every_gradient_by_the_inverse_of_its_global_norm_norm_tiles"
// PLAN-DAG: "entry": "scale_every_gradient_by_the_inverse_of_its_global_norm_scaled_tiles"

!list = !foreach.list<tensor<?xf32>>
func.func @scale_every_gradient_by_the_inverse_of_its_global_norm(%grad: !list) -> (tensor<f64>, !list) {
  %sum = foreach.reduce add along list (%g = %grad as f64 : !list) -> tensor<f64> {
    %square = arith.mulf %g, %g : f64
    foreach.yield %square : f64
  }
  %norm = foreach.map (%s = %sum : tensor<f64>) -> tensor<f64> {
    %n = math.sqrt %s : f64
    foreach.yield %n : f64
  }
  %scaled = foreach.map (%g = %grad : !list, %n = %norm as f32 : tensor<f64>) -> !list {
    %x = arith.divf %g, %n : f32
    foreach.yield %x : f32
  }
  return %norm, %scaled : tensor<f64>, !list
}
