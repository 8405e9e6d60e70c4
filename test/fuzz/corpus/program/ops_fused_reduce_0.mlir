!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @kinds(%c: !mats, %s: !each) -> !each {
  %r = fused.sweep (%x = %c : !mats, %m = %s : !each) -> !each {
    %0 = fused.reduce mul row %x : f32
    %1 = fused.reduce min column %x : f32
    %2 = fused.reduce max member %x : f32
    %3 = fused.reduce logsumexp row %x : f32
    %4, %at = fused.reduce argmax row %x : f32
    %zero = arith.constant 0.0 : f32
    %flag = arith.cmpf ogt, %x, %zero : f32
    %5 = fused.reduce any member %flag : i1
    %6 = fused.reduce all list %flag : i1
    %7 = fused.reduce add member %m from element : f32
    %8 = fused.reduce add list %at {note = "kept"} : i64
    fused.yield %7 : f32
  }
  fused.yield %r : !each
}
