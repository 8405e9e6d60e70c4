// The softmax of every row at a temperature: exp(x / T) over its sum, about the maximum.

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

func.func @softmax(
    %x: !mats,
    %temperature: !num {foreach.default = 0.7 : f64}) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (
      %x = %x[i, j] : !mats, %most = %most[i] : !vecs, %t = %temperature as f32 : !num) -> !vecs {
    // e = exp((x - most) / t)
    %e_1 = arith.subf %x, %most : f32
    %e_2 = arith.divf %e_1, %t : f32
    %e = math.exp %e_2 : f32
    foreach.yield %e : f32
  }
  %y = foreach.map (
      %x = %x[i, j] : !mats, %most = %most[i], %sum = %sum[i] : !vecs, %t = %temperature as f32 : !num) -> !mats {
    // y = exp((x - most) / t) / sum
    %y_1 = arith.subf %x, %most : f32
    %y_2 = arith.divf %y_1, %t : f32
    %y_3 = math.exp %y_2 : f32
    %y = arith.divf %y_3, %sum : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}
