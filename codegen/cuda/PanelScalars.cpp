//===- PanelScalars.cpp - scalars of a panel loop -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads the scalars of the list and of the member that phases use: scalars of
// the loop once for a member, the others in every iteration.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

std::string PanelEmitter::prefix(StringRef field) const {
  return (isOutlined ? field.substr(field.find('.') + 1) : field).str();
}

bool PanelEmitter::isOfLoop(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    int slot = slots.inputs[argument.getArgNumber()];
    return slot < 0 ? !layout.scalars[-1 - slot].written
                    : !slots.operands[slot].written &&
                          !dependsOnIteration(slots.operands[slot].index);
  }
  Operation *op = value.getDefiningOp();
  return !isa<foreach::IterationOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfLoop(operand); });
}

/// The scalars that rows, columns and elements need: those that are the same in
/// every iteration if `ofLoop`, otherwise the others.
SmallVector<Value> PanelEmitter::scalarsOfElements(bool ofLoop) {
  SmallVector<Value> scalars;
  auto isScalar = [&](Value value) {
    fused::LevelOf of = levels.of(value);
    return of.level <= Level::member && !of.after;
  };
  auto isAtEnd = [&](Value value) {
    fused::LevelOf of = levels.of(value);
    return of.level <= Level::member && of.after;
  };
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() && !isScalar(op.getResult(0)) &&
        !isAtEnd(op.getResult(0)))
      for (Value operand : op.getOperands())
        if (isScalar(operand) && isOfLoop(operand) == ofLoop)
          scalars.push_back(operand);
  return scalars;
}

/// Whether the row values of an iteration can be computed before all blocks
/// have ended the previous iteration: they depend on the block's own rows, and
/// not on columns or members.
bool PanelEmitter::waitsLate() {
  return scalarsOfElements(/*ofLoop=*/false).empty() &&
         !hasMemberPartsOfColumns();
}

bool PanelEmitter::hasMemberPartsOfColumns() {
  return llvm::any_of(analysis.members, [&](fused::ReduceOp member) {
    return isOverColumns(member);
  });
}

/// Names the scalars that elements need, and all values from which they are
/// computed. Those that functions use become fields.
void PanelEmitter::nameScalars() {
  llvm::DenseSet<Value> reached;
  SmallVector<Value> left = scalarsOfElements(/*ofLoop=*/true);
  llvm::append_range(left, scalarsOfElements(/*ofLoop=*/false));
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::ConstantOp, foreach::IterationOp>(op) ||
        !reached.insert(value).second)
      continue;
    if (op)
      llvm::append_range(left, op->getOperands());
  }
  auto name = [&](Value value) {
    if (!reached.contains(value))
      return;
    scalarFields[value] = "scalars." + scalars.scope.declare(value, "scalar");
  };
  for (BlockArgument argument : body.getArguments())
    name(argument);
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), name);
  for (Exponential &sum : exponentials)
    for (const fused::Term &term : sum.exponent.element) {
      StringRef own = nameOf(term.value);
      sum.factors.push_back(
          "scalars." +
          scalars.scope.fresh(((own.empty() ? "x" : own) + "_factor").str()));
    }
}

/// Finds the scalars that the end of every iteration needs and no iteration
/// changes; they are read once.
void PanelEmitter::keepMemberScalars() {
  for (auto &[value, name] : scalarFields)
    scope.bind(value, name);
  llvm::SetVector<Value> kept;
  for (Level level : {Level::member, Level::list})
    for (Value value : inputsOf(rootsOfMember(), level))
      if (isOfLoop(value))
        kept.insert(value);
  scope = Scope();
  for (Value value : kept) {
    StringRef own = nameOf(value);
    memberScalars[value] =
        "block()." + blockValues.add(computedType(value.getType()),
                                     own.empty() ? "scalar" : own);
  }
}

static bool usesField(StringRef text, StringRef field) {
  for (size_t at = 0; (at = text.find(field, at)) != StringRef::npos;) {
    at += field.size();
    if (at == text.size() || !(llvm::isAlnum(text[at]) || text[at] == '_'))
      return true;
  }
  return false;
}

