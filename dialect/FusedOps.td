//===- FusedOps.td - the fused dialect: how programs are executed ---------===//
//
// Kernels made of ordered sweeps and device loops.
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

def Fused_KernelOp : Fused_Op<"kernel", [IsolatedFromAbove, SingleBlock, FunctionOpInterface, Symbol,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a whole step: ordered sweeps and loops";
  let description = [{
    The results are named by `fused.yield`. Whether two sweeps become two launches or one with a grid barrier between
    them is decided when the plan is made.

    ```mlir
    fused.kernel @step(%param: !list, %grad: !list, %lr: !num) -> !list {
      %p1 = fused.sweep (...) -> !list {...}
      fused.yield %p1 : !list
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
  }];
}

def Fused_SweepOp : Fused_Op<"sweep", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "one pass over a domain";
  let description = [{
    A sweep has one or more *segments*, joined by `and`: each with its own lists, dtypes and body, all walked by one
    launch. Operands are bound as in `foreach.map`. A segment yields its results: element values as lists of the
    domain's rank, row and column values as lists of vectors, member values as lists of scalars, list values as device
    scalars. `finish` names the list values that the segments yield, in order, and computes what follows from them,
    once, in the block that finishes last; its results follow those of the segments. `reversed` walks the tiles
    backwards, so that a sweep finds in cache what the one before it read last. `where %flag : T` skips the members (or
    with a device scalar, the whole sweep) whose flag does not hold; their results keep what their buffers held.

    ```mlir
    %sum, %norm, %clip = fused.sweep (%g = %grad as f64 : !list) -> (!num) {
      %gg = arith.mulf %g, %g : f64
      %sum = fused.reduce add list %gg : f64
      fused.yield %sum : f64
    } finish [%sum : f64] (%max = %max_norm : !num) -> (!num, !num) {
      %norm = math.sqrt %sum : f64
      %ratio = arith.divf %max, %norm : f64
      ...
      fused.yield %norm, %clip : f64, f64
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inputs, Variadic<Foreach_Scalar>:$finishInputs,
                       Optional<Foreach_Flag>:$where, DenseI32ArrayAttr:$indices, DenseI32ArrayAttr:$inputCounts, DenseI32ArrayAttr:$resultCounts,
                       UnitAttr:$reversed, OptionalAttr<Fused_Schedule>:$schedule);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region MaxSizedRegion<1>:$finish, VariadicRegion<SizedRegion<1>>:$segments);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumSegments() { return getSegments().size(); }
    /// Operands, indices and results of one segment.
    ::mlir::OperandRange getSegmentInputs(unsigned segment);
    ::llvm::ArrayRef<int32_t> getSegmentIndices(unsigned segment);
    ::mlir::ResultRange getSegmentResults(unsigned segment);
    ::mlir::ResultRange getFinishResults();
    ::mlir::Block &getSegmentBlock(unsigned segment) { return getSegments()[segment].front(); }
    YieldOp getSegmentYield(unsigned segment);
    bool hasFinish() { return !getFinish().empty(); }
    YieldOp getFinishYield();
    /// Rank of the domain of a segment: 0, 1 or 2.
    int64_t getDomainRank(unsigned segment);
    /// Positions among the segments' results of the list values that `finish` receives, in order.
    ::llvm::SmallVector<unsigned> getListResults();
    /// What is recorded as result `result`, or null where that is none.
    RecordOp getRecord(unsigned result);
    /// Whether anything in it depends on the number of the trip.
    bool usesTrip();
  }];
}

