//===- ForeachDialect.td - the foreach dialect, its types and enums -------===//
//
// What is computed: programs with value semantics over lists of tensors.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FOREACHDIALECT_TD
#define HEDDLE_DIALECT_FOREACHDIALECT_TD

include "dialect/ReduceKinds.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Foreach_Dialect : Dialect {
  let name = "foreach";
  let cppNamespace = "::heddle::foreach";
  let summary = "Computations over lists of tensors";
  let description = [{
    A program is a function over *lists* of tensors (the parameters of a model, the problems of a batch) and device
    scalars. It has value semantics: buffers, launches and tiles do not exist at this level. Member counts and extents
    are bound at run time, so one program serves every model.

    Three attributes may stand on the arguments of the entry function: `foreach.donate = N : i64` says that result `N`
    replaces the argument (it may be updated in place), `foreach.default = 0.001 : f64` gives a scalar its value when
    the caller sets none, and `foreach.initial = 0.0 : f32` says what the elements of a list (an optimizer's state, a
    step counter) are before the first step; it changes nothing in what is computed.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def Foreach_List : TypeDef<Foreach_Dialect, "List"> {
  let mnemonic = "list";
  let summary = "an ordered list of tensors that share an element type and a rank";
  let description = [{
    The number of members and their extents are known when buffers are bound. Rank 0 holds one scalar per member; rank
    1 a flattened tensor of any shape; rank 2 a matrix, leading dimensions collapsed into its rows.

    ```mlir
    !foreach.list<tensor<?xf32>>
    !foreach.list<tensor<?x?xbf16>>
    !foreach.list<tensor<f32>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tensor), [{
    return $_get(tensor.getContext(), tensor);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::Type getElementType() const { return getTensor().getElementType(); }
    int64_t getRank() const { return getTensor().getRank(); }
    /// The list of `rank` dimensions with elements of `elementType`.
    static ListType get(int64_t rank, ::mlir::Type elementType);
  }];
}

def Foreach_Scalar : Type<
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self) && ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0 && "
          "::heddle::foreach::isElementType(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">,
    "a device scalar (a tensor of rank 0)", "::mlir::RankedTensorType">;

def Foreach_Operand : AnyTypeOf<[Foreach_List, Foreach_Scalar], "a list or a device scalar">;

def Foreach_Flag : Type<
    CPred<"::llvm::isa<::heddle::foreach::ListType, ::mlir::RankedTensorType>($_self) && "
          "::heddle::foreach::rankOf($_self) == 0 && ::heddle::foreach::storageType($_self).isSignlessInteger(1)">,
    "a flag, `tensor<i1>` or one per member, `!foreach.list<tensor<i1>>`">;

def Foreach_Axis : I32EnumAttr<"Axis", "what a reduction runs along", [
    I32EnumAttrCase<"i", 0>, I32EnumAttrCase<"j", 1>, I32EnumAttrCase<"member", 2>, I32EnumAttrCase<"list", 3>]> {
  let cppNamespace = "::heddle::foreach";
}

#endif // HEDDLE_DIALECT_FOREACHDIALECT_TD
