//===- PanelRows.cpp - rows of a loop in panels ---------------------------===//
//
// What a trip needs of rows before the walk, what rows leave behind after it,
// and the panels around both.
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

LogicalResult PanelEmitter::emitRowValues() {
  SmallVector<Value> roots(rowValues.begin(), rowValues.end());
  for (Exponential &sum : exponentialsOfRows()) {
    llvm::append_range(roots, valuesOf(sum.exponent.row));
    roots.push_back(sum.reduce.getShift());
  }
  SmallVector<fused::ReduceOp> normalized;
  llvm::DenseMap<Operation *, std::string> guesses;
  for (fused::ReduceOp column : passes.columns)
    if (numerators.contains(column))
      normalized.push_back(column);
  Scope outer = scope;
  os << "if (begin > 0 || panel != at.unit)\n"
     << "  __syncthreads(); // what lies in the rows' values has been read\n";
  if (roots.empty())
    return success();
  // By the threads that know what the same rows have left behind.
  os << "#pragma unroll 1\n";
  open("for (int r = Threads - 1 - threadIdx.x; r < count; r += Threads) {");
  os << "const long long row = first_of_panel + begin + r;\n";
  for (Value input : inputsOf(roots, Level::row))
    declareInput(input, pointers[slotOf(input)] + "[row]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : rowValues)
    os << rowArrays[value] << "[r] = " << text(value) << ";\n";
  for (Exponential &sum : exponentialsOfRows()) {
    std::string type = computed(sum.reduce);
    std::string guess = scope.fresh("guess");
    os << type << ' ' << guess << " = " << text(sum.reduce.getShift()) << ";\n"
       << "if (!heddle::is_finite(" << guess << "))\n  " << guess
       << " = trip ? " << scratch(sum.reduce, PanelScratchPer::row)
       << "[row] : 0;\n"
       << "if (!heddle::is_finite(" << guess << "))\n  " << guess << " = 0;\n";
    std::string part = sumOf(sum.exponent.row, type);
    os << sum.guess << "[r] = " << guess << ";\n"
       << sum.rowPart << "[r] = heddle::per_bit<" << type << ">("
       << (part.empty() ? "-" : part + " - ") << guess << ");\n";
    guesses[sum.reduce] = guess;
  }
  // If the guess were right the sum would be 1.
  for (fused::ReduceOp column : normalized) {
    auto own = *fused::decompose(column.getValue(), levels);
    std::string type = computed(column);
    scope.bind(sharedBy(column)->getResult(0), guesses[sharedBy(column)]);
    if (failed(declareNeeded(valuesOf(own.row))))
      return failure();
    os << numerators[column] << "[r] = heddle::exp_2(heddle::per_bit<" << type
       << ">(" << sumOf(own.row, type) << ") - "
       << exponentialOf(sharedBy(column)).rowPart << "[r]);\n";
  }
  close();
  scope = outer;
  return success();
}

/// What a row leaves behind, by one thread for each row.
LogicalResult PanelEmitter::emitRowResults() {
  Scope outer = scope;
  os << "#pragma unroll 1\n";
  open("for (int r = Threads - 1 - threadIdx.x; r < count; r += Threads) {");
  os << "const long long row = first_of_panel + begin + r;\n";
  for (fused::ReduceOp row : passes.rows)
    if (row.getShift())
      os << "const " << computed(row) << ' '
         << scope.declare(row.getResult(0), "row") << " = "
         << exponentialOf(row).guess << "[r] + heddle::per_e<" << computed(row)
         << ">(heddle::log_2(" << rowSums[row] << "[r]));\n";
    else
      scope.bind(row.getResult(0), rowSums[row] + "[r]");
  auto yield = sweep.getSegmentYield(segment);
  if (failed(declareRowsAfter(rootsOfResults())))
    return failure();
  open("if (at.rank == 0) {");
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (slot >= 0 && slots.operands[slot].index == kI)
      os << pointers[slot]
         << "[row] = " << storedExpression(value, slots.operands[slot].storage)
         << ";\n";
  for (fused::ReduceOp column : passes.columns)
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
  for (fused::ReduceOp member : passes.members)
    if (!isOverColumns(member))
      os << accumulators[member] << " = " << kindOf(member) << "::combine("
         << accumulators[member] << ", " << kindOf(member) << "::lift("
         << text(member.getValue()) << ", row));\n";
  close();
  scope = outer;
  return success();
}

/// Values of columns that are combined over the member, as they are before the
/// trip: each panel in use takes its turn.
LogicalResult PanelEmitter::emitOverColumns() {
  SmallVector<Value> roots;
  for (fused::ReduceOp member : passes.members)
    if (isOverColumns(member))
      roots.push_back(member.getValue());
  if (roots.empty())
    return success();
  Scope outer = scope;
  open("for (long long column = panel + static_cast<long long>(threadIdx.x) * "
       "at.used; column < member.columns; column += static_cast<long "
       "long>(Threads) * at.used) {");
  for (Value input : inputsOf(roots, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (fused::ReduceOp member : passes.members)
    if (isOverColumns(member))
      os << accumulators[member] << " = " << kindOf(member) << "::combine("
         << accumulators[member] << ", " << kindOf(member) << "::lift("
         << text(member.getValue()) << ", column));\n";
  close();
  scope = outer;
  return success();
}

/// The way that what panels have of `op`'s columns, or of its member, takes.
std::string PanelEmitter::partsOf(fused::ReduceOp op) const {
  bool isColumn = llvm::is_contained(passes.columns, op);
  auto &of = isColumn ? passes.columns : passes.members;
  std::string number = std::to_string(llvm::find(of, op) - of.begin());
  if (isColumn)
    return "heddle::parts_of_columns<" + partType(op) + ", " + number + ">";
  return "heddle::parts_of_member<" + partKind(op) + ", " + number + ", " +
         (isOverColumns(op) ? "false" : "true") + ">";
}

/// What the block's panel has of its columns.
void PanelEmitter::declareOwnParts(fused::ReduceOp column) {
  os << "auto *const " << columnSums[column]
     << "_of_panel = " << partsOf(column) << "::own("
     << scratch(column, PanelScratchPer::panelColumn)
     << ", at, panel, member.columns);\n";
}

LogicalResult PanelEmitter::emitPanels() {
  tripScope = scope;
  open("for (int panel = at.unit; panel < at.panels_in_use(); panel += "
       "at.units) {");
  Scope outer = scope;
  declareAccumulators([&](Operation *op) {
    return cast<fused::ReduceOp>(op).getLevel() == Level::member;
  });
  if (failed(emitOverColumns()))
    return failure();
  os << "const long long first_of_panel = at.first_of(panel, member.count);\n"
     << "const int all = at.rows_of(panel, member.count);\n"
     << "const int width = at.width, t = heddle::thread_of_crew();\n"
     << "const long long first_column = at.first_column;\n";
  open("for (int begin = 0; begin == 0 || begin < all; begin += "
       "heddle::panel_rows) {");
  os << "const int count = all - begin < heddle::panel_rows ? all - begin : "
        "heddle::panel_rows;\n";
  for (fused::ReduceOp column : passes.columns)
    os << partType(column) << ' ' << columnSums[column] << "[Items];\n";
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column] << "[k] = "
       << (fused::PanelAnalysis::sumsPowers(column) ? "0"
                                            : kindOf(column) + "::neutral()")
       << ";\n";
  close();
  if (hasExponentialsOfRows())
    os << "bool bad = false; // a row whose sum was not safe\n";
  if (waitsLate()) {
    auto meetBefore = [&](StringRef what, StringRef why) {
      open("if (" + what + " && begin == 0 && panel == at.unit) {" + why);
      emitMeetValues();
      close();
    };
    meetBefore("Cluster > 1", " // one block of a cluster stores its rows");
    if (failed(emitRowValues()))
      return failure();
    meetBefore("Cluster == 1", "");
    emitMore();
    loadColumns();
  } else {
    loadColumns();
    if (failed(emitRowValues()))
      return failure();
  }
  if (failed(emitColumnParts()))
    return failure();
  emitFound("tell_columns");
  if (!layout.whereOperand.empty())
    os << "if (!more)\n  goto stopped;\n";
  os << "blocks_of_member.begin(at);\n"
     << "__syncthreads();\n";
  emitFound("hear_columns");
  os << "if (Tells && !heddle::has_own_room)\n  __syncthreads(); // it is free "
        "again\n";
  Scope walk = scope;
  open("for (int first = heddle::crew_of_thread(); first < count; first += "
       "heddle::crews * Rows) {");
  if (failed(emitFirstPass()) || failed(emitSecondPass()))
    return failure();
  close();
  scope = walk;
  os << "// The part of these rows of every column.\n";
  for (fused::ReduceOp column : passes.columns) {
    std::string kind = partKind(column);
    bool isFirst = column == passes.columns.front();
    declareOwnParts(column);
    if (!isFirst)
      os << "if (heddle::crews > 1)\n  __syncthreads(); // the one before has "
            "been combined\n";
    os << "heddle::leave_columns(" << columnSums[column] << ", gather);\n";
    if (!isFirst)
      os << "if (heddle::crews > 1)\n  __syncthreads();\n";
    else if (!hasExponentialsOfRows())
      os << "__syncthreads();\n";
    else
      os << "const bool unsafe = __syncthreads_or(bad);\n";
    open("heddle::over_crews<" + kind + ">(" + columnSums[column] +
         ", width, gather, [&](int c, " + partType(column) + " part) {");
    std::string to = columnSums[column] + "_of_panel[c]";
    os << to << " = begin == 0 ? part : " << kind << "::combine(" << to
       << ", part);\n";
    close("});");
  }
  if (hasExponentialsOfRows()) {
    open("if (unsafe) {");
    os << "__syncthreads();\n";
    for (Exponential &sum : exponentialsOfRows()) {
      if (failed(emitRepair(sum)))
        return failure();
      os << "repair_" << rowSums[sum.reduce] << "(panel, begin, count);\n";
    }
    close();
  }
  os << "#if HEDDLE_PANEL_TEAM\n__syncthreads();\n";
  for (fused::ReduceOp column : passes.columns)
    os << partsOf(column) << "::give(at, panel, member.columns);\n";
  os << "#endif\n";
  os << "if (begin + heddle::panel_rows >= all && panel + at.units >= "
        "at.used)\n"
     << "  blocks_of_member.give_columns();\n";
  if (failed(emitRowResults()))
    return failure();
  os << "if (HEDDLE_PANEL_TEAM)\n  break; // all that it has\n";
  close();
  for (fused::ReduceOp member : passes.members) {
    os << partsOf(member) << "::give("
       << scratch(member, PanelScratchPer::panel) << ", at, panel, "
       << accumulators[member] << ");\n";
  }
  os << "if (HEDDLE_PANEL_TEAM)\n  break; // it has one\n";
  scope = outer;
  close();
  return success();
}

} // namespace heddle::cuda
