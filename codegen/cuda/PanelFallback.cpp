//===- PanelFallback.cpp - sums that are not safe -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a sum of exponentials is not safe, the row or column is recomputed about
// its maximum, from memory. These functions are not inlined, so that rare code
// takes no registers from the phases.
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

std::string PanelEmitter::beginFallback(StringRef comment, StringRef name,
                                        const Arguments &arguments,
                                        const Twine &parameters) {
  isOutlined = true;
  std::string head = "void " + name.str() + "(", call = name.str() + "(";
  for (auto &[type, argument] : arguments) {
    head += type + (StringRef(type).ends_with("*") ? "" : " ") +
            prefix(argument) + ", ";
    call += argument + ", ";
  }
  beginFunction(comment, head + parameters + ")");
  return call;
}

void PanelEmitter::endFallback() {
  endFunction();
  isOutlined = false;
}

/// Prints the function that recomputes the log-sum-exps of rows whose sums are
/// not safe, and adds the rows to the columns.
LogicalResult PanelEmitter::emitRowFallback(Exponential &sum) {
  std::string type = computed(sum.reduce),
              kind = "heddle::log_sum_2<" + type + ">";
  SmallVector<fused::ReduceOp> columnsAfter;
  for (fused::ReduceOp column : analysis.columns)
    if (analysis.rowBefore.lookup(column) == sum.reduce.getOperation())
      columnsAfter.push_back(column);
  auto readElements = [&](ArrayRef<Exponential *> sums) {
    SmallVector<Value> elements,
        columns(columnValues.begin(), columnValues.end());
    for (Exponential *read : sums) {
      for (const fused::Term &term : read->exponent.element)
        elements.push_back(term.value);
      llvm::append_range(columns, valuesOfColumns(*read));
    }
    for (Value input : inputsOf(elements, Level::element))
      declareInput(input, pointers[slotOf(input)] + "[row * " +
                              pointers[slotOf(input) + 1] +
                              " + first_column + offset]");
    for (Value input : inputsOf(columns, Level::column))
      declareInput(input, pointers[slotOf(input)] + "[first_column + offset]");
    columns.append(elements.begin(), elements.end());
    return declareNeeded(columns);
  };
  auto columnTerm = [&](const Exponential &of) {
    std::string type = computed(of.reduce), part = columnTermOf(of);
    return part.empty() ? "static_cast<" + type + ">(0)"
                        : "heddle::per_bit<" + type + ">(" + part + ")";
  };
  SmallVector<Value> roots = valuesOf(sum.exponent.row);
  SmallVector<Exponential *> sums = {&sum};
  Arguments arguments;
  auto reach = [&](const Exponential &other) {
    llvm::append_range(roots, valuesOfColumns(other));
    for (const fused::Term &term : other.exponent.element)
      roots.push_back(term.value);
  };
  reach(sum);
  llvm::append_range(roots, columnValues);
  for (fused::ReduceOp column : columnsAfter) {
    arguments.push_back({partType(column) + " *",
                         scratch(column, PanelScratchPer::panelColumn)});
    llvm::append_range(
        roots, valuesOf(fused::decompose(column.getValue(), levels)->row));
    reach(powersOf(column));
    if (&powersOf(column) != &sum)
      sums.push_back(&powersOf(column));
  }
  llvm::append_range(arguments, scalarsReached(roots, sums));
  calls[sum.reduce] =
      beginFallback(
          "Fallback: rows whose sums are not safe are recomputed about "
          "their maxima.",
          fallbacks[sum.reduce], arguments, "int panel, int begin, int count") +
      "rows.panel, rows.begin, rows.count)";
  os << "const long long first_row = heddle::first_row_of_panel(panel, "
        "member().count);\n"
     << "const long long first_column = heddle::position().first_column;\n"
     << "const int width = heddle::position().width;\n";
  llvm::DenseMap<Operation *, std::string> of;
  for (fused::ReduceOp column : columnsAfter) {
    of[column] = scope.fresh(columnSums[column]);
    os << partType(column) << " *const " << of[column] << " = "
       << partsOf(column) << "::own("
       << scratch(column, PanelScratchPer::panelColumn)
       << ", panel, member().columns);\n";
  }
  open("for (int r = 0; r < count; ++r) {");
  os << "if (!heddle::is_nan(" << rowSums[sum.reduce]
     << "[r]))\n  continue; // all threads of the block agree\n"
     << "const long long row = first_row + begin + r;\n"
     << "auto sum_state = " << kind << "::neutral();\n";
  for (Value value : rowValues)
    scope.bind(value, rowArrays[value] + "[r]");
  os << "#pragma unroll 1\n";
  open("for (int offset = threadIdx.x; offset < width; offset += "
       "heddle::block_threads) {");
  Scope inner = scope;
  if (failed(readElements(&sum)))
    return failure();
  os << "sum_state = " << kind << "::combine(sum_state, " << kind << "::lift("
     << argumentInBaseTwo(sum, columnTerm(sum)) << "));\n";
  scope = inner;
  close();
  os << "sum_state = heddle::combine_cluster<" << kind
     << ">(heddle::combine_block_rarely<" << kind << ">(sum_state));\n";
  std::string terms = sumOf(sum.exponent.row, type);
  os << "const " << type << ' '
     << scope.declare(sum.reduce.getResult(0), "exact") << " = heddle::per_e<"
     << type << ">(" << kind << "::value(sum_state))"
     << (terms.empty() ? "" : " + (" + terms + ")") << ";\n";
  SmallVector<Value> shifts;
  SmallVector<Exponential *> read;
  for (fused::ReduceOp column : columnsAfter) {
    llvm::append_range(
        shifts, valuesOf(fused::decompose(column.getValue(), levels)->row));
    read.push_back(&powersOf(column));
  }
  if (failed(declareNeeded(shifts)))
    return failure();
  os << "#pragma unroll 1\n";
  open("for (int offset = threadIdx.x; offset < width; offset += "
       "heddle::block_threads) {");
  inner = scope;
  if (failed(readElements(read)))
    return failure();
  for (fused::ReduceOp column : columnsAfter) {
    Exponential &powers = powersOf(column);
    std::string type = computed(column);
    std::string shift =
        sumOf(fused::decompose(column.getValue(), levels)->row, type);
    std::string base = "heddle::per_bit<" + type + ">(" +
                       (shift.empty() ? "0" : shift) + ") + " +
                       columnTerm(powers);
    os << of[column] << "[offset] += heddle::exp_2("
       << argumentInBaseTwo(powers, base) << ");\n";
  }
  scope = inner;
  close();
  os << "__syncthreads();\n"
     << "if (threadIdx.x == 0)\n  " << sum.shift
     << "[r] = " << scope[sum.reduce.getResult(0)] << ", "
     << rowSums[sum.reduce] << "[r] = 1;\n";
  close();
  os << "__syncthreads();\n";
  endFallback();
  return success();
}

