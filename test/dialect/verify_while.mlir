// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
func.func @no_type(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{expected ':' and the type of the carried values before ')'}}
  %r, %t = foreach.while (%a = %x) upto %n -> (!list, tensor<i32>) {
    foreach.yield
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_bound(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{expected 'upto'}}
  %r, %t = foreach.while (%a = %x : !list) -> (!list, tensor<i32>) {
    foreach.yield
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
// expected-note@+1 {{prior use here}}
func.func @bound_type(%x: !list, %n: tensor<i64>) {
  // expected-error@+1 {{use of value '%n' expects different type than prior uses: 'tensor<i32>' vs 'tensor<i64>'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    foreach.yield
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_yield(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{'foreach.while' op expected its region to end with 'foreach.yield'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %c = arith.constant 1 : i32
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @iterations_without_flag(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{'foreach.while' op expected the last result, the number of iterations, to have type 'tensor<i32>', found '!foreach.list<tensor<i32>>'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (!list, !foreach.list<tensor<i32>>) {
    foreach.yield %a : !list
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @number_of_arguments(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op carries 1 value but its region has 0 arguments}}
  %r, %t = "foreach.while"(%x, %n) ({
    foreach.yield %x while %f : !list while tensor<i1>
  }) : (!list, tensor<i32>) -> (!list, tensor<i32>)
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @types_of_arguments(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op carries values whose types differ from those of the region's arguments}}
  %r, %t = "foreach.while"(%x, %n) ({
  ^bb0(%a: tensor<f32>):
    foreach.yield %x while %f : !list while tensor<i1>
  }) : (!list, tensor<i32>) -> (!list, tensor<i32>)
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @too_few(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op carries 1 value but its region yields 0}}
  %t = foreach.while (%a = %x : !list) upto %n -> tensor<i32> {
    foreach.yield while %f while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @carried_type(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op carries '!foreach.list<tensor<?xf32>>' as value #0 but its region yields 'tensor<i32>'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (tensor<i32>, tensor<i32>) {
    foreach.yield %n while %f : tensor<i32> while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @number_of_results(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op expected 2 results (the yielded values and the number of iterations), found 1}}
  %r = foreach.while (%a = %x : !list) upto %n -> !list {
    foreach.yield %a while %f : !list while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @result_type(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op result #0 has type 'tensor<f32>' but the region yields '!foreach.list<tensor<?xf32>>'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (tensor<f32>, tensor<i32>) {
    foreach.yield %a while %f : !list while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @iterations_for_all(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.while' op expected the last result, the number of iterations, to have type 'tensor<i32>', like the flag, found '!foreach.list<tensor<i32>>'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (!list, !foreach.list<tensor<i32>>) {
    foreach.yield %a while %f : !list while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @iterations_for_each(%x: !list, %n: tensor<i32>, %f: !foreach.list<tensor<i1>>) {
  // expected-error@+1 {{to have type '!foreach.list<tensor<i32>>', like the flag, found 'tensor<i32>'}}
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    foreach.yield %a while %f : !list while !foreach.list<tensor<i1>>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @flag_type(%x: !list, %n: tensor<i32>) {
  %r, %t = foreach.while (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{operand #1 must be a flag, `tensor<i1>` or one per member, `!foreach.list<tensor<i1>>`, but got 'tensor<i32>'}}
    foreach.yield %a while %n : !list while tensor<i32>
  }
  return
}
