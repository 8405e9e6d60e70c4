//===- PanelColumns.cpp - columns and the member of a panel loop ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns are combined over the panels in a fixed order; each block but the
// last combines a slice of them. The last block computes the results of the
// member.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;
using llvm::Twine;

namespace heddle::cuda {

/// Declares the variable that holds the column result `value` until all threads
/// of the column publish it. The value is computed into it if the types agree.
std::string PanelEmitter::declareColumnResult(int slot, Value value) {
  const OperandSlot &operand = slots.operands[slot];
  bool isLoaded = llvm::any_of(
      llvm::zip(body.getArguments(), slots.inputs), [&](auto pair) {
        return std::get<1>(pair) == slot && scope.contains(std::get<0>(pair));
      });
  std::string name =
      scope.fresh(nameOfSlot(operand) + (isLoaded ? "_next" : ""));
  os << storedType(operand.storage) << ' ' << name << " = {};\n";
  if (value.getType() == operand.storage && !scope.contains(value))
    homes.try_emplace(value, name);
  return name;
}

LogicalResult PanelEmitter::emitColumns() {
  beginFunction(
      "Combines the block's slice of the columns over the panels, and "
      "publishes their values.",
      "void combine_columns(const loop_params &params, const "
      "loop_state &loop, const loop_scalars &scalars)");
  os << "constexpr int batch = heddle::combined_at_once;\n";
  for (fused::ReduceOp column : analysis.columns) {
    std::string part = columnSums[column];
    std::string state = partType(column);
    os << "__shared__ " << state << ' ' << part
       << "_of_run[heddle::panel_runs > 1 ? heddle::block_threads : 1];\n";
    if (fused::PanelAnalysis::sumsPowers(column))
      os << "__shared__ " << computed(column) << " exact_" << part
         << "_of[batch];\n";
  }
  os << "const int thread = heddle::combining_thread();\n"
     << "const int run = thread / batch, offset = thread % batch;\n"
     << "const int combined = heddle::position().combined;\n";
  open("for (int base = 0; heddle::is_combining_thread() && base < combined; "
       "base += batch) {");
  os << "const bool has_column = run < heddle::column_threads && base + offset "
        "< "
        "combined;\n"
     << "const bool is_first = has_column && (run == 0 || heddle::panel_runs "
        "== 1);\n"
     << "const long long column = heddle::position().combined_column(base + "
        "offset);\n";
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<Value> roots;
  auto isColumnResult = [&](int slot) {
    return slot >= 0 && slots.operands[slot].index == kJ;
  };
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isColumnResult(slot))
      roots.push_back(value);
  for (fused::ReduceOp member : analysis.ofCompleteColumns)
    roots.push_back(member.getValue());
  SmallVector<Value> all = roots;
  llvm::DenseMap<Operation *, fused::Exponent> own;
  for (fused::ReduceOp column : analysis.columns) {
    scope.declare(column.getResult(0), "sum"); // declareNeeded stops there
    if (fused::PanelAnalysis::sumsPowers(column)) {
      own[column] = *fused::decompose(column.getValue(), levels);
      llvm::append_range(all, valuesOf(own[column].column));
      llvm::append_range(all, valuesOfColumns(powersOf(column)));
    }
  }
  // These loads are issued together with the loads of the columns' parts.
  for (Value input : inputsOf(all, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]", "is_first");
  for (fused::ReduceOp column : analysis.columns) {
    std::string sum = columnSums[column] + "_sum";
    os << "auto " << sum << " = " << partKind(column) << "::neutral();\n";
    open("if (has_column)");
    os << sum << " = heddle::combine_panels<" << partKind(column)
       << ">(heddle::position().panels_in_use(), heddle::panel_runs == 1 ? 0 "
          ": run, "
       << partsOf(column) << "::of("
       << scratch(column, PanelScratchPer::panelColumn)
       << ", member().columns, column, base + offset));\n";
    os.unindent();
  }
  open("if constexpr (heddle::panel_runs > 1) {");
  os << "__syncthreads();\n";
  for (fused::ReduceOp column : analysis.columns)
    os << columnSums[column] << "_of_run[threadIdx.x] = " << columnSums[column]
       << "_sum;\n";
  os << "__syncthreads();\n";
  open("if (is_first) {");
  open("for (int r = 1; r < heddle::panel_runs; ++r) {");
  for (fused::ReduceOp column : analysis.columns)
    os << columnSums[column] << "_sum = " << partKind(column) << "::combine("
       << columnSums[column] << "_sum, " << columnSums[column]
       << "_of_run[r * batch + offset]);\n";
  close();
  close();
  close();
  llvm::DenseMap<Operation *, std::string> inactive;
  for (fused::ReduceOp column : analysis.columns)
    if (fused::PanelAnalysis::sumsPowers(column)) {
      FailureOr<std::string> name = declareInactive(column);
      if (failed(name))
        return failure();
      inactive[column] = *name;
      open("if (heddle::any_combining_thread(is_first && "
           "!heddle::is_safe_column(" +
           columnSums[column] + "_sum)" +
           (name->empty() ? "" : " && !" + *name) + ")) {");
      os << calls[column] << "exact_" << columnSums[column]
         << "_of, base, combined - base < batch ? combined - base : batch);\n";
      close();
    }
  if (own.empty())
    os << "if (heddle::sends_messages)\n"
       << "  heddle::sync_combining_threads(); // all threads of a column have "
          "read the values before they are sent\n";
  llvm::DenseMap<int, std::string> made;
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isColumnResult(slot)) {
      made[slot] = declareColumnResult(slot, value);
    }
  llvm::DenseMap<Operation *, std::string> reduced;
  for (fused::ReduceOp member : analysis.ofCompleteColumns) {
    reduced[member] = scope.fresh("reduced");
    os << computed(member) << ' ' << reduced[member] << " = {};\n";
  }
  open("if (is_first) {");
  SmallVector<Value> before;
  for (fused::ReduceOp column : analysis.columns)
    if (fused::PanelAnalysis::sumsPowers(column)) {
      llvm::append_range(before, valuesOf(own[column].column));
      llvm::append_range(before, valuesOfColumns(powersOf(column)));
    }
  if (failed(declareNeeded(before)))
    return failure();
  for (fused::ReduceOp column : analysis.columns) {
    std::string type = computed(column), sum = columnSums[column] + "_sum";
    os << "const " << type << ' ' << scope[column.getResult(0)] << " = ";
    if (!fused::PanelAnalysis::sumsPowers(column)) {
      os << kindOf(column) << "::value(" << sum << ");\n";
      continue;
    }
    std::string mine = sumOf(own[column].column, type), back;
    auto inBrackets = [](const std::string &sum) {
      bool isName = llvm::all_of(
          sum, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
      return isName ? sum : "(" + sum + ")";
    };
    std::string plus = mine.empty() ? "" : " + " + inBrackets(mine);
    // Without rows the result is -infinity, whatever the term of the column.
    std::string empty =
        mine.empty()
            ? ""
            : "member.count == 0 ? -heddle::infinity<" + type + ">() : ";
    if (fused::PanelAnalysis::takesOwnPowers(column)) {
      back = " + " + text(column.getShift());
    } else {
      std::string taken = columnTermOf(powersOf(column));
      back = (taken.empty() ? "" : " - " + inBrackets(taken)) + plus;
    }
    if (!inactive[column].empty())
      os << inactive[column] << " ? 0 : ";
    os << "heddle::is_safe_column(" << sum << ") ? heddle::per_e<" << type
       << ">(heddle::log_2(" << sum << "))" << back << " : " << empty
       << "heddle::per_e<" << type << ">(exact_" << columnSums[column]
       << "_of[offset])" << plus << ";\n";
  }
  if (failed(declareNeeded(roots)))
    return failure();
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isColumnResult(slot)) {
      std::string stored =
          storedExpression(value, slots.operands[slot].storage);
      if (stored != made[slot])
        os << made[slot] << " = " << stored << ";\n";
    }
  for (fused::ReduceOp member : analysis.ofCompleteColumns)
    os << reduced[member] << " = " << text(member.getValue()) << ";\n";
  close();
  for (int slot : slots.results)
    if (isColumnResult(slot))
      os << "heddle::publish_column(" << pointers[slot] << ", column, "
         << made[slot] << ", is_first, run);\n";
  for (fused::ReduceOp member : analysis.ofCompleteColumns)
    os << "heddle::column_barrier::publish("
       << scratch(member, PanelScratchPer::column) << ", column, "
       << reduced[member] << ", is_first, run);\n";
  os << "if (heddle::cluster_per_member && batch >= heddle::max_combined)\n"
     << "  break;\n";
  close();
  endFunction();
  return success();
}

