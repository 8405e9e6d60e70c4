//===- PanelRows.cpp - rows of a loop in panels --------------------------===//
//
// What the walk finds of columns, its two passes over the elements of a row,
// the repair of sums that were not safe, and what a row leaves behind.
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

static constexpr StringRef kThere =
    "HEDDLE_PANEL_RAGGED || k == Items - 1 ? c < width : true";

/// What is wanted of columns, as it lies in memory: everything is asked for
/// before any of it is used.
void PanelEmitter::loadColumns() {
  SmallVector<Value> roots(columnValues.begin(), columnValues.end());
  for (Exponential &sum : exponentials)
    llvm::append_range(roots, valuesOf(sum.exponent.column));
  loadedColumns = inputsOf(roots, Level::column);
  for (Value input : loadedColumns) {
    std::string name = scope.fresh(
        (nameOf(input).empty() ? "column" : nameOf(input).str()) + "_read");
    loadedNames[input] = name;
    os << computedType(input.getType()) << ' ' << name << "[Items];\n";
  }
  if (loadedColumns.empty())
    return;
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  os << "const int c = threadIdx.x + k * Threads;\n";
  for (Value input : loadedColumns)
    os << loadedNames[input] << "[k] = c < width ? heddle::convert<"
       << computedType(input.getType()) << ">(" << pointers[slotOf(input)]
       << "[first_column + c]) : 0;\n";
  close();
}

LogicalResult PanelEmitter::emitColumnParts() {
  SmallVector<Value> roots(columnValues.begin(), columnValues.end());
  for (Exponential &sum : exponentials) {
    os << computed(sum.reduce) << ' ' << sum.columnPart << "[Items];\n";
    llvm::append_range(roots, valuesOf(sum.exponent.column));
  }
  for (Value value : columnValues)
    os << computedType(value.getType()) << ' ' << columnArrays[value]
       << "[Items];\n";
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  if (!exponentials.empty())
    os << "const bool there = static_cast<int>(threadIdx.x) + k * Threads < "
          "width;\n";
  Scope outer = scope;
  for (Value input : loadedColumns)
    scope.bind(input, loadedNames[input] + "[k]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : columnValues)
    os << columnArrays[value] << "[k] = " << text(value) << ";\n";
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce);
    std::string part = sumOf(sum.exponent.column, type);
    os << sum.columnPart << "[k] = there ? "
       << (part.empty() ? "0" : "heddle::per_bit<" + type + ">(" + part + ")")
       << " : -heddle::infinity<" << type << ">();\n";
  }
  scope = outer;
  close();
  return success();
}

LogicalResult PanelEmitter::emitRowValues() {
  SmallVector<Value> roots(rowValues.begin(), rowValues.end());
  for (Exponential &sum : exponentials) {
    llvm::append_range(roots, valuesOf(sum.exponent.row));
    roots.push_back(sum.reduce.getAbout());
  }
  Scope outer = scope;
  os << "if (begin > 0 || panel != at.unit)\n"
     << "  __syncthreads(); // what lies in the rows' values has been read\n";
  if (roots.empty())
    return success();
  open("for (int r = threadIdx.x; r < count; r += Threads) {");
  os << "const long long row = first_of_panel + begin + r;\n";
  for (Value input : inputsOf(roots, Level::row))
    declareInput(input, pointers[slotOf(input)] + "[row]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : rowValues)
    os << rowArrays[value] << "[r] = " << text(value) << ";\n";
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce);
    std::string guess = scope.fresh("guess");
    os << type << ' ' << guess << " = " << text(sum.reduce.getAbout()) << ";\n"
       << "if (!heddle::is_finite(" << guess << "))\n  " << guess
       << " = trip ? " << scratch(sum.reduce, PanelScratchPer::row)
       << "[at.first_row + row] : 0;\n"
       << "if (!heddle::is_finite(" << guess << "))\n  " << guess << " = 0;\n";
    std::string part = sumOf(sum.exponent.row, type);
    os << sum.guess << "[r] = " << guess << ";\n"
       << sum.rowPart << "[r] = heddle::per_bit<" << type << ">("
       << (part.empty() ? "-" : part + " - ") << guess << ");\n";
  }
  close();
  scope = outer;
  return success();
}

