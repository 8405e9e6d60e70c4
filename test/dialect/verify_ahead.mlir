// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!each = !foreach.list<tensor<f32>>
fused.kernel @types(%x: !each, %y: !each) {
  fused.sweep (%a = %x, %b = %y : !each) {
    // expected-error@+1 {{has 2 operands and 1 types}}
    %e = fused.ahead (%c = %a, %d = %b : f32) -> f32 {
      fused.yield %c : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.kernel @no_yield(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.ahead' op expected its region to end with 'fused.yield'}}
    %e = fused.ahead (%b = %a : f32) -> f32 {
      %c = arith.addf %b, %b : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.kernel @bound(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.ahead' op binds operands to arguments of other types}}
    %e = "fused.ahead"(%a) ({
    ^bb0(%b: f64):
      fused.yield %b : f64
    }) : (f32) -> f64
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.kernel @yielded(%x: !each) {
  fused.sweep (%a = %x : !each) {
    // expected-error@+1 {{'fused.ahead' op yields 'f32' for results 'f64'}}
    %e = fused.ahead (%b = %a : f32) -> f64 {
      fused.yield %b : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

!each = !foreach.list<tensor<f32>>
fused.kernel @body(%x: !each) {
  fused.sweep (%a = %x : !each) {
    %e = fused.ahead (%b = %a : f32) -> f32 {
      // expected-error@+1 {{'fused.reduce' op is not a scalar operation, which the body of 'fused.ahead' requires}}
      %c = fused.reduce add list %b : f32
      fused.yield %c : f32
    }
    fused.yield
  }
  fused.yield
}

// -----

func.func @outside(%x: f32) {
  // expected-error@+1 {{'fused.ahead' op expects parent op 'fused.sweep'}}
  %e = fused.ahead (%b = %x : f32) -> f32 {
    fused.yield %b : f32
  }
  return
}
