// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// expected-error@+1 {{'fused.program' op region #0 ('body') failed to verify constraint: region with 1 block}}
fused.program @declaration()

// -----

// expected-error@+1 {{expected non-empty function body}}
fused.program @empty() {
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected to end with a yield of its results, of types '!foreach.list<tensor<?xf32>>'}}
fused.program @results(%x: !list, %s: tensor<f32>) -> !list {
  fused.yield %s : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected its region to end with 'fused.yield'}}
fused.program @other_end(%x: !list) -> !list {
  %y = fused.sweep (%a = %x : !list) -> !list { fused.yield %a : f32 }
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.program' op expected to end with a yield of its results}}
fused.program @flag(%x: !list, %f: tensor<i1>) -> !list {
  fused.yield %x while %f : !list while tensor<i1>
}

// -----

fused.program @other_op() {
  // expected-error@+1 {{'arith.constant' op expected only sweeps and loops in a program}}
  %c = arith.constant 1 : i32
  fused.yield
}
