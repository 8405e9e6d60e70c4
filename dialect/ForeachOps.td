//===- ForeachOps.td - the operations of the foreach dialect --------------===//
//
// Few and orthogonal: map, reduce, while, if; everything else is a scalar
// operation of arith and math inside their regions.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FOREACHOPS_TD
#define HEDDLE_DIALECT_FOREACHOPS_TD

include "dialect/ForeachDialect.td"
include "mlir/Bytecode/BytecodeOpInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Foreach_Op<string mnemonic, list<Trait> traits = []> : Op<Foreach_Dialect, mnemonic, traits>;

// Ops whose operands are bound to the scalar arguments of a region.
class Foreach_BoundOp<string mnemonic, list<Trait> traits = []>
    : Foreach_Op<mnemonic, !listconcat([Pure, IsolatedFromAbove, SingleBlock,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>], traits)> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Foreach_MapOp : Foreach_BoundOp<"map"> {
  let summary = "an elementwise computation over every member";
  let description = [{
    The operands are bound to the arguments of the region, one element of each at a time; the region yields one element
    of each result. Indices say which element: `[i, j]`, `[i]`, `[j]`; without them an operand is read at the position
    that its rank implies, and scalars (one per member, or one for all) are broadcast. The domain has the largest rank
    that the indices name. `as` converts an operand where it is bound; a yield rounds to the result's element type.
    Arithmetic on f16 and bf16 is done in f32, so such operands are bound `as f32`. In a loop, `[trip]` reads a vector of
    each member at the number of the trip, as a scalar of the member, and `[next]` at that of the trip after it; `[first]`
    reads, anywhere, the entry of the first trip. Beyond the vector's end its last entry holds, and of an empty one +inf,
    or 0 for integers.

    ```mlir
    %p1 = foreach.map (%p = %param as f32, %g = %grad as f32 : !foreach.list<tensor<?xbf16>>,
                       %lr = %lr as f32 : tensor<f64>) -> !foreach.list<tensor<?xbf16>> {
      %step = arith.mulf %lr, %g : f32
      %p1 = arith.subf %p, %step : f32
      foreach.yield %p1 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inputs, DenseI32ArrayAttr:$indices);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// Rank of the domain: 0 (member or uniform scalars), 1 or 2.
    int64_t getDomainRank();
    /// Whether no operand is a list: the computation runs once.
    bool isUniform();
    YieldOp getYield();
  }];
}

def Foreach_ReduceOp : Foreach_BoundOp<"reduce"> {
  let summary = "a reduction along `i` or `j` of every member, over the whole `member` or the whole `list`";
  let description = [{
    The region computes the element that is reduced, so what precedes a reduction needs no temporary. `along i` leaves a
    value for every `j`, `along j` one for every `i`, `along member` one per member, `along list` one for all. `logsumexp`
    is defined by its value, `argmax` has a second result, the (first) position of the maximum along the axis. Over
    nothing the result is the neutral element: 0, 1, +inf, -inf, false, true, -inf, and (-inf, -1).

    The region of `logsumexp` may yield a second value, a guess of the result: its exponentials may be taken about any
    finite number, and about one near the result no running maximum is needed. The guess follows from what is bound at
    the result's level or lower (for `along j`: `[i]`, members' scalars, device scalars). It never changes the result: a
    target that uses it falls back on the maximum where the guess is not finite or the sum leaves the range.

    ```mlir
    %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !foreach.list<tensor<?x?xf32>>,
                                             %v = %v[j] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?xf32>> {
      %x = arith.addf %l, %v : f32
      foreach.yield %x : f32
    }
    %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !foreach.list<tensor<?x?xf32>>,
                                             %v = %v[j], %a = %log_a[i], %u = %u[i] : !foreach.list<tensor<?xf32>>)
        -> !foreach.list<tensor<?xf32>> {
      %x = arith.addf %l, %v : f32
      %guess = arith.subf %a, %u : f32
      foreach.yield %x, %guess : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inputs, DenseI32ArrayAttr:$indices, Foreach_ReduceKind:$kind,
                       Foreach_Axis:$axis);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// Rank of the domain that is reduced: 1 or 2 (0 for a list of member scalars).
    int64_t getDomainRank();
    YieldOp getYield();
    /// The value that is reduced.
    ::mlir::Value getReduced();
    /// What the region yields as a guess of the result, or null.
    ::mlir::Value getGuess();
  }];
}

