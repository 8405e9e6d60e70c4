// The logarithm of the softmax of every row, and the cross entropy with a distribution for each row.
//
//   y = x - logsumexp over j of x,  loss = - mean over i of sum over j of target y

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>

func.func @log_softmax(%x: !mats, %target: !mats) -> (!mats, !each) {
  %norm = foreach.reduce logsumexp along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %y = foreach.map (%x = %x[i, j] as !real : !mats, %norm = %norm[i] : !vecs) -> !mats {
    %y = arith.subf %x, %norm : !real
    foreach.yield %y : !real
  }
  %sum = foreach.reduce add along member (%y = %y as !real, %target = %target as !real : !mats) -> !each {
    %product = arith.mulf %y, %target : !real
    foreach.yield %product : !real
  }
  %rows = foreach.reduce add along member (%norm = %norm : !vecs) -> !each {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %loss = foreach.map (%sum = %sum, %n = %rows : !each) -> !each {
    // loss = -sum / n
    %loss_1 = arith.negf %sum : !real
    %loss = arith.divf %loss_1, %n : !real
    foreach.yield %loss : !real
  }
  return %y, %loss : !mats, !each
}
