//===- PanelPhases.cpp - the phases of a row of a panel loop --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the column values, the reduce phase and the accumulate phase of a
// thread group.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::fused::Level;
using llvm::Twine;

namespace heddle::cuda {

//===----------------------------------------------------------------------===//
// Column values
//===----------------------------------------------------------------------===//

/// The values from which the column term of `sum`'s exponent is built.
SmallVector<Value> PanelEmitter::valuesOfColumns(const Exponential &sum) {
  SmallVector<Value> values = valuesOf(sum.exponent.column);
  if (!sum.isOfRows())
    values.push_back(fused::ReduceOp(sum.reduce).getShift());
  return values;
}

/// The column term of `sum`'s exponent, less the shift of a sum over columns;
/// empty without terms.
std::string PanelEmitter::columnTermOf(const Exponential &sum) {
  std::string part = sumOf(sum.exponent.column, computed(sum.reduce));
  if (!sum.isOfRows())
    part +=
        (part.empty() ? "-" : " - ") +
        ("heddle::known(" + text(fused::ReduceOp(sum.reduce).getShift()) + ")");
  return part;
}

/// Prints the function that issues all loads of column values before any is
/// used.
void PanelEmitter::emitColumnInputs() {
  if (columnInputs.empty())
    return;
  beginFunction("Loads the values of a thread's columns.",
                "void load_columns(const heddle::row_range &rows, "
                "column_inputs &inputs)");
  os << "#pragma unroll\n";
  open("for (int k = 0; k < heddle::columns_computed<broadcasts>; ++k) {");
  os << "const bool has_column = heddle::computes_column<broadcasts>(rows, "
        "k);\n"
     << "const long long column = rows.first_column + "
        "heddle::computed_column<broadcasts>(k);\n";
  for (Value input : columnInputs)
    os << inputArrays[input] << "[k] = has_column ? heddle::convert<"
       << computedType(input.getType()) << ">(" << pointers[slotOf(input)]
       << "[column]) : 0;\n";
  close();
  endFunction();
}

LogicalResult PanelEmitter::emitColumnValues() {
  std::string parameters = "const loop_state &loop, const loop_scalars "
                           "&scalars, const heddle::row_range &rows, ";
  parameters += "const column_inputs &inputs, ";
  beginFunction("Computes the values of a thread's columns.",
                "void compute_columns(" + parameters +
                    "column_values &columns)");
  SmallVector<Value> roots(columnValues.begin(), columnValues.end());
  for (Exponential &sum : exponentials)
    llvm::append_range(roots, valuesOfColumns(sum));
  os << "#pragma unroll\n";
  open("for (int k = 0; k < heddle::columns_computed<broadcasts>; ++k) {");
  if (!exponentials.empty())
    os << "const bool has_column = heddle::computes_column<broadcasts>(rows, "
          "k);\n";
  for (Value input : columnInputs)
    scope.bind(input, inputArrays[input] + "[k]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : columnValues)
    os << columnArrays[value] << "[k] = " << text(value) << ";\n";
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce), part = columnTermOf(sum);
    os << sum.columnTerm << "[k] = has_column ? "
       << (part.empty() ? "0" : "heddle::per_bit<" + type + ">(" + part + ")")
       << " : -heddle::infinity<" << type << ">();\n";
  }
  close();
  endFunction();
  emitBroadcast();
  return success();
}

/// Prints the functions that exchange column values between threads.
void PanelEmitter::emitBroadcast() {
  auto emitAll = [&](StringRef function) {
    int64_t before = 0;
    auto emit = [&](StringRef name, Type type) {
      os << "heddle::" << function << "<broadcasts>(" << name
         << ", broadcast_buffer(" << before << "));\n";
      before += storageBytes(type);
    };
    for (Exponential &sum : exponentials)
      emit(sum.columnTerm, fused::ReduceOp(sum.reduce).getValue().getType());
    for (Value value : columnValues)
      emit(columnArrays[value], value.getType());
  };
  beginFunction("Broadcasts the column values that a thread computed.",
                "void broadcast_columns(const column_values &columns)");
  emitAll("broadcast_columns");
  endFunction();
  beginFunction("Receives the values of a thread's columns.",
                "void receive_columns(column_values &columns)");
  emitAll("receive_columns");
  os << "if (broadcasts && !heddle::has_broadcast_buffer)\n"
     << "  __syncthreads(); // the buffer is free for combine_groups\n";
  endFunction();
}

