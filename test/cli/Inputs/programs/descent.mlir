// Gradient descent, for any element type that f32 can compute.
!element = f32 // of parameters and gradients
!vecs = !foreach.list<tensor<?x!element>>
func.func @descent(%p: !vecs {foreach.donate = 0 : i64}, %g: !vecs, %lr: tensor<f64>) -> !vecs {
  %p1 = foreach.map (%p = %p as f32, %g = %g as f32 : !vecs, %lr = %lr as f32 : tensor<f64>) -> !vecs {
    %step = arith.mulf %lr, %g : f32
    %p1 = arith.subf %p, %step : f32
    foreach.yield %p1 : f32
  }
  return %p1 : !vecs
}