def Fused_ReduceOp : Fused_Op<"reduce", [Pure, HasParent<"SweepOp">, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "lowers the level of a value by combining it over its row, column, member or the whole list";
  let description = [{
    What is combined is one value for each element, row, column or member, as the operand's level is; `from` says so
    where a value of a lower level counts once for each of a higher one.

    Two operands of `logsumexp` are *hints*: they say how it may be computed and never change what it is. `about` is a
    guess of the result, of its level or lower and complete before it: where it is finite, and the sum in range,
    exponentials are taken about it and no running maximum is needed. `sharing` names the `logsumexp` over the rows
    whose exponentials one over the columns may use: the two operands differ by values of rows and of columns alone.

    ```mlir
    %r = fused.reduce add row %p : f32
    %m, %at = fused.reduce argmax row %p : f32
    %n = fused.reduce add member %one from element : f32
    %s = fused.reduce logsumexp row %x about %guess : f32
    %c = fused.reduce logsumexp column %y about %other sharing %s : f32
    ```
  }];
  let arguments = (ins Foreach_ReduceKind:$kind, Fused_Level:$level, AnyType:$value, Optional<AnyType>:$about,
                       Optional<AnyType>:$sharing, OptionalAttr<Fused_Level>:$from);
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Fused_RecordOp : Fused_Op<"record", [Pure, HasParent<"SweepOp">, AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a member value that a result keeps as its entry of this trip";
  let description = [{
    `into` is an argument that a vector carried by the loop around is bound to, at `[trip]`. The sweep's result for which
    the value is yielded is that vector with the entry anew: it lives in the same buffer.

    ```mlir
    %recorded = fused.record %err in %history : f32 in f32
    ```
  }];
  let arguments = (ins AnyType:$value, AnyType:$into);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `in` $into attr-dict `:` type($value) `in` type($into)";
}

def Fused_AheadOp : Fused_Op<"ahead", [Pure, IsolatedFromAbove, SingleBlock, HasParent<"SweepOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "scalar math computed once, at the end of the step before";
  let description = [{
    Its operands are member or list scalars bound to the sweep. The values of the region are kept on the device together
    with the operands they were computed from; a sweep whose operands are not those (a first step, a hyperparameter
    changed, a checkpoint loaded) computes them itself. The block that finishes a member last computes them for the
    next step, with donated operands replaced by the results that replace them.

    ```mlir
    %bc1, %root = fused.ahead (%t = %step, %b1 = %beta1, %b2 = %beta2 : f32, f64, f64) -> (f32, f32) {
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
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Fused_LoopOp : Fused_Op<"loop", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a device loop around one or several sweeps";
  let description = [{
    Carried values, flag, bound and results are those of `foreach.while`. Where every member has a flag of its own,
    `active` names, inside, the flags with which a trip begins (all set before the first): sweeps run `where` they hold.

    ```mlir
    %x, %err, %trips = fused.loop (%x = %x0 : !list) upto %limit -> (!list, tensor<f32>, tensor<i32>) {
      ...
      fused.yield %x1, %err while %more : !list, tensor<f32> while tensor<i1>
    }
    ```
  }];
  let arguments = (ins Variadic<Foreach_Operand>:$inits, 0DTensorOf<[I32]>:$limit);
  let results = (outs Variadic<Foreach_Operand>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    YieldOp getYield();
    /// The arguments of the body that are carried values.
    ::mlir::Block::BlockArgListType getCarried() { return getBody().getArguments().take_front(getInits().size()); }
    /// The flags with which a trip begins, or null when the loop has one flag for all.
    ::mlir::Value getActive() {
      return getBody().getNumArguments() > getInits().size() ? getBody().getArguments().back() : ::mlir::Value();
    }
    ::mlir::Value getTrips() { return getResults().back(); }
  }];
}

def Fused_YieldOp : Fused_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments,
    ParentOneOf<["KernelOp", "SweepOp", "AheadOp", "LoopOp"]>]> {
  let summary = "ends a region of the dialect with the values it computed";
  let description = [{
    ```mlir
    fused.yield %p1, %norm : !list, !num
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, Optional<Foreach_Flag>:$more);
  let assemblyFormat = "($values^)? (`while` $more^)? attr-dict (`:` type($values)^)? (`while` type($more)^)?";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values), [{ build($_builder, $_state, values, {}); }]>];
}

#endif // HEDDLE_DIALECT_FUSEDOPS_TD
