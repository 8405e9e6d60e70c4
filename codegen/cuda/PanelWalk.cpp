//===- PanelWalk.cpp - a crew on its way over rows ------------------------===//
//
// What the walk finds of columns, and its two passes over the elements of a
// row.
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

/// What the exponents of `sum` have of a column is made of.
SmallVector<Value> PanelEmitter::valuesOfColumns(const Exponential &sum) {
  SmallVector<Value> values = valuesOf(sum.exponent.column);
  if (!sum.isOfRows())
    values.push_back(fused::ReduceOp(sum.reduce).getShift());
  return values;
}

/// What the exponents of `sum` have of a column: of its own exponentials also
/// what they are taken about. An empty string where there is nothing.
std::string PanelEmitter::columnPartOf(const Exponential &sum) {
  std::string part = sumOf(sum.exponent.column, computed(sum.reduce));
  if (!sum.isOfRows())
    part +=
        (part.empty() ? "-" : " - ") +
        ("heddle::known(" + text(fused::ReduceOp(sum.reduce).getShift()) + ")");
  return part;
}

/// What is wanted of columns, as it lies in memory: everything is asked for
/// before any of it is used.
void PanelEmitter::loadColumns() {
  SmallVector<Value> roots(columnValues.begin(), columnValues.end());
  for (Exponential &sum : exponentials)
    llvm::append_range(roots, valuesOfColumns(sum));
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
  open("for (int k = 0; k < heddle::columns_found<Tells, Items>; ++k) {");
  os << "const int c = heddle::column_found<Tells>(k);\n"
     << "const bool there = heddle::finds_column<Tells, Items>(k, width);\n";
  for (Value input : loadedColumns)
    os << loadedNames[input] << "[k] = there ? heddle::convert<"
       << computedType(input.getType()) << ">(" << pointers[slotOf(input)]
       << "[first_column + c]) : 0;\n";
  close();
}

/// Whether what the walk finds of columns goes from thread to thread.
void PanelEmitter::declareTells() {
  std::string sizes = "0";
  for (Value value : columnValues)
    sizes += (" + sizeof(" + computedType(value.getType()) + ")").str();
  for (Exponential &sum : exponentials)
    sizes += " + sizeof(" + computed(sum.reduce) + ")";
  std::string widest;
  int64_t bytes = 0;
  for (fused::ReduceOp column : passes.columns)
    if (int64_t own = storageBytes(column.getValue().getType()); own > bytes) {
      bytes = own;
      widest = computed(column);
    }
  os << "constexpr bool Tells = heddle::room_of_column<" << widest << ", "
     << 4 * panel.words << "> >= " << sizes << ";\n"
     << "char *const found = heddle::has_own_room ? gather + Threads * Items * "
        "sizeof("
     << widest << ") : gather;\n";
}

/// Calls `function` for all that was found of columns.
void PanelEmitter::emitFound(StringRef function) {
  std::string before;
  auto emit = [&](StringRef name, StringRef type) {
    os << "heddle::" << function << "<Tells>(" << name << ", found"
       << (before.empty() ? ""
                          : " + (" + before +
                                ") * Items * "
                                "heddle::crew_threads")
       << ");\n";
    before += ((before.empty() ? "sizeof(" : " + sizeof(") + type + ")").str();
  };
  for (Exponential &sum : exponentials)
    emit(sum.columnPart, computed(sum.reduce));
  for (Value value : columnValues)
    emit(columnArrays[value], computedType(value.getType()));
}

LogicalResult PanelEmitter::emitColumnParts() {
  SmallVector<Value> roots(columnValues.begin(), columnValues.end());
  for (Exponential &sum : exponentials) {
    os << computed(sum.reduce) << ' ' << sum.columnPart << "[Items];\n";
    llvm::append_range(roots, valuesOfColumns(sum));
  }
  for (Value value : columnValues)
    os << computedType(value.getType()) << ' ' << columnArrays[value]
       << "[Items];\n";
  os << "#pragma unroll\n";
  open("for (int k = 0; k < heddle::columns_found<Tells, Items>; ++k) {");
  if (!exponentials.empty())
    os << "const bool there = heddle::finds_column<Tells, Items>(k, width);\n";
  Scope outer = scope;
  for (Value input : loadedColumns)
    scope.bind(input, loadedNames[input] + "[k]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : columnValues)
    os << columnArrays[value] << "[k] = " << text(value) << ";\n";
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce), part = columnPartOf(sum);
    os << sum.columnPart << "[k] = there ? "
       << (part.empty() ? "0" : "heddle::per_bit<" + type + ">(" + part + ")")
       << " : -heddle::infinity<" << type << ">();\n";
  }
  scope = outer;
  close();
  return success();
}