/// The elements of a row as the first pass finds them in shared memory.
LogicalResult PanelEmitter::emitFirstPass() {
  Scope outer = scope;
  for (auto [k, each] : llvm::enumerate(passes.rows)) {
    fused::ReduceOp row = each;
    os << (row.getAbout() ? computed(row) : stateOf(row)) << " mine"
       << (k ? std::to_string(k) : "")
       << "[Rows]; // this thread's part of the step's rows\n";
  }
  open("const auto first_pass = [&](int first, kept_of_step &kept) {");
  os << "queue.wait();\n";
  llvm::DenseMap<Operation *, std::string> parts, odds, rowParts;
  for (auto [k, row] : llvm::enumerate(passes.rows))
    parts[row] = "mine" + (k ? std::to_string(k) : "");
  os << "#pragma unroll\n";
  open("for (int q = 0; q < Rows; ++q) {");
  os << "const int r = first + q;\n";
  for (fused::ReduceOp row : passes.rows)
    os << parts[row]
       << "[q] = " << (row.getAbout() ? "0" : kindOf(row) + "::neutral()")
       << ";\n";
  open("if (Rows > 1 && r >= count) {");
  std::string kept;
  for (Exponential &sum : exponentials)
    kept += "  kept." + sum.kept + "[q][k] = 0;\n";
  if (!kept.empty())
    os << "#pragma unroll\n"
       << "for (int k = 0; k < Items; ++k)"
       << (exponentials.size() > 1 ? " {" : "") << "\n"
       << kept << (exponentials.size() > 1 ? "}\n" : "");
  os << "continue;\n";
  close();
  llvm::DenseMap<int, std::string> rows;
  for (auto [k, slot] : llvm::enumerate(panel.matrices)) {
    rows[slot] =
        scope.fresh(buffers[slots.operands[slot].buffer].name + "_row");
    StringRef type = storedType(slots.operands[slot].storage);
    os << "const " << type << " *const " << rows[slot] << " = queue.row<"
       << type << ">(q, " << k << ");\n";
  }
  SmallVector<Value> roots;
  for (fused::ReduceOp row : passes.rows)
    if (!row.getAbout())
      roots.push_back(row.getValue());
  for (Exponential &sum : exponentials)
    for (const fused::Term &term : sum.exponent.element)
      roots.push_back(term.value);
  llvm::append_range(roots, passes.kept);
  for (Value value : rowsMetBy(roots))
    os << "const " << computedType(value.getType()) << ' '
       << scope.declare(value) << " = " << rowArrays[value] << "[r];\n";
  for (Exponential &sum : exponentials) {
    rowParts[sum.reduce] = scope.fresh("part");
    os << "const " << computed(sum.reduce) << ' ' << rowParts[sum.reduce]
       << " = " << sum.rowPart << "[r];\n";
  }
  for (auto [k, row] : llvm::enumerate(passes.rows)) {
    odds[row] = scope.fresh("odd_ones");
    os << "auto " << odds[row] << " = " << parts[row] << "[q];\n";
  }
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  os << "const int c = threadIdx.x + k * Threads;\n"
     << "const bool there = " << kThere << ";\n";
  for (Value input : inputsOf(roots, Level::element))
    declareInput(input, rows[slotOf(input)] + "[c]", "there");
  for (Value value : columnValues)
    scope.bind(value, columnArrays[value] + "[k]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : passes.kept)
    os << "kept." << keptArrays[value] << "[q][k] = " << text(value) << ";\n";
  for (fused::ReduceOp row : passes.rows) {
    // Two sums, so that one need not wait for the other.
    std::string part = "(k % 2 ? " + odds[row] + " : " + parts[row] + "[q])";
    if (!row.getAbout()) {
      os << "if (there)\n  " << part << " = " << kindOf(row) << "::combine("
         << part << ", " << kindOf(row) << "::lift(" << text(row.getValue())
         << ", first_column + c));\n";
      continue;
    }
    Exponential &sum = exponentialOf(row);
    os << "kept." << sum.kept << "[q][k] = heddle::exp_2("
       << argumentInBaseTwo(sum, rowParts[row] + " + " + sum.columnPart + "[k]")
       << ");\n"
       << part << " += kept." << sum.kept << "[q][k];\n";
  }
  close();
  for (fused::ReduceOp row : passes.rows) {
    std::string kind =
        row.getAbout() ? "heddle::add<" + computed(row) + ">" : kindOf(row);
    os << parts[row] << "[q] = " << kind << "::combine(" << parts[row]
       << "[q], " << odds[row] << ");\n";
  }
  close();
  close("};");
  os << "// What the warps of the block, or the cluster, know of the step's "
        "sums.\n";
  open("const auto settle = [&] {");
  for (fused::ReduceOp row : passes.rows)
    os << ofWarps[row] << ".leave(" << parts[row] << ");\n";
  os << "if (Cluster == 1) {\n  __syncthreads();\n  queue.release();\n}\n"
     << "queue.advance();\n";
  close("};");
  scope = outer;
  return success();
}

/// Values of a row that the elements in `roots` meet.
llvm::SetVector<Value> PanelEmitter::rowsMetBy(ArrayRef<Value> roots) {
  llvm::SetVector<Value> met;
  SmallVector<Value> left(roots);
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    // The second pass finds what was kept.
    if (passes.kept.contains(value) && !llvm::is_contained(roots, value))
      continue;
    if (levels.of(value).level == Level::row)
      met.insert(value);
    else if (levels.of(value).level == Level::element && value.getDefiningOp())
      llvm::append_range(left, value.getDefiningOp()->getOperands());
  }
  return met;
}

