//===- ForeachOps.td - the operations of the foreach dialect --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four orthogonal operations have regions: map, reduce, while and if. The
// bodies of map and reduce consist of scalar operations of arith and math.
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
  let hasRegionVerifier = 1;
}

def Foreach_MapOp : Foreach_BoundOp<"map"> {
  let summary = "an elementwise computation over every member";
  let description = [{
    One element of each operand is bound to each argument of the region; the region yields one element of each result.
    Indices select the element: `[i, j]`, `[i]`, `[j]`. Without indices an operand is read at the position that its rank
    implies; member scalars and device scalars are broadcast. The domain has the largest rank that the indices name.
    `as` converts an operand where it is bound, and `foreach.yield` rounds to the element type of the result. Arithmetic
    on f16 and bf16 is done in f32, so such operands are bound `as f32`.

    A list of vectors can be indexed by the iteration of the enclosing loop; the entry is a member scalar. `[iteration]`
    reads the entry of the current iteration, `[next]` the entry of the next iteration, and `[first]`, also outside of
    loops, the entry of the first iteration. An index beyond the vector's end reads its last entry; an empty vector
    reads as +inf, or as 0 for integers.

    A body may call private functions of scalars of the module, which call others but not themselves. Outside of bodies,
    scalar operations on device scalars are maps of one operation.

    ```mlir
    func.func private @soft_sign(%x: f32) -> f32 {...}
    %half = arith.constant dense<0.5> : tensor<f64>
    %rate = arith.mulf %lr, %half : tensor<f64>
    %y = foreach.map (%x = %x : !foreach.list<tensor<?xf32>>, %r = %rate as f32 : tensor<f64>)
        -> !foreach.list<tensor<?xf32>> {
      %s = func.call @soft_sign(%x) : (f32) -> f32
      %y = arith.mulf %r, %s : f32
      foreach.yield %y : f32
    }
    ```

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
    /// Rank of the domain: 0 (member or device scalars), 1 or 2.
    int64_t getDomainRank();
    /// Whether no operand is a list: the computation runs once.
    bool isUniform();
    YieldOp getYield();
  }];
}

def Foreach_ReduceOp : Foreach_BoundOp<"reduce"> {
  let summary = "a reduction along `i` or `j` of every member, over the whole `member` or the whole `list`";
  let description = [{
    The region computes the element to reduce, so the computation before a reduction needs no temporary. `along i` gives
    one value for every `j`, `along j` one for every `i`, `along member` one for every member, and `along list` one for
    the list.

    `add`, `mul`, `min` and `max` combine f32, f64, i32 and i64, `any` and `all` flags (i1), the others f32 and f64;
    convert other elements before. `logsumexp` is log(sum(exp(x))), computed without overflow. `mean` is the sum, divided
    by the number of elements. `argmax` and `argmin` have a second result of i64, the first position of the maximum or
    minimum along the axis; `along list` they reduce lists of rank 0, whose position is the member. The reduction of no
    elements is the neutral element of the kind: 0 for `add`, 1 for `mul`, +inf for `min`, -inf for `max` and
    `logsumexp`, false for `any`, true for `all`, (-inf, -1) for `argmax`, (+inf, -1) for `argmin`; the mean is NaN. The
    sum of zeros of either sign is +0. For `min` and `max`, -0 is smaller than +0.

    The region of `logsumexp` may yield a second value, the *shift*: exponentials are then taken of x - shift, and with
    a shift near the result no running maximum is needed. The shift may depend only on operands of the result's level or
    lower (for `along j`: `[i]`, member scalars, device scalars). It never affects the result: a target that uses the
    shift recomputes the reduction about the maximum if the shift is not finite or the sum overflows or underflows.

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
      %shift = arith.subf %a, %u : f32
      foreach.yield %x, %shift : f32, f32
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
    /// The shift that the region yields, or null.
    ::mlir::Value getShift();
  }];
}