def Foreach_WhileOp : Foreach_Op<"while", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a loop that runs and stops on the device";
  let description = [{
    The region computes the carried values anew, further values of the trip, and a flag: the loop goes on while the flag
    holds and fewer than `upto` trips (a device scalar) were taken. With one flag per member, a member keeps its values
    from the trip at which its flag fell, and the loop ends when all have. Results: the carried values, the further
    ones (+inf, or 0 for integers, when no trip ran), and the number of trips, for all or per member as the flag is.

    ```mlir
    %x, %err, %trips = foreach.while (%x = %x0 : !foreach.list<tensor<?xf32>>) upto %limit
        -> (!foreach.list<tensor<?xf32>>, tensor<f32>, tensor<i32>) {
      ...
      foreach.yield %x1, %err while %more : !foreach.list<tensor<?xf32>>, tensor<f32> while tensor<i1>
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inits, 0DTensorOf<[I32]>:$limit);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Foreach_RecordOp : Foreach_Op<"record", [Pure, AllTypesMatch<["into", "result"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a vector with the entry of this trip anew";
  let description = [{
    Entry `trip` of each member's vector `into`, a carried value of the loop around, becomes `value`: a scalar of the
    member, or one for all. Beyond the vector's end nothing is recorded; entries of trips that were not taken keep what
    they held. The result goes on in the place of `into`, and neither is used for anything else.

    ```mlir
    %history1 = foreach.record %err in %history : !foreach.list<tensor<f32>> in !foreach.list<tensor<?xf32>>
    ```
  }];
  let arguments = (ins Foreach_Operand:$value, Foreach_Operand:$into);
  let results = (outs Foreach_Operand:$result);
  let assemblyFormat = "$value `in` $into attr-dict `:` type($value) `in` type($into)";
  let hasVerifier = 1;
}

def Foreach_IfOp : Foreach_Op<"if", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "values that are computed if a device scalar holds, and kept otherwise";
  let description = [{
    Each result is what the region yields for it if `condition` holds, and the value named after `else` otherwise: a
    whole update is skipped when gradients overflowed.

    ```mlir
    %p1 = foreach.if %finite -> (!foreach.list<tensor<?xf32>>) {
      ...
      foreach.yield %updated : !foreach.list<tensor<?xf32>>
    } else (%param)
    ```
  }];
  let arguments = (ins 0DTensorOf<[I1]>:$condition, Variadic<Foreach_Operand>:$otherwise);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Foreach_YieldOp : Foreach_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments,
    ParentOneOf<["MapOp", "ReduceOp", "WhileOp", "IfOp"]>]> {
  let summary = "ends a region of the dialect with the values it computed";
  let description = [{
    In `foreach.while` the flag that decides whether the loop goes on follows `while`.

    ```mlir
    foreach.yield %u1, %err while %more : !foreach.list<tensor<?xf32>>, tensor<f32> while tensor<i1>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, Optional<Foreach_Flag>:$more);
  let assemblyFormat = "($values^)? (`while` $more^)? attr-dict (`:` type($values)^)? (`while` type($more)^)?";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values), [{ build($_builder, $_state, values, {}); }]>];
}

def Foreach_SignOp : Foreach_Op<"sign", [Pure, SameOperandsAndResultType]> {
  let summary = "-1, 0 or 1 as the operand is negative, zero or positive; NaN stays NaN";
  let description = [{
    ```mlir
    %u = foreach.sign %c : f32
    ```
  }];
  let arguments = (ins AnyFloat:$value);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasFolder = 1;
}

def Foreach_TripOp : Foreach_Op<"trip", [Pure]> {
  let summary = "the number of the trip of the loop around, from 0";
  let description = [{
    ```mlir
    %k = foreach.trip : i32
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_FOREACHOPS_TD