/// What is left to do for rows whose sums were not safe: their log-sum-exps
/// around their maxima, and their part of the columns, from memory. A function
/// of its own, so that the walk has the registers.
LogicalResult PanelEmitter::emitRepair(Exponential &sum) {
  Scope outer = scope;
  std::string type = computed(sum.reduce),
              kind = "heddle::log_sum_2<" + type + ">";
  SmallVector<Value> elements, shifts;
  for (const fused::Term &term : sum.exponent.element)
    elements.push_back(term.value);
  auto readElements = [&] {
    for (Value input : inputsOf(elements, Level::element))
      declareInput(input, pointers[slotOf(input)] + "[row * " +
                              pointers[slotOf(input) + 1] +
                              " + first_column + c]");
    SmallVector<Value> columns = valuesOf(sum.exponent.column);
    llvm::append_range(columns, columnValues);
    for (Value input : inputsOf(columns, Level::column))
      declareInput(input, pointers[slotOf(input)] + "[first_column + c]");
    columns.append(elements.begin(), elements.end());
    return declareNeeded(columns);
  };
  auto columnPart = [&] {
    std::string part = sumOf(sum.exponent.column, type);
    return part.empty() ? "static_cast<" + type + ">(0)"
                        : "heddle::per_bit<" + type + ">(" + part + ")";
  };
  open("const auto repair_" + rowSums[sum.reduce] +
       " = [=](int panel, int begin, int count) __attribute__((noinline)) {");
  os << "const long long first_of_panel = decltype(queue)::first_of(panel, "
        "member.count);\n"
     << "const int width = at.width;\n"
     << "const long long first_column = at.first_column;\n";
  open("for (int r = 0; r < count; ++r) {");
  os << "if (!heddle::is_nan(" << rowSums[sum.reduce]
     << "[r]))\n  continue; // the same in all threads\n"
     << "const long long row = first_of_panel + begin + r;\n"
     << "auto state = " << kind << "::neutral();\n";
  for (Value value : rowValues)
    scope.bind(value, rowArrays[value] + "[r]");
  open("for (int c = threadIdx.x; c < width; c += Threads) {");
  Scope inner = scope;
  if (failed(readElements()))
    return failure();
  os << "state = " << kind << "::combine(state, " << kind << "::lift("
     << argumentInBaseTwo(sum, columnPart()) << "));\n";
  scope = inner;
  close();
  os << "state = heddle::over_cluster<" << kind << ", Cluster>("
     << "heddle::over_block<" << kind << ", Threads>(state));\n";
  std::string terms = sumOf(sum.exponent.row, type);
  os << "const " << type << ' '
     << scope.declare(sum.reduce.getResult(0), "exact") << " = heddle::per_e<"
     << type << ">(" << kind << "::value(state))"
     << (terms.empty() ? "" : " + (" + terms + ")") << ";\n";
  llvm::DenseMap<Operation *, fused::Exponent> own;
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column) == sum.reduce.getOperation()) {
      own[column] = *fused::decompose(column.getValue(), levels);
      llvm::append_range(shifts, valuesOf(own[column].row));
    }
  if (failed(declareNeeded(shifts)))
    return failure();
  open("for (int c = threadIdx.x; c < width; c += Threads) {");
  inner = scope;
  if (failed(readElements()))
    return failure();
  for (fused::ReduceOp column : passes.columns)
    if (own.contains(column)) {
      std::string shift = sumOf(own[column].row, type);
      std::string base = "heddle::per_bit<" + type + ">(" +
                         (shift.empty() ? "0" : shift) + ") + " + columnPart();
      os << scratch(column, PanelScratchPer::panelColumn)
         << "[at.first_part + panel * member.columns + first_column + c] += "
            "heddle::exp_2("
         << argumentInBaseTwo(sum, base) << ");\n";
    }
  scope = inner;
  close();
  os << "__syncthreads();\n"
     << "if (threadIdx.x == 0)\n  " << sum.guess
     << "[r] = " << scope[sum.reduce.getResult(0)] << ", "
     << rowSums[sum.reduce] << "[r] = 1;\n";
  close();
  close("};");
  scope = outer;
  return success();
}

