// Shifts change nothing in a `rows` sweep: values that only shifts use are bound,
// but neither loaded nor computed.
// RUN: %heddle emit %s > %t.shift
// RUN: sed 's/foreach.yield \(%[a-z]*\), %%shift : f32, f32/foreach.yield \1 : f32/' %s > %t.mlir
// RUN: %heddle emit %t.mlir > %t.plain
// RUN: grep -v 'reads M\|^  [a-z].* \**[a-z_0-9]*;$' %t.shift > %t.shift_code
// RUN: grep -v 'reads M\|^  [a-z].* \**[a-z_0-9]*;$' %t.plain > %t.plain_code
// RUN: sed 's/member_descriptor<[0-9]*/member_descriptor<N/' %t.shift_code > %t.shift_named
// RUN: sed 's/member_descriptor<[0-9]*/member_descriptor<N/' %t.plain_code > %t.plain_named
// RUN: diff %t.shift_named %t.plain_named
// RUN: FileCheck %s < %t.shift

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// CHECK:     heddle::logsumexp<float>
// CHECK-NOT: heddle::max
func.func @soft(%M: !mats, %u: !vecs, %v: !vecs) -> (!vecs, !vecs) {
  %most = foreach.reduce max along j (%m = %M : !mats) -> !vecs {
    foreach.yield %m : f32
  }
  %row = foreach.reduce logsumexp along j (%m = %M : !mats, %most = %most[i], %u = %u[i] : !vecs) -> !vecs {
    %shift = arith.subf %most, %u : f32
    foreach.yield %m, %shift : f32, f32
  }
  %column = foreach.reduce logsumexp along i (%m = %M : !mats, %s = %row[i], %v = %v[j] : !vecs) -> !vecs {
    %x = arith.subf %m, %s : f32
    %shift = arith.negf %v : f32
    foreach.yield %x, %shift : f32, f32
  }
  return %row, %column : !vecs, !vecs
}