/// The first pass of a row: its elements, as they lie in shared memory, and
/// what this thread has of its reductions.
LogicalResult PanelEmitter::emitFirstPass() {
  os << "queue.wait();\n";
  llvm::DenseMap<Operation *, std::string> parts, odds, rowParts;
  for (fused::ReduceOp row : passes.rows) {
    parts[row] = scope.fresh("mine");
    os << partType(row) << ' ' << parts[row] << "[Rows];\n";
  }
  for (Exponential &sum : exponentialsOfRows())
    os << computed(sum.reduce) << ' ' << sum.kept << "[Rows][Items];\n";
  for (Value value : passes.kept)
    os << computedType(value.getType()) << ' ' << keptArrays[value]
       << "[Rows][Items];\n";
  Scope outer = scope;
  openRows();
  llvm::DenseMap<int, std::string> rows;
  for (auto [k, slot] : llvm::enumerate(panel.matrices)) {
    rows[slot] =
        scope.fresh(buffers[slots.operands[slot].buffer].name + "_row");
    StringRef type = storedType(slots.operands[slot].storage);
    os << "const " << type << " *const " << rows[slot] << " = queue.row<"
       << type << ">(" << k << ", is_row ? b : 0);\n";
  }
  SmallVector<Value> roots;
  for (fused::ReduceOp row : passes.rows)
    if (!row.getShift())
      roots.push_back(row.getValue());
  for (Exponential &sum : exponentialsOfRows())
    for (const fused::Term &term : sum.exponent.element)
      roots.push_back(term.value);
  llvm::append_range(roots, passes.kept);
  for (Value value : rowsMetBy(roots))
    os << "const " << computedType(value.getType()) << ' '
       << scope.declare(value) << " = " << rowArrays[value] << "[r];\n";
  for (Exponential &sum : exponentialsOfRows()) {
    rowParts[sum.reduce] = scope.fresh("part");
    os << "const " << computed(sum.reduce) << ' ' << rowParts[sum.reduce]
       << " = " << sum.rowPart << "[r];\n";
  }
  // Two sums, so that one need not wait for the other.
  llvm::DenseMap<Operation *, std::string> evens;
  for (fused::ReduceOp row : passes.rows) {
    evens[row] = scope.fresh("even_ones");
    odds[row] = scope.fresh("odd_ones");
    std::string none = row.getShift() ? "0" : kindOf(row) + "::neutral()";
    os << partType(row) << ' ' << evens[row] << " = " << none << ", "
       << odds[row] << " = " << none << ";\n";
  }
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  os << "const int c = t + k * heddle::crew_threads;\n"
     << "const bool there = heddle::has_column<Items>(k, c, width);\n";
  for (Value input : inputsOf(roots, Level::element))
    declareInput(input, rows[slotOf(input)] + "[c]", "there");
  for (Value value : columnValues)
    scope.bind(value, columnArrays[value] + "[k]");
  if (failed(declareNeeded(roots)))
    return failure();
  for (Value value : passes.kept)
    os << keptArrays[value] << "[b][k] = " << text(value) << ";\n";
  for (fused::ReduceOp row : passes.rows) {
    std::string part = "(k % 2 ? " + odds[row] + " : " + evens[row] + ")";
    if (!row.getShift()) {
      os << "if (there)\n  " << part << " = " << kindOf(row) << "::combine("
         << part << ", " << kindOf(row) << "::lift(" << text(row.getValue())
         << ", first_column + c));\n";
      continue;
    }
    Exponential &sum = exponentialOf(row);
    os << sum.kept << "[b][k] = heddle::exp_2("
       << argumentInBaseTwo(sum, rowParts[row] + " + " + sum.columnPart + "[k]")
       << ");\n"
       << part << " += " << sum.kept << "[b][k];\n";
  }
  close();
  for (fused::ReduceOp row : passes.rows)
    os << parts[row] << "[b] = " << partKind(row) << "::combine(" << evens[row]
       << ", " << odds[row] << ");\n";
  close();
  scope = outer;
  os << "// What the crew, or those of the cluster that share the row, know of "
        "it.\n";
  for (fused::ReduceOp row : passes.rows)
    os << ofWarps[row] << ".leave(" << parts[row] << ");\n";
  os << "if (Cluster == 1)\n  heddle::meet_crew();\n"
     << "if (Cluster == 1 || queue.asks_early)\n  queue.next();\n";
  return success();
}

