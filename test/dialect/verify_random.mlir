// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
func.func @wide(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %bits = arith.constant 1 : i16
    // expected-error@+1 {{'foreach.round' op expected to round to f16 or bf16, found 'f32'}}
    %r = foreach.round %x to f32 by %bits : f32
    foreach.yield %r : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @narrow(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %k = foreach.index member : i64
    // expected-error@+1 {{'foreach.random' op result #0 must be 16-bit signless integer or 32-bit signless integer, but got 'i8'}}
    %bits = foreach.random seed %k stream %k block %k at %k : i8
    foreach.yield %x : f32
  }
  return %y : !list
}
