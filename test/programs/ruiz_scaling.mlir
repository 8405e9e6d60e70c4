// Ruiz's equilibration: factors of rows and columns after which the largest entry of each is about 1 (Ruiz, A Scaling
// Algorithm to Equilibrate Both Rows and Columns Norms in Matrices).
//
//   row = row / sqrt(max over j of |row A column|),  column = column / sqrt(max over i of the same)

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @ruiz_scaling(
    %A: !mats,
    %row0: !vecs {foreach.initial = 1.0 : !real},
    %column0: !vecs {foreach.initial = 1.0 : !real},
    %tol: !num {foreach.default = 1.0e-2 : f64},
    %limit: tensor<i32> {foreach.default = 20 : i32}) -> (!vecs, !vecs, !each, !counts) {
  %row, %column, %error, %iterations = foreach.while (%row = %row0, %column = %column0 : !vecs) upto %limit
      -> (!vecs, !vecs, !each, !counts) {
    %row_most = foreach.reduce max along j (
        %a = %A[i, j] as !real : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
      // scaled = abs(a) * r * c
      %scaled_1 = math.absf %a : !real
      %scaled_2 = arith.mulf %scaled_1, %r : !real
      %scaled = arith.mulf %scaled_2, %c : !real
      foreach.yield %scaled : !real
    }
    %column_most = foreach.reduce max along i (
        %a = %A[i, j] as !real : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
      // scaled = abs(a) * r * c
      %scaled_1 = math.absf %a : !real
      %scaled_2 = arith.mulf %scaled_1, %r : !real
      %scaled = arith.mulf %scaled_2, %c : !real
      foreach.yield %scaled : !real
    }
    %row1 = foreach.map (%r = %row, %most = %row_most : !vecs) -> !vecs {
      // r1 = r / sqrt(most)
      %r1_1 = math.sqrt %most : !real
      %r1 = arith.divf %r, %r1_1 : !real
      foreach.yield %r1 : !real
    }
    %column1 = foreach.map (%c = %column, %most = %column_most : !vecs) -> !vecs {
      // c1 = c / sqrt(most)
      %c1_1 = math.sqrt %most : !real
      %c1 = arith.divf %c, %c1_1 : !real
      foreach.yield %c1 : !real
    }
    %row_error = foreach.reduce max along member (%most = %row_most : !vecs) -> !each {
      // error = abs(1 - most)
      %one = arith.constant 1.0 : !real
      %error_1 = arith.subf %one, %most : !real
      %error = math.absf %error_1 : !real
      foreach.yield %error : !real
    }
    %column_error = foreach.reduce max along member (%most = %column_most : !vecs) -> !each {
      // error = abs(1 - most)
      %one = arith.constant 1.0 : !real
      %error_1 = arith.subf %one, %most : !real
      %error = math.absf %error_1 : !real
      foreach.yield %error : !real
    }
    %error, %more = foreach.map (
        %r = %row_error, %c = %column_error : !each, %tol = %tol as !real : !num) -> (!each, !flags) {
      %error = arith.maximumf %r, %c : !real
      %more = arith.cmpf ogt, %error, %tol : !real
      foreach.yield %error, %more : !real, i1
    }
    foreach.yield %row1, %column1, %error while %more : !vecs, !vecs, !each while !flags
  }
  return %row, %column, %error, %iterations : !vecs, !vecs, !each, !counts
}
