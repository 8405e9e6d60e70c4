// The number of iterations has the name that the program gives it, also with one for each member.
// RUN: %heddle emit %s --stage plan | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>

// CHECK:     "results"
// CHECK:     "name": "y"
// CHECK:     "name": "turns"
func.func @halve(%x: !list, %limit: tensor<i32>) -> (!list, !counts) {
  %y, %turns = foreach.while (%y = %x : !list) upto %limit -> (!list, !counts) {
    %half = foreach.map (%y = %y : !list) -> !list {
      %c = arith.constant 0.5 : f32
      %h = arith.mulf %y, %c : f32
      foreach.yield %h : f32
    }
    %most = foreach.reduce max along member (%h = %half : !list) -> !each {
      foreach.yield %h : f32
    }
    %more = foreach.map (%m = %most : !each) -> !flags {
      %c = arith.constant 1.0 : f32
      %more = arith.cmpf ogt, %m, %c : f32
      foreach.yield %more : i1
    }
    foreach.yield %half while %more : !list while !flags
  }
  return %y, %turns : !list, !counts
}
