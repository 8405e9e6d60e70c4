// Operations are verified before the operations around them read them.
// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
fused.program @position_without_level(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op requires attribute 'level'}}
    %s:2 = "fused.reduce"(%a) <{kind = 7 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (f32) -> (f32, i64)
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @segments_of_the_yield(%x: !list) -> !list {
  %r = foreach.map (%a = %x : !list) -> !list {
    // expected-error@+1 {{'operandSegmentSizes'}}
    "foreach.yield"(%a) <{operandSegmentSizes = array<i32: 5, -4>}> : (f32) -> ()
  }
  return %r : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
fused.program @shares_with_a_later_reduction(%x: !mats, %v: !list) -> !list {
  %r = fused.sweep (%a = %x[i, j] : !mats, %b = %v[j] : !list) -> !list {
    // expected-error@+1 {{expected a reduction over columns to share the exponentials of a logsumexp}}
    %c = fused.reduce logsumexp column %a sharing %s : f32
    %s = fused.reduce logsumexp row %a shift %b : f32
    fused.yield %c : f32
  }
  fused.yield %r : !list
}
