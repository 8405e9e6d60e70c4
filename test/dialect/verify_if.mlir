// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
func.func @no_else(%x: !list, %f: tensor<i1>) {
  %r = foreach.if %f -> !list {
    foreach.yield %x : !list
  }
  // expected-error@+1 {{expected 'else'}}
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @number_of_others(%x: !list, %f: tensor<i1>) {
  %r = foreach.if %f -> !list {
    foreach.yield %x : !list
  // expected-error@+1 {{number of operands and types do not match: got 2 operands and 1 type}}
  } else (%x, %x)
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_yield(%x: !list, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.if' op expected its region to end with 'foreach.yield'}}
  %r = foreach.if %f -> !list {
    %c = arith.constant 1 : i32
  } else (%x)
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @flag(%x: !list, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.if' op yields a 'while' flag; only loops have one}}
  %r = foreach.if %f -> !list {
    foreach.yield %x while %f : !list while tensor<i1>
  } else (%x)
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @types(%x: !list, %f: tensor<i1>) {
  // expected-error@+1 {{'foreach.if' op expected the types of the results ('!foreach.list<tensor<?xf32>>') from its region ('tensor<i1>') and after 'else' ('!foreach.list<tensor<?xf32>>')}}
  %r = foreach.if %f -> !list {
    foreach.yield %f : tensor<i1>
  } else (%x)
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @types_of_others(%x: !list, %f: tensor<i1>) {
  // expected-error@+1 {{and after 'else' ('tensor<i1>')}}
  %r = "foreach.if"(%f, %f) ({
    foreach.yield %x : !list
  }) : (tensor<i1>, tensor<i1>) -> !list
  return
}
