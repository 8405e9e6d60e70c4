// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
fused.kernel @no_yield(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected its region to end with 'fused.yield'}}
  fused.sweep (%a = %x : !list) {
    %b = arith.addf %a, %a : f32
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @empty(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected its region to end with 'fused.yield'}}
  fused.sweep (%a = %x : !list) {
  }
  fused.yield
}

// -----

fused.kernel @no_list(%s: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op segment #0 visits no list}}
  %r = fused.sweep (%a = %s : tensor<f32>) -> tensor<f32> { fused.yield %a : f32 }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @number_of_values(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op segment #1 is to yield 1 values}}
  %r, %q = fused.sweep (%a = %x : !list) -> !list {
    fused.yield %a : f32
  } and (%a = %x : !list) -> !list {
    fused.yield %a, %a : f32, f32
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @storage(%x: !list) -> !foreach.list<tensor<?xi32>> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xi32>>' cannot hold a 'f32'}}
  %r = fused.sweep (%a = %x : !list) -> !foreach.list<tensor<?xi32>> { fused.yield %a : f32 }
  fused.yield %r : !foreach.list<tensor<?xi32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @element_for_list(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type 'tensor<f32>' is one for the whole list but its value is a element value}}
  %r = fused.sweep (%a = %x : !list) -> tensor<f32> { fused.yield %a : f32 }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @list_for_element(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xf32>>' is a list but its value is complete only after the whole list was visited}}
  %r = fused.sweep (%a = %x : !list) -> !list {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @element_for_member(%x: !list) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<f32>>' has rank 0 but its value is a element value of a domain of rank 1}}
  %r = fused.sweep (%a = %x : !list) -> !foreach.list<tensor<f32>> { fused.yield %a : f32 }
  fused.yield %r : !foreach.list<tensor<f32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @member_for_element(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xf32>>' has rank 1 but its value is a member value, complete after the sweep, of a domain of rank 1}}
  %r = fused.sweep (%a = %x : !list) -> !list {
    %s = fused.reduce add member %a : f32
    fused.yield %s : f32
  }
  fused.yield %r : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
fused.kernel @element_for_vector(%x: !mats) -> !list {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xf32>>' has rank 1 but its value is a element value of a domain of rank 2}}
  %r = fused.sweep (%a = %x : !mats) -> !list { fused.yield %a : f32 }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @ranks(%x: !list, %m: !foreach.list<tensor<?x?xf32>>) {
  // expected-error@+1 {{'fused.sweep' op joins domains of rank 1 and 2}}
  fused.sweep (%a = %x : !list) {
    fused.yield
  } and (%a = %m : !foreach.list<tensor<?x?xf32>>) {
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @schedule(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op has a schedule for 2 segments, expected 1}}
  fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4, 4], tile = [1024, 1024], reason = "">
      (%a = %x : !list) {
    fused.yield
  }
  fused.yield
}

// -----

// What follows the segments.

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_without_end(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op expected its region to end with 'fused.yield'}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : f32] () -> tensor<f32> {
    %c = arith.constant 1.0 : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_takes(%x: !list, %t: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op 'finish' takes 1 values; expected the 1 list values of the segments and the 1 scalars bound to it}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [] (%t = %t : tensor<f32>) -> tensor<f32> {
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_type(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op 'finish' takes a 'i32' for result #0 of type 'tensor<f32>'}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : i32] () -> tensor<f32> {
    %c = arith.constant 1.0 : f32
    fused.yield %c : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_binds(%x: !list, %t: tensor<i32>) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op binds operand #0 of element type 'i32' as 'f32'; 'as' converts between floating-point types, to f32 or f64}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : f32] (%t = %t as f32 : tensor<i32>) -> tensor<f32> {
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_of_list(%x: !list, %y: !foreach.list<tensor<f32>>) -> tensor<f32> {
  // expected-error@+1 {{must be variadic of a device scalar (a tensor of rank 0), but got '!foreach.list<tensor<f32>>'}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : f32] (%t = %y : !foreach.list<tensor<f32>>) -> tensor<f32> {
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_body(%x: !list) -> tensor<f32> {
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : f32] () -> tensor<f32> {
    // expected-error@+1 {{'fused.reduce' op is not a scalar operation, which the body of 'fused.sweep' requires}}
    %t = fused.reduce add list %s : f32
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_values(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op 'finish' yields 2 values for 1 results}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : f32] () -> tensor<f32> {
    fused.yield %s, %s : f32, f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @finish_result(%x: !list) -> tensor<i32> {
  // expected-error@+1 {{'fused.sweep' op result #1 of type 'tensor<i32>' cannot hold the 'f32' that 'finish' yields for it}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } finish [%s : f32] () -> tensor<i32> {
    fused.yield %s : f32
  }
  fused.yield %r : tensor<i32>
}

// -----

// Counts that only the generic form can get wrong.

!list = !foreach.list<tensor<?xf32>>
fused.kernel @no_segment(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op has 1 segments; expected as many as it counts operands and results for}}
  "fused.sweep"(%x) <{indices = array<i32: 1>, inputCounts = array<i32: 1, 0>, operandSegmentSizes = array<i32: 1, 0, 0>, resultCounts = array<i32: 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> ()
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @operands(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op counts more or fewer operands, indices or results than it has}}
  "fused.sweep"(%x) <{indices = array<i32: 1>, inputCounts = array<i32: 2>, operandSegmentSizes = array<i32: 1, 0, 0>, resultCounts = array<i32: 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> ()
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @negative(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op counts more or fewer operands, indices or results than it has}}
  "fused.sweep"(%x) <{indices = array<i32: 1>, inputCounts = array<i32: -1, 2>, operandSegmentSizes = array<i32: 1, 0, 0>, resultCounts = array<i32: 0, 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> ()
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.kernel @results(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op has results that no segment yields and no 'finish'}}
  %r = "fused.sweep"(%x) <{indices = array<i32: 1>, inputCounts = array<i32: 1>, operandSegmentSizes = array<i32: 1, 0, 0>, resultCounts = array<i32: 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> !list
  fused.yield %r : !list
}

// -----

// Bindings follow the rules of `foreach.map`.

!list = !foreach.list<tensor<?xf32>>
fused.kernel @bindings(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op operand #0 has rank 1 and 2 indices}}
  %r = fused.sweep (%a = %x[i, j] : !list) -> !list { fused.yield %a : f32 }
  fused.yield %r : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.kernel @negative_columns(%x: !mats) -> !mats {
  // expected-error@+1 {{'fused.sweep' op has a schedule by -5 columns; expected a positive number, of 'rows' outside of loops}}
  %y = fused.sweep schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [2] by -5, reason = ""> (%x = %x[i, j] : !mats) -> !mats {
    fused.yield %x : f32
  }
  fused.yield %y : !mats
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.kernel @columns_of_a_stream(%x: !mats) -> !mats {
  // expected-error@+1 {{'fused.sweep' op has a schedule by 1024 columns; expected a positive number, of 'rows' outside of loops}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024] by 1024, reason = ""> (%x = %x[i, j] : !mats) -> !mats {
    fused.yield %x : f32
  }
  fused.yield %y : !mats
}