/// Opens a loop over the rows that a crew takes at a time.
void PanelEmitter::openRows() {
  os << "#pragma unroll\n";
  open("for (int b = 0; b < Rows; ++b) {");
  os << "const bool is_row = Rows == 1 || first + b * heddle::crews < count; "
        "// or else the first again, for nothing\n"
     << "[[maybe_unused]] const int r = is_row ? first + b * heddle::crews : "
        "first;\n";
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

/// Declares the row values that `roots` are computed from; reductions of the
/// row are in scope.
LogicalResult PanelEmitter::declareRowsAfter(ArrayRef<Value> roots) {
  for (Value value : rowValues)
    if (!scope.knows(value))
      scope.bind(value, rowArrays[value] + "[r]");
  return declareNeeded(roots);
}

/// The second pass: the row's reductions are complete, and what follows from
/// them is added to the columns.
LogicalResult PanelEmitter::emitSecondPass() {
  Scope outer = scope;
  openRows();
  llvm::DenseMap<Operation *, std::string> safe, totals;
  for (fused::ReduceOp row : passes.rows) {
    std::string total = totals[row] = scope.fresh("total");
    os << "const auto " << total << " = " << ofWarps[row] << ".meet(b);\n";
  }
  os << "if (Cluster > 1 && !queue.asks_early)\n  queue.next();\n";
  for (fused::ReduceOp row : passes.rows) {
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
       << " = " << safe[row] << " ? " << exponentialOf(row).guess
       << "[r] + heddle::per_e<" << type << ">(heddle::rough_log_2(" << total
       << ")) : 0;\n";
  }
  if (failed(declareRowsAfter(scales.getArrayRef())))
    return failure();
  llvm::DenseMap<Operation *, std::string> powers;
  for (fused::ReduceOp column : passes.columns) {
    Operation *shared = sharedBy(column);
    if (fused::PanelAnalysis::takesOwnPowers(column)) {
      std::string type = computed(column);
      std::string terms = sumOf(exponentialOf(column).exponent.row, type);
      os << "const " << type << ' ' << (powers[column] = scope.fresh("part"))
         << " = heddle::per_bit<" << type << ">("
         << (terms.empty() ? "0" : terms) << ");\n";
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
       << exponentialOf(shared).rowPart << "[r]);\n"
       << safe[shared] << " &= heddle::is_safe_scale(" << powers[column]
       << ");\n";
  }
  for (Exponential &sum : exponentialsOfRows())
    os << "bad |= !" << safe[sum.reduce] << ";\n";
  open("if (t == 0) {");
  for (fused::ReduceOp row : passes.rows) {
    os << rowSums[row] << "[r] = ";
    if (row.getShift())
      os << safe[row] << " ? " << totals[row] << " : heddle::not_a_number<"
         << computed(row) << ">();\n";
    else
      os << scope[row.getResult(0)] << ";\n";
  }
  close();
  // What is not safe is left to the repair, and gives nothing now.
  SmallVector<Operation *> awaited = {nullptr};
  for (Exponential &sum : exponentialsOfRows())
    awaited.push_back(sum.reduce);
  for (Operation *row : awaited) {
    SmallVector<fused::ReduceOp> columns;
    for (fused::ReduceOp column : passes.columns)
      if (fused::PanelAnalysis::sumsPowers(column) &&
          passes.awaited.lookup(column) == row)
        columns.push_back(column);
    if (columns.empty())
      continue;
    open("if (" + (row ? safe[row] + " && " : "") + "is_row) {");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < Items; ++k) {");
    Scope inner = scope;
    for (Value value : passes.kept)
      scope.bind(value, keptArrays[value] + "[b][k]");
    for (fused::ReduceOp column : columns) {
      Exponential &sum = powersOf(column);
      std::string part = columnSums[column] + "[k]";
      if (sum.isOfRows())
        os << part << " = heddle::multiply_add(" << sum.kept << "[b][k], "
           << powers[column] << ", " << part << ");\n";
      else
        os << part << " += heddle::exp_2("
           << argumentInBaseTwo(sum,
                                powers[column] + " + " + sum.columnPart + "[k]")
           << ");\n";
    }
    scope = inner;
    close();
    close();
  }
  SmallVector<Value> roots;
  for (fused::ReduceOp column : passes.columns)
    if (!fused::PanelAnalysis::sumsPowers(column))
      roots.push_back(column.getValue());
  if (!roots.empty()) {
    for (Value value : rowsMetBy(roots))
      if (!passes.isSecond(value) && !scope.knows(value))
        scope.bind(value, rowArrays[value] + "[r]");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < Items; ++k) {");
    os << "const int c = t + k * heddle::crew_threads;\n"
       << "const bool there = is_row && heddle::has_column<Items>(k, c, "
          "width);\n";
    for (Value value : passes.kept)
      scope.bind(value, keptArrays[value] + "[b][k]");
    for (Value value : columnValues)
      scope.bind(value, columnArrays[value] + "[k]");
    if (failed(declareNeeded(roots)))
      return failure();
    for (fused::ReduceOp column : passes.columns)
      if (!fused::PanelAnalysis::sumsPowers(column)) {
        std::string part = columnSums[column] + "[k]";
        os << "if (there)\n  " << part << " = " << kindOf(column)
           << "::combine(" << part << ", " << kindOf(column) << "::lift("
           << text(column.getValue()) << "));\n";
      }
    close();
  }
  close();
  scope = outer;
  return success();
}

} // namespace heddle::cuda
