// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

func.func @foreach_outside(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.yield' op expects parent op to be one of 'foreach.map, foreach.reduce, foreach.while, foreach.if'}}
  foreach.yield %x : tensor<f32>
}

// -----

func.func @fused_outside(%x: tensor<f32>) {
  // expected-error@+1 {{'fused.yield' op expects parent op to be one of 'fused.program, fused.sweep, fused.precompute, fused.loop'}}
  fused.yield %x : tensor<f32>
}