//===----------------------------------------------------------------------===//
// The phases of a row
//===----------------------------------------------------------------------===//

LogicalResult PanelEmitter::emitReducePhase() {
  beginFunction(
      "Reduce phase: the thread's part of the reductions of its group's rows.",
      "void reduce_phase(loop_state &loop, const loop_scalars &scalars, const "
      "heddle::row_range &rows, int first, const column_values &columns, "
      "row_elements &elements)");
  os << "loop.queue.wait();\n";
  llvm::DenseMap<Operation *, std::string> mine, odds, rowTerms;
  for (fused::ReduceOp row : analysis.rows) {
    mine[row] = scope.fresh("mine");
    os << partType(row) << ' ' << mine[row] << "[heddle::rows_at_once];\n";
  }
  openRows();
  llvm::DenseMap<int, std::string> rows;
  for (auto [k, slot] : llvm::enumerate(panel.matrices)) {
    rows[slot] =
        scope.fresh(buffers[slots.operands[slot].buffer].name + "_row");
    StringRef type = storedType(slots.operands[slot].storage);
    os << "const " << type << " *const " << rows[slot] << " = loop.queue.row<"
       << type << ">(" << k << ", is_row ? b : 0);\n";
  }
  SmallVector<Value> roots;
  for (fused::ReduceOp row : analysis.rows)
    if (!row.getShift())
      roots.push_back(row.getValue());
  for (Exponential &sum : exponentialsOfRows())
    for (const fused::Term &term : sum.exponent.element)
      roots.push_back(term.value);
  llvm::append_range(roots, analysis.kept);
  for (Value value : rowsUsedBy(roots))
    os << "const " << computedType(value.getType()) << ' '
       << scope.declare(value) << " = " << rowArrays[value] << "[r];\n";
  for (Exponential &sum : exponentialsOfRows()) {
    rowTerms[sum.reduce] = scope.fresh("row_term");
    os << "const " << computed(sum.reduce) << ' ' << rowTerms[sum.reduce]
       << " = " << sum.rowTerm << "[r];\n";
  }
  // Two chains of dependent additions.
  llvm::DenseMap<Operation *, std::string> evens;
  for (fused::ReduceOp row : analysis.rows) {
    evens[row] = scope.fresh("even");
    odds[row] = scope.fresh("odd");
    std::string none = row.getShift() ? "0" : kindOf(row) + "::neutral()";
    os << partType(row) << ' ' << evens[row] << " = " << none << ", "
       << odds[row] << " = " << none << ";\n";
  }
  os << "#pragma unroll\n";
  open("for (int k = 0; k < heddle::items_per_thread; ++k) {");
  os << "const bool has_column = rows.has_column(k);\n";
  for (Value input : inputsOf(roots, Level::element))
    declareInput(input, rows[slotOf(input)] + "[rows.column(k)]", "has_column");
  for (Value value : columnValues)
    scope.bind(value, columnArrays[value] + "[k]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : analysis.kept)
    os << keptArrays[value] << "[b][k] = " << text(value) << ";\n";
  for (fused::ReduceOp row : analysis.rows) {
    std::string part = "(k % 2 ? " + odds[row] + " : " + evens[row] + ")";
    if (!row.getShift()) {
      os << "if (has_column)\n  " << part << " = " << kindOf(row)
         << "::combine(" << part << ", " << kindOf(row) << "::lift("
         << text(row.getValue()) << ", rows.first_column + rows.column(k)));\n";
      continue;
    }
    Exponential &sum = exponentialOf(row);
    os << sum.kept << "[b][k] = heddle::exp_2("
       << argumentInBaseTwo(sum, rowTerms[row] + " + " + sum.columnTerm + "[k]")
       << ");\n"
       << part << " += " << sum.kept << "[b][k];\n";
  }
  close();
  for (fused::ReduceOp row : analysis.rows)
    os << mine[row] << "[b] = " << partKind(row) << "::combine(" << evens[row]
       << ", " << odds[row] << ");\n";
  close();
  for (fused::ReduceOp row : analysis.rows)
    os << reductionsOfRows[row] << ".publish(" << mine[row] << ");\n";
  os << "if (heddle::cluster_blocks == 1)\n  heddle::sync_group();\n"
     << "if (heddle::cluster_blocks == 1 || loop.queue.issues_early)\n"
     << "  loop.queue.next();\n";
  endFunction();
  return success();
}

void PanelEmitter::openRows() {
  os << "#pragma unroll\n";
  open("for (int b = 0; b < heddle::rows_at_once; ++b) {");
  os << "[[maybe_unused]] const bool is_row = rows.has_row(first, b);\n"
     << "[[maybe_unused]] const int r = rows.index(first, b);\n";
}

/// The row values that the elements in `roots` use.
llvm::SetVector<Value> PanelEmitter::rowsUsedBy(ArrayRef<Value> roots) {
  llvm::SetVector<Value> used;
  SmallVector<Value> left(roots);
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    // The accumulate phase reads values that the reduce phase kept.
    if (analysis.kept.contains(value) && !llvm::is_contained(roots, value))
      continue;
    if (levels.of(value).level == Level::row)
      used.insert(value);
    else if (levels.of(value).level == Level::element && value.getDefiningOp())
      llvm::append_range(left, value.getDefiningOp()->getOperands());
  }
  return used;
}

