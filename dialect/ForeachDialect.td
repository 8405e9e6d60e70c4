//===- ForeachDialect.td - the foreach dialect, its types and enums -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The computation: programs with value semantics over lists of tensors.
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

    The arguments of the entry function may have four attributes. `foreach.donate = N : i64`: result `N` replaces the
    argument, which may be updated in place. `foreach.default = 0.001 : f64`: the value of a scalar if the caller sets
    none. `foreach.positive`: the caller may set a scalar to finite numbers above 0 only; memory that the caller binds is
    not checked. `foreach.initial = 0.0 : f32`: the elements of a list (an optimizer's state, a step counter) before the
    first step; this attribute never affects the result of a step.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def Foreach_List : TypeDef<Foreach_Dialect, "List"> {
  let mnemonic = "list";
  let summary = "an ordered list of tensors that share an element type and a rank";
  let description = [{
    The number of members and their extents are known when buffers are bound. A member is a scalar in a list of rank 0,
    a flattened tensor in a list of rank 1, and a matrix in a list of rank 2; all leading dimensions form the rows.

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

def Foreach_Axis : I32EnumAttr<"Axis", "an axis of the domain, a member, or the list", [
    I32EnumAttrCase<"i", 0>, I32EnumAttrCase<"j", 1>, I32EnumAttrCase<"member", 2>, I32EnumAttrCase<"list", 3>]> {
  let cppNamespace = "::heddle::foreach";
}

#endif // HEDDLE_DIALECT_FOREACHDIALECT_TD
