!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
func.func @sinkhorn(%log_kernel: !mats, %log_a: !list, %log_b: !list, %u0: !list, %v0: !list, %tol: !each,
                    %limit: tensor<i32>) -> (!list, !list, !each, !iteration) {
  %u, %v, %error, %iterations = foreach.while (%u = %u0, %v = %v0 : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %row = foreach.reduce logsumexp along j (%l = %log_kernel[i, j] : !mats, %vj = %v[j] : !list) -> !list {
      %x = arith.addf %l, %vj : f32
      foreach.yield %x : f32
    }
    %u1 = foreach.map (%la = %log_a, %s = %row : !list) -> !list {
      %x = arith.subf %la, %s : f32
      foreach.yield %x : f32
    }
    %column = foreach.reduce logsumexp along i (%l = %log_kernel[i, j] : !mats, %ui = %u1[i] : !list) -> !list {
      %x = arith.addf %l, %ui : f32
      foreach.yield %x : f32
    }
    %v1 = foreach.map (%lb = %log_b, %s = %column : !list) -> !list {
      %x = arith.subf %lb, %s : f32
      foreach.yield %x : f32
    }
    %error = foreach.reduce add along i (%ui = %u, %s = %row, %la = %log_a : !list) -> !each {
      %log_sum = arith.addf %ui, %s : f32
      %sum = math.exp %log_sum : f32
      %a = math.exp %la : f32
      %gap = arith.subf %sum, %a : f32
      %size = math.absf %gap : f32
      foreach.yield %size : f32
    }
    %more = foreach.map (%e = %error, %t = %tol : !each) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %u, %v, %error, %iterations : !list, !list, !each, !iteration
}