def Foreach_WhileOp : Foreach_Op<"while", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a loop that runs and stops on the device";
  let description = [{
    Each iteration computes new carried values, further values, and a flag. The loop continues while the flag holds and
    fewer than `upto` iterations (a device scalar) have run. Without a flag, it runs `upto` iterations. With one flag per
    member, a member keeps the values of the iteration in which its flag became false, and the loop ends when the flags
    of all members are false. Such a loop contains no other loop, and no reduction along `list`. Results: the carried
    values, the further values (+inf, or 0 for integers, if no iteration ran), and the number of iterations, one for all
    members or one per member, like the flag.

    ```mlir
    %x, %err, %iterations = foreach.while (%x = %x0 : !foreach.list<tensor<?xf32>>) upto %limit
        -> (!foreach.list<tensor<?xf32>>, tensor<f32>, tensor<i32>) {
      ...
      foreach.yield %x1, %err while %more : !foreach.list<tensor<?xf32>>, tensor<f32> while tensor<i1>
    }
    %y, %ten = foreach.while (%y = %y0 : !foreach.list<tensor<?xf32>>) upto %limit
        -> (!foreach.list<tensor<?xf32>>, tensor<i32>) {
      ...
      foreach.yield %y1 : !foreach.list<tensor<?xf32>>
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inits, 0DTensorOf<[I32]>:$limit);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Foreach_RecordOp : Foreach_Op<"record", [Pure, AllTypesMatch<["into", "result"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a vector with a new entry for this iteration";
  let description = [{
    Stores `value`, a member scalar or a device scalar, as the entry of this iteration in each member's vector `into`,
    a carried value of the enclosing loop. An iteration beyond the vector's end records nothing; entries of iterations
    that did not run keep their values. The loop carries the result in place of `into`; neither has another use.

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
  let summary = "values that are computed if a device scalar is true, and kept otherwise";
  let description = [{
    If `condition` is true, the results are the values that the region yields; otherwise they are the values after
    `else`. For example, an optimizer skips its update if a gradient has overflowed.

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
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Foreach_YieldOp : Foreach_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments,
    ParentOneOf<["MapOp", "ReduceOp", "WhileOp", "IfOp"]>]> {
  let summary = "ends a region of the dialect and gives its values";
  let description = [{
    In `foreach.while`, the flag after `while` decides whether the loop continues.

    ```mlir
    foreach.yield %u1, %err while %more : !foreach.list<tensor<?xf32>>, tensor<f32> while tensor<i1>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, Optional<Foreach_Flag>:$more);
  let assemblyFormat = "($values^)? (`while` $more^)? attr-dict (`:` type($values)^)? (`while` type($more)^)?";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values), [{ build($_builder, $_state, values, {}); }]>];
}

