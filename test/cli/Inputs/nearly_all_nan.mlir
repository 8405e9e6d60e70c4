// One element is a number: the largest one.
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @nearly_all_nan(%x: !vecs) -> !vecs {
  %most = foreach.reduce max along member (%x = %x : !vecs) -> !each {
    foreach.yield %x : f32
  }
  %y = foreach.map (%x = %x : !vecs, %most = %most : !each) -> !vecs {
    %gap = arith.subf %x, %most : f32
    %root = math.sqrt %gap : f32
    %y = arith.addf %root, %most : f32
    foreach.yield %y : f32
  }
  return %y : !vecs
}
