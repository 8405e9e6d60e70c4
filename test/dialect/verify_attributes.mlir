// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #0 is donated to 2 : i64; expected the number of a result, below 1}}
func.func @too_large(%x: !list {foreach.donate = 2 : i64}) -> !list { return %x : !list }

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #0 is donated to -1 : i64; expected the number of a result, below 1}}
func.func @negative(%x: !list {foreach.donate = -1 : i64}) -> !list { return %x : !list }

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #0 has foreach.donate = "x"; expected the number of a result, an integer of type i64 such as 0 : i64}}
func.func @no_number(%x: !list {foreach.donate = "x"}) -> !list { return %x : !list }

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #0 has foreach.donate = 0 : ui64; expected the number of a result, an integer of type i64 such as 0 : i64}}
func.func @unsigned(%x: !list {foreach.donate = 0 : ui64}) -> !list { return %x : !list }

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #1 of type 'tensor<f32>' is donated to result #0 of type '!foreach.list<tensor<?xf32>>'; expected a result of the same type}}
func.func @other_type(%x: !list, %s: tensor<f32> {foreach.donate = 0 : i64}) -> !list { return %x : !list }

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #1 is donated to result #0, and so is argument #0; expected another result, or no 'foreach.donate'}}
func.func @twice(%x: !list {foreach.donate = 0 : i64}, %y: !list {foreach.donate = 0 : i64}) -> !list {
  return %x : !list
}

// -----

// expected-error@+1 {{argument #0 of type 'tensor<f64>' has default 1.000000e+00 : f32; expected a device scalar and a number of its element type}}
func.func @default_type(%x: tensor<f64> {foreach.default = 1.0 : f32}) { return }

// -----

// expected-error@+1 {{argument #0 of type '!foreach.list<tensor<f64>>' has default 1.000000e+00 : f64; expected a device scalar and a number of its element type}}
func.func @default_of_list(%x: !foreach.list<tensor<f64>> {foreach.default = 1.0 : f64}) { return }

// -----

// expected-error@+1 {{argument #0 of type 'f32' has default 1.000000e+00 : f32; expected a device scalar and a number of its element type}}
func.func @default_of_float(%x: f32 {foreach.default = 1.0 : f32}) { return }

// -----

// expected-error@+1 {{argument #0 of type 'tensor<f64>' has default "fast"; expected a device scalar and a number of its element type}}
func.func @default_text(%x: tensor<f64> {foreach.default = "fast"}) { return }

// -----

// expected-error@+1 {{argument #0 of type 'tensor<i32>' has 'foreach.positive'; expected a device scalar of floats and no value}}
func.func @positive_integer(%x: tensor<i32> {foreach.positive}) { return }

// -----

// expected-error@+1 {{argument #0 of type '!foreach.list<tensor<f32>>' has 'foreach.positive'; expected a device scalar of floats and no value}}
func.func @positive_list(%x: !foreach.list<tensor<f32>> {foreach.positive}) { return }

// -----

// expected-error@+1 {{argument #0 of type 'tensor<f32>' has 'foreach.positive'; expected a device scalar of floats and no value}}
func.func @positive_value(%x: tensor<f32> {foreach.positive = true}) { return }

// -----

// expected-error@+1 {{argument #1 has 'foreach.positive' and default 0.000000e+00 : f32; expected a finite number above 0}}
func.func @positive_zero(%x: tensor<bf16> {foreach.positive, foreach.default = 1.0 : bf16}, %y: tensor<f32> {foreach.positive, foreach.default = 0.0 : f32}) { return }

// -----

// expected-error@+1 {{argument #0 has 'foreach.positive' and default 0x7FF0000000000000 : f64; expected a finite number above 0}}
func.func @positive_infinity(%x: tensor<f64> {foreach.positive, foreach.default = 0x7FF0000000000000 : f64}) { return }

// -----

// expected-error@+1 {{argument #0 of type 'tensor<f32>' has initial value 0.000000e+00 : f32; expected a list and a number of its element type}}
func.func @initial_of_scalar(%x: tensor<f32> {foreach.initial = 0.0 : f32}) { return }

// -----

// expected-error@+1 {{argument #0 of type '!foreach.list<tensor<?xf32>>' has initial value 0 : i32; expected a list and a number of its element type}}
func.func @initial_type(%x: !foreach.list<tensor<?xf32>> {foreach.initial = 0 : i32}) { return }

// -----

// expected-error@+1 {{argument #0 has foreach.default = 9007199254740993 : i64; expected an integer that double precision can hold}}
func.func @default_rounds(%x: tensor<i64> {foreach.default = 9007199254740993 : i64}, %y: tensor<i64> {foreach.default = 9007199254740994 : i64}) { return }

// -----

// expected-error@+1 {{argument #1 has foreach.initial = -9007199254740993 : i64; expected an integer that double precision can hold}}
func.func @initial_rounds(%x: tensor<i64> {foreach.default = -9223372036854775808 : i64}, %y: !foreach.list<tensor<?xi64>> {foreach.initial = -9007199254740993 : i64}) { return }

// -----

// expected-error@+1 {{argument #0 has unknown attribute 'foreach.donated'; expected 'foreach.donate', 'foreach.default', 'foreach.positive' or 'foreach.initial'}}
func.func @unknown(%x: tensor<f32> {foreach.donated = 0 : i64}) { return }

// -----

// expected-error@+1 {{'func.func' op has unknown attribute 'foreach.donate'; expected no attribute of foreach here}}
func.func @of_function(%x: tensor<f32>) attributes {foreach.donate = 0 : i64} { return }

// -----

// The same for fused programs.
!list = !foreach.list<tensor<?xf32>>
// expected-error@+1 {{argument #0 is donated to 1 : i64; expected the number of a result, below 1}}
fused.program @program(%x: !list {foreach.donate = 1 : i64}) -> !list {
  fused.yield %x : !list
}
