//===- Passes.td - the passes of heddle -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes from foreach IR to fused IR that emitters only print. The contract
// of each pass is in docs/lowering.md, their order in Pipelines.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_PASSES_TD
#define HEDDLE_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def RemarksOption : Option<"remarks", "remarks", "bool", /*default=*/"false",
    "Emit remarks on the decisions of the pass, with reasons">;

def ForeachExpandShorthands : Pass<"foreach-expand-shorthands", "::mlir::ModuleOp"> {
  let summary = "Expands the forms that only the text of programs has";
  let description = [{
    The reader of programs does the same; this pass is for tests of single passes. Calls of private functions of scalars
    are replaced by the operations of the functions, which are erased. Scalar operations on device scalars outside of
    bodies become maps. A loop without a flag gets one that always holds.

    ```mlir
    %rate = arith.mulf %lr, %half : tensor<f64>
    ```
    ==>
    ```mlir
    %rate = foreach.map (%lr = %lr, %half = %half : tensor<f64>) -> tensor<f64> {
      %r = arith.mulf %lr, %half : f64
      foreach.yield %r : f64
    }
    ```
  }];
  let dependentDialects = ["::heddle::foreach::ForeachDialect", "::mlir::arith::ArithDialect"];
}

def ForeachSimplify : Pass<"foreach-simplify", "::mlir::func::FuncOp"> {
  let summary = "Simplifies bodies, expands `if`, separates scalar math from element math";
  let description = [{
    Folds only operations whose result is exact in IEEE arithmetic, including signed zeros and NaN: `x * 1` is `x`, but
    `x + 0.0` is not `x` (`-0.0 + 0.0` is `0.0`). Operands that are bound twice are bound once. Unused operands, results
    and operations are removed, equal operations are merged. `foreach.if` becomes maps that select. A reduction
    `along i` of a domain of rank 1 becomes a reduction `along member`.

    In the body of a map or reduction over lists, expensive operations on device scalars (divisions and square roots in
    double, powers, exponentials) move to a map over these scalars, together with the operations that they need. Cheap
    operations stay in the body.

    ```mlir
    %y = foreach.map (%x = %a : !list, %b = %beta : tensor<f64>) -> !list {
      %r = math.sqrt %b : f64
      %s = arith.truncf %r : f64 to f32
      %y = arith.mulf %x, %s : f32
      foreach.yield %y : f32
    }
    ```
    ==>
    ```mlir
    %s = foreach.map (%b = %beta : tensor<f64>) -> tensor<f32> {
      %r = math.sqrt %b : f64
      %s = arith.truncf %r : f64 to f32
      foreach.yield %s : f32
    }
    %y = foreach.map (%x = %a : !list, %s = %s : tensor<f32>) -> !list {
      %y = arith.mulf %x, %s : f32
      foreach.yield %y : f32
    }
    ```
  }];
  let dependentDialects = ["::heddle::foreach::ForeachDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"numHoisted", "uniform-maps", "Maps over device scalars moved out of element bodies">,
    Statistic<"numIfs", "ifs", "foreach.if expanded into selects">];
}

def ForeachShiftLogsumexp : Pass<"foreach-shift-logsumexp", "::mlir::func::FuncOp"> {
  let summary = "Gives every logsumexp in a loop a shift, if one follows from a carried value";
  let description = [{
    A fixed-point iteration carries a value and computes its next value from a `logsumexp`. Near the fixed point, the
    carried value gives an estimate of the result of the `logsumexp`. To compute this shift, the pass inverts the maps
    from the result to the next value, one operation at a time. It inverts sums, differences, products, quotients,
    negations, conversions and selects whose other operands do not depend on the result. If an iteration scales the
    carried value first, the scaled value is used. Exponentials about the shift need no running maximum; the result is
    the same.

    ```mlir
    %u, %iterations = foreach.while (%u = %u0 : !list) upto %limit -> (!list, tensor<i32>) {
      %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !mats) -> !list {
        foreach.yield %l : f32
      }
      %u1 = foreach.map (%a = %log_a, %s = %row : !list) -> !list {
        %d = arith.subf %a, %s : f32
        foreach.yield %d : f32
      }
      ...
    }
    ```
    ==>
    ```mlir
      %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !mats, %u = %u[i], %a = %log_a[i] : !list) -> !list {
        %shift = arith.subf %a, %u : f32
        foreach.yield %l, %shift : f32, f32
      }
    ```
  }];
  let options = [RemarksOption];
  let dependentDialects = ["::heddle::foreach::ForeachDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numShifted", "shifted", "Reductions that received a shift">,
                    Statistic<"numLeft", "left", "Reductions in loops without a shift">];
}