/// Declares the row values that `roots` are computed from; reductions of the
/// row are in scope.
LogicalResult PanelEmitter::declareRowsAfter(ArrayRef<Value> roots) {
  for (Value value : rowValues)
    if (!scope.knows(value))
      scope.bind(value, rowArrays[value] + "[r]");
  return declareNeeded(roots);
}

LogicalResult PanelEmitter::emitSecondPass() {
  Scope outer = scope;
  open("const auto second_pass = [&](int first, kept_of_step &kept) {");
  os << "// Each lane has a row of its own.\n"
     << "const int r = first + threadIdx.x % Rows;\n"
     << "const bool is_row = Rows == 1 || r < count;\n";
  llvm::DenseMap<Operation *, std::string> safe, totals;
  for (fused::ReduceOp row : passes.rows) {
    std::string total = totals[row] = scope.fresh("total");
    os << "const auto " << total << " = " << ofWarps[row] << ".meet();\n";
    std::string type = computed(row);
    if (!row.getAbout()) {
      os << "const " << type << ' ' << scope.declare(row.getResult(0), "row")
         << " = " << kindOf(row) << "::value(" << total << ");\n";
      continue;
    }
    safe[row] = scope.fresh("safe");
    os << "bool " << safe[row] << " = heddle::is_safe_row(" << total << ");\n"
       << "const " << type << ' ' << scope.declare(row.getResult(0), "row")
       << " = " << safe[row] << " ? " << exponentialOf(row).guess
       << "[r] + heddle::per_e<" << type << ">(heddle::rough_log_2(" << total
       << ")) : 0;\n";
  }
  os << "if (Cluster > 1)\n  queue.release();\n";
  if (failed(declareRowsAfter(scales.getArrayRef())))
    return failure();
  llvm::DenseMap<Operation *, std::string> powers;
  for (fused::ReduceOp column : passes.columns) {
    Operation *shared = sharedBy(column);
    if (!shared)
      continue;
    auto own = *fused::decompose(column.getValue(), levels);
    std::string type = computed(column), terms = sumOf(own.row, type);
    powers[column] = scope.fresh("scale");
    os << type << ' ' << powers[column] << " = heddle::exp_2(heddle::per_bit<"
       << type << ">(" << (terms.empty() ? "0" : terms) << ") - "
       << exponentialOf(shared).rowPart << "[r]);\n"
       << safe[shared] << " &= heddle::is_safe_scale(" << powers[column]
       << ");\n";
  }
  // What is left to the repair gives nothing now.
  for (fused::ReduceOp column : passes.columns)
    if (Operation *shared = sharedBy(column))
      os << powers[column] << " = is_row && " << safe[shared] << " ? "
         << powers[column] << " : 0;\n";
  for (Exponential &sum : exponentials)
    os << "bad |= is_row && !" << safe[sum.reduce] << ";\n";
  open("if (threadIdx.x < Rows && is_row) {");
  for (fused::ReduceOp row : passes.rows) {
    os << rowSums[row] << "[r] = ";
    if (row.getAbout())
      os << safe[row] << " ? " << totals[row] << " : heddle::not_a_number<"
         << computed(row) << ">();\n";
    else
      os << scope[row.getResult(0)] << ";\n";
  }
  close();
  os << "#pragma unroll\n";
  open("for (int q = 0; q < Rows; ++q) {");
  SmallVector<Value> roots;
  for (fused::ReduceOp column : passes.columns)
    if (!sharedBy(column))
      roots.push_back(column.getValue());
  if (!roots.empty()) {
    open("if (Rows > 1 && first + q >= count)");
    os << "continue;\n";
    os.unindent();
    for (Value value : rowsMetBy(roots)) {
      std::string name = scope.fresh("of_q");
      os << "const " << computedType(value.getType()) << ' ' << name << " = ";
      if (passes.isSecond(value))
        os << "heddle::of_row<Rows>(" << text(value) << ", q);\n";
      else
        os << rowArrays[value] << "[first + q];\n";
      scope.bind(value, name);
    }
  }
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column)) {
      std::string own = scope.fresh(powers[column] + "_of_q");
      os << "const " << computed(column) << ' ' << own
         << " = heddle::of_row<Rows>(" << powers[column] << ", q);\n";
      powers[column] = own;
    }
  for (fused::ReduceOp column : passes.columns)
    if (Operation *shared = sharedBy(column)) {
      open("if (" + powers[column] + " != 0) // exponentials may be infinite");
      os << "#pragma unroll\n";
      open("for (int k = 0; k < Items; ++k)");
      os << columnSums[column] << "[k] = heddle::multiply_add(kept."
         << exponentialOf(shared).kept << "[q][k], " << powers[column] << ", "
         << columnSums[column] << "[k]);\n";
      os.unindent();
      os.unindent();
    }
  if (!roots.empty()) {
    os << "#pragma unroll\n";
    open("for (int k = 0; k < Items; ++k) {");
    os << "const int c = threadIdx.x + k * Threads;\n"
       << "const bool there = " << kThere << ";\n";
    for (Value value : passes.kept)
      scope.bind(value, "kept." + keptArrays[value] + "[q][k]");
    for (Value value : columnValues)
      scope.bind(value, columnArrays[value] + "[k]");
    if (failed(declareNeeded(roots)))
      return failure();
    for (fused::ReduceOp column : passes.columns)
      if (!sharedBy(column)) {
        std::string part = columnSums[column] + "[k]";
        os << "if (there)\n  " << part << " = " << kindOf(column)
           << "::combine(" << part << ", " << kindOf(column) << "::lift("
           << text(column.getValue()) << "));\n";
      }
    close();
  }
  close();
  close("};");
  scope = outer;
  return success();
}

