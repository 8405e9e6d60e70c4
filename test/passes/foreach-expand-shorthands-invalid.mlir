// RUN: %heddle_opt --foreach-expand-shorthands --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
func.func private @f(%x: f32) -> f32 {
  // expected-error@+1 {{'func.call' op calls 'f', which calls itself; expected functions of scalars without recursion}}
  %y = func.call @f(%x) : (f32) -> f32
  return %y : f32
}
func.func @recursion(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %y = func.call @f(%x) : (f32) -> f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @f(%x: f32) -> f32 {
  return %x : f32
}
func.func @public(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    // expected-error@+1 {{'func.call' op calls 'f'; expected a private function of scalars, found one that is not private}}
    %y = func.call @f(%x) : (f32) -> f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func private @f(%x: f32) -> f32
func.func @external(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    // expected-error@+1 {{'func.call' op calls 'f'; expected a private function of scalars that the module defines}}
    %y = func.call @f(%x) : (f32) -> f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func private @f(%x: f32) -> f32 {
  %n = arith.constant 3 : i32
  // expected-error@+1 {{'arith.ceildivsi' op is not a scalar operation, which a function that bodies call requires; the scalar operations of arith are addf, addi,}}
  %a = arith.ceildivsi %n, %n : i32
  return %x : f32
}
func.func @operation(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %y = func.call @f(%x) : (f32) -> f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// -----

func.func @storage(%x: tensor<bf16>) -> tensor<bf16> {
  // expected-error@+1 {{'arith.addf' op computes in 'bf16', which is a storage type: bind operands 'as f32'}}
  %y = arith.addf %x, %x : tensor<bf16>
  return %y : tensor<bf16>
}