def Foreach_SignOp : Foreach_Op<"sign", [Pure, SameOperandsAndResultType]> {
  let summary = "-1 or 1 for a negative or positive operand; zeros, of either sign, and NaN stay as they are";
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

def Foreach_RandomOp : Foreach_Op<"random", [Pure]> {
  let summary = "random bits that are a function of a seed, a stream and a position";
  let description = [{
    The generator is Philox4x32-7: 7 rounds are the fewest that pass the test suite BigCrush (Salmon et al., "Parallel
    Random Numbers: As Easy as 1, 2, 3", 2011). A *block* is its result for one counter: 128 bits, which are 8 numbers of 16 bits or
    4 of 32. The result is number `position` of the sequence of blocks that begins with block `block`. So it is number
    `position` mod n of the block of n numbers with this input:

    | words of Philox | are |
    |---|---|
    | key 0, key 1 | the lower and upper half of `seed` |
    | counter 0, counter 1 | the lower and upper half of `block` + `position` / n |
    | counter 2, counter 3 | the lower and upper half of `stream` |

    All operands are unsigned; the lower half of a word of the block comes first. The result depends on nothing else.
    With the position of the element, the elements of a thread share a block.

    ```mlir
    %k = foreach.index member : i64
    %bits = foreach.random seed %seed stream %stream block %first at %k : i16
    ```
  }];
  let arguments = (ins I64:$seed, I64:$stream, I64:$block, I64:$position);
  let results = (outs AnyTypeOf<[I16, I32]>:$result);
  let assemblyFormat = "`seed` $seed `stream` $stream `block` $block `at` $position attr-dict `:` type($result)";
}

def Foreach_RoundOp : Foreach_Op<"round", [Pure]> {
  let summary = "a float rounded to f16 or bf16 at random";
  let description = [{
    The result has type f32 and is a value of the type `to`. A value of this type stays the same. Any other is rounded
    away from 0 if `bits`, an unsigned number, is at least 2^16 times its distance to the neighbour that is farther from
    0, in units of the distance of both neighbours; otherwise it is rounded towards 0. With random bits, the
    expected result is the operand. (The exception: of an f16 below 2^-14, the distance is rounded up to a multiple of
    2^-16 of the unit 2^-24.) Infinity follows the largest number as the next one would; NaN stays NaN.

    ```mlir
    %y = foreach.round %x to bf16 by %bits : f32
    ```
  }];
  let arguments = (ins F32:$value, I16:$bits, TypeAttr:$to);
  let results = (outs F32:$result);
  let assemblyFormat = "$value `to` $to `by` $bits attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Foreach_HighOp : Foreach_Op<"high", [Pure]> {
  let summary = "the upper half of a float: the nearest bf16";
  let description = [{
    Of two bf16 that are equally near, the result is the one farther from 0. With `foreach.low`, this half determines
    the float.

    ```mlir
    %high = foreach.high %x : f32
    ```
  }];
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Foreach_LowOp : Foreach_Op<"low", [Pure]> {
  let summary = "the lower half of a float: its last 16 bits";
  let description = [{
    As a signed number, the lower half is what the bits of the float exceed those of the upper half by. NaN has a lower
    half of 0.

    ```mlir
    %low = foreach.low %x : f32
    ```
  }];
  let arguments = (ins F32:$value);
  let results = (outs I16:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Foreach_JoinOp : Foreach_Op<"join", [Pure]> {
  let summary = "the float with these halves";
  let description = [{
    Adds the lower half, a signed number, to the bits of the upper half. If these are the results of `foreach.high` and
    `foreach.low` for one float, the result is that float, also if the upper half is infinite. No float has an upper half
    of 0 and a negative lower half. For such halves the result is the upper half: somebody has set it to 0 since.

    ```mlir
    %x = foreach.join %high, %low : f32
    ```
  }];
  let arguments = (ins F32:$high, I16:$low);
  let results = (outs F32:$result);
  let assemblyFormat = "$high `,` $low attr-dict `:` type($high)";
}

def Foreach_IterationOp : Foreach_Op<"iteration", [Pure]> {
  let summary = "the number of the current iteration of the enclosing loop, counted from 0";
  let description = [{
    ```mlir
    %k = foreach.iteration : i32
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Foreach_ExtentOp : Foreach_Op<"extent", [Pure]> {
  let summary = "the number of elements of a member, or of one dimension of the domain";
  let description = [{
    In a body with elements: the rows (`i`) or columns (`j`) of the member's domain, or all its elements (`member`). The
    value is the same for all elements of a member, and costs no memory traffic.

    ```mlir
    %n = foreach.extent member : i64
    %columns = foreach.extent j : i64
    ```
  }];
  let arguments = (ins Foreach_Axis:$axis);
  let results = (outs I64:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Foreach_IndexOp : Foreach_Op<"index", [Pure]> {
  let summary = "the position of the element in its member, counted from 0";
  let description = [{
    In a body with elements: the row (`i`) or the column (`j`) of the element, or its position in the member (`member`),
    row by row.

    ```mlir
    %row = foreach.index i : i64
    %at = foreach.index member : i64
    ```
  }];
  let arguments = (ins Foreach_Axis:$axis);
  let results = (outs I64:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_FOREACHOPS_TD