/// What a row leaves behind, by one thread for each row.
LogicalResult PanelEmitter::emitRowResults() {
  Scope outer = scope;
  os << "__syncthreads();\n";
  open("for (int r = threadIdx.x; r < count; r += Threads) {");
  os << "const long long row = first_of_panel + begin + r;\n";
  for (fused::ReduceOp row : passes.rows)
    if (row.getAbout())
      os << "const " << computed(row) << ' '
         << scope.declare(row.getResult(0), "row") << " = "
         << exponentialOf(row).guess << "[r] + heddle::per_e<" << computed(row)
         << ">(heddle::log_2(" << rowSums[row] << "[r]));\n";
    else
      scope.bind(row.getResult(0), rowSums[row] + "[r]");
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<Value> roots;
  auto isRowResult = [&](int slot) {
    return slot >= 0 && slots.operands[slot].index == kI;
  };
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isRowResult(slot))
      roots.push_back(value);
  for (fused::ReduceOp member : passes.members)
    if (!isOverColumns(member))
      roots.push_back(member.getValue());
  llvm::DenseMap<Operation *, fused::Exponent> own;
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column)) {
      own[column] = *fused::decompose(column.getValue(), levels);
      llvm::append_range(roots, valuesOf(own[column].row));
    }
  for (Value input : inputsOf(roots, Level::row))
    declareInput(input, pointers[slotOf(input)] + "[row]");
  if (failed(declareNeeded(roots)))
    return failure();
  open("if (at.rank == 0) {");
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isRowResult(slot))
      os << pointers[slot]
         << "[row] = " << storedExpression(value, slots.operands[slot].storage)
         << ";\n";
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column)) {
      std::string type = computed(column);
      std::string terms = sumOf(own[column].row, type);
      os << scratch(column, PanelScratchPer::row)
         << "[at.first_row + row] = heddle::per_bit<" << type << ">("
         << (terms.empty() ? "0" : terms) << ");\n";
    }
  for (Exponential &sum : exponentials)
    os << scratch(sum.reduce, PanelScratchPer::row)
       << "[at.first_row + row] = " << text(sum.reduce.getResult(0)) << ";\n";
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

