//===- ArgumentTypes.cpp - the types of a program's arguments -------------===//
//--------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/ArgumentTypes.h"
#include "dialect/Foreach.h"

using namespace mlir;

namespace heddle::foreach {

LogicalResult verifyArgumentTypes(FunctionOpInterface function) {
  for (auto [k, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isList(type) && !(tensor && tensor.getRank() == 0 &&
                           isElementType(tensor.getElementType())))
      return function->emitOpError("argument #")
             << k
             << ": expected a list, such as !foreach.list<tensor<?xf32>>, or a "
                "device scalar, such as tensor<f32>, found "
             << type;
  }
  return success();
}

} // namespace heddle::foreach
