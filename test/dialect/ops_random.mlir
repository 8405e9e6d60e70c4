// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: func.func @random
func.func @random(%x: !list, %seed: tensor<i64>) -> !list {
  %y = foreach.map (%x = %x : !list, %seed = %seed : tensor<i64>) -> !list {
    // CHECK: foreach.index member : i64
    %k = foreach.index member : i64
    // CHECK: foreach.random seed %{{.*}} stream %{{.*}} block %{{.*}} at %{{.*}} : i16
    %bits = foreach.random seed %seed stream %seed block %k at %k : i16
    // CHECK: foreach.random seed %{{.*}} stream %{{.*}} block %{{.*}} at %{{.*}} : i32
    %word = foreach.random seed %seed stream %seed block %k at %k : i32
    // CHECK: foreach.round %{{.*}} to bf16 by %{{.*}} : f32
    %r = foreach.round %x to bf16 by %bits : f32
    // CHECK: foreach.round %{{.*}} to f16 by %{{.*}} : f32
    %s = foreach.round %r to f16 by %bits : f32
    // CHECK: foreach.high %{{.*}} : f32
    %high = foreach.high %s : f32
    // CHECK: foreach.low %{{.*}} : f32
    %low = foreach.low %s : f32
    // CHECK: foreach.join %{{.*}}, %{{.*}} : f32
    %x1 = foreach.join %high, %low : f32
    %w = arith.sitofp %word : i32 to f32
    %t = arith.addf %x1, %w : f32
    foreach.yield %t : f32
  }
  return %y : !list
}