LogicalResult PanelEmitter::emitAccumulatePhase() {
  beginFunction(
      "Accumulate phase: adds the rows, whose reductions are complete, to the "
      "thread's columns.",
      "void accumulate_phase(loop_state &loop, const loop_scalars &scalars, "
      "const heddle::row_range &rows, int first, const column_values "
      "&columns, const row_elements &elements, column_sums &sums, bool "
      "&unsafe)");
  openRows();
  llvm::DenseMap<Operation *, std::string> safe, totals;
  for (fused::ReduceOp row : analysis.rows) {
    std::string total = totals[row] = scope.fresh("total");
    os << "const auto " << total << " = " << reductionsOfRows[row]
       << ".combine(b);\n";
  }
  os << "if (heddle::cluster_blocks > 1 && !loop.queue.issues_early)\n"
     << "  loop.queue.next();\n";
  for (fused::ReduceOp row : analysis.rows) {
    std::string type = computed(row), total = totals[row];
    if (!row.getShift()) {
      os << "const " << type << ' ' << scope.declare(row.getResult(0), "row")
         << " = " << kindOf(row) << "::value(" << total << ");\n";
      continue;
    }
    safe[row] = scope.fresh("safe");
    os << "bool " << safe[row] << " = heddle::is_safe_row(" << total << ");\n";
    if (llvm::none_of(scales, [&](Value scale) {
          return fused::dependsOn(scale, row.getResult(0));
        }))
      continue;
    os << "const " << type << ' ' << scope.declare(row.getResult(0), "row")
       << " = " << safe[row] << " ? " << exponentialOf(row).shift
       << "[r] + heddle::per_e<" << type << ">(heddle::rough_log_2(" << total
       << ")) : 0;\n";
  }
  if (failed(declareRowsAfter(scales.getArrayRef())))
    return failure();
  llvm::DenseMap<Operation *, std::string> powers;
  for (fused::ReduceOp column : analysis.columns) {
    Operation *shared = sharedBy(column);
    if (fused::PanelAnalysis::takesOwnPowers(column)) {
      std::string type = computed(column);
      std::string terms = sumOf(exponentialOf(column).exponent.row, type);
      os << "const " << type << ' '
         << (powers[column] = scope.fresh("row_term")) << " = heddle::per_bit<"
         << type << ">(" << (terms.empty() ? "0" : terms) << ");\n";
    }
    if (!shared)
      continue;
    powers[column] = scope.fresh("scale");
    if (numerators.contains(column)) {
      os << "const " << computed(column) << ' ' << powers[column]
         << " = heddle::quotient(" << numerators[column] << "[r], "
         << totals[shared] << ");\n"
         << safe[shared] << " &= heddle::is_safe_scale(" << powers[column]
         << ");\n";
      continue;
    }
    auto own = *fused::decompose(column.getValue(), levels);
    std::string type = computed(column), terms = sumOf(own.row, type);
    os << "const " << type << ' ' << powers[column]
       << " = heddle::exp_2(heddle::per_bit<" << type << ">("
       << (terms.empty() ? "0" : terms) << ") - "
       << exponentialOf(shared).rowTerm << "[r]);\n"
       << safe[shared] << " &= heddle::is_safe_scale(" << powers[column]
       << ");\n";
  }
  for (Exponential &sum : exponentialsOfRows())
    os << "unsafe |= !" << safe[sum.reduce] << ";\n";
  open("if (rows.thread == 0) {");
  for (fused::ReduceOp row : analysis.rows) {
    os << rowSums[row] << "[r] = ";
    if (row.getShift())
      os << safe[row] << " ? " << totals[row] << " : heddle::not_a_number<"
         << computed(row) << ">();\n";
    else
      os << scope[row.getResult(0)] << ";\n";
  }
  close();
  // The fallback adds the rows whose sums are not safe.
  SmallVector<Operation *> rows = {nullptr};
  for (Exponential &sum : exponentialsOfRows())
    rows.push_back(sum.reduce);
  for (Operation *row : rows) {
    SmallVector<fused::ReduceOp> columns;
    for (fused::ReduceOp column : analysis.columns)
      if (fused::PanelAnalysis::sumsPowers(column) &&
          analysis.rowBefore.lookup(column) == row)
        columns.push_back(column);
    if (columns.empty())
      continue;
    open("if (" + (row ? safe[row] + " && " : "") + "is_row) {");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < heddle::items_per_thread; ++k) {");
    Scope inner = scope;
    for (Value value : analysis.kept)
      scope.bind(value, keptArrays[value] + "[b][k]");
    for (fused::ReduceOp column : columns) {
      Exponential &sum = powersOf(column);
      std::string part = "sums." + columnSums[column] + "[k]";
      if (sum.isOfRows())
        os << part << " = heddle::multiply_add(" << sum.kept << "[b][k], "
           << powers[column] << ", " << part << ");\n";
      else
        os << part << " += heddle::exp_2("
           << argumentInBaseTwo(sum,
                                powers[column] + " + " + sum.columnTerm + "[k]")
           << ");\n";
    }
    scope = inner;
    close();
    close();
  }
  SmallVector<Value> roots;
  for (fused::ReduceOp column : analysis.columns)
    if (!fused::PanelAnalysis::sumsPowers(column))
      roots.push_back(column.getValue());
  if (!roots.empty()) {
    for (Value value : rowsUsedBy(roots))
      if (!analysis.isAccumulated(value) && !scope.contains(value))
        scope.bind(value, rowArrays[value] + "[r]");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < heddle::items_per_thread; ++k) {");
    os << "const bool has_column = is_row && rows.has_column(k);\n";
    for (Value value : analysis.kept)
      scope.bind(value, keptArrays[value] + "[b][k]");
    for (Value value : columnValues)
      scope.bind(value, columnArrays[value] + "[k]");
    if (failed(declareNeeded(roots)))
      return failure();
    for (fused::ReduceOp column : analysis.columns)
      if (!fused::PanelAnalysis::sumsPowers(column)) {
        std::string part = "sums." + columnSums[column] + "[k]";
        os << "if (has_column)\n  " << part << " = " << kindOf(column)
           << "::combine(" << part << ", " << kindOf(column) << "::lift("
           << text(column.getValue()) << "));\n";
      }
    close();
  }
  close();
  endFunction();
  return success();
}

} // namespace heddle::cuda
