// Functions that cannot become programs.
// RUN: %heddle_opt --foreach-outline-sweeps --split-input-file --verify-diagnostics %s

!num = tensor<f64>

// expected-error@+6 {{expected at least one list among the arguments of program 'scalars', because a launch over a list computes its numbers; found none}}
func.func @scalars(%a: !num) -> !num {
  %b = foreach.map (%a = %a : !num) -> !num {
    %b = arith.addf %a, %a : f64
    foreach.yield %b : f64
  }
  return %b : !num
}

// -----

// expected-error@+1 {{computes nothing; expected at least one map or reduce over a list}}
func.func @nothing(%x: !foreach.list<tensor<?xf32>>) {
  return
}

// -----

// expected-error@+1 {{cannot become a program; expected a body of one block}}
func.func private @external(%x: !foreach.list<tensor<?xf32>>)

// -----

!list = !foreach.list<tensor<?xf32>>

func.func @if(%p: !list, %ok: tensor<i1>) -> !list {
  // expected-error@+1 {{has no sweeps; expected a program in which foreach-simplify has expanded it}}
  %p1 = foreach.if %ok -> (!list) {
    %a = foreach.map (%p = %p : !list) -> !list {
      foreach.yield %p : f32
    }
    foreach.yield %a : !list
  } else (%p)
  return %p1 : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

func.func @call(%p: !list) -> !list {
  // expected-error@+1 {{'func.call' op is not allowed here; a program computes in foreach.map, foreach.reduce, foreach.record, foreach.while and foreach.if}}
  %p1 = func.call @call(%p) : (!list) -> !list
  return %p1 : !list
}

// -----

func.func @math(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'arith.addf' op is in no body; expected a program in which foreach-expand-shorthands has replaced it}}
  %y = arith.addf %x, %x : tensor<f32>
  return %y : tensor<f32>
}

// -----

!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

func.func @members(%x0: !each, %n: tensor<i32>) -> !each {
  %x, %sum, %iterations = foreach.while (%x = %x0 : !each) upto %n -> (!each, tensor<f32>, !iteration) {
    // expected-error@+1 {{expected a reduction along i, j or member in a loop with a flag for every member, found one along list}}
    %sum = foreach.reduce add along list (%x = %x : !each) -> tensor<f32> {
      foreach.yield %x : f32
    }
    %more = foreach.map (%x = %x : !each, %s = %sum : tensor<f32>) -> !flag {
      %c = arith.cmpf ogt, %x, %s : f32
      foreach.yield %c : i1
    }
    foreach.yield %x, %sum while %more : !each, tensor<f32> while !flag
  }
  return %x : !each
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_flag(%x: !list, %n: tensor<i32>) -> !list {
  // expected-error@+1 {{'foreach.while' op has no flag; expected a program in which foreach-expand-shorthands has added it}}
  %y, %k = foreach.while (%y = %x : !list) upto %n -> (!list, tensor<i32>) {
    foreach.yield %y : !list
  }
  return %y : !list
}
