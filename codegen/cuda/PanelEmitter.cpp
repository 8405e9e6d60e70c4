//===- PanelEmitter.cpp - prints a panel loop -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the values that the phases of an iteration share, and prints the entry.
// In an iteration, a block loads the column values into registers. For each row
// of its panels, a thread group runs the reduce phase, which computes and sums
// the exponentials of a row in shared memory, and the accumulate phase, which
// adds them to the columns. While one group waits for its sum, other groups
// compute. Then the blocks combine the columns over the panels in a fixed
// order, each block a slice of them.
//
// Sums of exponentials are taken about shifts. If a sum is not safe, a fallback
// recomputes the row or the columns about the maximum: the results of a loop
// never depend on its shifts.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::fused::Level;
using llvm::Twine;

namespace heddle::cuda {

/// Identifiers that every loop uses in its namespace and functions.
static constexpr StringRef kOwnNames[] = {
    // Types, functions and constants.
    "loop_params", "member_descriptor", "member", "resident_operands",
    "resident", "block_values", "block", "loop_scalars", "loop_state",
    "column_inputs", "column_values", "column_sums", "row_elements",
    "member_sums", "row_bytes", "gather_buffer", "broadcast_buffer",
    "broadcasts", "load_member", "load_resident", "store_resident",
    "load_scalars", "load_iteration_scalars", "load_row_values", "load_columns",
    "compute_columns", "broadcast_columns", "receive_columns",
    "accumulate_over_columns", "reduce_phase", "accumulate_phase",
    "combine_groups", "store_row_results", "process_panels", "combine_columns",
    "store_member_results",
    // Parameters and variables.
    "params", "iteration_limit", "loop", "scalars", "inputs", "columns",
    "elements", "sums", "of_member", "rows", "active", "unsafe", "panel",
    "begin", "r", "b", "offset", "member_index", "is_row", "has_column",
    "has_value", "is_first", "run", "lane", "warp", "to", "count", "of_thread",
    "iteration", "barrier", "sum_state", "batch", "thread"};

static void reserveOwnNames(Scope &scope) {
  for (StringRef name : kOwnNames)
    scope.reserve(name);
}

PanelBuffer::PanelBuffer(const SweepLayout &layout, const Buffers &buffers) {
  panelNames.sweep = layout.name; // a unique C identifier (verified)
  Scope scope;
  reserveOwnNames(scope); // the entry has a parameter for each scalar
  for (const ScalarSlot &slot : layout.scalars)
    panelNames.scalars.push_back("params." +
                                 scope.fresh(buffers[slot.buffer].name));
}

std::string PanelBuffer::take() {
  buffer.flush();
  return std::exchange(printed, std::string());
}

PanelEmitter::PanelEmitter(fused::SweepOp sweep, const SweepLayout &layout,
                           const Buffers &buffers, const PanelLayout &panel)
    : PanelBuffer(layout, buffers),
      SegmentEmitter(PanelBuffer::buffer, sweep, layout,
                     PanelBuffer::panelNames, buffers, 0),
      panel(panel), analysis(panel.analysis) {
  for (fused::ReduceOp row : analysis.rows)
    if (row.getShift())
      exponentials.push_back({row, *fused::decompose(row.getValue(), levels)});
  for (fused::ReduceOp column : analysis.columns)
    if (fused::PanelAnalysis::takesOwnPowers(column))
      exponentials.push_back(
          {column, *fused::decompose(column.getValue(), levels)});
  reserveOwnNames(globals);
  reserveOwnNames(parameters.scope);
}

PanelEmitter::Exponential &PanelEmitter::exponentialOf(Operation *reduce) {
  return *llvm::find_if(exponentials, [&](Exponential &sum) {
    return sum.reduce.getOperation() == reduce;
  });
}

bool PanelEmitter::isNormalized(fused::ReduceOp column) {
  fused::ReduceOp row = cast<fused::ReduceOp>(sharedBy(column));
  double slope = 0;
  auto exponent = fused::decompose(column.getValue(), levels);
  for (const fused::Term &term : exponent->row) {
    auto own = fused::slopeIn(term.value, row.getResult(0));
    if (!own || (*own != 0 && !term.factors.empty()))
      return false;
    slope += term.scale * *own;
  }
  return slope == -1;
}

//===----------------------------------------------------------------------===//
// The values that phases share
//===----------------------------------------------------------------------===//

void PanelEmitter::findElementValues() {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left;
  for (fused::ReduceOp row : analysis.rows)
    if (!row.getShift())
      left.push_back(row.getValue());
  for (Exponential &sum : exponentials) {
    llvm::append_range(left, valuesOf(sum.exponent.element));
    llvm::append_range(left, valuesOf(sum.exponent.row));
  }
  for (fused::ReduceOp column : analysis.columns) {
    if (fused::PanelAnalysis::takesOwnPowers(column))
      continue;
    if (!sharedBy(column)) {
      left.push_back(column.getValue());
      continue;
    }
    if (isNormalized(column))
      continue; // the numerator replaces these terms
    auto own = *fused::decompose(column.getValue(), levels);
    for (const fused::Term &term : own.row)
      if (levels.of(term.value).level == Level::row)
        left.push_back(term.value);
  }
  for (Value value : analysis.kept)
    left.push_back(value);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    switch (levels.of(value).level) {
    case Level::element:
      if (op)
        llvm::append_range(left, op->getOperands());
      break;
    case Level::column:
      columnValues.insert(value);
      break;
    case Level::row:
      if (!analysis.isAccumulated(value)) {
        rowValues.insert(value);
      } else if (!isa<fused::ReduceOp>(op)) {
        scales.insert(value);
        llvm::append_range(left, op->getOperands());
      }
      break;
    default:
      break;
    }
  }
  rowValues.insert_range(rowInputsOfResults());
}

