//===- ArgumentTypes.cpp - the types of a program's arguments -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/ArgumentTypes.h"
#include "dialect/Foreach.h"
#include "dialect/Fused.h"
#include "dialect/Names.h"

using namespace mlir;

namespace heddle::foreach {

/// Argument `k`, or null if the function has no body with it.
static Value argumentOf(FunctionOpInterface function, size_t k) {
  Region &body = function.getFunctionBody();
  return body.empty() || k >= body.getNumArguments() ? Value()
                                                     : body.getArgument(k);
}

std::string describeArgument(FunctionOpInterface function, unsigned k) {
  Value argument = argumentOf(function, k);
  StringRef name = argument ? nameOf(argument) : StringRef();
  return "argument " +
         (name.empty() ? "#" + std::to_string(k) : "'" + name.str() + "'");
}

InFlightDiagnostic emitArgumentError(FunctionOpInterface function, unsigned k) {
  Value argument = argumentOf(function, k);
  bool isPlaced =
      argument && argument.getLoc()->findInstanceOf<FileLineColLoc>();
  return mlir::emitError(isPlaced ? argument.getLoc() : function.getLoc())
         << describeArgument(function, k);
}

LogicalResult verifyArgumentTypes(FunctionOpInterface function) {
  for (auto [k, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isList(type) && !(tensor && tensor.getRank() == 0 &&
                           isElementType(tensor.getElementType()))) {
      return emitArgumentError(function, k)
             << ": expected a list, such as !foreach.list<tensor<?xf32>>, or a "
                "device scalar, such as tensor<f32>, found "
             << type;
    }
    // Those of a dialect are verified there.
    for (NamedAttribute named : function.getArgAttrs(k))
      if (!isa_and_present<ForeachDialect, fused::FusedDialect>(
              named.getNameDialect()))
        return emitArgumentError(function, k)
               << " has unknown attribute '" << named.getName().getValue()
               << "'; expected '" << kDonateAttr << "', '" << kDefaultAttr
               << "', '" << kPositiveAttr << "' or '" << kInitialAttr << "'";
  }
  return success();
}

} // namespace heddle::foreach
