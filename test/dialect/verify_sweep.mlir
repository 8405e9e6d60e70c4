// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
fused.program @no_yield(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected its region to end with 'fused.yield'}}
  fused.sweep (%a = %x : !list) {
    %b = arith.addf %a, %a : f32
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @empty(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected its region to end with 'fused.yield'}}
  fused.sweep (%a = %x : !list) {
  }
  fused.yield
}

// -----

fused.program @no_list(%s: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op expected at least one list among the operands of segment #0}}
  %r = fused.sweep (%a = %s : tensor<f32>) -> tensor<f32> { fused.yield %a : f32 }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @number_of_values(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op expected segment #1 to yield 1 value, found 2}}
  %r, %q = fused.sweep (%a = %x : !list) -> !list {
    fused.yield %a : f32
  } and (%a = %x : !list) -> !list {
    fused.yield %a, %a : f32, f32
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @storage(%x: !list) -> !foreach.list<tensor<?xi32>> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xi32>>' cannot hold values of type 'f32'}}
  %r = fused.sweep (%a = %x : !list) -> !foreach.list<tensor<?xi32>> { fused.yield %a : f32 }
  fused.yield %r : !foreach.list<tensor<?xi32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @element_for_list(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type 'tensor<f32>' expected a list value, found an element value}}
  %r = fused.sweep (%a = %x : !list) -> tensor<f32> { fused.yield %a : f32 }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @list_for_element(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xf32>>' expected a value that each member has, found a list value that is complete only after the sweep}}
  %r = fused.sweep (%a = %x : !list) -> !list {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @element_for_member(%x: !list) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<f32>>' cannot hold an element value of a domain of rank 1}}
  %r = fused.sweep (%a = %x : !list) -> !foreach.list<tensor<f32>> { fused.yield %a : f32 }
  fused.yield %r : !foreach.list<tensor<f32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @member_for_element(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xf32>>' cannot hold a member value that is complete only after the sweep of a domain of rank 1}}
  %r = fused.sweep (%a = %x : !list) -> !list {
    %s = fused.reduce add member %a : f32
    fused.yield %s : f32
  }
  fused.yield %r : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
fused.program @element_for_vector(%x: !mats) -> !list {
  // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<?xf32>>' cannot hold an element value of a domain of rank 2}}
  %r = fused.sweep (%a = %x : !mats) -> !list { fused.yield %a : f32 }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @ranks(%x: !list, %m: !foreach.list<tensor<?x?xf32>>) {
  // expected-error@+1 {{'fused.sweep' op expected segments with domains of rank 2 only, or of lower ranks only, found ranks 1 and 2}}
  fused.sweep (%a = %x : !list) {
    fused.yield
  } and (%a = %m : !foreach.list<tensor<?x?xf32>>) {
    fused.yield
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @schedule(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a schedule with a vector and a tile for each of its 1 segment, found 2 vectors and 2 tiles}}
  fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4, 4], tile = [1024, 1024], reason = "">
      (%a = %x : !list) {
    fused.yield
  }
  fused.yield
}

// -----

// The epilogue.

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_without_yield(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op expected its region to end with 'fused.yield'}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : f32] () -> tensor<f32> {
    %c = arith.constant 1.0 : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_takes(%x: !list, %t: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op expected the epilogue to take 1 list value of the segments and 1 bound scalar, found 1 argument}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [] (%t = %t : tensor<f32>) -> tensor<f32> {
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_type(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op result #0 of type 'tensor<f32>' cannot hold values of type 'i32', which the epilogue takes for it}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : i32] () -> tensor<f32> {
    %c = arith.constant 1.0 : f32
    fused.yield %c : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_binds(%x: !list, %t: tensor<i32>) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op binds operand #0 of element type 'i32' as 'f32'; 'as' converts between floating-point types, to f32 or f64}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : f32] (%t = %t as f32 : tensor<i32>) -> tensor<f32> {
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_of_list(%x: !list, %y: !foreach.list<tensor<f32>>) -> tensor<f32> {
  // expected-error@+1 {{must be variadic of a device scalar (a tensor of rank 0), but got '!foreach.list<tensor<f32>>'}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : f32] (%t = %y : !foreach.list<tensor<f32>>) -> tensor<f32> {
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_body(%x: !list) -> tensor<f32> {
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : f32] () -> tensor<f32> {
    // expected-error@+1 {{'fused.reduce' op is not a scalar operation, which the body of 'fused.sweep' requires}}
    %t = fused.reduce add list %s : f32
    fused.yield %t : f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_values(%x: !list) -> tensor<f32> {
  // expected-error@+1 {{'fused.sweep' op expected the epilogue to yield 1 value, found 2}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : f32] () -> tensor<f32> {
    fused.yield %s, %s : f32, f32
  }
  fused.yield %r : tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @epilogue_result(%x: !list) -> tensor<i32> {
  // expected-error@+1 {{'fused.sweep' op result #1 of type 'tensor<i32>' cannot hold values of type 'f32', which the epilogue yields for it}}
  %s, %r = fused.sweep (%a = %x : !list) -> tensor<f32> {
    %s = fused.reduce add list %a : f32
    fused.yield %s : f32
  } epilogue [%s : f32] () -> tensor<i32> {
    fused.yield %s : f32
  }
  fused.yield %r : tensor<i32>
}

// -----

// Ends that can be wrong only in the generic form.

!list = !foreach.list<tensor<?xf32>>
fused.program @no_segment(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected at least one segment, and ends of operands and results for each, found 1 segment}}
  "fused.sweep"(%x) <{indices = array<i32: 1>, inputEnds = array<i32: 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>, resultEnds = array<i32: 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> ()
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @operands(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected ends of operands that ascend to the number of operands, 1, an index for each operand, and ends of results that ascend to at most the number of results, 0}}
  "fused.sweep"(%x) <{indices = array<i32: 1>, inputEnds = array<i32: 2>, operandSegmentSizes = array<i32: 1, 0, 0>, resultEnds = array<i32: 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> ()
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @negative(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected ends of operands that ascend to the number of operands, 1, an index for each operand, and ends of results that ascend to at most the number of results, 0}}
  "fused.sweep"(%x) <{indices = array<i32: 1>, inputEnds = array<i32: -1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>, resultEnds = array<i32: 0, 0>}> ({
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
fused.program @results(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op expected an epilogue, because it has results that no segment yields}}
  %r = "fused.sweep"(%x) <{indices = array<i32: 1>, inputEnds = array<i32: 1>, operandSegmentSizes = array<i32: 1, 0, 0>, resultEnds = array<i32: 0>}> ({
  }, {
  ^bb0(%a: f32):
    fused.yield
  }) : (!list) -> !list
  fused.yield %r : !list
}

// -----

// Bindings follow the rules of `foreach.map`.

!list = !foreach.list<tensor<?xf32>>
fused.program @bindings(%x: !list) -> !list {
  // expected-error@+1 {{'fused.sweep' op operand 'a' has rank 1 and 2 indices}}
  %r = fused.sweep (%a = %x[i, j] : !list) -> !list { fused.yield %a : f32 }
  fused.yield %r : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @negative_columns(%x: !mats) -> !mats {
  // expected-error@+1 {{'fused.sweep' op expected a positive number of columns, in a schedule by 'rows' outside of loops, found -5 columns}}
  %y = fused.sweep schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [2] by -5, reason = ""> (%x = %x[i, j] : !mats) -> !mats {
    fused.yield %x : f32
  }
  fused.yield %y : !mats
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
fused.program @columns_of_a_stream(%x: !mats) -> !mats {
  // expected-error@+1 {{'fused.sweep' op expected a positive number of columns, in a schedule by 'rows' outside of loops, found 1024 columns}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024] by 1024, reason = ""> (%x = %x[i, j] : !mats) -> !mats {
    fused.yield %x : f32
  }
  fused.yield %y : !mats
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @threads(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a schedule with a multiple of 32 threads, at most 1024, found 0}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 0, vector = [4], tile = [1024], reason = ""> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @vector(%x: !list) {
  // expected-error@+1 {{'fused.sweep' op expected a schedule with vectors and tiles that are positive numbers, found #fused.schedule<}}
  %y = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [0], tile = [1024], reason = ""> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}
