// A loop that returns and does not carry lists whose extents only a matrix has: rows, columns, both, in several types.
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!flags = !foreach.list<tensor<?xi1>>
!bytes = !foreach.list<tensor<?xi8>>
!longs = !foreach.list<tensor<?xi64>>
!doubles = !foreach.list<tensor<?xf64>>
func.func @all(%x: !mats, %tol: tensor<f32>, %limit: tensor<i32>) -> (!mats, !list, !list, !mats, !half, !flags, !bytes, !longs, !doubles, tensor<i32>) {
  %y, %rows, %columns, %outer, %half, %flag, %byte, %long, %double, %n = foreach.while (%c = %x : !mats) upto %limit -> (!mats, !list, !list, !mats, !half, !flags, !bytes, !longs, !doubles, tensor<i32>) {
    %s = foreach.reduce max along j (%e = %c[i, j] : !mats) -> !list { foreach.yield %e : f32 }
    %t = foreach.reduce max along i (%e = %c[i, j] : !mats) -> !list { foreach.yield %e : f32 }
    %d = foreach.map (%e = %c[i, j] : !mats) -> !mats {
      %h = arith.constant 0.5 : f32
      %q = arith.mulf %e, %h : f32
      foreach.yield %q : f32
    }
    %o = foreach.map (%a = %s[i], %b = %t[j] : !list) -> !mats {
      %q = arith.addf %a, %b : f32
      foreach.yield %q : f32
    }
    %half, %flag, %byte, %long, %double = foreach.map (%a = %s : !list) -> (!half, !flags, !bytes, !longs, !doubles) {
      %z = arith.constant 0.0 : f32
      %f = arith.cmpf ogt, %a, %z : f32
      %b = arith.extui %f : i1 to i8
      %l = arith.extui %f : i1 to i64
      %w = arith.extf %a : f32 to f64
      foreach.yield %a, %f, %b, %l, %w : f32, i1, i8, i64, f64
    }
    %err = foreach.reduce max along list (%t = %s : !list) -> tensor<f32> { foreach.yield %t : f32 }
    %more = foreach.map (%e = %err : tensor<f32>, %t = %tol : tensor<f32>) -> tensor<i1> {
      %g = arith.cmpf ogt, %e, %t : f32
      foreach.yield %g : i1
    }
    foreach.yield %d, %s, %t, %o, %half, %flag, %byte, %long, %double while %more : !mats, !list, !list, !mats, !half, !flags, !bytes, !longs, !doubles while tensor<i1>
  }
  return %y, %rows, %columns, %outer, %half, %flag, %byte, %long, %double, %n : !mats, !list, !list, !mats, !half, !flags, !bytes, !longs, !doubles, tensor<i32>
}
