//===- ArgumentTypes.cpp - the types of a program's arguments -------------===//
//--------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/ArgumentTypes.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"

using namespace mlir;

namespace heddle::foreach {

/// Argument `k`, or null if the function has no body with it.
static Value argumentOf(FunctionOpInterface function, size_t k) {
  Region &body = function.getFunctionBody();
  return body.empty() || k >= body.getNumArguments() ? Value()
                                                     : body.getArgument(k);
}

LogicalResult verifyArgumentTypes(FunctionOpInterface function) {
  for (auto [k, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isList(type) && !(tensor && tensor.getRank() == 0 &&
                           isElementType(tensor.getElementType()))) {
      Value argument = argumentOf(function, k);
      Location place = argument ? argument.getLoc() : function.getLoc();
      StringRef name = argument ? nameOf(argument) : StringRef();
      return mlir::emitError(place, "argument ")
             << (name.empty() ? "#" + std::to_string(k)
                              : "'" + name.str() + "'")
             << ": expected a list, such as !foreach.list<tensor<?xf32>>, or a "
                "device scalar, such as tensor<f32>, found "
             << type;
    }
  }
  return success();
}

} // namespace heddle::foreach