/// Prints the function that recomputes the log-sum-exps of columns about their
/// maxima, over all rows.
LogicalResult PanelEmitter::emitColumnFallback(fused::ReduceOp column) {
  Exponential &sum = powersOf(column);
  std::string type = computed(column);
  std::string kind = "heddle::log_sum_2<" + type + ">";
  SmallVector<Value> roots;
  for (const fused::Term &term : sum.exponent.element)
    roots.push_back(term.value);
  Arguments arguments = {
      {"heddle::member_barrier", "loop.barrier"},
      {"const " + type + " *", scratch(column, PanelScratchPer::row)}};
  llvm::append_range(arguments, scalarsReached(roots, {&sum}));
  calls[column] = beginFallback(
      "Fallback: recomputes `count` of the columns that this block combines, "
      "from the `base`th on, about their maxima.",
      fallbacks[column], arguments, Twine(type) + " *to, int base, int count");
  os << "barrier.wait_for_rows();\n"
     << "__shared__ heddle::log_sum<" << type
     << "> of_thread[heddle::block_threads];\n"
     << "const int lane = threadIdx.x % 32, warps = heddle::block_threads / "
        "32;\n";
  open("for (int b = 0; b < count; b += 32) {");
  os << "const long long column = heddle::position().combined_column(base + b "
        "+ lane);\n"
     << "heddle::sync_combining_threads(); // the previous columns have been "
        "combined\n"
     << "#pragma unroll 1\n";
  // The rows of each warp of the block, whichever warps are combining.
  open("for (int warp = threadIdx.x / 32; warp < warps; warp += "
       "heddle::combining_threads / 32) {");
  os << "auto sum_state = " << kind << "::neutral();\n"
     << "#pragma unroll 1\n";
  open("for (long long row = warp; b + lane < count && row < member().count; "
       "row += warps) {");
  for (Value input : inputsOf(roots, Level::element))
    declareInput(input, pointers[slotOf(input)] + "[row * " +
                            pointers[slotOf(input) + 1] + " + column]");
  for (Value input : inputsOf(roots, Level::row))
    declareInput(input, "heddle::value_of_row(" + pointers[slotOf(input)] +
                            ", row, member().count)");
  for (Value input : inputsOf(roots, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]");
  if (failed(declareNeeded(roots)))
    return failure();
  os << "sum_state = " << kind << "::combine(sum_state, " << kind << "::lift("
     << argumentInBaseTwo(sum, "heddle::value_of_row(" +
                                   scratch(column, PanelScratchPer::row) +
                                   ", row, member().count)")
     << "));\n";
  close();
  os << "of_thread[warp * 32 + lane] = sum_state;\n";
  close();
  os << "heddle::sync_combining_threads();\n";
  open("if (threadIdx.x < 32 && b + lane < count) {");
  os << "auto sum_state = of_thread[lane];\n"
     << "#pragma unroll 1\n"
     << "for (int warp = 1; warp < warps; ++warp)\n"
     << "  sum_state = " << kind
     << "::combine(sum_state, of_thread[warp * 32 + lane]);\n"
     << "to[b + lane] = " << kind << "::value(sum_state);\n";
  close();
  close();
  os << "heddle::sync_combining_threads();\n";
  endFallback();
  return success();
}

} // namespace heddle::cuda
