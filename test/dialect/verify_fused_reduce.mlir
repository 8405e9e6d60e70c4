// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
fused.kernel @kind(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{expected a kind (add, mul, min, max, any, all, logsumexp, argmax) and a level (row, column, member, list), found 'sum list'}}
    %s = fused.reduce sum list %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @level(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{and a level (row, column, member, list), found 'add tensor'}}
    %s = fused.reduce add tensor %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @from(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{expected a level after 'from', found 'tensor'}}
    %s = fused.reduce add list %a from tensor : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @flags(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op cannot combine values of 'f32' by any}}
    %s = fused.reduce any list %a : f32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xi1>>
fused.kernel @numbers(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op cannot combine values of 'i1' by add}}
    %s = fused.reduce add list %a : i1
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xi32>>
fused.kernel @integers(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op cannot combine values of 'i32' by logsumexp}}
    %s = fused.reduce logsumexp list %a : i32
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @result(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected one result of its operand's type}}
    %s = "fused.reduce"(%a) <{kind = 0 : i32, level = 0 : i32}> : (f32) -> f64
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @position(%x: !list) {
  fused.sweep (%a = %x : !list) {
    // expected-error@+1 {{'fused.reduce' op expected the maximum and its position, an i64}}
    %s:2 = "fused.reduce"(%a) <{kind = 7 : i32, level = 0 : i32}> : (f32) -> (f32, i32)
    fused.yield
  }
  fused.yield
}

// -----

func.func @outside(%x: f32) {
  // expected-error@+1 {{'fused.reduce' op expects parent op 'fused.sweep'}}
  %s = fused.reduce add list %x : f32
  return
}
