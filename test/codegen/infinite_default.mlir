// JSON has no infinities: a plan writes them as strings.
// RUN: %heddle emit %s --stage plan | FileCheck %s
// CHECK: "default": "-inf"

!list = !foreach.list<tensor<?xf32>>
func.func @at_least(%x: !list {foreach.donate = 0 : i64}, %s: tensor<f64> {foreach.default = 0xFFF0000000000000 : f64}) -> !list {
  %y = foreach.map (%x = %x : !list, %s = %s as f32 : tensor<f64>) -> !list {
    %m = arith.maximumf %x, %s : f32
    foreach.yield %m : f32
  }
  return %y : !list
}
