// The inner loop reads the iteration count of the outer one: as a device
// scalar, through another scalar, as an initial value, and in a list that an
// equal map of the inner loop would compute from its own count.
!list = !foreach.list<tensor<?xi32>>
!scalar = tensor<i32>

func.func @counts_of_two_loops(%x: !list) -> (!list, !scalar) {
  %zero = arith.constant dense<0> : !scalar
  %two = arith.constant dense<2> : !scalar
  %three = arith.constant dense<3> : !scalar
  %y, %last, %n = foreach.while (%c = %x : !list, %l = %zero : !scalar) upto %three -> (!list, !scalar, !scalar) {
    %outer = foreach.map () -> !scalar {
      %k = foreach.iteration : i32
      foreach.yield %k : i32
    }
    %twice = foreach.map (%k = %outer : !scalar) -> !scalar {
      %t = arith.addi %k, %k : i32
      foreach.yield %t : i32
    }
    %p = foreach.map (%x = %x : !list) -> !list {
      %k = foreach.iteration : i32
      %p = arith.addi %x, %k : i32
      foreach.yield %p : i32
    }
    %z, %e1, %i = foreach.while (%d = %c : !list, %e = %outer : !scalar) upto %two -> (!list, !scalar, !scalar) {
      %m = foreach.reduce max along list (%d = %d : !list) -> !scalar {
        foreach.yield %d : i32
      }
      %s = foreach.map (%m = %m : !scalar, %k = %outer : !scalar, %t = %twice : !scalar, %e = %e : !scalar) -> !scalar {
        %a = arith.addi %m, %k : i32
        %b = arith.addi %a, %t : i32
        %c = arith.addi %b, %e : i32
        foreach.yield %c : i32
      }
      %q = foreach.map (%x = %x : !list) -> !list {
        %k = foreach.iteration : i32
        %q = arith.addi %x, %k : i32
        foreach.yield %q : i32
      }
      %w = foreach.map (%d = %d : !list, %k = %outer : !scalar, %p = %p : !list, %q = %q : !list, %s = %s : !scalar) -> !list {
        %five = arith.constant 5 : i32
        %a = arith.muli %p, %five : i32
        %b = arith.addi %a, %q : i32
        %c = arith.addi %b, %k : i32
        %f = arith.addi %c, %s : i32
        %g = arith.addi %f, %d : i32
        foreach.yield %g : i32
      }
      foreach.yield %w, %twice : !list, !scalar
    }
    %after = foreach.map (%i = %i : !scalar) -> !scalar {
      %k = foreach.iteration : i32
      %t = arith.addi %i, %k : i32
      foreach.yield %t : i32
    }
    %v, %h = foreach.while (%d = %z : !list) upto %two -> (!list, !scalar) {
      %w = foreach.map (%d = %d : !list, %t = %after : !scalar) -> !list {
        %w = arith.addi %d, %t : i32
        foreach.yield %w : i32
      }
      foreach.yield %w : !list
    }
    foreach.yield %v, %e1 : !list, !scalar
  }
  return %y, %last : !list, !scalar
}
