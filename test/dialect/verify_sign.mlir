// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

func.func @integer(%x: i32) {
  // expected-error@+1 {{custom op 'foreach.sign' invalid kind of type specified}}
  %r = foreach.sign %x : i32
  return
}

// -----

func.func @types(%x: f32) {
  // expected-error@+1 {{'foreach.sign' op requires the same type for all operands and results}}
  %r = "foreach.sign"(%x) : (f32) -> f64
  return
}
