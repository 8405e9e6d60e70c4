// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// expected-error@+1 {{'fused.kernel' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
fused.kernel @declaration()

// -----

// expected-error@+1 {{expected non-empty function body}}
fused.kernel @empty() {
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.kernel' op expected to end with a yield of its results, of types '!foreach.list<tensor<?xf32>>'}}
fused.kernel @results(%x: !list, %s: tensor<f32>) -> !list {
  fused.yield %s : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.kernel' op expected to end with a yield of its results, of types '!foreach.list<tensor<?xf32>>'}}
fused.kernel @other_end(%x: !list) -> !list {
  %y = fused.sweep (%a = %x : !list) -> !list { fused.yield %a : f32 }
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{'fused.kernel' op expected to end with a yield of its results}}
fused.kernel @flag(%x: !list, %f: tensor<i1>) -> !list {
  fused.yield %x while %f : !list while tensor<i1>
}

// -----

fused.kernel @other_op() {
  // expected-error@+1 {{'arith.constant' op stands in a kernel, which is made of sweeps and loops}}
  %c = arith.constant 1 : i32
  fused.yield
}
