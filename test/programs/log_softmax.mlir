// The logarithm of the softmax of every row, and the cross entropy with a distribution for each row.
//
//   y = x - logsumexp over j of x,  loss = - mean over i of sum over j of target y

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

func.func @log_softmax(%x: !mats, %target: !mats) -> (!mats, !each) {
  %norm = foreach.reduce logsumexp along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %norm = %norm[i] : !vecs) -> !mats {
    %y = arith.subf %x, %norm : f32
    foreach.yield %y : f32
  }
  %sum = foreach.reduce add along member (%y = %y, %target = %target : !mats) -> !each {
    %product = arith.mulf %y, %target : f32
    foreach.yield %product : f32
  }
  %rows = foreach.reduce add along member (%norm = %norm : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %loss = foreach.map (%sum = %sum, %n = %rows : !each) -> !each {
    // loss = -sum / n
    %loss_1 = arith.negf %sum : f32
    %loss = arith.divf %loss_1, %n : f32
    foreach.yield %loss : f32
  }
  return %y, %loss : !mats, !each
}