/// Prints the function that loads the scalars used by the functions printed so
/// far.
LogicalResult PanelEmitter::emitScalars(bool ofLoop) {
  if (!ofLoop && scalarsOfElements(ofLoop).empty())
    return success();
  if (ofLoop)
    beginFunction("Loads the scalars that are the same in every iteration.",
                  "void load_scalars(const loop_params &params, loop_scalars "
                  "&scalars)");
  else
    beginFunction(
        "Loads the scalars of an iteration.",
        "void load_iteration_scalars(const loop_params &params, const "
        "loop_state &loop, loop_scalars &scalars)");
  SmallVector<Value> used, roots;
  for (auto &[value, name] : scalarFields)
    if (ofLoop || !isOfLoop(value)) {
      scope.forget(value);
      if (isOfLoop(value) == ofLoop && usesField(functions, name))
        used.push_back(value);
    }
  struct Factor {
    const fused::Term *term;
    std::string field, type;
  };
  SmallVector<Factor> factors;
  roots = used;
  for (Exponential &sum : exponentials)
    for (auto [term, field] : llvm::zip(sum.exponent.element, sum.factors)) {
      bool isOfAll = llvm::all_of(sum.exponent.element, [&](auto &other) {
        return llvm::all_of(other.factors, [&](const fused::Factor &factor) {
          return isOfLoop(factor.value);
        });
      });
      if (isOfAll != ofLoop)
        continue;
      factors.push_back({&term, field, computed(sum.reduce)});
      for (const fused::Factor &factor : term.factors)
        roots.push_back(factor.value);
    }
  llvm::DenseSet<Value> wanted;
  for (Level level : {Level::member, Level::list})
    wanted.insert_range(inputsOf(roots, level));
  declareScalarInputs([&](Value value) { return wanted.contains(value); });
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : used) {
    StringRef field = scalarFields[value];
    field.consume_front("scalars.");
    scalars.fields.push_back(
        {(computedType(value.getType()) + " " + field).str(), field.str()});
    os << scalarFields[value] << " = " << text(value) << ";\n";
  }
  for (auto &[term, field, type] : factors) {
    std::string name = field.substr(StringRef("scalars.").size());
    scalars.fields.push_back({type + " " + name, name});
    std::string factor = number(std::abs(term->scale));
    factor = "static_cast<" + type + ">(" + (term->scale < 0 ? "-" : "") +
             factor + ")";
    if (term->scale == 1 && !term->factors.empty() &&
        !term->factors.front().reciprocal)
      factor.clear();
    for (const fused::Factor &other : term->factors)
      factor += (factor.empty()     ? ""
                 : other.reciprocal ? " / "
                                    : " * ") +
                expression(other.value).text;
    os << field << " = heddle::per_bit<" << type << ">(" << factor << ");\n";
  }
  if (ofLoop && !memberScalars.empty()) {
    open("if (threadIdx.x == 0) { // for store_member_results");
    declareScalarInputs([&](Value value) {
      return memberScalars.contains(value) && !scope.contains(value);
    });
    for (auto &[value, name] : memberScalars)
      os << name << " = " << text(value) << ";\n";
    close();
  }
  endFunction();
  return success();
}

PanelEmitter::Arguments
PanelEmitter::scalarsReached(ArrayRef<Value> roots,
                             ArrayRef<Exponential *> sums) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left(roots);
  bool usesIteration = false;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second || scalarFields.contains(value))
      continue;
    Operation *op = value.getDefiningOp();
    usesIteration |= isa_and_nonnull<foreach::IterationOp>(op);
    if (op && !isa<fused::ReduceOp>(op))
      llvm::append_range(left, op->getOperands());
  }
  Arguments arguments;
  for (auto &[value, name] : scalarFields)
    if (seen.contains(value))
      arguments.push_back({computedType(value.getType()).str(), name});
  for (Exponential *sum : sums)
    for (const std::string &factor : sum->factors)
      if (!llvm::is_contained(arguments,
                              std::pair(computed(sum->reduce), factor)))
        arguments.push_back({computed(sum->reduce), factor});
  if (usesIteration)
    arguments.push_back({"int", "loop.iteration"});
  return arguments;
}

} // namespace heddle::cuda