def ForeachOutlineSweeps : Pass<"foreach-outline-sweeps", "::mlir::ModuleOp"> {
  let summary = "Turns every function of foreach IR into a program of sweeps and loops";
  let description = [{
    Each map and reduction becomes a sweep, each `while` a loop. Maps over device scalars that depend on a reduction
    over the list move to the epilogue of its sweep. Maps that depend on arguments only are cloned into the bodies that
    use them, and rounded to the type of their result. If several bodies would repeat more than 64 operations, the map
    gets a sweep of its own. Every value that a loop returns becomes a carried value, including the iteration counts of
    the members.

    The attribute `traffic` of the program has the bytes that this unfused form moves.

    ```mlir
    func.func @norm(%x: !list) -> tensor<f64> {
      %s = foreach.reduce add along list (%x = %x as f64 : !list) -> tensor<f64> {...}
      %n = foreach.map (%s = %s : tensor<f64>) -> tensor<f64> {
        %n = math.sqrt %s : f64
        foreach.yield %n : f64
      }
      return %n : tensor<f64>
    }
    ```
    ==>
    ```mlir
    fused.program @norm(%x: !list) -> tensor<f64> {
      %s, %n = fused.sweep (%x = %x as f64 : !list) -> tensor<f64> {
        ...
        %s = fused.reduce add list %xx : f64
        fused.yield %s : f64
      } epilogue [%s : f64] () -> tensor<f64> {
        %n = math.sqrt %s : f64
        fused.yield %n : f64
      }
      fused.yield %n : tensor<f64>
    }
    ```
  }];
  let dependentDialects = ["::heddle::fused::FusedDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numSweeps", "sweeps", "Sweeps created">,
                    Statistic<"numEpilogueMaps", "epilogue-maps", "Maps over device scalars moved to an epilogue">];
}