LogicalResult PanelEmitter::emitPanels() {
  for (Exponential &sum : exponentials)
    if (failed(emitRepair(sum)))
      return failure();
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column) && failed(emitExactColumns(column)))
      return failure();
  open("for (int panel = at.unit; panel < at.used; panel += at.units) {");
  Scope outer = scope;
  declareAccumulators([&](Operation *op) {
    return cast<fused::ReduceOp>(op).getLevel() == Level::member;
  });
  if (failed(emitOverColumns()))
    return failure();
  os << "const long long first_of_panel = queue.first_of(panel, member.count);"
        "\n"
     << "const int all = queue.rows_of(panel, member.count);\n"
     << "const int width = at.width;\n"
     << "const long long first_column = at.first_column;\n";
  open("for (int begin = 0; begin == 0 || begin < all; begin += "
       "heddle::panel_rows) {");
  os << "const int count = all - begin < heddle::panel_rows ? all - begin : "
        "heddle::panel_rows;\n";
  for (fused::ReduceOp column : passes.columns)
    os << (sharedBy(column) ? computed(column) : stateOf(column)) << ' '
       << columnSums[column] << "[Items];\n";
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column]
       << "[k] = " << (sharedBy(column) ? "0" : kindOf(column) + "::neutral()")
       << ";\n";
  close();
  if (!exponentials.empty())
    os << "bool bad = false; // a row whose sum was not safe\n";
  loadColumns();
  if (failed(emitRowValues()) || failed(emitColumnParts()))
    return failure();
  if (!layout.whereOperand.empty())
    os << "if (!more)\n  goto stopped;\n";
  os << "__syncthreads();\n";
  if (failed(emitFirstPass()) || failed(emitSecondPass()))
    return failure();
  os << "kept_of_step even, odd;\n";
  open("if (count > 0) {");
  os << "first_pass(0, even);\nsettle();\n";
  close();
  os << "// The second pass of a step runs while the elements of the next "
        "come.\n";
  open("for (int first = 0; first < count; first += 2 * Rows) {");
  open("if (first + Rows >= count) {");
  os << "second_pass(first, even);\nbreak;\n";
  close();
  os << "first_pass(first + Rows, odd);\n"
     << "second_pass(first, even);\n"
     << "settle();\n";
  open("if (first + 2 * Rows >= count) {");
  os << "second_pass(first + Rows, odd);\nbreak;\n";
  close();
  os << "first_pass(first + 2 * Rows, even);\n"
     << "second_pass(first + Rows, odd);\n"
     << "settle();\n";
  close();
  os << "// The part of these rows of every column.\n"
     << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  os << "const int c = threadIdx.x + k * Threads;\n";
  open("if (c < width) {");
  for (fused::ReduceOp column : passes.columns) {
    std::string kind = sharedBy(column)
                           ? "heddle::add<" + computed(column) + ">"
                           : kindOf(column);
    std::string part = columnSums[column] + "[k]";
    os << "auto &part = " << scratch(column, PanelScratchPer::panelColumn)
       << "[at.first_part + panel * member.columns + first_column + c];\n"
       << "part = begin == 0 ? " << part << " : " << kind << "::combine(part, "
       << part << ");\n";
    if (&column != &passes.columns.back())
      os.unindent() << "}\n", open("if (c < width) {");
  }
  close();
  close();
  if (!exponentials.empty()) {
    os << "if (__syncthreads_or(bad)) {\n";
    for (Exponential &sum : exponentials)
      os << "  repair_" << rowSums[sum.reduce] << "(panel, begin, count);\n";
    os << "}\n";
  }
  if (failed(emitRowResults()))
    return failure();
  close();
  for (fused::ReduceOp member : passes.members) {
    std::string part = accumulators[member];
    os << part << " = heddle::over_block<" << kindOf(member) << ", Threads>("
       << part << ");\n"
       << "if (threadIdx.x == 0 && at.rank == 0)\n  "
       << scratch(member, PanelScratchPer::panel)
       << "[at.first_panel + panel] = " << part << ";\n";
  }
  scope = outer;
  close();
  return success();
}

} // namespace heddle::cuda
