// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

func.func @no_yield(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op expected its region to end with 'foreach.yield'}}
  %r = foreach.map (%a = %x : tensor<f32>) -> tensor<f32> {
    %b = arith.addf %a, %a : f32
  }
  return
}

// -----

func.func @empty(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op expects a non-empty block}}
  %r = foreach.map (%a = %x : tensor<f32>) -> tensor<f32> {
  }
  return
}

// -----

func.func @other_yield(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.map' op expected its region to end with 'foreach.yield'}}
  %r = foreach.map (%a = %x : tensor<f32>) -> tensor<f32> {
    func.return
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_result(%x: !list) {
  // expected-error@+1 {{'foreach.map' op expected at least one result}}
  foreach.map (%a = %x : !list) -> () { foreach.yield }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_arrow(%x: !list) {
  // expected-error@+1 {{expected '->' and the types of the results}}
  %y = foreach.map (%a = %x : !list) { foreach.yield %a : f32 }
  return
}

// -----

func.func @flag(%x: tensor<i1>) {
  // expected-error@+1 {{'foreach.yield' op operand #1 must be a flag}}
  %r = foreach.map (%a = %x : tensor<i1>) -> tensor<i1> { foreach.yield %a while %a : i1 while i1 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @number_of_values(%x: !list) -> !list {
  // expected-error@+1 {{'foreach.map' op yields 2 values for 1 result}}
  %r = foreach.map (%a = %x : !list) -> !list { foreach.yield %a, %a : f32, f32 }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @element_type(%x: !list) -> !foreach.list<tensor<?xi32>> {
  // expected-error@+1 {{'foreach.map' op result #0 has elements of 'i32' but the region yields 'f32'}}
  %r = foreach.map (%a = %x : !list) -> !foreach.list<tensor<?xi32>> { foreach.yield %a : f32 }
  return %r : !foreach.list<tensor<?xi32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @rank(%x: !list) -> !foreach.list<tensor<?x?xf32>> {
  // expected-error@+1 {{'foreach.map' op result #0 has type '!foreach.list<tensor<?x?xf32>>'; expected a list of rank 1, like the domain}}
  %r = foreach.map (%a = %x : !list) -> !foreach.list<tensor<?x?xf32>> { foreach.yield %a : f32 }
  return %r : !foreach.list<tensor<?x?xf32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @scalar_of_list(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'foreach.map' op result #0 has type 'tensor<f32>'; expected a list of rank 1, like the domain}}
  %r = foreach.map (%a = %x : !list) -> tensor<f32> { foreach.yield %a : f32 }
  return %r : tensor<f32>
}

// -----

func.func @list_of_scalar(%x: tensor<f32>) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'foreach.map' op result #0 has type '!foreach.list<tensor<f32>>'; expected a device scalar, of rank 0, like the domain}}
  %r = foreach.map (%a = %x : tensor<f32>) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return %r : !foreach.list<tensor<f32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @fastmath(%x: !list) -> !list {
  %r = foreach.map (%a = %x : !list) -> !list {
    %m = arith.mulf %a, %a fastmath<contract> : f32
    // expected-error@+1 {{'arith.addf' op expected no fastmath flag but 'contract', found 'nnan,contract'}}
    %s = arith.addf %a, %m fastmath<nnan,contract> : f32
    foreach.yield %s : f32
  }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xi32>>
func.func @overflow(%x: !list) -> !list {
  %r = foreach.map (%a = %x : !list) -> !list {
    // expected-error@+1 {{'arith.addi' op expected no overflow flag, because integers wrap; found 'nsw'}}
    %s = arith.addi %a, %a overflow<nsw> : i32
    foreach.yield %s : i32
  }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xi32>>
func.func @exact(%x: !list) -> !list {
  %r = foreach.map (%a = %x : !list) -> !list {
    // expected-error@+1 {{'arith.divsi' op expected no flag 'exact', because shifts and divisions may drop bits}}
    %s = arith.divsi %a, %a exact : i32
    foreach.yield %s : i32
  }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @bits_of_storage_type(%x: !list) -> !list {
  %r = foreach.map (%a = %x : !list) -> !list {
    %h = arith.truncf %a : f32 to f16
    // expected-error@+1 {{'arith.bitcast' op computes in 'f16', which is a storage type: bind operands 'as f32'}}
    %i = arith.bitcast %h : f16 to i16
    foreach.yield %a : f32
  }
  return %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @fastmath_of_math(%x: !list) -> !list {
  %r = foreach.map (%a = %x : !list) -> !list {
    // expected-error@+1 {{'math.exp' op expected no fastmath flag but 'contract', found 'fast'}}
    %s = math.exp %a fastmath<fast> : f32
    foreach.yield %s : f32
  }
  return %r : !list
}
