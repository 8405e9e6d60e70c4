//===- PanelRepair.cpp - sums that were not safe --------------------------===//
//
// Rows and columns whose sums of exponentials lost something are reduced anew
// around their maxima, by functions that are printed where they are called:
// what is rare must not cost anything before.
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

/// What is left to do for rows whose sums were not safe: their log-sum-exps
/// around their maxima, and their part of the columns, from memory. A function
/// of its own, so that the walk has the registers.
LogicalResult PanelEmitter::emitRepair(Exponential &sum) {
  Scope outer = scope;
  scope = tripScope;
  std::string type = computed(sum.reduce),
              kind = "heddle::log_sum_2<" + type + ">";
  SmallVector<fused::ReduceOp> awaiting;
  for (fused::ReduceOp column : passes.columns)
    if (passes.awaited.lookup(column) == sum.reduce.getOperation())
      awaiting.push_back(column);
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
                              " + first_column + c]");
    for (Value input : inputsOf(columns, Level::column))
      declareInput(input, pointers[slotOf(input)] + "[first_column + c]");
    columns.append(elements.begin(), elements.end());
    return declareNeeded(columns);
  };
  auto columnPart = [&](const Exponential &of) {
    std::string type = computed(of.reduce), part = columnPartOf(of);
    return part.empty() ? "static_cast<" + type + ">(0)"
                        : "heddle::per_bit<" + type + ">(" + part + ")";
  };
  open("const auto repair_" + rowSums[sum.reduce] +
       " = [=](int panel, int begin, int count) __attribute__((noinline)) {");
  os << "const long long first_of_panel = heddle::first_of_panel(panel, "
        "member.count);\n"
     << "const int width = at.width;\n"
     << "const long long first_column = at.first_column;\n";
  for (fused::ReduceOp column : awaiting)
    declareOwnParts(column);
  open("for (int r = 0; r < count; ++r) {");
  os << "if (!heddle::is_nan(" << rowSums[sum.reduce]
     << "[r]))\n  continue; // the same in all threads\n"
     << "const long long row = first_of_panel + begin + r;\n"
     << "auto state = " << kind << "::neutral();\n";
  for (Value value : rowValues)
    scope.bind(value, rowArrays[value] + "[r]");
  os << "#pragma unroll 1\n";
  open("for (int c = threadIdx.x; c < width; c += Threads) {");
  Scope inner = scope;
  if (failed(readElements(&sum)))
    return failure();
  os << "state = " << kind << "::combine(state, " << kind << "::lift("
     << argumentInBaseTwo(sum, columnPart(sum)) << "));\n";
  scope = inner;
  close();
  os << "state = heddle::over_cluster<" << kind << ", Cluster>("
     << "heddle::over_block_rarely<" << kind << ", Threads>(state));\n";
  std::string terms = sumOf(sum.exponent.row, type);
  os << "const " << type << ' '
     << scope.declare(sum.reduce.getResult(0), "exact") << " = heddle::per_e<"
     << type << ">(" << kind << "::value(state))"
     << (terms.empty() ? "" : " + (" + terms + ")") << ";\n";
  SmallVector<Value> shifts;
  SmallVector<Exponential *> read;
  for (fused::ReduceOp column : awaiting) {
    llvm::append_range(
        shifts, valuesOf(fused::decompose(column.getValue(), levels)->row));
    read.push_back(&powersOf(column));
  }
  if (failed(declareNeeded(shifts)))
    return failure();
  os << "#pragma unroll 1\n";
  open("for (int c = threadIdx.x; c < width; c += Threads) {");
  inner = scope;
  if (failed(readElements(read)))
    return failure();
  for (fused::ReduceOp column : awaiting) {
    Exponential &powers = powersOf(column);
    std::string type = computed(column);
    std::string shift =
        sumOf(fused::decompose(column.getValue(), levels)->row, type);
    std::string base = "heddle::per_bit<" + type + ">(" +
                       (shift.empty() ? "0" : shift) + ") + " +
                       columnPart(powers);
    os << columnSums[column] << "_of_panel[c] += heddle::exp_2("
       << argumentInBaseTwo(powers, base) << ");\n";
  }
  scope = inner;
  close();
  os << "__syncthreads();\n"
     << "if (threadIdx.x == 0)\n  " << sum.guess
     << "[r] = " << scope[sum.reduce.getResult(0)] << ", "
     << rowSums[sum.reduce] << "[r] = 1;\n";
  close();
  os << "__syncthreads();\n";
  close("};");
  scope = outer;
  return success();
}

/// Log-sum-exps of the columns at hand around their maxima, down all rows; a
/// function of its own.
LogicalResult PanelEmitter::emitExactColumns(fused::ReduceOp column) {
  Exponential &sum = powersOf(column);
  std::string type = computed(column);
  std::string kind = "heddle::log_sum_2<" + type + ">";
  std::string part = columnSums[column];
  Scope outer = scope;
  scope = tripScope;
  open("const auto exact = [=](" + type +
       " *to, int base, int count) "
       "__attribute__((noinline)) {");
  os << "blocks_of_member.wait_for_rows();\n"
     << "__shared__ heddle::log_sum<" << type
     << "> of_thread[heddle::combining_threads];\n"
     << "const int lane = threadIdx.x % 32;\n";
  open("for (int b = 0; b < count; b += 32) {");
  os << "const long long column = at.column(base + b + lane);\n"
     << "auto state = " << kind << "::neutral();\n";
  open("if (b + lane < count) {");
  os << "#pragma unroll 1\n";
  open("for (long long row = threadIdx.x / 32; row < member.count; row += "
       "heddle::combining_threads / 32) {");
  SmallVector<Value> roots;
  for (const fused::Term &term : sum.exponent.element)
    roots.push_back(term.value);
  for (Value input : inputsOf(roots, Level::element))
    declareInput(input, pointers[slotOf(input)] + "[row * " +
                            pointers[slotOf(input) + 1] + " + column]");
  for (Value input : inputsOf(roots, Level::row))
    declareInput(input, "heddle::of_row(" + pointers[slotOf(input)] +
                            ", row, at, member.count)");
  for (Value input : inputsOf(roots, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]");
  if (failed(declareNeeded(roots)))
    return failure();
  os << "state = " << kind << "::combine(state, " << kind << "::lift("
     << argumentInBaseTwo(sum, "heddle::of_row(" +
                                   scratch(column, PanelScratchPer::row) +
                                   ", row, at, member.count)")
     << "));\n";
  close();
  close();
  os << "heddle::meet_combining();\n"
     << "of_thread[threadIdx.x] = state;\n"
     << "heddle::meet_combining();\n";
  open("if (threadIdx.x < 32 && b + lane < count) {");
  os << "#pragma unroll 1\n"
     << "for (int warp = 1; warp < heddle::combining_threads / 32; ++warp)\n"
     << "  state = " << kind
     << "::combine(state, of_thread[warp * 32 + lane]);\n"
     << "to[b + lane] = " << kind << "::value(state);\n";
  close();
  close();
  os << "heddle::meet_combining();\n";
  close("};");
  scope = outer;
  return success();
}

} // namespace heddle::cuda
