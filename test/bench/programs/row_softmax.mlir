// The softmax of every row: y = exp(x - m) / sum over j of exp(x - m), with m = max over j of x.

!element = f32 // of the matrices
!real    = f32 // of the arithmetic
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>

func.func @row_softmax(%x: !mats) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] as !real : !mats, %most = %most[i] : !vecs) -> !vecs {
    %shifted = arith.subf %x, %most : !real
    %power = math.exp %shifted : !real
    foreach.yield %power : !real
  }
  %y = foreach.map (%x = %x[i, j] as !real : !mats, %most = %most[i], %sum = %sum[i] : !vecs) -> !mats {
    %shifted = arith.subf %x, %most : !real
    %power = math.exp %shifted : !real
    %y = arith.divf %power, %sum : !real
    foreach.yield %y : !real
  }
  return %y : !mats
}
