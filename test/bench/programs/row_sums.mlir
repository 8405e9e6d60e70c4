// The sum of every row.

!element = f32 // of the matrices
!real    = f32 // of the sums
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>

func.func @row_sums(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  return %sum : !vecs
}
