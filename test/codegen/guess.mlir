// A sweep by rows ignores hints: values that only they use are neither loaded nor
// computed. Their operands are bound, though.
// RUN: %heddle emit %s > %t.guess
// RUN: sed 's/foreach.yield \(%[a-z]*\), %guess : f32, f32/foreach.yield \1 : f32/' %s > %t.mlir
// RUN: %heddle emit %t.mlir > %t.plain
// RUN: grep -v 'reads M\|^  [a-z].* \**[a-z_0-9]*;$' %t.guess > %t.guess_does
// RUN: grep -v 'reads M\|^  [a-z].* \**[a-z_0-9]*;$' %t.plain > %t.plain_does
// RUN: diff %t.guess_does %t.plain_does
// RUN: FileCheck %s < %t.guess

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// CHECK:     heddle::logsumexp<float>
// CHECK-NOT: heddle::max
func.func @soft(%M: !mats, %u: !vecs, %v: !vecs) -> (!vecs, !vecs) {
  %most = foreach.reduce max along j (%m = %M : !mats) -> !vecs {
    foreach.yield %m : f32
  }
  %row = foreach.reduce logsumexp along j (%m = %M : !mats, %most = %most[i], %u = %u[i] : !vecs) -> !vecs {
    %guess = arith.subf %most, %u : f32
    foreach.yield %m, %guess : f32, f32
  }
  %column = foreach.reduce logsumexp along i (%m = %M : !mats, %s = %row[i], %v = %v[j] : !vecs) -> !vecs {
    %x = arith.subf %m, %s : f32
    %guess = arith.negf %v : f32
    foreach.yield %x, %guess : f32, f32
  }
  return %row, %column : !vecs, !vecs
}