def FusedFuseVertical : Pass<"fused-fuse-vertical", "::heddle::fused::ProgramOp"> {
  let summary = "Merges sweeps over one domain: producers into consumers, and siblings that read the same lists";
  let description = [{
    Merges two sweeps if their domains are equal, or if one is over the members, rows or columns of the other's domain.
    The second sweep must not need a value that is complete only after the first. The pass first merges the pair that
    saves the most bytes. It also merges pairs that save no bytes, because each merge saves a sweep. The second body
    uses the yielded values of the first, rounded to the type of the result that they replace.

    ```mlir
    %t = fused.sweep (%x = %a : !list) -> !list {...}
    %y = fused.sweep (%t = %t, %x = %a : !list) -> !list {...}
    ```
    ==>
    ```mlir
    %y = fused.sweep (%x = %a : !list) -> !list {...}
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numMerged", "merged", "Sweeps merged into another">,
                    Statistic<"numRefused", "refused", "Pairs over one domain that were not merged">];
}

def FusedRematerialize : Pass<"fused-rematerialize", "::heddle::fused::ProgramOp"> {
  let summary = "Recomputes elementwise values in a later sweep where this moves fewer bytes than storing them";
  let description = [{
    A value that is needed before and after a reduction is stored by one sweep and read by another. The second sweep
    recomputes it if the operands that it must read for this have fewer bytes, operations included: a thread computes
    about 30 cheap operations in the time in which 4 bytes move. The cheapest cut of the graph of operations tells which
    values are read and which are computed. It may also contain a value that no list holds so far; the first sweep then
    stores this value.

    If a result of the first sweep replaces an operand in place, the operand is lost for the second sweep. The result
    moves to the second sweep where that helps. An epilogue that replaces a device scalar also yields its old value.

    ```mlir
    %m1, %u, %s = fused.sweep (%m = %m, %g = %g, %p = %p : !list) -> (!list, !list, !each) {
      ...
      %u = arith.addf %m1, %p : f32
      %s = fused.reduce add member %u : f32
      fused.yield %m1, %u, %s : f32, f32, f32
    }
    %p1 = fused.sweep (%p = %p, %u = %u : !list, %s = %s : !each) -> !list {...}
    ```
    ==>
    ```mlir
    %m1, %s = fused.sweep (%m = %m, %g = %g, %p = %p : !list) -> (!list, !each) {...}
    %p1 = fused.sweep (%p = %p, %m1 = %m1 : !list, %s = %s : !each) -> !list {
      %u = arith.addf %m1, %p : f32
      ...
    }
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numRecomputed", "recomputed", "Lists that a sweep computes again instead of reading them">,
                    Statistic<"numStored", "stored", "Lists that a sweep reads although it could compute them">];
}

def FusedShareExponentials : Pass<"fused-share-exponentials", "::heddle::fused::ProgramOp"> {
  let summary = "Marks each logsumexp over columns that can use the exponentials of a logsumexp over rows";
  let description = [{
    After vertical fusion, one sweep reads the matrix once for a reduction over rows and for a reduction over columns
    that depends on the first. Let both be `logsumexp`, with operands x and y that differ only by values of rows,
    columns, members and the list. Then exp(y) is exp(x) times a factor of the row and a factor of the column, and one
    exponential per element suffices. The pass splits the operands into terms, compares the element terms, and sets the
    hint `sharing`.

    ```mlir
    %x = arith.addf %l, %v : f32
    %r = fused.reduce logsumexp row %x shift %s : f32
    %u = arith.subf %a, %r : f32
    %y = arith.addf %l, %u : f32
    %c = fused.reduce logsumexp column %y shift %t : f32
    ```
    ==>
    ```mlir
    %c = fused.reduce logsumexp column %y shift %t sharing %r : f32
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numShared", "shared", "Reductions that share exponentials">,
                    Statistic<"numRefused", "refused", "Pairs that do not share exponentials">];
}

def FusedFuseHorizontal : Pass<"fused-fuse-horizontal", "::heddle::fused::ProgramOp"> {
  let summary = "Joins independent sweeps as segments of one sweep";
  let description = [{
    Independent sweeps of one rank class and with the same `where` become segments of one sweep, which runs in one
    launch. Their epilogues become one epilogue.

    ```mlir
    %a = fused.sweep (%x = %x : !list32) -> !list32 {...}
    %b = fused.sweep (%y = %y : !list16) -> !list16 {...}
    ```
    ==>
    ```mlir
    %a, %b = fused.sweep (%x = %x : !list32) -> !list32 {...} and (%y = %y : !list16) -> !list16 {...}
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numJoined", "joined", "Sweeps joined to another as segments">];
}

def FusedFlagMembers : Pass<"fused-flag-members", "::heddle::fused::ProgramOp"> {
  let summary = "Gives every member a flag in loops that are panel loops with flags";
  let description = [{
    Only a loop with a flag for every member can have the schedule `panel`. A loop of a given number of iterations has one
    flag for all members, which always holds. If the loop has one sweep, and this sweep would have the schedule `panel`,
    the pass gives every member such a flag. The number of iterations that the loop returned becomes the limit, or 0 if
    the limit is negative.

    ```mlir
    %x:3 = fused.loop (%r = %r0, %c = %c0 : !list) upto %n -> (!list, !list, tensor<i32>) {
      %y:3 = fused.sweep (%a = %a[i, j] : !mats, %c = %c[j] : !list) -> (!list, !list) {
        ...
      } epilogue [] () -> tensor<i1> {
        %true = arith.constant true
        fused.yield %true : i1
      }
      fused.yield %y#0, %y#1 while %y#2 : !list, !list while tensor<i1>
    }
    ```
    ==>
    ```mlir
    %x:3 = fused.loop (%r = %r0, %c = %c0 : !list) upto %n active %active: !flags -> (!list, !list, !counts) {
      %y:3 = fused.sweep where %active : !flags (%a = %a[i, j] : !mats, %c = %c[j] : !list) -> (!list, !list, !flags) {
        ...
        %true = arith.constant true
        fused.yield ..., %true : f32, f32, i1
      }
      fused.yield %y#0, %y#1 while %y#2 : !list, !list while !flags
    }
    ```
  }];
  let options = [RemarksOption];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numFlagged", "flagged", "Loops whose members got flags">];
}

def FusedSchedule : Pass<"fused-schedule", "::heddle::fused::ProgramOp"> {
  let summary = "Chooses how each sweep traverses its domain";
  let description = [{
    Sets `schedule`, which depends on types only. Moves expensive math on member and list scalars into
    `fused.precompute`. Marks a sweep `reversed` if it reads a list that the previous sweep read or wrote.

    ```mlir
    %p = fused.sweep (%g = %grad : !list, %t = %step : !each, %b = %beta : !num) -> !list {
      %bt = math.fpowi %b, %n : f64, i32
      ...
    }
    ```
    ==>
    ```mlir
    %p = fused.sweep schedule #fused.schedule<stream, threads = 256, vector = [4], tile = [1024], reason = "..."> (...) -> !list {
      %bt = fused.precompute (%t = %t, %b = %b : f32, f64) -> (f64) {...}
      ...
    }
    ```
  }];
  let options = [RemarksOption,
    Option<"precompute", "precompute", "bool", /*default=*/"true",
           "Compute expensive scalar math at the end of the previous step">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numPrecomputed", "precompute", "fused.precompute operations created">,
                    Statistic<"numReversed", "reversed", "Reversed sweeps">];
}

def FusedMarkInactiveColumns : Pass<"fused-mark-inactive-columns", "::heddle::fused::ProgramOp"> {
  let summary = "Marks columns whose log-sum-exp is not needed if their sum is 0";
  let description = [{
    In a sweep with the schedule `panel`, a sum of shifted exponentials that is not safe is recomputed about its
    maximum. A program may discard every value that depends on a column's log-sum-exp below infinity, by selects on a
    flag of the column. A column of weight 0 is an example. The pass sets the hint `inactive` to this flag, so that a sum
    of 0 is not recomputed.

    ```mlir
    %r = fused.reduce logsumexp column %x shift %s : f32
    %inactive = arith.cmpf oeq, %log_b, %minus_infinity : f32
    %d = arith.subf %log_b, %r : f32
    %v = arith.select %inactive, %minus_infinity, %d : f32
    ```
    ==>
    ```mlir
    %inactive = arith.cmpf oeq, %log_b, %minus_infinity : f32
    %r = fused.reduce logsumexp column %x shift %s inactive %inactive : f32
    ```
  }];
  let options = [RemarksOption];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numMarked", "marked", "Reductions with inactive columns">];
}

def FusedAssignBuffers : Pass<"fused-assign-buffers", "::heddle::fused::ProgramOp"> {
  let summary = "Assigns a buffer to every value";
  let description = [{
    Buffers are numbered: the arguments of the program first, then its attribute `buffers`. Each sweep, each loop and
    the program itself get `result_buffers`, one buffer per result; a loop also gets `condition_buffer`. A donated
    argument is updated in place if that is legal. Temporaries of one type and shape share a buffer if their lifetimes
    do not overlap.

    ```mlir
    fused.program @f(%x: !list {foreach.donate = 0 : i64}) -> (!list, tensor<f64>) {
      %y, %s, %n = fused.sweep (%x = %x : !list) -> (!list, tensor<f64>) {...} epilogue [%s : f64] () -> tensor<f64> {...}
      fused.yield %y, %n : !list, tensor<f64>
    }
    ```
    ==>
    ```mlir
    fused.program @f(%x: !list {foreach.donate = 0 : i64}) -> (!list, tensor<f64>)
        attributes {buffers = [#fused.buffer<"n", result, tensor<f64>>], result_buffers = array<i64: 0, 1>} {
      %y, %s, %n = fused.sweep result_buffers [0, -1, 1] (%x = %x : !list) -> (!list, tensor<f64>) {...} ...
    }
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numInPlace", "in-place", "Results that take the buffer of an operand">,
                    Statistic<"numTemporaries", "temporaries", "Buffers for temporaries">,
                    Statistic<"numCopies", "copies", "Values copied to another buffer">];
}

def FusedPrepareCuda : Pass<"fused-prepare-cuda", "::heddle::fused::ProgramOp"> {
  let summary = "Names sweeps and loops and orders their bodies";
  let description = [{
    Each sweep and loop gets a unique `name`, a C identifier. Equal operations of a body are merged. The operations of a
    body are ordered: constants; list values; member values; element, row and column values in their original order;
    values that are complete only after the sweep.

    ```mlir
    fused.program @"my step" (...) { %p = fused.sweep (...) ... }
    ```
    ==>
    ```mlir
    fused.program @"my step" (...) { %p = fused.sweep name "my_step" (...) ... }
    ```
  }];
}

def FusedConfigureLaunches : Pass<"fused-configure-launches", "::heddle::fused::ProgramOp"> {
  let summary = "Chooses how sweeps and loops are launched; the last pass that changes the IR";
  let description = [{
    Requires schedules, buffers and names. Sets `launch` of each sweep: its entries, with the number of blocks that
    must fit on a multiprocessor; when a block takes the ticket of its member, or that a launch of its own ends the
    members; and when a block waits for the previous
    sweep, if the sweep depends on nothing else (programmatic dependent launch). Sets `cooperative` of a loop whose
    sweeps can run in one launch, and `panels` of a loop that has the panel form.

    ```mlir
    %p = fused.sweep schedule #fused.schedule<stream, ...> name "step" result_buffers [0] (...) -> !list {...}
    ```
    ==>
    ```mlir
    %p = fused.sweep schedule #fused.schedule<stream, ...> name "step"
        launch <variants = [<scalars = value, blocks = 6, evict_first_l2_percent = 97>,
                            <min_elements = 16777216, scalars = value, blocks = 6>,
                            <scalars = value, blocks = 6>, <scalars = address, blocks = 5>], arrive = [none]>
        result_buffers [0] (...) -> !list {...}
    ```
  }];
  let options = [RemarksOption];
}

#endif // HEDDLE_PASSES_PASSES_TD
