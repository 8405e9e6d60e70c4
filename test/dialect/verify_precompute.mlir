// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!each = !foreach.list<tensor<f32>>
fused.program @types(%x: !each, %y: !each) {
  fused.sweep (%a = %x, %b = %y : !each) {
    // expected-error@+1 {{expected 2 types, one for each operand, found 1}}
    %e = fused.precompute (%c = %a, %d = %b : f32) -> f32 {
      fused.yield %c : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @no_yield(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.precompute' op expected its region to end with 'fused.yield'}}
    %e = fused.precompute (%b = %a : f32) -> f32 {
      %c = arith.addf %b, %b : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @bound(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.precompute' op expected arguments of the operands' types 'f32', found}}
    %e = "fused.precompute"(%a) ({
    ^bb0(%b: f64):
      fused.yield %b : f64
    }) : (f32) -> f64
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @yielded(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.precompute' op expected to yield its results, of types 'f64', found 'f32'}}
    %e = fused.precompute (%b = %a : f32) -> f64 {
      fused.yield %b : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.program @body(%x: !each) {
  fused.sweep (%a = %x : !each) {
    %e = fused.precompute (%b = %a : f32) -> f32 {
      // expected-error@+1 {{'fused.reduce' op expects parent op 'fused.sweep'}}
      %c = fused.reduce add list %b : f32
      fused.yield %c : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

func.func @outside(%x: f32) {
  // expected-error@+1 {{'fused.precompute' op expects parent op 'fused.sweep'}}
  %e = fused.precompute (%b = %x : f32) -> f32 {
    fused.yield %b : f32
  }
  return
}
