// The size of each asked group, and the mean of the values that belong to it. A group is a number; a value belongs to
// the group that `label` gives it. Groups without values have the mean NaN.
!values = !foreach.list<tensor<?xf32>>
!groups = !foreach.list<tensor<?xi32>>

func.func @group_means(%value: !values, %label: !groups, %asked: !groups) -> (!values, !values) {
  %size = foreach.reduce add along i (%l = %label[i], %a = %asked[j] : !groups) -> !values {
    %belongs = arith.cmpi eq, %l, %a : i32
    %one = arith.uitofp %belongs : i1 to f32
    foreach.yield %one : f32
  }
  %total = foreach.reduce add along i (%x = %value[i] : !values, %l = %label[i], %a = %asked[j] : !groups) -> !values {
    %belongs = arith.cmpi eq, %l, %a : i32
    %one = arith.uitofp %belongs : i1 to f32
    %part = arith.mulf %one, %x : f32
    foreach.yield %part : f32
  }
  %mean = foreach.map (%t = %total, %n = %size : !values) -> !values {
    %m = arith.divf %t, %n : f32
    foreach.yield %m : f32
  }
  return %mean, %size : !values, !values
}
