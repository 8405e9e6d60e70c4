// Sinkhorn and Knopp's scaling of a positive matrix to given sums of rows and columns, in plain numbers (Cuturi,
// Sinkhorn Distances). The positive matrix is exp(-C / eps).
//
//   r = a / sum over j of K c,  c = b / sum over i of K r, until the row sums differ from a by at most tol

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @sinkhorn_knopp(
    %C: !mats,
    %a: !vecs {foreach.initial = 1.0 : !real},
    %b: !vecs {foreach.initial = 1.0 : !real},
    %eps: !num {foreach.default = 0.5 : f64},
    %tol: !num {foreach.default = 1.0e-4 : f64},
    %limit: tensor<i32> {foreach.default = 100 : i32}) -> (!vecs, !vecs, !each, !counts) {
  %start = foreach.map (%b = %b : !vecs) -> !vecs {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %r, %c, %error, %iterations = foreach.while (%r = %a, %c = %start : !vecs) upto %limit
      -> (!vecs, !vecs, !each, !counts) {
    %row_sum = foreach.reduce add along j (
        %x = %C[i, j] as !real : !mats, %c = %c[j] : !vecs, %eps = %eps as !real : !num) -> !vecs {
      // k = exp(-x / eps) * c
      %k_1 = arith.negf %x : !real
      %k_2 = arith.divf %k_1, %eps : !real
      %k_3 = math.exp %k_2 : !real
      %k = arith.mulf %k_3, %c : !real
      foreach.yield %k : !real
    }
    %error = foreach.reduce add along i (%r = %r, %s = %row_sum, %a = %a : !vecs) -> !each {
      // miss = abs(r * s - a)
      %miss_1 = arith.mulf %r, %s : !real
      %miss_2 = arith.subf %miss_1, %a : !real
      %miss = math.absf %miss_2 : !real
      foreach.yield %miss : !real
    }
    %r1 = foreach.map (%s = %row_sum, %a = %a : !vecs) -> !vecs {
      %r1 = arith.divf %a, %s : !real
      foreach.yield %r1 : !real
    }
    %column_sum = foreach.reduce add along i (
        %x = %C[i, j] as !real : !mats, %r = %r1[i] : !vecs, %eps = %eps as !real : !num) -> !vecs {
      // k = exp(-x / eps) * r
      %k_1 = arith.negf %x : !real
      %k_2 = arith.divf %k_1, %eps : !real
      %k_3 = math.exp %k_2 : !real
      %k = arith.mulf %k_3, %r : !real
      foreach.yield %k : !real
    }
    %c1 = foreach.map (%s = %column_sum, %b = %b : !vecs) -> !vecs {
      %c1 = arith.divf %b, %s : !real
      foreach.yield %c1 : !real
    }
    %more = foreach.map (%error = %error : !each, %tol = %tol as !real : !num) -> !flags {
      %more = arith.cmpf ogt, %error, %tol : !real
      foreach.yield %more : i1
    }
    foreach.yield %r1, %c1, %error while %more : !vecs, !vecs, !each while !flags
  }
  return %r, %c, %error, %iterations : !vecs, !vecs, !each, !counts
}
