// Maps, reductions, loops and maps over device scalars become sweeps and loops.
// RUN: %heddle_opt --foreach-outline-sweeps --mlir-use-nameloc-as-prefix --split-input-file %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// Names, attributes and conversions are kept.
// CHECK-LABEL: fused.program @map
// CHECK-SAME:    (%[[P:.*]]: !foreach.list<tensor<?xf32>> {foreach.donate = 0 : i64}, %[[LR:.*]]: tensor<f64> {foreach.default = 1.000000e-03 : f64})
// CHECK-SAME:    traffic = [#fused.traffic<argument = 0, rank = 1, read = 4, written = 4>]
// CHECK-NEXT:    %[[R:.*]] = fused.sweep (%[[X:.*]] = %[[P]] : !foreach.list<tensor<?xf32>>, %[[Y:.*]] = %[[LR]] as f32 : tensor<f64>) -> !foreach.list<tensor<?xf32>> {
// CHECK-NEXT:      %[[V:.*]] = arith.mulf %[[X]], %[[Y]] : f32
// CHECK-NEXT:      fused.yield %[[V]] : f32
// CHECK:         fused.yield %[[R]]
// CHECK-NOT:     func.func
func.func @map(%p: !list {foreach.donate = 0 : i64}, %lr: !num {foreach.default = 1.0e-3 : f64}) -> !list {
  %q = foreach.map (%x = %p : !list, %lr = %lr as f32 : !num) -> !list {
    %v = arith.mulf %x, %lr : f32
    foreach.yield %v : f32
  }
  return %q : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!at = !foreach.list<tensor<?xi64>>

// CHECK-LABEL: fused.program @reductions
// CHECK:         fused.reduce logsumexp row
// CHECK:         fused.reduce max column
// CHECK:         fused.reduce mul member
// CHECK:         fused.reduce min list
// CHECK:         %{{.*}}:2 = fused.reduce argmax row
func.func @reductions(%m: !mats) -> (!list, !list, !each, tensor<f32>, !list, !at) {
  %a = foreach.reduce logsumexp along j (%m = %m : !mats) -> !list {
    foreach.yield %m : f32
  }
  %b = foreach.reduce max along i (%m = %m : !mats) -> !list {
    foreach.yield %m : f32
  }
  %c = foreach.reduce mul along member (%m = %m : !mats) -> !each {
    foreach.yield %m : f32
  }
  %d = foreach.reduce min along list (%m = %m : !mats) -> tensor<f32> {
    foreach.yield %m : f32
  }
  %e, %f = foreach.reduce argmax along j (%m = %m : !mats) -> (!list, !at) {
    foreach.yield %m : f32
  }
  return %a, %b, %c, %d, %e, %f : !list, !list, !each, tensor<f32>, !list, !at
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// A value of a lower level counts once per element of the domain.
// CHECK-LABEL: fused.program @counts
// CHECK:         fused.reduce add member %{{.*}} from element : f32
// CHECK:         fused.reduce add row %{{.*}} from element : f32
// CHECK:         fused.reduce add list %{{.*}} from member : f32
func.func @counts(%x: !list, %m: !mats, %u: !list, %t: !each) -> (!each, !list, tensor<f32>) {
  %n = foreach.reduce add along member (%x = %x : !list) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %r = foreach.reduce add along j (%m = %m : !mats, %u = %u[i] : !list) -> !list {
    foreach.yield %u : f32
  }
  %s = foreach.reduce add along list (%t = %t : !each) -> tensor<f32> {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  return %n, %r, %s : !each, !list, tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
!single = tensor<f32>

// A map over arguments alone is cloned into the bodies that use it, with the
// rounding of its result: here from f64 to f32 and, where it is bound, back.
// CHECK-LABEL: fused.program @cloned
// CHECK:         fused.sweep (%[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>, %[[B:.*]] = %{{.*}} : tensor<f64>) -> !foreach.list<tensor<?xf32>> {
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1.0{{.*}} : f64
// CHECK-NEXT:      %[[W:.*]] = arith.subf %[[ONE]], %[[B]] : f64
// CHECK-NEXT:      %[[F:.*]] = arith.truncf %[[W]] : f64 to f32
// CHECK-NEXT:      %[[D:.*]] = arith.extf %[[F]] : f32 to f64
// CHECK-NEXT:      %[[E:.*]] = arith.addf %[[D]], %[[D]] : f64
// CHECK-NEXT:      %[[G:.*]] = arith.truncf %[[E]] : f64 to f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[X]], %[[G]] : f32
func.func @cloned(%x: !list, %beta: !num) -> !list {
  %w = foreach.map (%b = %beta : !num) -> !single {
    %one = arith.constant 1.0 : f64
    %w = arith.subf %one, %b : f64
    foreach.yield %w : f64
  }
  %v = foreach.map (%w = %w as f64 : !single) -> !num {
    %v = arith.addf %w, %w : f64
    foreach.yield %v : f64
  }
  %y = foreach.map (%x = %x : !list, %v = %v as f32 : !num) -> !list {
    %y = arith.mulf %x, %v : f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// A map that depends on a reduction over the list moves to the epilogue of the
// sweep, with the maps that depend on it. If it depends on two sweeps, it moves to
// the later one.
// CHECK-LABEL: fused.program @epilogue
// CHECK:         %[[A:.*]] = fused.sweep
// CHECK-NOT:     epilogue
// CHECK:         %[[B:.*]]:3 = fused.sweep
// CHECK:         epilogue [%[[T:.*]]: f64] (%[[S:.*]] = %[[A]], %[[M:.*]] = %{{.*}} : tensor<f64>) -> (tensor<f64>, tensor<f64>) {
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[S]], %[[T]] : f64
// CHECK-NEXT:      %[[N:.*]] = math.sqrt %[[SUM]] : f64
// CHECK-NEXT:      %[[Q:.*]] = arith.divf %[[M]], %[[N]] : f64
// CHECK-NEXT:      fused.yield %[[N]], %[[Q]]
// CHECK:         fused.yield %[[B]]#1, %[[B]]#2
func.func @epilogue(%x: !list, %y: !list, %max: !num) -> (!num, !num) {
  %s = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
    foreach.yield %x : f64
  }
  %t = foreach.reduce add along list (%x = %y as f64 : !list) -> !num {
    foreach.yield %x : f64
  }
  %n = foreach.map (%s = %s, %t = %t : !num) -> !num {
    %u = arith.addf %s, %t : f64
    %n = math.sqrt %u : f64
    foreach.yield %n : f64
  }
  %q = foreach.map (%n = %n, %max = %max : !num) -> !num {
    %q = arith.divf %max, %n : f64
    foreach.yield %q : f64
  }
  return %n, %q : !num, !num
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// The epilogue of a sweep computes a map over arguments that the program returns.
// CHECK-LABEL: fused.program @returned
// CHECK:         %[[R:.*]]:2 = fused.sweep
// CHECK:         epilogue [] (%[[A:.*]] = %{{.*}} : tensor<f64>) -> tensor<f64> {
// CHECK-NEXT:      arith.addf %[[A]], %[[A]] : f64
// CHECK:         fused.yield %[[R]]#0, %[[R]]#1
func.func @returned(%x: !list, %a: !num) -> (!list, !num) {
  %y = foreach.map (%x = %x : !list) -> !list {
    %y = arith.addf %x, %x : f32
    foreach.yield %y : f32
  }
  %b = foreach.map (%a = %a : !num) -> !num {
    %b = arith.addf %a, %a : f64
    foreach.yield %b : f64
  }
  return %y, %b : !list, !num
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// If there is no sweep, the pass adds one over the smallest list.
// CHECK-LABEL: fused.program @scalars
// CHECK:         fused.sweep (%{{.*}} = %{{.*}} : !foreach.list<tensor<f32>>) {
// CHECK-NEXT:      fused.yield
// CHECK:         epilogue []
func.func @scalars(%x: !list, %t: !foreach.list<tensor<f32>>, %a: !num) -> !num {
  %b = foreach.map (%a = %a : !num) -> !num {
    %b = arith.addf %a, %a : f64
    foreach.yield %b : f64
  }
  return %b : !num
}

// -----

!list = !foreach.list<tensor<?xf32>>

// Further values that a loop returns become carried values. Their initial value,
// the result if no iteration runs, is +inf (0 for integers).
// CHECK-LABEL: fused.program @loop
// CHECK:         %[[INF:.*]] = fused.sweep
// CHECK:         epilogue [] () -> tensor<f32> {
// CHECK-NEXT:      arith.constant 0x7F800000 : f32
// CHECK:         %[[L:.*]]:3 = fused.loop (%[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>, %{{.*}} = %[[INF]] : tensor<f32>) upto %{{.*}} -> (!foreach.list<tensor<?xf32>>, tensor<f32>, tensor<i32>) {
// CHECK:           %[[Y:.*]] = fused.sweep
// CHECK:           %[[E:.*]]:2 = fused.sweep
// CHECK:           epilogue [%[[V:.*]]: f32] (%[[T:.*]] = %{{.*}} : tensor<f32>) -> tensor<i1> {
// CHECK-NEXT:        arith.cmpf ogt, %[[V]], %[[T]] : f32
// CHECK:           fused.yield %[[Y]], %[[E]]#0 while %[[E]]#1 : !foreach.list<tensor<?xf32>>, tensor<f32> while tensor<i1>
func.func @loop(%x0: !list, %tol: tensor<f32>, %n: tensor<i32>) -> (!list, tensor<f32>, tensor<i32>) {
  %x, %err, %iterations = foreach.while (%x = %x0 : !list) upto %n -> (!list, tensor<f32>, tensor<i32>) {
    %y = foreach.map (%x = %x : !list) -> !list {
      %y = math.sqrt %x : f32
      foreach.yield %y : f32
    }
    %err = foreach.reduce max along list (%x = %x, %y = %y : !list) -> tensor<f32> {
      %d = arith.subf %y, %x : f32
      %e = math.absf %d : f32
      foreach.yield %e : f32
    }
    %more = foreach.map (%e = %err, %t = %tol : tensor<f32>) -> tensor<i1> {
      %c = arith.cmpf ogt, %e, %t : f32
      foreach.yield %c : i1
    }
    foreach.yield %y, %err while %more : !list, tensor<f32> while tensor<i1>
  }
  return %x, %err, %iterations : !list, tensor<f32>, tensor<i32>
}

// -----

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// With a flag per member, sweeps run where the flag is set, and each member counts
// its iterations.
// CHECK-LABEL: fused.program @members
// CHECK:         arith.constant 0 : i32
// CHECK:         fused.loop ({{.*}}) upto %{{.*}} active %[[ACTIVE:.*]]: !foreach.list<tensor<i1>>
// CHECK:           fused.sweep where %[[ACTIVE]] : !foreach.list<tensor<i1>>
// CHECK:           fused.sweep where %[[ACTIVE]] : !foreach.list<tensor<i1>>
// CHECK:           %[[T:[^:]*]] = fused.sweep where %[[ACTIVE]] : !foreach.list<tensor<i1>> (%{{.*}} = %iterations
// CHECK:           fused.yield {{.*}}, %[[T]] while
func.func @members(%x0: !list, %tol: tensor<f32>, %n: tensor<i32>) -> (!list, !iteration) {
  %x, %iterations = foreach.while (%x = %x0 : !list) upto %n -> (!list, !iteration) {
    %y = foreach.map (%x = %x : !list) -> !list {
      %y = math.sqrt %x : f32
      foreach.yield %y : f32
    }
    %err = foreach.reduce max along member (%y = %y : !list) -> !each {
      foreach.yield %y : f32
    }
    %more = foreach.map (%e = %err : !each, %t = %tol : tensor<f32>) -> !flag {
      %c = arith.cmpf ogt, %e, %t : f32
      foreach.yield %c : i1
    }
    foreach.yield %y while %more : !list while !flag
  }
  return %x, %iterations : !list, !iteration
}

// -----

!list = !foreach.list<tensor<?xf32>>

// If carried values are swapped, sweeps copy them: the operation that computes a
// result writes its buffer.
// CHECK-LABEL: fused.program @exchange
// CHECK:         fused.loop (%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>)
// CHECK:           fused.sweep (%{{.*}} = %[[Y]] : !foreach.list<tensor<?xf32>>)
// CHECK:           fused.sweep (%{{.*}} = %[[X]] : !foreach.list<tensor<?xf32>>)
func.func @exchange(%x0: !list, %y0: !list, %n: tensor<i32>) -> (!list, !list) {
  %x, %y, %t = foreach.while (%x = %x0, %y = %y0 : !list) upto %n -> (!list, !list, tensor<i32>) {
    %more = foreach.map () -> tensor<i1> {
      %true = arith.constant true
      foreach.yield %true : i1
    }
    foreach.yield %y, %x while %more : !list, !list while tensor<i1>
  }
  return %x, %y : !list, !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// A flag that a reduction before the loop decides, and that the loop only reads:
// a sweep in the loop copies it, because a loop has at least one sweep.
// CHECK-LABEL: fused.program @flag_from_outside
// CHECK:         %[[SUM:.*]]:2 = fused.sweep
// CHECK:         fused.loop (%[[X:.*]] = %{{.*}} : !foreach.list<tensor<?xf32>>)
// CHECK:           %[[COPY:.*]] = fused.sweep
// CHECK:           } epilogue [] (%{{.*}} = %[[SUM]]#1 : tensor<i1>)
// CHECK:           fused.yield %[[X]] while %[[COPY]]
func.func @flag_from_outside(%x0: !list, %n: tensor<i32>) -> (!list, tensor<i32>) {
  %sum = foreach.reduce add along list (%x = %x0 : !list) -> tensor<f32> {
    foreach.yield %x : f32
  }
  %more = foreach.map (%s = %sum : tensor<f32>) -> tensor<i1> {
    %zero = arith.constant 0.0 : f32
    %m = arith.cmpf ogt, %s, %zero : f32
    foreach.yield %m : i1
  }
  %x, %t = foreach.while (%x = %x0 : !list) upto %n -> (!list, tensor<i32>) {
    foreach.yield %x while %more : !list while tensor<i1>
  }
  return %x, %t : !list, tensor<i32>
}

// -----

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!flags = !foreach.list<tensor<?xi8>>

// The initial values of results whose extents are those of rows or columns: a
// reduction of a constant, which has the constant as neutral element. A matrix
// is spanned by two vectors.
// CHECK-LABEL: fused.program @further_results
// CHECK:         fused.sweep ({{.*}}[i, j] : {{.*}}) -> !foreach.list<tensor<?xf32>>
// CHECK:           fused.reduce min row %{{.*}} from element : f32
// CHECK:         fused.sweep ({{.*}}[i, j] : {{.*}}) -> !foreach.list<tensor<?xi8>>
// CHECK:           %[[NONE:.*]] = fused.reduce any column %{{.*}} from element : i1
// CHECK:           arith.extui %[[NONE]] : i1 to i8
// CHECK:         fused.loop
func.func @further_results(%x0: !mats, %more: tensor<i1>, %n: tensor<i32>) -> (!mats, !list, !flags) {
  %x, %r, %f, %t = foreach.while (%x = %x0 : !mats) upto %n -> (!mats, !list, !flags, tensor<i32>) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
      foreach.yield %x : f32
    }
    %c = foreach.reduce max along i (%x = %x[i, j] : !mats) -> !list {
      foreach.yield %x : f32
    }
    %f = foreach.map (%c = %c : !list) -> !flags {
      %zero = arith.constant 0.0 : f32
      %positive = arith.cmpf ogt, %c, %zero : f32
      %byte = arith.extui %positive : i1 to i8
      foreach.yield %byte : i8
    }
    %y = foreach.map (%x = %x[i, j] : !mats, %r = %r[i] : !list) -> !mats {
      %y = arith.divf %x, %r : f32
      foreach.yield %y : f32
    }
    foreach.yield %y, %r, %f while %more : !mats, !list, !flags while tensor<i1>
  }
  return %x, %r, %f : !mats, !list, !flags
}

// -----

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// A mean is a sum divided by an extent; of the whole list, by a sum of extents.
// CHECK-LABEL: fused.program @means
// CHECK:         %[[ROW:.*]] = fused.reduce add row %{{.*}} : f32
// CHECK:         %[[N:.*]] = foreach.extent j : i64
// CHECK:         %[[F:.*]] = arith.sitofp %[[N]] : i64 to f32
// CHECK:         %[[MEAN:.*]] = arith.divf %[[ROW]], %[[F]] : f32
// CHECK:         fused.yield %[[MEAN]] : f32
// CHECK:         %[[M:.*]] = foreach.extent member : i64
// CHECK:         %[[SUM:.*]] = fused.reduce add list %{{.*}} : f32
// CHECK:         %[[COUNT:.*]] = fused.reduce add list %[[M]] : i64
// CHECK:         fused.yield %[[SUM]], %[[COUNT]] : f32, i64
// CHECK:         epilogue [
// CHECK:         arith.divf
// CHECK:         %[[ONE:.*]] = arith.constant 1 : i64
// CHECK:         fused.reduce add list %[[ONE]] from member : i64
func.func @means(%m: !mats, %e: !each) -> (!list, tensor<f32>, tensor<f32>) {
  %a = foreach.reduce mean along j (%m = %m : !mats) -> !list {
    foreach.yield %m : f32
  }
  %b = foreach.reduce mean along list (%m = %m : !mats) -> tensor<f32> {
    foreach.yield %m : f32
  }
  %c = foreach.reduce mean along list (%e = %e : !each) -> tensor<f32> {
    foreach.yield %e : f32
  }
  return %a, %b, %c : !list, tensor<f32>, tensor<f32>
}

// -----

!list = !foreach.list<tensor<?xi32>>

// The inner loop reads the iteration count of the outer one from memory: in its
// bodies, an iteration count is that of the inner loop.
// CHECK-LABEL: fused.program @count_of_outer_loop
// CHECK:         fused.loop
// CHECK:           %[[K:.*]]:2 = fused.sweep
// CHECK:           epilogue
// CHECK:             foreach.iteration
// CHECK:           fused.loop
// CHECK-NOT:         foreach.iteration
// CHECK:             fused.sweep (%{{.*}} = %{{.*}} : !foreach.list<tensor<?xi32>>, %{{.*}} = %[[K]]#0 : tensor<i32>)
// CHECK-NOT:         foreach.iteration
func.func @count_of_outer_loop(%x: !list, %n: tensor<i32>) -> !list {
  %y, %i = foreach.while (%c = %x : !list) upto %n -> (!list, tensor<i32>) {
    %more0 = foreach.map (%n = %n : tensor<i32>) -> tensor<i1> {
      %t = arith.constant true
      foreach.yield %t : i1
    }
    %s = foreach.map () -> tensor<i32> {
      %k = foreach.iteration : i32
      foreach.yield %k : i32
    }
    %z, %j = foreach.while (%d = %c : !list) upto %n -> (!list, tensor<i32>) {
      %more1 = foreach.map (%n = %n : tensor<i32>) -> tensor<i1> {
        %t = arith.constant true
        foreach.yield %t : i1
      }
      %w = foreach.map (%d = %d : !list, %s = %s : tensor<i32>) -> !list {
        %w = arith.addi %d, %s : i32
        foreach.yield %w : i32
      }
      foreach.yield %w while %more1 : !list while tensor<i1>
    }
    foreach.yield %z while %more0 : !list while tensor<i1>
  }
  return %y : !list
}
