!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func private @half(%x: f32) -> f32 {
  %c = arith.constant 0.5 : f32
  %y = arith.mulf %x, %c : f32
  return %y : f32
}
func.func private @quarter(%x: f32) -> f32 {
  %a = func.call @half(%x) : (f32) -> f32
  %b = func.call @half(%a) : (f32) -> f32
  return %b : f32
}
func.func @f(%x: !list {foreach.donate = 0 : i64}, %t: tensor<f32> {foreach.donate = 1 : i64}) -> (!list, tensor<f32>, !each, tensor<f32>, tensor<i32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %t1 = arith.addf %t, %one : tensor<f32>
  %three = arith.constant dense<3> : tensor<i32>
  %least, %at = foreach.reduce argmin along member (%x = %x : !list) -> (!each, !foreach.list<tensor<i64>>) {
    foreach.yield %x : f32
  }
  %mean = foreach.reduce mean along list (%x = %x : !list) -> tensor<f32> {
    foreach.yield %x : f32
  }
  %y, %k = foreach.while (%y = %x : !list) upto %three -> (!list, tensor<i32>) {
    %z = foreach.map (%y = %y : !list, %t = %t1 : tensor<f32>) -> !list {
      %q = func.call @quarter(%y) : (f32) -> f32
      %i = arith.bitcast %q : f32 to i32
      %one = arith.constant 1 : i32
      %s = arith.shli %i, %one : i32
      %r = arith.remsi %s, %i : i32
      %f = arith.sitofp %r : i32 to f32
      %n = math.fpowi %t, %one : f32, i32
      %g = arith.remf %f, %n : f32
      %z = math.atan2 %g, %q : f32
      foreach.yield %z : f32
    }
    foreach.yield %z : !list
  }
  return %y, %t1, %least, %mean, %k : !list, tensor<f32>, !each, tensor<f32>, tensor<i32>
}
