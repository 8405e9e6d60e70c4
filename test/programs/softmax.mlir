// The softmax of every row at a temperature: exp(x / T) over its sum, about the maximum.

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!num = tensor<f64>

func.func @softmax(
    %x: !mats,
    %temperature: !num {foreach.default = 0.7 : f64}) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %sum = foreach.reduce add along j (
      %x = %x[i, j] as !real : !mats, %most = %most[i] : !vecs, %t = %temperature as !real : !num) -> !vecs {
    // e = exp((x - most) / t)
    %e_1 = arith.subf %x, %most : !real
    %e_2 = arith.divf %e_1, %t : !real
    %e = math.exp %e_2 : !real
    foreach.yield %e : !real
  }
  %y = foreach.map (
      %x = %x[i, j] as !real : !mats, %most = %most[i], %sum = %sum[i] : !vecs, %t = %temperature as !real : !num)
      -> !mats {
    // y = exp((x - most) / t) / sum
    %y_1 = arith.subf %x, %most : !real
    %y_2 = arith.divf %y_1, %t : !real
    %y_3 = math.exp %y_2 : !real
    %y = arith.divf %y_3, %sum : !real
    foreach.yield %y : !real
  }
  return %y : !mats
}
