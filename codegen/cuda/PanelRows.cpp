//===- PanelRows.cpp - rows and panels of a panel loop --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the loads of row values before the phases of a row, the row results
// after them, and the loop over the panels of a block.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::fused::Level;
using llvm::Twine;

namespace heddle::cuda {

static constexpr StringRef kForEachRow =
    "for (int r = heddle::block_threads - 1 - threadIdx.x; r < rows.count; r "
    "+= heddle::block_threads) {";

/// Prints the function that loads the row values of an iteration.
LogicalResult PanelEmitter::emitRowValues() {
  SmallVector<Value> roots(rowValues.begin(), rowValues.end());
  for (Exponential &sum : exponentialsOfRows()) {
    llvm::append_range(roots, valuesOf(sum.exponent.row));
    roots.push_back(sum.reduce.getShift());
  }
  SmallVector<fused::ReduceOp> normalized;
  llvm::DenseMap<Operation *, std::string> shifts;
  for (fused::ReduceOp column : analysis.columns)
    if (numerators.contains(column))
      normalized.push_back(column);
  beginFunction("Loads the row values. Each is loaded by the thread that "
                "stores the results of its row.",
                "void load_row_values(const loop_params &params, const "
                "loop_state &loop, const loop_scalars &scalars, const "
                "heddle::row_range &rows)");
  os << "if (!rows.are_first())\n"
     << "  __syncthreads(); // the previous values have been read\n";
  if (roots.empty()) {
    endFunction();
    return success();
  }
  os << "#pragma unroll 1\n";
  open(kForEachRow);
  os << "const long long row = rows.row(r);\n";
  for (Value input : inputsOf(roots, Level::row))
    declareInput(input, pointers[slotOf(input)] + "[row]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : rowValues)
    os << rowArrays[value] << "[r] = " << text(value) << ";\n";
  for (Exponential &sum : exponentialsOfRows()) {
    std::string type = computed(sum.reduce);
    std::string shift = scope.fresh("shift");
    os << type << ' ' << shift << " = " << text(sum.reduce.getShift()) << ";\n"
       << "if (!heddle::is_finite(" << shift << "))\n  " << shift
       << " = loop.iteration ? " << scratch(sum.reduce, PanelScratchPer::row)
       << "[row] : 0;\n"
       << "if (!heddle::is_finite(" << shift << "))\n  " << shift << " = 0;\n";
    std::string part = sumOf(sum.exponent.row, type);
    os << sum.shift << "[r] = " << shift << ";\n"
       << sum.rowTerm << "[r] = heddle::per_bit<" << type << ">("
       << (part.empty() ? "-" : part + " - ") << shift << ");\n";
    shifts[sum.reduce] = shift;
  }
  // The sum is near 1 if the shift is near the result.
  for (fused::ReduceOp column : normalized) {
    auto own = *fused::decompose(column.getValue(), levels);
    std::string type = computed(column);
    scope.bind(sharedBy(column)->getResult(0), shifts[sharedBy(column)]);
    if (failed(declareNeeded(valuesOf(own.row))))
      return failure();
    os << numerators[column] << "[r] = heddle::exp_2(heddle::per_bit<" << type
       << ">(" << sumOf(own.row, type) << ") - "
       << exponentialOf(sharedBy(column)).rowTerm << "[r]);\n";
  }
  close();
  endFunction();
  return success();
}

/// Prints the function that stores the row results, one thread for each row.
LogicalResult PanelEmitter::emitRowResults() {
  std::string head = "void store_row_results(const loop_params &params, const "
                     "loop_state &loop, const loop_scalars &scalars, const "
                     "heddle::row_range &rows, member_sums &of_member";
  beginFunction("Row results: the values of the rows, and their part of the "
                "member's reductions.",
                head + ")");
  os << "#pragma unroll 1\n";
  open(kForEachRow);
  os << "const long long row = rows.row(r);\n";
  for (fused::ReduceOp row : analysis.rows)
    if (row.getShift())
      os << "const " << computed(row) << ' '
         << scope.declare(row.getResult(0), "row") << " = "
         << exponentialOf(row).shift << "[r] + heddle::per_e<" << computed(row)
         << ">(heddle::log_2(" << rowSums[row] << "[r]));\n";
    else
      scope.bind(row.getResult(0), rowSums[row] + "[r]");
  auto yield = sweep.getSegmentYield(segment);
  if (failed(declareRowsAfter(rootsOfRowResults())))
    return failure();
  open("if (heddle::position().rank == 0) {");
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (slot >= 0 && slots.operands[slot].index == kI)
      os << pointers[slot]
         << "[row] = " << storedExpression(value, slots.operands[slot].storage)
         << ";\n";
  for (fused::ReduceOp column : analysis.columns)
    if (fused::PanelAnalysis::sumsPowers(column)) {
      std::string type = computed(column);
      std::string terms =
          sumOf(fused::decompose(column.getValue(), levels)->row, type);
      os << scratch(column, PanelScratchPer::row) << "[row] = heddle::per_bit<"
         << type << ">(" << (terms.empty() ? "0" : terms) << ");\n";
    }
  for (Exponential &sum : exponentialsOfRows())
    os << scratch(sum.reduce, PanelScratchPer::row)
       << "[row] = " << text(sum.reduce.getResult(0)) << ";\n";
  close();
  for (fused::ReduceOp member : analysis.members)
    if (!isOverColumns(member))
      os << memberParts[member] << " = " << kindOf(member) << "::combine("
         << memberParts[member] << ", " << kindOf(member) << "::lift("
         << text(member.getValue()) << ", row));\n";
  close();
  endFunction();
  return success();
}

/// Prints the function that reduces column values from before the iteration
/// over the member.
LogicalResult PanelEmitter::emitOverColumns() {
  SmallVector<Value> roots;
  for (fused::ReduceOp member : analysis.members)
    if (isOverColumns(member))
      roots.push_back(member.getValue());
  if (roots.empty())
    return success();
  beginFunction("Adds column values from before the iteration to the "
                "member's reductions; each panel adds a share.",
                "void accumulate_over_columns(const loop_state &loop, const "
                "loop_scalars &scalars, int panel, member_sums &of_member)");
  os << "const int used = heddle::position().used;\n";
  open("for (long long column = panel + static_cast<long long>(threadIdx.x) * "
       "used; column < member().columns; column += static_cast<long "
       "long>(heddle::block_threads) * used) {");
  for (Value input : inputsOf(roots, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (fused::ReduceOp member : analysis.members)
    if (isOverColumns(member))
      os << memberParts[member] << " = " << kindOf(member) << "::combine("
         << memberParts[member] << ", " << kindOf(member) << "::lift("
         << text(member.getValue()) << ", column));\n";
  close();
  endFunction();
  return success();
}

/// Prints the function that combines the columns of a block's thread groups.
void PanelEmitter::emitCombineGroups() {
  std::string head = "void combine_groups(const loop_params &params, const "
                     "loop_state &loop, const loop_scalars &scalars, const "
                     "heddle::row_range &rows, const column_sums &sums, bool "
                     "unsafe";
  beginFunction("Combines the columns of the thread groups into the panel's "
                "parts, and adds the rows whose sums are not safe.",
                head + ")");
  for (fused::ReduceOp column : analysis.columns) {
    std::string part = columnSums[column];
    bool isFirst = column == analysis.columns.front();
    std::string of = scope.fresh(part);
    os << partType(column) << " *const " << of << " = " << partsOf(column)
       << "::own(" << scratch(column, PanelScratchPer::panelColumn)
       << ", rows.panel, member().columns);\n";
    if (!isFirst)
      os << "if (heddle::thread_groups > 1)\n"
         << "  __syncthreads(); // the previous columns have been combined\n";
    os << "heddle::gather_columns(sums." << part << ", gather_buffer());\n";
    if (!isFirst)
      os << "if (heddle::thread_groups > 1)\n  __syncthreads();\n";
    else if (!hasExponentialsOfRows())
      os << "__syncthreads();\n";
    else
      os << "unsafe = __syncthreads_or(unsafe);\n";
    os << "heddle::combine_groups<" << partKind(column) << ">(sums." << part
       << ", rows, gather_buffer(), " << of << ");\n";
  }
  if (hasExponentialsOfRows()) {
    open("if (unsafe) {");
    os << "__syncthreads();\n";
    for (Exponential &sum : exponentialsOfRows())
      os << calls[sum.reduce] << ";\n";
    close();
  }
  open("if constexpr (heddle::sends_messages) {");
  os << "__syncthreads();\n";
  for (fused::ReduceOp column : analysis.columns)
    os << partsOf(column) << "::send_own(rows.panel, member().columns);\n";
  close();
  endFunction();
}

void PanelEmitter::emitWait() {
  os << "if (loop.iteration > 0)\n  loop.barrier.wait_for_values();\n";
}

/// Prints the function that processes the panels of a block.
LogicalResult PanelEmitter::emitPanels() {
  bool stops = !layout.whereOperand.empty(), late = waitsLate();
  bool hasIterationScalars = !scalarsOfElements(/*ofLoop=*/false).empty();
  auto emitActive = [&] {
    if (stops)
      os << "const bool active = *" << pointers[layout.whereOperand[segment]]
         << "; // tested after all loads are issued\n";
  };
  auto emitStop = [&] {
    if (stops)
      os << "if (!active)\n  return false;\n";
  };
  beginFunction(
      stops ? "Processes the block's panels. Returns false if the member has "
              "stopped."
            : "Processes the block's panels.",
      Twine(stops ? "bool" : "void") +
          " process_panels(const loop_params &params, loop_state &loop, " +
          (hasIterationScalars ? "" : "const ") + "loop_scalars &scalars)");
  if (!late) {
    emitWait();
    emitActive();
    if (hasIterationScalars)
      os << callOf("load_iteration_scalars") << ";\n";
  }
  open("if (!heddle::position().has_panels()) {");
  if (late) {
    emitWait();
    emitActive();
  }
  emitStop();
  os << "loop.barrier.publish_columns();\n";
  close();
  open("for (int panel = heddle::position().unit; panel < "
       "heddle::position().panels_in_use(); panel += "
       "heddle::position().units) {");
  if (!analysis.members.empty()) {
    std::string neutral;
    for (fused::ReduceOp member : analysis.members)
      neutral += (neutral.empty() ? "" : ", ") + kindOf(member) + "::neutral()";
    os << "member_sums of_member = {" << neutral << "};\n";
  }
  if (hasMemberPartsOfColumns())
    os << callOf("accumulate_over_columns") << ";\n";
  os << "heddle::row_range rows(panel, member().count);\n";
  open("for (int begin = 0; begin == 0 || begin < rows.panel_rows; begin += "
       "heddle::buffered_rows) {");
  os << "rows.select(begin);\n"
     << "column_sums sums;\n"
     << "#pragma unroll\n";
  open("for (int k = 0; k < heddle::items_per_thread; ++k) {");
  for (fused::ReduceOp column : analysis.columns)
    os << "sums." << columnSums[column] << "[k] = "
       << (fused::PanelAnalysis::sumsPowers(column)
               ? "0"
               : kindOf(column) + "::neutral()")
       << ";\n";
  close();
  if (hasExponentialsOfRows())
    os << "bool unsafe = false; // whether some row's sum is not safe\n";
  auto call = [&](StringRef function) { os << callOf(function) << ";\n"; };
  auto loadColumns = [&] {
    if (columnInputs.empty())
      return;
    os << "column_inputs inputs;\n";
    call("load_columns");
  };
  if (late) {
    auto waitFor = [&](StringRef blocks, StringRef why) {
      open("if (heddle::cluster_blocks " + blocks + " && rows.are_first()) {" +
           why);
      emitWait();
      close();
    };
    waitFor("> 1", " // only one block of a cluster stores row results");
    call("load_row_values");
    waitFor("== 1", "");
    emitActive();
    loadColumns();
  } else {
    loadColumns();
    call("load_row_values");
  }
  os << "column_values columns;\n";
  call("compute_columns");
  call("broadcast_columns");
  emitStop();
  os << "loop.barrier.begin();\n";
  if (!analysis.ofCompleteColumns.empty()) {
    std::string bytes;
    for (fused::ReduceOp member : analysis.ofCompleteColumns)
      bytes +=
          (bytes.empty() ? "sizeof(" : " + sizeof(") + computed(member) + ")";
    os << "loop.column_results.begin(" << bytes << ", member().columns);\n";
  }
  os << "__syncthreads();\n";
  call("receive_columns");
  open("for (int first = heddle::group_of_thread(); first < rows.count; first "
       "+= heddle::thread_groups * heddle::rows_at_once) {");
  os << "row_elements elements;\n";
  call("reduce_phase");
  call("accumulate_phase");
  close();
  call("combine_groups");
  os << "if (rows.are_last())\n  loop.barrier.publish_columns();\n";
  call("store_row_results");
  os << "if constexpr (heddle::cluster_per_member)\n"
     << "  break; // the panel's rows are all buffered\n";
  close();
  for (fused::ReduceOp member : analysis.members)
    os << partsOf(member) << "::publish("
       << scratch(member, PanelScratchPer::panel) << ", panel, "
       << memberParts[member] << ");\n";
  os << "if constexpr (heddle::cluster_per_member)\n"
     << "  break; // the block has one panel\n";
  close();
  if (stops)
    os << "return true;\n";
  endFunction();
  return success();
}

} // namespace heddle::cuda
