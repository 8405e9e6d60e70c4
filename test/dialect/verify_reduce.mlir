// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

!list = !foreach.list<tensor<?xf32>>
func.func @kind(%x: !list) {
  // expected-error@+1 {{expected add, mul, min, max, any, all, logsumexp, argmax, argmin or mean, found 'sum'}}
  %r = foreach.reduce sum along i (%a = %x : !list) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @axis(%x: !list) {
  // expected-error@+1 {{expected i, j, member or list, found 'k'}}
  %r = foreach.reduce add along k (%a = %x : !list) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @along(%x: !list) {
  // expected-error@+1 {{expected 'along'}}
  %r = foreach.reduce add over i (%a = %x : !list) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @no_yield(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op expected its region to end with 'foreach.yield'}}
  %r = foreach.reduce add along i (%a = %x : !list) -> !foreach.list<tensor<f32>> {
    %b = arith.addf %a, %a : f32
  }
  return
}

// -----

func.func @no_list(%x: tensor<f32>) {
  // expected-error@+1 {{'foreach.reduce' op expected a list among the operands; all of them are device scalars}}
  %r = foreach.reduce add along list (%a = %x : tensor<f32>) -> tensor<f32> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @two_values(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op yields 2 values; only logsumexp takes a second one, a shift}}
  %r = foreach.reduce add along list (%a = %x : !list) -> tensor<f32> { foreach.yield %a, %a : f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @flags_of_floats(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op cannot combine values of 'f32' by any}}
  %r = foreach.reduce any along list (%a = %x : !list) -> tensor<i1> { foreach.yield %a : f32 }
  return
}

// -----

func.func @sum_of_flags(%x: !foreach.list<tensor<?xi1>>) {
  // expected-error@+1 {{'foreach.reduce' op cannot combine values of 'i1' by add}}
  %r = foreach.reduce add along list (%a = %x : !foreach.list<tensor<?xi1>>) -> tensor<i1> { foreach.yield %a : i1 }
  return
}

// -----

func.func @logsumexp_of_integers(%x: !foreach.list<tensor<?xi32>>) {
  // expected-error@+1 {{'foreach.reduce' op cannot combine values of 'i32' by logsumexp}}
  %r = foreach.reduce logsumexp along list (%a = %x : !foreach.list<tensor<?xi32>>) -> tensor<i32> { foreach.yield %a : i32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @along_j(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op reduces along j but its domain has rank 1}}
  %r = foreach.reduce add along j (%a = %x : !list) -> !list { foreach.yield %a : f32 }
  return
}

// -----

!each = !foreach.list<tensor<f32>>
func.func @along_i(%x: !each) {
  // expected-error@+1 {{'foreach.reduce' op reduces along i but its domain has rank 0}}
  %r = foreach.reduce add along i (%a = %x : !each) -> !each { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @position_in_list(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op cannot give one position in a list whose members have rank 1; reduce along member first, then along list}}
  %r:2 = foreach.reduce argmax along list (%a = %x : !list) -> (tensor<f32>, tensor<i64>) { foreach.yield %a : f32 }
  return
}

// -----

func.func @sum_of_bytes(%x: !foreach.list<tensor<?xi8>>) {
  // expected-error@+1 {{'foreach.reduce' op cannot combine values of 'i8' by add}}
  %r = foreach.reduce add along list (%a = %x : !foreach.list<tensor<?xi8>>) -> tensor<i8> { foreach.yield %a : i8 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @results_of_argmax(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op expected 2 results, the extreme value and its position, found 1}}
  %r = foreach.reduce argmax along i (%a = %x : !list) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @results_of_add(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op expected 1 result, found 2}}
  %r:2 = foreach.reduce add along list (%a = %x : !list) -> (tensor<f32>, tensor<i64>) { foreach.yield %a : f32 }
  return
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
func.func @result_along_i(%x: !mats) {
  // expected-error@+1 {{'foreach.reduce' op result #0 has type '!foreach.list<tensor<f32>>'; a reduction along i gives a list of rank 1}}
  %r = foreach.reduce add along i (%a = %x : !mats) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
func.func @result_along_member(%x: !mats) {
  // expected-error@+1 {{'foreach.reduce' op result #0 has type 'tensor<f32>'; a reduction along member gives a list of rank 0}}
  %r = foreach.reduce add along member (%a = %x : !mats) -> tensor<f32> { foreach.yield %a : f32 }
  return
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
func.func @result_along_list(%x: !mats) {
  // expected-error@+1 {{'foreach.reduce' op result #0 has type '!foreach.list<tensor<f32>>'; a reduction along list gives a device scalar, of rank 0}}
  %r = foreach.reduce add along list (%a = %x : !mats) -> !foreach.list<tensor<f32>> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @position(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op the position has elements of 'i32'; expected i64}}
  %r:2 = foreach.reduce argmax along i (%a = %x : !list) -> (!foreach.list<tensor<f32>>, !foreach.list<tensor<i32>>) { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
func.func @element(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op result has elements of 'i32' but the region yields 'f32'}}
  %r = foreach.reduce add along list (%a = %x : !list) -> tensor<i32> { foreach.yield %a : f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_element(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op computes its shift from operand #0, which has more than one value for each result}}
  %r = foreach.reduce logsumexp along j (%c = %c[i, j] : !mats) -> !list { foreach.yield %c, %c : f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_column(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op computes its shift from operand #1, which has more than one value for each result}}
  %r = foreach.reduce logsumexp along j (%c = %c[i, j] : !mats, %x = %x[j] : !list) -> !list { foreach.yield %c, %x : f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_row(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op computes its shift from operand #1, which has more than one value for each result}}
  %r = foreach.reduce logsumexp along i (%c = %c[i, j] : !mats, %x = %x[i] : !list) -> !list { foreach.yield %c, %x : f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_rank_1(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op computes its shift from operand #0, which has more than one value for each result}}
  %r = foreach.reduce logsumexp along i (%x = %x : !list) -> !foreach.list<tensor<f32>> { foreach.yield %x, %x : f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_list(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op computes its shift from operand #1, which has more than one value for each result}}
  %r = foreach.reduce logsumexp along list (%x = %x : !list, %e = %e : !foreach.list<tensor<f32>>) -> tensor<f32> { foreach.yield %x, %e : f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_type(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op reduces values of 'f32' but its shift has type 'f64'}}
  %r = foreach.reduce logsumexp along j (%c = %c[i, j] : !mats, %x = %x[i] as f64 : !list) -> !list { foreach.yield %c, %x : f32, f64 }
  return
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @shift_three(%c: !mats, %x: !list, %e: !foreach.list<tensor<f32>>) {
  // expected-error@+1 {{'foreach.reduce' op yields 3 values; expected the value to reduce}}
  %r = foreach.reduce logsumexp along j (%c = %c[i, j] : !mats, %x = %x[i] : !list) -> !list { foreach.yield %c, %x, %x : f32, f32, f32 }
  return
}

// -----

!list = !foreach.list<tensor<?xi32>>
func.func @mean_of_integers(%x: !list) {
  // expected-error@+1 {{'foreach.reduce' op cannot combine values of 'i32' by mean}}
  %r = foreach.reduce mean along member (%a = %x : !list) -> !foreach.list<tensor<i32>> { foreach.yield %a : i32 }
  return
}
