// Remarks of vertical fusion, on merges and on pairs that are not merged.
// RUN: %heddle_opt --fused-fuse-vertical=remarks=true --split-input-file --verify-diagnostics %s

!list = !foreach.list<tensor<?xf32>>

fused.program @saves(%x: !list loc("x")) -> !list {
  %a = fused.sweep (%x = %x : !list) -> !list {
    %a = arith.mulf %x, %x : f32
    fused.yield %a : f32
  }
  // expected-remark@+1 {{a sweep merged into a sweep: saves 12 B per element of 'x'}}
  %b = fused.sweep (%a = %a : !list, %x = %x : !list) -> !list {
    %b = arith.addf %a, %x : f32
    fused.yield %b : f32
  }
  fused.yield %b : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// The sweeps share a member scalar only, or nothing; the latter saves a sweep.
fused.program @few_bytes(%x: !list, %y: !list, %t: !each loc("t")) -> (!list, !list, !list) {
  %a = fused.sweep (%x = %x : !list, %t = %t : !each) -> !list {
    %a = arith.mulf %x, %t : f32
    fused.yield %a : f32
  }
  // expected-remark@+1 {{a sweep merged into a sweep: saves 4 B per member of 't'}}
  %b = fused.sweep (%y = %y, %x = %x : !list, %t = %t : !each) -> !list {
    %b = arith.mulf %y, %t : f32
    fused.yield %b : f32
  }
  // expected-remark@+1 {{a sweep merged into a sweep: saves no bytes, but one sweep}}
  %c = fused.sweep (%x = %x : !list) -> !list {
    %c = arith.constant 0.0 : f32
    fused.yield %c : f32
  }
  fused.yield %a, %b, %c : !list, !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

fused.program @member(%x: !list) -> !list {
  %s = fused.sweep (%x = %x : !list) -> !each {
    %s = fused.reduce add member %x : f32
    fused.yield %s : f32
  }
  // expected-remark@+1 {{a sweep is not merged with a sweep: it needs a value of a member, which is complete only after the sweep that computes it}}
  %y = fused.sweep (%x = %x : !list, %n = %s : !each) -> !list {
    %y = arith.divf %x, %n : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

fused.program @list(%x: !list) -> !list {
  %s = fused.sweep (%x = %x : !list) -> !num {
    %s = fused.reduce add list %x : f32
    fused.yield %s : f32
  }
  // expected-remark@+1 {{it needs a value of the whole list, which is complete only after the sweep that computes it}}
  %y = fused.sweep (%x = %x : !list, %n = %s : !num) -> !list {
    %y = arith.divf %x, %n : f32
    fused.yield %y : f32
  }
  fused.yield %y : !list
}

// -----

!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

fused.program @column(%l: !mats) -> !mats {
  %c = fused.sweep (%l = %l[i, j] : !mats) -> !vec {
    %c = fused.reduce add column %l : f32
    fused.yield %c : f32
  }
  // expected-remark@+1 {{it needs a value of a column, which is complete only after the sweep that computes it}}
  %p = fused.sweep (%l = %l[i, j] : !mats, %c = %c[j] : !vec) -> !mats {
    %p = arith.divf %l, %c : f32
    fused.yield %p : f32
  }
  fused.yield %p : !mats
}