/// The row's results, its part of the member's reductions, and its terms of the
/// exponents of columns.
SmallVector<Value> PanelEmitter::rootsOfRowResults() {
  SmallVector<Value> roots;
  for (auto [slot, value] :
       llvm::zip(slots.results, sweep.getSegmentYield(segment).getValues()))
    if (slot >= 0 && slots.operands[slot].index == kI)
      roots.push_back(value);
  for (fused::ReduceOp member : analysis.members)
    if (!isOverColumns(member))
      roots.push_back(member.getValue());
  for (fused::ReduceOp column : analysis.columns)
    if (fused::PanelAnalysis::sumsPowers(column))
      llvm::append_range(
          roots, valuesOf(fused::decompose(column.getValue(), levels)->row));
  return roots;
}

/// The row arguments from which rootsOfRowResults() are computed.
llvm::SetVector<Value> PanelEmitter::rowInputsOfResults() {
  SmallVector<Value> left = rootsOfRowResults();
  llvm::SetVector<Value> rows;
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!seen.insert(value).second || isa_and_nonnull<fused::ReduceOp>(op))
      continue;
    if (op)
      llvm::append_range(left, op->getOperands());
    else if (levels.of(value).level == Level::row)
      rows.insert(value);
  }
  return rows;
}

/// Names the fields of the structs that phases share.
void PanelEmitter::nameFields() {
  auto ownName = [](Value value, StringRef otherwise) {
    StringRef name = nameOf(value);
    return name.empty() ? otherwise.str() : name.str();
  };
  auto ofRows = [&](const Twine &wanted, StringRef type) {
    return "block()." +
           blockValues.add(type, wanted.str(), "[heddle::buffered_rows]");
  };
  auto ofItems = [&](Struct &fields, const Twine &wanted, StringRef type) {
    return fields.add(type, wanted.str(), "[heddle::items_per_thread]");
  };
  auto ofElements = [&](const Twine &wanted, StringRef type) {
    return "elements." +
           elements.add(type, wanted.str(),
                        "[heddle::rows_at_once][heddle::items_per_thread]");
  };
  for (Value value : rowValues)
    rowArrays[value] =
        ofRows(ownName(value, "row_value"), computedType(value.getType()));
  for (fused::ReduceOp row : analysis.rows)
    rowSums[row] =
        ofRows(ownName(row.getResult(0), "row") + "_sum", computed(row));
  for (Exponential &sum : exponentials) {
    std::string own = ownName(sum.reduce.getResult(0),
                              sum.isOfRows() ? "row" : "column"),
                type = computed(sum.reduce);
    sum.columnTerm = "columns." + ofItems(columns, own + "_term", type);
    if (!sum.isOfRows())
      continue;
    sum.shift = ofRows(own + "_shift", type);
    sum.rowTerm = ofRows(own + "_term", type);
    sum.kept = ofElements(own + "_exp", type);
  }
  for (Value value : analysis.kept)
    keptArrays[value] =
        ofElements(ownName(value, "value"), computedType(value.getType()));
  for (Value value : columnValues)
    columnArrays[value] = "columns." + ofItems(columns, ownName(value, "value"),
                                               computedType(value.getType()));
  for (fused::ReduceOp column : analysis.columns) {
    std::string own = ownName(column.getResult(0), "column");
    columnSums[column] = ofItems(sums, own + "_part", partType(column));
    parts[column] = globals.fresh(own + "_parts");
    if (sharedBy(column) && isNormalized(column))
      numerators[column] = ofRows(own + "_numerator", computed(column));
    if (fused::PanelAnalysis::sumsPowers(column))
      fallbacks[column] = globals.fresh(own + "_fallback");
  }
  for (fused::ReduceOp row : analysis.rows) {
    std::string own = ownName(row.getResult(0), "row");
    std::string number = std::to_string(rowReductions.fields.size());
    reductionsOfRows[row] =
        "loop." + rowReductions.add("heddle::row_reduction<" + partKind(row) +
                                        ", " + number + ">",
                                    own + "_reduction");
    if (row.getShift())
      fallbacks[row] = globals.fresh(own + "_fallback");
  }
  for (fused::ReduceOp member : analysis.members) {
    std::string own = ownName(member.getResult(0), "sum");
    parts[member] = globals.fresh(own + "_parts");
    memberParts[member] = "of_member." + memberSums.add(stateOf(member), own);
  }
  SmallVector<Value> roots(columnValues.begin(), columnValues.end());
  for (Exponential &sum : exponentials)
    llvm::append_range(roots, valuesOfColumns(sum));
  columnInputs = inputsOf(roots, Level::column);
  for (Value input : columnInputs)
    inputArrays[input] = "inputs." + ofItems(inputs, ownName(input, "column"),
                                             computedType(input.getType()));
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

LogicalResult PanelEmitter::emitLoop(raw_ostream &out) {
  entry = panel.name;
  StringRef own = entry;
  space = own.consume_back("_panels") ? own.str() : entry + "_phases";
  scope = Scope();
  nameParameters();
  nameOperands();
  findElementValues();
  nameFields();
  nameScalars();
  keepMemberScalars();
  nameResidents();

  emitResident();
  emitLoadMember();
  if (failed(emitRowValues()))
    return failure();
  emitColumnInputs();
  if (failed(emitColumnValues()) || failed(emitOverColumns()) ||
      failed(emitReducePhase()) || failed(emitAccumulatePhase()))
    return failure();
  for (Exponential &sum : exponentialsOfRows())
    if (failed(emitRowFallback(sum)))
      return failure();
  emitCombineGroups();
  if (failed(emitRowResults()))
    return failure();
  for (fused::ReduceOp column : analysis.columns)
    if (fused::PanelAnalysis::sumsPowers(column) &&
        failed(emitColumnFallback(column)))
      return failure();
  // Printed last, because only scalars that functions use are kept.
  if (failed(emitColumns()) || failed(emitMember()) ||
      failed(emitScalars(/*ofLoop=*/false)) || failed(emitPanels()) ||
      failed(emitScalars(/*ofLoop=*/true)))
    return failure();

  emitTypes();
  out << "namespace " << space << " {\n\n"
      << take() << functions << "} // namespace " << space << "\n\n";
  emitEntry();
  out << take();
  return success();
}

/// Prints the function that loads a member.
void PanelEmitter::emitLoadMember() {
  beginFunction("Loads member `member_index`: its descriptor, the block's "
                "position in it, "
                "its first rows.",
                "void load_member(loop_params &params, loop_state &loop, int "
                "member_index)");
  os << "__syncthreads(); // the previous member has been read\n";
  open("if (threadIdx.x == 0) {");
  os << "member() = "
        "heddle::descriptor_at<member_descriptor>(params.table.members, "
        "member_index);\n"
     << "heddle::locate_member(member().count, member().columns);\n";
  for (auto [k, slot] : llvm::enumerate(panel.matrices))
    os << "loop.queue.set_matrix(" << k << ", " << pointers[slot] << ", "
       << pointers[slot + 1] << ", member().count, member().columns);\n";
  close();
  os << "__syncthreads();\n"
     << "loop.queue.open(member().count);\n"
     << "if constexpr (heddle::cluster_per_member)\n  "
     << callOf("load_resident") << ";\n";
  endFunction();
}

void PanelEmitter::emitEntry() {
  SmallVector<std::string> arguments, values;
  for (auto &[declaration, name] : parameters.fields) {
    arguments.push_back(declaration);
    values.push_back(name);
  }
  bool onlyRows = !hasMemberPartsOfColumns();
  bool hasScalars = !scalars.fields.empty() || !memberScalars.empty();
  bool stops = !layout.whereOperand.empty();
  os << "extern \"C\" __global__ void HEDDLE_PANEL_CLUSTER_DIMENSIONS "
        "__launch_bounds__(HEDDLE_PANEL_THREADS, HEDDLE_PANEL_BLOCKS)\n"
     << DeviceFunctions::wrapped(entry + "(", arguments, ") {") << "\n";
  os.indent();
  os << "using namespace " << space << ";\n"
     << DeviceFunctions::wrapped("loop_params params = {", values, "};") << "\n"
     << "if (threadIdx.x == 0)\n"
     << "  heddle::locate_block(*params.iteration_limit);\n"
     << "loop_state loop = {heddle::member_barrier(params.barrier), "
        "heddle::row_queue<"
     << panel.matrices.size() << ">(row_bytes)"
     << (analysis.ofCompleteColumns.empty()
             ? ""
             : ", heddle::column_barrier(params.barrier)")
     << "};\n"
     << "if (heddle::cluster_blocks > 1 || heddle::sends_messages)\n"
     << "  heddle::cluster_barrier(); // every block has initialized its "
        "barriers\n"
     << "__syncthreads();\n";
  open("for (int k = heddle::position().first_member; k < "
       "params.table.member_count; k += heddle::position().member_step) {");
  os << "const int member_index = heddle::chosen_member(params.table, k);\n"
     << callOf("load_member") << ";\n"
     << (scalars.fields.empty() ? "" : "loop_scalars scalars;\n")
     << (hasScalars ? callOf("load_scalars") + ";\n" : "")
     << "bool active = heddle::position().limit > 0;\n";
  open("for (loop.iteration = 0; loop.iteration < heddle::position().limit; "
       "++loop.iteration) {");
  os << "// For each panel: column values, reduce phase, accumulate phase, row "
        "results.\n"
     << (stops ? "active = " : "") << callOf("process_panels") << ";\n";
  if (stops)
    os << "if (!active)\n  break;\n";
  os << "loop.barrier.wait_for_columns<" << (onlyRows ? "true" : "false")
     << ">();\n"
     << callOf("combine_columns") << ";\n"
     << (analysis.ofCompleteColumns.empty()
             ? ""
             : "loop.column_results.publish_block();\n")
     << "if (heddle::position().is_last_block())\n"
     << "  " << callOf("store_member_results") << ";\n"
     << "loop.barrier.publish_values();\n";
  close();
  os << "if (active)\n  loop.barrier.wait_for_values();\n"
     << "loop.queue.close();\n"
     << "if constexpr (heddle::cluster_per_member)\n"
     << "  " << callOf("store_resident") << ";\n";
  close();
  os << "if (heddle::cluster_blocks > 1)\n"
     << "  heddle::cluster_barrier(); // no block writes to a block that "
        "has ended\n";
  close("}\n");
}

} // namespace heddle::cuda
