//===- Passes.td - the passes of heddle -----------------------------------===//
//
// From foreach IR to fused IR that emitters print without another decision.
// docs/lowering.md says what each leaves behind; Pipelines.cpp orders them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_PASSES_TD
#define HEDDLE_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def RemarksOption : Option<"remarks", "remarks", "bool", /*default=*/"false",
    "Say in remarks what was done, what was not, and why">;

def ForeachSimplify : Pass<"foreach-simplify", "::mlir::func::FuncOp"> {
  let summary = "Simplifies bodies, expands `if`, separates uniform scalar math from element math";
  let description = [{
    Folds only what is exact in IEEE arithmetic, signed zeros and NaN included: `x * 1` is `x`, `x + 0.0` is not
    (`-0.0 + 0.0` is `0.0`). Operands that are bound twice are bound once, unused operands, results and computations
    are removed, equal ones merged. `foreach.if` becomes maps that select. A reduction `along i` of a domain of rank 1
    becomes one `along member`. Operations in the body of a map or reduction over lists that depend on device scalars
    alone and are dear (divisions and square roots in double, powers, exponentials) move, with what they need, to a map
    over those scalars; cheap ones stay where they cost nothing.

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
    Statistic<"numHoisted", "uniform-maps", "Maps of uniform scalar math taken out of element bodies">,
    Statistic<"numIfs", "ifs", "foreach.if expanded into selections">];
}

def ForeachShiftLogsumexp : Pass<"foreach-shift-logsumexp", "::mlir::func::FuncOp"> {
  let summary = "Lets every logsumexp of a loop guess its result from the carried value that it replaces";
  let description = [{
    A fixed point iteration carries a value, computes a `logsumexp` and from it the value anew. If the value is about to
    settle, what the result must be follows from the value that enters the trip: the chain of maps from the result to
    the new value is undone, step by step, from there. Steps are sums, differences, products, quotients, negations,
    conversions and selections with what does not depend on the result. Where a trip scales the carried value first, the
    scaled one is meant. Exponentials taken about the guess need no running maximum; the result is what it was.

    ```mlir
    %u, %trips = foreach.while (%u = %u0 : !list) upto %limit -> (!list, tensor<i32>) {
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
        %guess = arith.subf %a, %u : f32
        foreach.yield %l, %guess : f32, f32
      }
    ```
  }];
  let options = [RemarksOption];
  let dependentDialects = ["::heddle::foreach::ForeachDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numShifted", "shifted", "Reductions given a guess of their result">,
                    Statistic<"numLeft", "left", "Reductions in loops left without a guess">];
}

def ForeachOutlineKernels : Pass<"foreach-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns every function of foreach IR into a kernel of sweeps and loops";
  let description = [{
    One sweep for every map and reduction, one loop for every `while`. Maps over device scalars that follow a reduction
    of the whole list become the `finish` of its sweep; those that depend on arguments alone are cloned into the bodies
    that use them, rounded as their result's type would round. Values of a loop beyond the carried ones, and trips
    counted per member, become carried values with initial values of their own, so that a loop carries all it returns.
    The traffic of this unfused form is kept in the kernel's attribute `fused.traffic_before`.

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
    fused.kernel @norm(%x: !list) -> tensor<f64> {
      %s, %n = fused.sweep (%x = %x as f64 : !list) -> tensor<f64> {
        ...
        %s = fused.reduce add list %xx : f64
        fused.yield %s : f64
      } finish [%s : f64] () -> tensor<f64> {
        %n = math.sqrt %s : f64
        fused.yield %n : f64
      }
      fused.yield %n : tensor<f64>
    }
    ```
  }];
  let dependentDialects = ["::heddle::fused::FusedDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numSweeps", "sweeps", "Sweeps made">,
                    Statistic<"numFinished", "finish-maps", "Uniform maps that became part of a 'finish'">];
}

def FusedFuseVertical : Pass<"fused-fuse-vertical", "::heddle::fused::KernelOp"> {
  let summary = "Merges sweeps over one domain: producers into consumers, siblings that read the same";
  let description = [{
    Two sweeps over equal extents (or one over the rows, columns or members of the other's domain) become one where
    nothing is needed in the second that is complete only after the first. Pairs are taken by bytes saved, the most
    first; a merge that saves none is made where it saves a sweep. Yielded values are used directly, rounded as the
    result that they replace would have rounded them.

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
                    Statistic<"numRefused", "refused", "Merges that were possible by domain and not made">];
}

def FusedMergeReductions : Pass<"fused-merge-reductions", "::heddle::fused::KernelOp"> {
  let summary = "Lets a logsumexp over columns use the exponentials of the one over rows";
  let description = [{
    Vertical fusion leaves a reduction over rows and one over columns that follows from it in one sweep, with one read
    of the matrix. Where both are `logsumexp` and their operands differ by values of rows and columns (and of members
    and the list) alone, exp(y) is exp(x) times a factor of the row and one of the column: the exponential is taken once.
    The operands are compared as sums of terms, each a value of elements times scalars.

    ```mlir
    %x = arith.addf %l, %v : f32
    %r = fused.reduce logsumexp row %x about %s : f32
    %u = arith.subf %a, %r : f32
    %y = arith.addf %l, %u : f32
    %c = fused.reduce logsumexp column %y about %t : f32
    ```
    ==>
    ```mlir
    %c = fused.reduce logsumexp column %y about %t sharing %r : f32
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numShared", "shared", "Reductions that use another's exponentials">,
                    Statistic<"numRefused", "refused", "Pairs that take an exponential each">];
}

def FusedFuseHorizontal : Pass<"fused-fuse-horizontal", "::heddle::fused::KernelOp"> {
  let summary = "Joins independent sweeps as segments of one";
  let description = [{
    Sweeps of one rank class on different lists, dtypes or groups become segments of one sweep, walked by one launch.
    Their reductions over whole lists meet in one `finish`.

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

def FusedSchedule : Pass<"fused-schedule", "::heddle::fused::KernelOp"> {
  let summary = "Decides how every sweep walks its domain, and says why";
  let description = [{
    Sets `schedule`; moves dear scalar math that follows from members' and list's scalars alone into `fused.ahead`;
    marks sweeps `reversed` that read again what the sweep before them read. What a schedule is depends on types alone.

    ```mlir
    %p = fused.sweep (%g = %grad : !list, %t = %step : !each, %b = %beta : !num) -> !list {
      %bt = math.fpowi %b, %n : f64, i32
      ...
    }
    ```
    ==>
    ```mlir
    %p = fused.sweep schedule <stream, threads = 256, vector = [4], tile = [1024], reason = "..."> (...) -> !list {
      %bt = fused.ahead (%t = %t, %b = %b : f32, f64) -> (f64) {...}
      ...
    }
    ```
  }];
  let options = [RemarksOption,
    Option<"ahead", "ahead", "bool", /*default=*/"true", "Compute dear scalar math at the end of the step before">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numAhead", "ahead", "fused.ahead made">,
                    Statistic<"numReversed", "reversed", "Sweeps that walk backwards">];
}

def FusedPlaceBuffers : Pass<"fused-place-buffers", "::heddle::fused::KernelOp"> {
  let summary = "Decides in which buffer every value lives";
  let description = [{
    Arguments come first, then the buffers that the kernel's attribute `fused.buffers` lists. Every sweep, loop and the
    kernel itself gets `fused.places`, one buffer per result. A donated argument is updated in place where that is
    legal; temporaries of one type and extent share a buffer where their lifetimes do not meet.

    ```mlir
    fused.kernel @f(%x: !list {foreach.donate = 0 : i64}) -> (!list, tensor<f64>) {
      %y, %s, %n = fused.sweep (%x = %x : !list) -> (!list, tensor<f64>) {...} finish [%s : f64] () -> tensor<f64> {...}
      fused.yield %y, %n : !list, tensor<f64>
    }
    ```
    ==>
    ```mlir
    fused.kernel @f(%x: !list {foreach.donate = 0 : i64}) -> (!list, tensor<f64>)
        attributes {fused.buffers = [{extents = [], name = "n", role = "result", type = tensor<f64>} ],
                    fused.places = array<i64: 0, 1>} {
      %y, %s, %n = fused.sweep {fused.places = array<i64: 0, -1, 1>} ...
    }
    ```
  }];
  let options = [RemarksOption];
  let statistics = [Statistic<"numInPlace", "in-place", "Results that live in an operand's buffer">,
                    Statistic<"numTemporaries", "temporaries", "Buffers for temporaries">,
                    Statistic<"numCopies", "copies", "Values that are copied to their place">];
}

def FusedPrepareCuda : Pass<"fused-prepare-cuda", "::heddle::fused::KernelOp"> {
  let summary = "Names sweeps and orders bodies: the last pass that may change IR";
  let description = [{
    Every sweep and loop gets `fused.name`, a C identifier of its own. Equal operations of a body become one, constants
    come first, then operations by level: list, member, then elements in the order they had, and at last what follows
    after the sweep.

    ```mlir
    fused.kernel @"my step" (...) { %p = fused.sweep ... }
    ```
    ==>
    ```mlir
    fused.kernel @"my step" (...) { %p = fused.sweep ... attributes {fused.name = "my_step"} ... }
    ```
  }];
}

#endif // HEDDLE_PASSES_PASSES_TD
