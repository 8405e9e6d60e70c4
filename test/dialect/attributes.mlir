// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

// Attributes on the arguments of an entry function and of a fused program.

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: func.func @function(
// CHECK-SAME: !foreach.list<tensor<?xf32>> {foreach.donate = 1 : i64, foreach.initial = 0.000000e+00 : f32}
// CHECK-SAME: tensor<f64> {foreach.default = 1.000000e-03 : f64}
// CHECK-SAME: tensor<i32> {foreach.default = 5 : i32}
func.func @function(%x: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
                    %lr: tensor<f64> {foreach.default = 1.0e-3 : f64}, %n: tensor<i32> {foreach.default = 5 : i32})
    -> (tensor<f64>, !list) {
  return %lr, %x : tensor<f64>, !list
}

// CHECK-LABEL: fused.program @program(
// CHECK-SAME: !foreach.list<tensor<?xf32>> {foreach.donate = 0 : i64}
// CHECK-SAME: tensor<f64> {foreach.default = 1.000000e-03 : f64}
fused.program @program(%x: !list {foreach.donate = 0 : i64}, %lr: tensor<f64> {foreach.default = 1.0e-3 : f64}) -> !list {
  fused.yield %x : !list
}
