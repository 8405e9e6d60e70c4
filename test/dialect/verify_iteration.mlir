// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
func.func @index_outside(%s: !list) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'foreach.map' op uses the iteration number outside of a loop}}
  %e = foreach.map (%e = %s[iteration] : !list) -> !foreach.list<tensor<f32>> {
    foreach.yield %e : f32
  }
  return %e : !foreach.list<tensor<f32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @next_outside(%s: !list) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'foreach.map' op uses the iteration number outside of a loop}}
  %e = foreach.map (%e = %s[next] : !list) -> !foreach.list<tensor<f32>> {
    foreach.yield %e : f32
  }
  return %e : !foreach.list<tensor<f32>>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
func.func @first_of_matrix(%s: !mats) -> !foreach.list<tensor<f32>> {
  // expected-error@+1 {{'foreach.map' op operand 'e' has rank 2 and 1 index}}
  %e = foreach.map (%e = %s[first] : !mats) -> !foreach.list<tensor<f32>> {
    foreach.yield %e : f32
  }
  return %e : !foreach.list<tensor<f32>>
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @number_outside(%s: !list) -> !list {
  %e = foreach.map (%e = %s : !list) -> !list {
    // expected-error@+1 {{'foreach.iteration' op uses the iteration number outside of a loop}}
    %k = foreach.iteration : i32
    foreach.yield %e : f32
  }
  return %e : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @index_with_others(%s: !list) -> !list {
  // expected-error@+1 {{expected index 'i' or 'j', or 'iteration', 'next' or 'first' alone, found 'iteration'}}
  %e = foreach.map (%e = %s[i, iteration] : !list) -> !list {
    foreach.yield %e : f32
  }
  return %e : !list
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
func.func @matrix(%s: !mats, %n: tensor<i32>, %f: tensor<i1>) {
  %t = foreach.while () upto %n -> tensor<i32> {
    // expected-error@+1 {{'foreach.map' op operand 'e' has rank 2 and 1 index}}
    %e = foreach.map (%e = %s[iteration] : !mats) -> !foreach.list<tensor<f32>> {
      foreach.yield %e : f32
    }
    foreach.yield while %f while tensor<i1>
  }
  return
}

// -----

// An iteration index does not contribute to the domain.
!list = !foreach.list<tensor<?xf32>>
func.func @no_domain(%s: !list, %n: tensor<i32>, %f: tensor<i1>) {
  %t = foreach.while () upto %n -> tensor<i32> {
    // expected-error@+1 {{'foreach.map' op result #0 has type '!foreach.list<tensor<?xf32>>'; expected a list of rank 0, like the domain}}
    %e = foreach.map (%e = %s[iteration] : !list) -> !list {
      foreach.yield %e : f32
    }
    foreach.yield while %f while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @record_outside(%h: !list, %e: tensor<f32>) -> !list {
  // expected-error@+1 {{'foreach.record' op records in a vector that the loop around it does not carry}}
  %h1 = foreach.record %e in %h : tensor<f32> in !list
  return %h1 : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @record_uncarried(%h: !list, %e: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %t = foreach.while (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'foreach.record' op records in a vector that the loop around it does not carry}}
    %h1 = foreach.record %e in %h : tensor<f32> in !list
    foreach.yield %h1 while %f : !list while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @record_read(%h: !list, %e: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %s, %t = foreach.while (%a = %h : !list) upto %n -> (!list, tensor<f32>, tensor<i32>) {
    // expected-error@+1 {{'foreach.record' op records in a vector that the same iteration reads}}
    %h1 = foreach.record %e in %a : tensor<f32> in !list
    %sum = foreach.reduce add along list (%x = %a : !list) -> tensor<f32> { foreach.yield %x : f32 }
    foreach.yield %h1, %sum while %f : !list, tensor<f32> while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @record_elsewhere(%h: !list, %e: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %s, %t = foreach.while (%a = %h, %b = %h : !list) upto %n -> (!list, !list, tensor<i32>) {
    // expected-error@+1 {{'foreach.record' op expected the loop to carry the result as value #0 in place of the vector, and no other use of it}}
    %h1 = foreach.record %e in %a : tensor<f32> in !list
    foreach.yield %b, %h1 while %f : !list, !list while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @record_vector(%h: !list, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %t = foreach.while (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'foreach.record' op records a value of type '!foreach.list<tensor<?xf32>>'; expected a member scalar or a device scalar}}
    %h1 = foreach.record %h in %a : !list in !list
    foreach.yield %h1 while %f : !list while tensor<i1>
  }
  return
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
func.func @record_in_matrix(%h: !mats, %e: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %t = foreach.while (%a = %h : !mats) upto %n -> (!mats, tensor<i32>) {
    // expected-error@+1 {{'foreach.record' op records in a value of type '!foreach.list<tensor<?x?xf32>>'; expected a vector for each member, a list of rank 1}}
    %h1 = foreach.record %e in %a : tensor<f32> in !mats
    foreach.yield %h1 while %f : !mats while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @record_type(%h: !list, %e: tensor<i32>, %n: tensor<i32>, %f: tensor<i1>) {
  %r, %t = foreach.while (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'foreach.record' op records a value of type 'i32' in a vector of 'f32'}}
    %h1 = foreach.record %e in %a : tensor<i32> in !list
    foreach.yield %h1 while %f : !list while tensor<i1>
  }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
fused.program @record_of_elements(%h: !list, %x: !list, %n: tensor<i32>, %f: tensor<i1>) -> !list {
  %r, %t = fused.loop (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    %h1 = fused.sweep (%into = %a[iteration], %x = %x[i] : !list) -> !list {
      // expected-error@+1 {{'fused.record' op expected to record a member or list value, found an element value}}
      %e = fused.record %x in %into : f32 in f32
      fused.yield %e : f32
    }
    fused.yield %h1 while %f : !list while tensor<i1>
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @record_in_element(%h: !list, %x: !each, %n: tensor<i32>, %f: tensor<i1>) -> !list {
  %r, %t = fused.loop (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    %h1 = fused.sweep (%into = %a : !list, %x = %x : !each) -> !list {
      // expected-error@+1 {{'fused.record' op expected to be yielded, and to be the only user of an argument that is bound to a vector at [iteration]}}
      %e = fused.record %x in %into : f32 in f32
      fused.yield %e : f32
    }
    fused.yield %h1 while %f : !list while tensor<i1>
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @record_of_another(%h: !list, %x: !each, %n: tensor<i32>, %f: tensor<i1>) -> !list {
  %r, %t = fused.loop (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'fused.sweep' op records in a vector that the loop around it does not carry}}
    %h1 = fused.sweep (%into = %h[iteration] : !list, %x = %x : !each) -> !list {
      %e = fused.record %x in %into : f32 in f32
      fused.yield %e : f32
    }
    fused.yield %h1 while %f : !list while tensor<i1>
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @record_as_scalar(%h: !list, %x: !each, %n: tensor<i32>, %f: tensor<i1>) -> !list {
  %r, %t = fused.loop (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'fused.sweep' op result #0 of type '!foreach.list<tensor<f32>>' expected a list of rank 1 for a recorded value}}
    %h1 = fused.sweep (%into = %a[iteration] : !list, %x = %x : !each) -> !each {
      %e = fused.record %x in %into : f32 in f32
      fused.yield %e : f32
    }
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @record_as_another(%h: !list, %x: !each, %n: tensor<i32>, %f: tensor<i1>) -> !list {
  %r, %t = fused.loop (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    // expected-error@+1 {{'fused.sweep' op expected to record in a vector of the result's type '!foreach.list<tensor<?xf64>>', found '!foreach.list<tensor<?xf32>>'}}
    %h1 = fused.sweep (%into = %a[iteration] : !list, %x = %x : !each) -> !foreach.list<tensor<?xf64>> {
      %e = fused.record %x in %into : f32 in f32
      fused.yield %e : f32
    }
    fused.yield %a while %f : !list while tensor<i1>
  }
  fused.yield %r : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @record_in_next(%h: !list, %x: !each, %n: tensor<i32>, %f: tensor<i1>) -> !list {
  %r, %t = fused.loop (%a = %h : !list) upto %n -> (!list, tensor<i32>) {
    %h1 = fused.sweep (%into = %a[next] : !list, %x = %x : !each) -> !list {
      // expected-error@+1 {{'fused.record' op expected to be yielded, and to be the only user of an argument that is bound to a vector at [iteration]}}
      %e = fused.record %x in %into : f32 in f32
      fused.yield %e : f32
    }
    fused.yield %h1 while %f : !list while tensor<i1>
  }
  fused.yield %r : !list
}
