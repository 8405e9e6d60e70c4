//===- FusedOps.td - the fused dialect: how programs run ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs made of ordered sweeps and loops.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSEDOPS_TD
#define HEDDLE_DIALECT_FUSEDOPS_TD

include "dialect/ForeachDialect.td"
include "dialect/FusedDialect.td"
include "mlir/Bytecode/BytecodeOpInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Fused_Op<string mnemonic, list<Trait> traits = []> : Op<Fused_Dialect, mnemonic, traits>;

def Fused_ProgramOp : Fused_Op<"program", [IsolatedFromAbove, SingleBlock, FunctionOpInterface, Symbol,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a whole step: ordered sweeps and loops";
  let description = [{
    `fused.yield` gives the results. The attributes are set by passes: `buffers` lists the buffers of the program
    besides those of its arguments, `result_buffers` gives the buffer of each result, and `traffic` the bytes that the
    program moved before fusion.

    ```mlir
    fused.program @step(%param: !list {foreach.donate = 0 : i64}, %grad: !list, %lr: !scalar) -> !list
        attributes {buffers = [], result_buffers = array<i64: 0>} {
      %p1 = fused.sweep (...) -> !list {...}
      fused.yield %p1 : !list
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<Fused_Buffers>:$buffers, OptionalAttr<DenseI64ArrayAttr>:$result_buffers,
                       OptionalAttr<Fused_TrafficList>:$traffic);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type,
                                 "::mlir::ArrayAttr":$argAttrs, "::mlir::ArrayAttr":$resAttrs), [{
    build($_builder, $_state, name, type, argAttrs, resAttrs, /*buffers=*/{}, /*result_buffers=*/{}, /*traffic=*/{});
  }]>];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
  }];
}

def Fused_SweepOp : Fused_Op<"sweep", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "one visit of a domain";
  let description = [{
    A sweep has one or more *segments*, joined by `and`. Each segment has its own lists, element types and body; one
    launch processes all of them. Operands are bound as in `foreach.map`. A segment yields its results: element values
    as lists of the domain's rank, row and column values as lists of vectors, member values as lists of scalars, list
    values as device scalars. The *epilogue* takes the list values that the segments yield, in order. It runs once, in
    the block that finishes last; its results follow the results of the segments.

    `reversed` visits the tiles in reverse order, so that a sweep finds in cache the elements that the previous sweep
    read last. `where %flag : T` skips the members whose flag is false (with a device scalar, the whole sweep); the
    buffers of their results do not change.

    Passes set the other attributes: `schedule` (fused-schedule); `result_buffers`, the buffer of each result, or -1 if
    the result is never read (fused-assign-buffers); `name`, a C identifier (fused-prepare-cuda); `launch`
    (fused-configure-launches).

    ```mlir
    %sum, %norm, %clip = fused.sweep (%g = %grad as f64 : !list) -> (!scalar) {
      %gg = arith.mulf %g, %g : f64
      %sum = fused.reduce add list %gg : f64
      fused.yield %sum : f64
    } epilogue [%sum : f64] (%max = %max_norm : !scalar) -> (!scalar, !scalar) {
      %norm = math.sqrt %sum : f64
      %ratio = arith.divf %max, %norm : f64
      ...
      fused.yield %norm, %clip : f64, f64
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inputs, Variadic<Foreach_Scalar>:$epilogueInputs,
                       Optional<Foreach_Flag>:$where, DenseI32ArrayAttr:$indices, DenseI32ArrayAttr:$inputEnds,
                       DenseI32ArrayAttr:$resultEnds, UnitAttr:$reversed, OptionalAttr<Fused_Schedule>:$schedule,
                       OptionalAttr<StrAttr>:$name, OptionalAttr<DenseI64ArrayAttr>:$result_buffers,
                       OptionalAttr<Fused_Launch>:$launch);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region MaxSizedRegion<1>:$epilogue, VariadicRegion<SizedRegion<1>>:$segments);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumSegments() { return getSegments().size(); }
    /// Operands, indices and results of one segment.
    ::mlir::OperandRange getSegmentInputs(unsigned segment);
    ::llvm::ArrayRef<int32_t> getSegmentIndices(unsigned segment);
    ::mlir::ResultRange getSegmentResults(unsigned segment);
    ::mlir::ResultRange getEpilogueResults();
    ::mlir::Block &getSegmentBlock(unsigned segment) { return getSegments()[segment].front(); }
    YieldOp getSegmentYield(unsigned segment);
    /// The segment that binds input `input`, or yields result `result`; the number of segments if the epilogue yields it.
    unsigned getSegmentOfInput(unsigned input);
    unsigned getSegmentOfResult(unsigned result);
    bool hasEpilogue() { return !getEpilogue().empty(); }
    YieldOp getEpilogueYield();
    /// Rank of the domain of a segment: 0, 1 or 2.
    int64_t getDomainRank(unsigned segment);
    /// The positions, among the results of the segments, of the list values that the epilogue takes.
    ::llvm::SmallVector<unsigned> getListResults();
    /// The operation that records result `result`, or null.
    RecordOp getRecord(unsigned result);
    /// Whether the sweep depends on the number of the iteration.
    bool usesIteration();
  }];
}

