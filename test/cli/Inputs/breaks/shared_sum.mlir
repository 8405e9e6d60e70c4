// The sum over columns has no row part of its own: its only member term is %t.
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @member_term(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> !list {
  %u, %v, %n = foreach.while (%u = %a, %v = %b : !list) upto %limit -> (!list, !list, !foreach.list<tensor<i32>>) {
    %r = foreach.reduce logsumexp along j (%l = %x[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %y = arith.addf %l, %v : f32
      foreach.yield %y : f32
    }
    %u1 = foreach.map (%u = %u, %s = %r : !list) -> !list {
      %y = arith.subf %u, %s : f32
      foreach.yield %y : f32
    }
    %c = foreach.reduce logsumexp along i (%l = %x[i, j] : !mats, %u = %u1[i] : !list, %t = %t : !each) -> !list {
      %y = arith.addf %l, %t : f32
      %z = arith.addf %y, %u : f32
      foreach.yield %z : f32
    }
    %more = foreach.map (%t = %t : !each) -> !foreach.list<tensor<i1>> {
      %y = arith.cmpf ogt, %t, %t : f32
      foreach.yield %y : i1
    }
    foreach.yield %u1, %c while %more : !list, !list while !foreach.list<tensor<i1>>
  }
  return %v : !list
}
