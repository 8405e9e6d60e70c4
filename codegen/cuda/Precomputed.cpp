//===- Precomputed.cpp - scalars precomputed for the next step ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout follows PrecomputeLayout: `valid`, the operands and the results,
// each aligned to its size.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Precomputed.h"
#include "codegen/cuda/Inlining.h"
#include "codegen/cuda/Scalars.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle::cuda {

PrecomputedFields::PrecomputedFields(fused::PrecomputeOp op) {
  Scope scope;
  scope.reserve("valid");
  for (BlockArgument argument : op.getBody().getArguments())
    operands.push_back(scope.declare(argument, "operand"));
  for (Value result : op.getResults())
    results.push_back(scope.declare(result, "result"));
}

LogicalResult emitPrecomputed(raw_indented_ostream &os, fused::PrecomputeOp op,
                              StringRef type, StringRef function) {
  Block &body = op.getBody().front();
  PrecomputedFields fields(op);
  os << "// The operands and the precomputed scalars of a member.\n"
     << "struct " << type << " {\n";
  os.indent();
  os << "unsigned valid;\n";
  for (auto [name, argument] : llvm::zip(fields.operands, body.getArguments()))
    os << computedType(argument.getType()) << ' ' << name << ";\n";
  for (auto [name, result] : llvm::zip(fields.results, op.getResultTypes()))
    os << computedType(result) << ' ' << name << ";\n";
  os.unindent() << "};\n\n";

  Scope scope;
  std::string parameters;
  for (BlockArgument argument : body.getArguments())
    parameters += (parameters.empty() ? "" : ", ") +
                  computedType(argument.getType()).str() + ' ' +
                  scope.declare(argument, "operand");
  // A call: two or three inlined copies took up to a quarter of the time to
  // compile a program, and registers of the traversal that hardly ever uses
  // one.
  os << "__device__ __noinline__ " << type << '\n'
     << function << "(" << parameters << ") {\n";
  os.indent();
  llvm::DenseSet<Operation *> inlined = inlinedOps(body);
  std::function<Expression(Value)> expression = [&](Value value) {
    if (scope.contains(value))
      return Expression{scope[value], Expression::primary};
    return printScalar(value.getDefiningOp(), expression)
        .value_or(Expression{"0", Expression::primary});
  };
  for (Operation &each : body.without_terminator()) {
    if (isa<arith::ConstantOp>(each))
      continue;
    auto printed = printScalar(&each, expression);
    if (!printed)
      return each.emitOpError("has no CUDA equivalent");
    if (inlined.contains(&each))
      continue;
    Value value = each.getResult(0);
    os << "const " << computedType(value.getType()) << ' '
       << scope.declare(value) << " = " << printed->text << ";\n";
  }
  os << "return {1";
  for (BlockArgument argument : body.getArguments())
    os << ", " << scope[argument];
  for (Value value : op.getYield().getValues())
    os << ", " << expression(value).text;
  os << "};\n";
  os.unindent() << "}\n\n";
  return success();
}

} // namespace heddle::cuda
