// Ruiz's equilibration: factors of rows and columns after which the largest entry of each is about 1 (Ruiz, A Scaling
// Algorithm to Equilibrate Both Rows and Columns Norms in Matrices).
//
//   row = row / sqrt(max over j of |row A column|),  column = column / sqrt(max over i of the same)

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @ruiz_scaling(
    %A: !mats,
    %row0: !vecs {foreach.initial = 1.0 : f32},
    %column0: !vecs {foreach.initial = 1.0 : f32},
    %tol: !num {foreach.default = 1.0e-2 : f64},
    %limit: tensor<i32> {foreach.default = 20 : i32}) -> (!vecs, !vecs, !each, !counts) {
  %row, %column, %error, %iterations = foreach.while (%row = %row0, %column = %column0 : !vecs) upto %limit
      -> (!vecs, !vecs, !each, !counts) {
    %row_most = foreach.reduce max along j (%a = %A[i, j] : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
      // scaled = abs(a) * r * c
      %scaled_1 = math.absf %a : f32
      %scaled_2 = arith.mulf %scaled_1, %r : f32
      %scaled = arith.mulf %scaled_2, %c : f32
      foreach.yield %scaled : f32
    }
    %column_most = foreach.reduce max along i (%a = %A[i, j] : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
      // scaled = abs(a) * r * c
      %scaled_1 = math.absf %a : f32
      %scaled_2 = arith.mulf %scaled_1, %r : f32
      %scaled = arith.mulf %scaled_2, %c : f32
      foreach.yield %scaled : f32
    }
    %row1 = foreach.map (%r = %row, %most = %row_most : !vecs) -> !vecs {
      // r1 = r / sqrt(most)
      %r1_1 = math.sqrt %most : f32
      %r1 = arith.divf %r, %r1_1 : f32
      foreach.yield %r1 : f32
    }
    %column1 = foreach.map (%c = %column, %most = %column_most : !vecs) -> !vecs {
      // c1 = c / sqrt(most)
      %c1_1 = math.sqrt %most : f32
      %c1 = arith.divf %c, %c1_1 : f32
      foreach.yield %c1 : f32
    }
    %row_error = foreach.reduce max along member (%most = %row_most : !vecs) -> !each {
      // error = abs(1 - most)
      %one = arith.constant 1.0 : f32
      %error_1 = arith.subf %one, %most : f32
      %error = math.absf %error_1 : f32
      foreach.yield %error : f32
    }
    %column_error = foreach.reduce max along member (%most = %column_most : !vecs) -> !each {
      // error = abs(1 - most)
      %one = arith.constant 1.0 : f32
      %error_1 = arith.subf %one, %most : f32
      %error = math.absf %error_1 : f32
      foreach.yield %error : f32
    }
    %error, %more = foreach.map (%r = %row_error, %c = %column_error : !each, %tol = %tol as f32 : !num)
        -> (!each, !flags) {
      %error = arith.maximumf %r, %c : f32
      %more = arith.cmpf ogt, %error, %tol : f32
      foreach.yield %error, %more : f32, i1
    }
    foreach.yield %row1, %column1, %error while %more : !vecs, !vecs, !each while !flags
  }
  return %row, %column, %error, %iterations : !vecs, !vecs, !each, !counts
}
