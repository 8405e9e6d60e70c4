!list = !foreach.list<tensor<?xf32>>
func.func @guarded(%param: !list, %grad: !list, %finite: tensor<i1>) -> !list {
  %r = foreach.if %finite -> (!list) {
    %q = foreach.map (%p = %param, %g = %grad : !list) -> !list {
      %d = arith.subf %p, %g : f32
      foreach.yield %d : f32
    }
    foreach.yield %q : !list
  } else (%param)
  return %r : !list
}