def Fused_ReduceOp : Fused_Op<"reduce", [Pure, HasParent<"SweepOp">, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "combines a value over its row, column, member or the whole list";
  let description = [{
    The result has level `level`. The operand contributes one value for each element, row, column or member, according
    to its own level. With `from`, which names a higher level, it contributes one value for each value of that level.
    The results of columns may be reduced to their member. No column can use the value of the member.

    Three operands of `logsumexp` are *hints*: they allow a faster computation and never affect the result.

    * `shift` is an estimate of the result. It has the level of the result or a lower one, and is complete before the
      reduction. If it is finite and the shifted exponentials have a safe sum, no running maximum is needed.
    * `sharing` names a `logsumexp` over rows, whose exponentials a `logsumexp` over columns may use: the two operands
      differ by row values and column values only.
    * `inactive` is a flag of a column. If it is set and the column's sum of exponentials is 0, no value depends on the
      result, and the sum is not recomputed about the maximum.

    ```mlir
    %r = fused.reduce add row %p : f32
    %m, %at = fused.reduce argmax row %p : f32
    %n = fused.reduce add member %one from element : f32
    %s = fused.reduce logsumexp row %x shift %estimate : f32
    %c = fused.reduce logsumexp column %y shift %other sharing %s inactive %empty : f32
    ```
  }];
  let arguments = (ins Foreach_ReduceKind:$kind, Fused_Level:$level, AnyType:$value, Optional<AnyType>:$shift,
                       Optional<AnyType>:$sharing, Optional<I1>:$inactive, OptionalAttr<Fused_Level>:$from);
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Fused_RecordOp : Fused_Op<"record", [Pure, HasParent<"SweepOp">, AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "stores a member value as the entry of this iteration in a vector";
  let description = [{
    `into` is an argument to which a vector is bound at `[iteration]`; the enclosing loop carries the vector. The
    segment yields the recorded value. The corresponding result of the sweep is the vector with the new entry, in the
    same buffer.

    ```mlir
    %recorded = fused.record %err in %history : f32 in f32
    ```
  }];
  let arguments = (ins AnyType:$value, AnyType:$into);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `in` $into attr-dict `:` type($value) `in` type($into)";
}

def Fused_PrecomputeOp : Fused_Op<"precompute", [Pure, IsolatedFromAbove, SingleBlock, HasParent<"SweepOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "scalars that the previous step has computed";
  let description = [{
    The operands are member or list scalars bound to the sweep. The device stores the results of the region together
    with the operands from which they were computed. If the stored operands differ from the operands of a sweep (in the
    first step, or after a hyperparameter changed or a checkpoint was loaded), the sweep computes the results itself.
    The last block of a member computes the results for the next step; donated operands then have their new values.

    ```mlir
    %bc1, %root = fused.precompute (%t = %step, %b1 = %beta1, %b2 = %beta2 : f32, f64, f64) -> (f32, f32) {
      ...
      fused.yield %bc1, %root : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Fused_LoopOp : Fused_Op<"loop", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a device loop around one or several sweeps";
  let description = [{
    Carried values, flag, bound and results are defined as in `foreach.while`. If every member has a flag of its own,
    `active` names the flags at the beginning of an iteration. All flags are set before the first iteration; sweeps run
    `where` a flag is set.

    Passes set the attributes: `result_buffers`, the buffer of each result, and `condition_buffer`, the buffer of the
    flag or flags (fused-assign-buffers); `name`, a C identifier (fused-prepare-cuda). Every loop has a graph form, a
    conditional node of a CUDA graph. `cooperative` adds the cooperative form, one launch whose blocks synchronize
    between sweeps, and `panels` the panel form (fused-configure-launches).

    ```mlir
    %x, %err, %iterations = fused.loop (%x = %x0 : !list) upto %limit -> (!list, tensor<f32>, tensor<i32>) {
      ...
      fused.yield %x1, %err while %more : !list, tensor<f32> while tensor<i1>
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inits, 0DTensorOf<[I32]>:$limit, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<DenseI64ArrayAttr>:$result_buffers, OptionalAttr<I64Attr>:$condition_buffer,
                       OptionalAttr<Fused_Cooperative>:$cooperative, UnitAttr:$panels);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inits, "::mlir::Value":$limit), [{
    build($_builder, $_state, results, inits, limit, /*name=*/{}, /*result_buffers=*/{}, /*condition_buffer=*/{},
          /*cooperative=*/{}, /*panels=*/false);
  }]>];
  let extraClassDeclaration = [{
    YieldOp getYield();
    /// The arguments of the body that are carried values.
    ::mlir::Block::BlockArgListType getCarried() { return getBody().getArguments().take_front(getInits().size()); }
    /// The flags at the beginning of an iteration; null if the loop has one flag for all members.
    ::mlir::Value getActive() {
      return getBody().getNumArguments() > getInits().size() ? getBody().getArguments().back() : ::mlir::Value();
    }
    ::mlir::Value getIterations() { return getResults().back(); }
  }];
}

def Fused_YieldOp : Fused_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments,
    ParentOneOf<["ProgramOp", "SweepOp", "PrecomputeOp", "LoopOp"]>]> {
  let summary = "ends a region of the dialect with its results";
  let description = [{
    ```mlir
    fused.yield %p1, %norm : !list, !scalar
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, Optional<Foreach_Flag>:$more);
  let assemblyFormat = "($values^)? (`while` $more^)? attr-dict (`:` type($values)^)? (`while` type($more)^)?";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values), [{ build($_builder, $_state, values, {}); }]>];
}

#endif // HEDDLE_DIALECT_FUSEDOPS_TD
