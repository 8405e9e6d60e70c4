// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// The rules of every operation that binds operands.

!list = !foreach.list<tensor<?xf32>>
func.func @index_name(%x: !list) -> !list {
  // expected-error@+1 {{expected index 'i' or 'j', or 'iteration', 'next' or 'first' alone, found 'k'}}
  %r = foreach.map (%a = %x[k] : !list) -> !list { foreach.yield %a : f32 }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @index_order(%x: !foreach.list<tensor<?x?xf32>>) -> !list {
  // expected-error@+1 {{expected each index at most once and in the order '[i, j]'}}
  %r = foreach.map (%a = %x[j, i] : !foreach.list<tensor<?x?xf32>>) -> !list { foreach.yield %a : f32 }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @index_twice(%x: !list) -> !list {
  // expected-error@+1 {{expected each index at most once and in the order '[i, j]'}}
  %r = foreach.map (%a = %x[i, i] : !list) -> !list { foreach.yield %a : f32 }
  return %r : !list
}

// -----

// Without rows the columns have no matrix.
!list = !foreach.list<tensor<?xf32>>
func.func @columns_alone(%x: !list) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'foreach.reduce' op operand 'a' is indexed by j, but no operand by i; a vector without a matrix is indexed by i}}
  %r = foreach.reduce add along member (%a = %x[j] : !list) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return %r : !foreach.list<tensor<f32>>
}

// -----

func.func @no_list(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a list or a device scalar (a tensor of rank 0), found 'tensor<4xf32>'}}
  %r = foreach.map (%a = %x : tensor<4xf32>) -> tensor<f32> { foreach.yield %a : f32 }
  return
}

// -----

func.func @no_tensor(%x: f32) {
  // expected-error@+1 {{expected a list or a device scalar (a tensor of rank 0), found 'f32'}}
  %r = foreach.map (%a = %x : f32) -> tensor<f32> { foreach.yield %a : f32 }
  return
}

// -----

func.func @no_type(%x: tensor<f32>) {
  // expected-error@+1 {{expected ':' and the type of the operands before ')'}}
  %r = foreach.map (%a = %x) -> tensor<f32> { foreach.yield %a : f32 }
  return
}

// -----

