!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @kinds(%x: !list, %n: !foreach.list<tensor<?xi32>>, %f: !foreach.list<tensor<?xi1>>) {
  %0 = foreach.reduce mul along i (%a = %x : !list) -> !each { foreach.yield %a : f32 }
  %1 = foreach.reduce min along i (%a = %x : !list) -> !each { foreach.yield %a : f32 }
  %2 = foreach.reduce max along member (%a = %n : !foreach.list<tensor<?xi32>>) -> !foreach.list<tensor<i32>> { foreach.yield %a : i32 }
  %3 = foreach.reduce any along list (%a = %f : !foreach.list<tensor<?xi1>>) -> tensor<i1> { foreach.yield %a : i1 }
  %4 = foreach.reduce all along list (%a = %f : !foreach.list<tensor<?xi1>>) -> tensor<i1> { foreach.yield %a : i1 }
  %5 = foreach.reduce logsumexp along i (%a = %x : !list) -> !each { foreach.yield %a : f32 }
  %6:2 = foreach.reduce argmax along i (%a = %x : !list) -> (!each, !foreach.list<tensor<i64>>) { foreach.yield %a : f32 }
  return
}