SmallVector<Value> PanelEmitter::rootsOfMember() {
  SmallVector<Value> roots;
  for (auto [slot, value] :
       llvm::zip(slots.results, sweep.getSegmentYield(segment).getValues()))
    if (slot >= 0 && isMemberIndex(slots.operands[slot].index))
      roots.push_back(value);
  return roots;
}

/// Prints the function that computes the results of the member.
LogicalResult PanelEmitter::emitMember() {
  beginFunction("Computes and publishes the results of the member. The last "
                "block calls it.",
                "void store_member_results(const loop_params &params, "
                "loop_state &loop, const loop_scalars &scalars)");
  SmallVector<Value> roots = rootsOfMember();
  for (auto &[value, name] : memberScalars)
    scope.bind(value, name);
  llvm::DenseSet<Value> wanted;
  for (Level level : {Level::member, Level::list})
    wanted.insert_range(inputsOf(roots, level));
  declareScalarInputs([&](Value value) { return wanted.contains(value); });
  if (!analysis.members.empty())
    os << "loop.barrier.wait_for_member_parts();\n";
  for (fused::ReduceOp member : analysis.members)
    os << "const " << computedType(member.getResult(0).getType()) << ' '
       << scope.declare(member.getResult(0), "sum") << " = " << kindOf(member)
       << "::value(" << partsOf(member) << "::combine_all("
       << scratch(member, PanelScratchPer::panel) << "));\n";
  if (!analysis.ofCompleteColumns.empty())
    os << "loop.column_results.wait();\n";
  for (fused::ReduceOp member : analysis.ofCompleteColumns) {
    std::string state = scope.fresh("over_columns");
    os << "const auto " << state << " = heddle::over_columns<" << kindOf(member)
       << ">(" << scratch(member, PanelScratchPer::column)
       << ", member().columns);\n";
    declareReduced(member, state);
  }
  open("if (threadIdx.x < heddle::member_threads) {");
  if (failed(declareNeeded(roots)))
    return failure();
  storeMemberResults();
  close();
  endFunction();
  return success();
}

} // namespace heddle::cuda