func.func @number_of_indices(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op has 1 operand and 2 indices}}
  %r = "foreach.map"(%x) <{indices = array<i32: 0, 0>}> ({
  ^bb0(%a: f32):
    foreach.yield %a : f32
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @number_of_arguments(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op binds 1 operand to 2 region arguments}}
  %r = "foreach.map"(%x) <{indices = array<i32: 0>}> ({
  ^bb0(%a: f32, %b: f32):
    foreach.yield %a : f32
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @rank_of_vector(%x: !list) -> !list {
  // expected-error@+1 {{'foreach.map' op operand 'a' has rank 1 and 2 indices}}
  %r = foreach.map (%a = %x[i, j] : !list) -> !list { foreach.yield %a : f32 }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @rank_of_scalar(%x: !list, %s: tensor<f32>) -> !list {
  // expected-error@+1 {{'foreach.map' op operand 'b' has rank 0 and 1 index}}
  %r = foreach.map (%a = %x : !list, %b = %s[i] : tensor<f32>) -> !list { foreach.yield %a : f32 }
  return %r : !list
}

// -----

func.func @index_out_of_range(%x: tensor<f32>) {
  // expected-error@+2 {{'foreach.map' op operand #0 has rank 0 and 1 index}}
  %r = "foreach.map"(%x) <{indices = array<i32: 4>}> ({
  ^bb0(%a: f32):
    foreach.yield %a : f32
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @as_integer(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op binds operand #0 of element type 'f32' as 'i32'; 'as' converts between floating-point types, to f32 or f64}}
  %r = foreach.map (%a = %x as i32 : tensor<f32>) -> tensor<i32> { foreach.yield %a : i32 }
  return
}

// -----

func.func @as_half(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op binds operand #0 of element type 'f32' as 'f16'}}
  %r = foreach.map (%a = %x as f16 : tensor<f32>) -> tensor<f16> { foreach.yield %a : f16 }
  return
}

// -----

func.func @from_integer(%x: tensor<i32>) {
  // expected-error@+1 {{'foreach.map' op binds operand #0 of element type 'i32' as 'f32'}}
  %r = foreach.map (%a = %x as f32 : tensor<i32>) -> tensor<f32> { foreach.yield %a : f32 }
  return
}

// -----

func.func @element_type(%x: tensor<complex<f32>>) {
  // expected-error@+1 {{'foreach.map' op operand #0 must be variadic of a list or a device scalar, but got 'tensor<complex<f32>>'}}
  %r = foreach.map (%a = %x : tensor<complex<f32>>) -> tensor<f32> {
    %c = arith.constant 1.0 : f32
    foreach.yield %c : f32
  }
  return
}

// -----

// A body contains only scalar operations.

func.func @no_scalar_op(%x: tensor<i32>) {
  %r = foreach.map (%a = %x : tensor<i32>) -> tensor<i32> {
    // expected-error@+1 {{'arith.ceildivsi' op is not a scalar operation, which the body of 'foreach.map' requires; the scalar operations of arith are addf, addi, andi, bitcast, cmpf, cmpi, constant, divf, divsi, divui, extf, extsi, extui, fptosi, fptoui, maximumf, maxnumf, maxsi, maxui, minimumf, minnumf, minsi, minui, mulf, muli, negf, ori, remf, remsi, remui, select, shli, shrsi, shrui, sitofp, subf, subi, truncf, trunci, uitofp, xori}}
    %b = arith.ceildivsi %a, %a : i32
    foreach.yield %b : i32
  }
  return
}

// -----

func.func @upward(%x: tensor<f64>) {
  %r = foreach.map (%a = %x : tensor<f64>) -> tensor<f32> {
    // expected-error@+1 {{'arith.truncf' op expected rounding mode 'to_nearest_even', found 'upward'}}
    %b = arith.truncf %a upward : f64 to f32
    foreach.yield %b : f32
  }
  return
}

// -----

func.func @nested(%x: tensor<f32>) {
  %r = foreach.map (%a = %x : tensor<f32>) -> tensor<f32> {
    // expected-error@+1 {{'foreach.map' op is not a scalar operation, which the body of 'foreach.map' requires; the scalar operations of foreach are extent, high, index, iteration, join, low, random, round, sign}}
    %b = foreach.map () -> tensor<f32> {
      %c = arith.constant 1.0 : f32
      foreach.yield %c : f32
    }
    foreach.yield %a : f32
  }
  return
}

// -----

func.func @copied_storage_type(%x: tensor<bf16>) {
  %r = foreach.map (%a = %x : tensor<bf16>) -> tensor<bf16> {
    // expected-error@+1 {{'foreach.yield' op yields 'bf16', which is a storage type: bind operands 'as f32'}}
    foreach.yield %a : bf16
  }
  return
}

// -----

func.func @reduced_storage_type(%x: !foreach.list<tensor<?xf16>>) {
  %r = foreach.reduce max along member (%a = %x : !foreach.list<tensor<?xf16>>) -> !foreach.list<tensor<f16>> {
    // expected-error@+1 {{'foreach.yield' op yields 'f16', which is a storage type: bind operands 'as f32'}}
    foreach.yield %a : f16
  }
  return
}

// -----

func.func @storage_type(%x: tensor<bf16>) {
  %r = foreach.map (%a = %x : tensor<bf16>) -> tensor<bf16> {
    // expected-error@+1 {{'arith.addf' op computes in 'bf16', which is a storage type: bind operands 'as f32'}}
    %b = arith.addf %a, %a : bf16
    foreach.yield %b : bf16
  }
  return
}

// -----

func.func @odd_integer(%x: tensor<i32>) {
  %r = foreach.map (%a = %x : tensor<i32>) -> tensor<i32> {
    // expected-error@+1 {{'arith.trunci' op has type 'i7'; expected f32, f64 or an integer of 1, 8, 16, 32 or 64 bits}}
    %b = arith.trunci %a : i32 to i7
    foreach.yield %a : i32
  }
  return
}

// -----

func.func @vectors(%x: tensor<f32>) {
  %r = foreach.map (%a = %x : tensor<f32>) -> tensor<f32> {
    // expected-error@+1 {{'arith.constant' op has type 'tensor<2xf32>'; expected f32, f64 or an integer of 1, 8, 16, 32 or 64 bits}}
    %b = arith.constant dense<1.0> : tensor<2xf32>
    foreach.yield %a : f32
  }
  return
}

// -----

func.func @from_above(%x: tensor<f32>, %f: f32) {
  %r = foreach.map (%a = %x : tensor<f32>) -> tensor<f32> {
    // expected-error@+1 {{use of undeclared SSA value name}}
    %b = arith.addf %a, %f : f32
    foreach.yield %b : f32
  }
  return
}
