// Entropic optimal transport: a transport plan P with row sums a and column sums
// b that minimizes sum P C + eps sum P log P (Cuturi, Sinkhorn Distances).
//
//   L   = -C / eps
//   u_i = log a_i - log sum_j exp(L_ij + v_j)      until
//   v_j = log b_j - log sum_i exp(L_ij + u_i)      sum_i |sum_j P_ij - a_i| <= tol
//   P_ij = exp(u_i + L_ij + v_j)

!mats = !foreach.list<tensor<?x?xf32>> // one matrix of costs per problem
!list = !foreach.list<tensor<?xf32>>   // one vector per problem, over its rows or columns
!each = !foreach.list<tensor<f32>>     // one scalar per problem
!iteration = !foreach.list<tensor<i32>>
!flag = !foreach.list<tensor<i1>>
!num  = tensor<f64>                    // a device scalar, set between solves

func.func @sinkhorn(
    %C: !mats,
    %a: !list {foreach.initial = 1.0 : f32},
    %b: !list {foreach.initial = 1.0 : f32},
    %eps:   !num {foreach.default = 0.5 : f64},
    %tol:   !num {foreach.default = 1.0e-4 : f64},
    %limit: tensor<i32> {foreach.default = 1000 : i32}) -> (!mats, !each, !iteration) {

  %log_a, %u0 = foreach.map (%a = %a : !list) -> (!list, !list) {
    %log_a = math.log %a : f32
    %zero = arith.constant 0.0 : f32
    foreach.yield %log_a, %zero : f32, f32
  }
  %log_b, %v0 = foreach.map (%b = %b : !list) -> (!list, !list) {
    %log_b = math.log %b : f32
    %zero = arith.constant 0.0 : f32
    foreach.yield %log_b, %zero : f32, f32
  }
  %scale = foreach.map (%eps = %eps : !num) -> !num {
    %minus = arith.constant -1.0 : f64
    %scale = arith.divf %minus, %eps : f64
    foreach.yield %scale : f64
  }

  %u, %v, %error, %iterations = foreach.while (%u = %u0, %v = %v0 : !list) upto %limit
      -> (!list, !list, !each, !iteration) {
    // u = log a - log sum_j exp(L + v)
    %row = foreach.reduce logsumexp along j (%c = %C[i, j] : !mats, %v = %v[j] : !list, %scale = %scale as f32 : !num)
        -> !list {
      %l = arith.mulf %c, %scale : f32
      %x = arith.addf %l, %v : f32
      foreach.yield %x : f32
    }
    %u1 = foreach.map (%log_a = %log_a, %row = %row : !list) -> !list {
      %u1 = arith.subf %log_a, %row : f32
      foreach.yield %u1 : f32
    }
    // v = log b - log sum_i exp(L + u)
    %col = foreach.reduce logsumexp along i (%c = %C[i, j] : !mats, %u = %u1[i] : !list, %scale = %scale as f32 : !num)
        -> !list {
      %l = arith.mulf %c, %scale : f32
      %x = arith.addf %l, %u : f32
      foreach.yield %x : f32
    }
    %v1 = foreach.map (%log_b = %log_b, %col = %col : !list) -> !list {
      %v1 = arith.subf %log_b, %col : f32
      foreach.yield %v1 : f32
    }
    // sum_i |sum_j P - a| for the u and v at the start of the iteration
    %error = foreach.reduce add along i (%u = %u, %row = %row, %a = %a : !list) -> !each {
      %log_sum = arith.addf %u, %row : f32
      %sum = math.exp %log_sum : f32
      %excess = arith.subf %sum, %a : f32
      %miss = math.absf %excess : f32
      foreach.yield %miss : f32
    }
    %more = foreach.map (%error = %error : !each, %tol = %tol as f32 : !num) -> !flag {
      %more = arith.cmpf ogt, %error, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }

  // P = exp(u + L + v)
  %plan = foreach.map (%c = %C[i, j] : !mats, %u = %u[i], %v = %v[j] : !list, %scale = %scale as f32 : !num) -> !mats {
    %l = arith.mulf %c, %scale : f32
    %ul = arith.addf %u, %l : f32
    %log_p = arith.addf %ul, %v : f32
    %p = math.exp %log_p : f32
    foreach.yield %p : f32
  }
  return %plan, %error, %iterations : !mats, !each, !iteration
}
