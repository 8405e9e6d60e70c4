// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s

// CHECK-LABEL: func.func @sign
func.func @sign(%x: f32, %y: f64) -> (f32, f64) {
  // CHECK: foreach.sign %{{.*}} : f32
  %a = foreach.sign %x : f32
  // CHECK: foreach.sign %{{.*}} : f64
  %b = foreach.sign %y : f64
  return %a, %b : f32, f64
}
