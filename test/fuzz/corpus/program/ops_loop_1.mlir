!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
fused.program @for_each(%x0: !list, %n: tensor<i32>, %flag: !flag)
    -> (!list, !foreach.list<tensor<i32>>) {
  %x, %iterations = fused.loop (%x = %x0 : !list) upto %n active %running : !flag -> (!list, !foreach.list<tensor<i32>>) {
    %y, %t = fused.loop (%y = %x : !list) upto %n active %inner : !flag -> (!list, !foreach.list<tensor<i32>>) {
      fused.yield %y while %inner : !list while !flag
    }
    fused.yield %y while %running : !list while !flag
  }
  fused.yield %x, %iterations : !list, !foreach.list<tensor<i32>>
}
