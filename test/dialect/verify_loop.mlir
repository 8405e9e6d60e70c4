// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// Carried values, flag, bound and results follow the rules of `foreach.while`.

!list = !foreach.list<tensor<?xf32>>
fused.program @no_yield(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{'fused.loop' op expected its region to end with 'fused.yield'}}
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    %y = fused.sweep (%b = %a : !list) -> !list { fused.yield %b : f32 }
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @no_flag(%x: !list, %n: tensor<i32>) {
  // expected-error@+1 {{'fused.loop' op expected its region to end with 'yield ... while' and a flag}}
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    fused.yield %a : !list
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @other_op(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'arith.constant' op expected only sweeps and loops in a loop}}
    %c = arith.constant 1 : i32
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @carried(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'fused.loop' op carries '!foreach.list<tensor<?xf32>>' as value #0 but its region yields 'tensor<i32>'}}
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (tensor<i32>, tensor<i32>) {
    fused.yield %n while %f : tensor<i32> while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
fused.program @no_active(%x: !list, %n: tensor<i32>, %f: !flag) {
  // expected-error@+1 {{'fused.loop' op expected 'active' with the type of the flag, '!foreach.list<tensor<i1>>', if and only if every member has a flag}}
  %r, %t = fused.loop (%a = %x : !list) upto %n -> (!list, !foreach.list<tensor<i32>>) {
    fused.yield %a while %f : !list while !flag
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @active_for_all(%x: !list, %n: tensor<i32>, %f: tensor<i1>) {
  // expected-error@+1 {{'fused.loop' op expected a region of at most 1 argument, found 2}}
  %r, %t = fused.loop (%a = %x : !list) upto %n active %on : tensor<i1> -> (!list, tensor<i32>) {
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield
}

// -----

!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>
fused.program @active_type(%x: !list, %n: tensor<i32>, %f: !flag) {
  // expected-error@+1 {{'fused.loop' op expected 'active' with the type of the flag, '!foreach.list<tensor<i1>>', if and only if every member has a flag}}
  %r, %t = fused.loop (%a = %x : !list) upto %n active %on : !foreach.list<tensor<f32>> -> (!list, !foreach.list<tensor<i32>>) {
    fused.yield %a while %f : !list while !flag
  }
  fused.yield
}

// -----

// The generic form may have any number of arguments.
!list = !foreach.list<tensor<?xf32>>
fused.program @arguments(%x: !list, %limit: tensor<i32>) {
  // expected-error@+1 {{'fused.loop' op expected a region of at most 1 argument, found 2}}
  %y:2 = "fused.loop"(%x, %limit) ({
  ^bb0(%a: !list, %b: !list):
    %z, %s, %more = fused.sweep (%e = %a : !list) -> (!list, tensor<f32>) {
      %s = fused.reduce add list %e : f32
      fused.yield %e, %s : f32, f32
    } epilogue [%s : f32] () -> tensor<i1> {
      %m = arith.cmpf ogt, %s, %s : f32
      fused.yield %m : i1
    }
    fused.yield %z while %more : !list while tensor<i1>
  }) : (!list, tensor<i32>) -> (!list, tensor<i32>)
  fused.yield
}
