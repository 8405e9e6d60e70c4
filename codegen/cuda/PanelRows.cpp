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
  open("for (int k = 0; k < heddle::columns_found<Tells, Items>; ++k) {");
  os << "const int c = heddle::column_found<Tells>(k);\n";
  for (Value input : loadedColumns)
    os << loadedNames[input] << "[k] = c < width ? heddle::convert<"
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
    llvm::append_range(roots, valuesOf(sum.exponent.column));
  }
  for (Value value : columnValues)
    os << computedType(value.getType()) << ' ' << columnArrays[value]
       << "[Items];\n";
  os << "#pragma unroll\n";
  open("for (int k = 0; k < heddle::columns_found<Tells, Items>; ++k) {");
  if (!exponentials.empty())
    os << "const bool there = heddle::column_found<Tells>(k) < width;\n";
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
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce);
    std::string guess = scope.fresh("guess");
    os << type << ' ' << guess << " = " << text(sum.reduce.getAbout()) << ";\n"
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

/// The first pass of a row: its elements, as they lie in shared memory, and
/// what this thread has of its reductions.
LogicalResult PanelEmitter::emitFirstPass() {
  os << "queue.wait();\n";
  llvm::DenseMap<Operation *, std::string> parts, odds, rowParts;
  for (fused::ReduceOp row : passes.rows) {
    parts[row] = scope.fresh("mine");
    os << partType(row) << ' ' << parts[row] << "[Rows];\n";
  }
  for (Exponential &sum : exponentials)
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
  // Two sums, so that one need not wait for the other.
  llvm::DenseMap<Operation *, std::string> evens;
  for (fused::ReduceOp row : passes.rows) {
    evens[row] = scope.fresh("even_ones");
    odds[row] = scope.fresh("odd_ones");
    std::string none = row.getAbout() ? "0" : kindOf(row) + "::neutral()";
    os << partType(row) << ' ' << evens[row] << " = " << none << ", "
       << odds[row] << " = " << none << ";\n";
  }
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  os << "const int c = t + k * heddle::crew_threads;\n"
     << "const bool there = " << kThere << ";\n";
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
    if (!row.getAbout()) {
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
  os << "if (Cluster == 1) {\n"
     << "  heddle::meet_crew();\n"
     << "  queue.next();\n"
     << "}\n";
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

/// What is left to do for rows whose sums were not safe: their log-sum-exps
/// around their maxima, and their part of the columns, from memory. A function
/// of its own, so that the walk has the registers.
LogicalResult PanelEmitter::emitRepair(Exponential &sum) {
  Scope outer = scope;
  scope = tripScope;
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
  os << "const long long first_of_panel = heddle::first_of_panel(panel, "
        "member.count);\n"
     << "const int width = at.width;\n"
     << "const long long first_column = at.first_column;\n";
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column) == sum.reduce.getOperation())
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
  if (failed(readElements()))
    return failure();
  os << "state = " << kind << "::combine(state, " << kind << "::lift("
     << argumentInBaseTwo(sum, columnPart()) << "));\n";
  scope = inner;
  close();
  os << "state = heddle::over_cluster<" << kind << ", Cluster>("
     << "heddle::over_block_rarely<" << kind << ", Threads>(state));\n";
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
  os << "#pragma unroll 1\n";
  open("for (int c = threadIdx.x; c < width; c += Threads) {");
  inner = scope;
  if (failed(readElements()))
    return failure();
  for (fused::ReduceOp column : passes.columns)
    if (own.contains(column)) {
      std::string shift = sumOf(own[column].row, type);
      std::string base = "heddle::per_bit<" + type + ">(" +
                         (shift.empty() ? "0" : shift) + ") + " + columnPart();
      os << columnSums[column] << "_of_panel[c] += heddle::exp_2("
         << argumentInBaseTwo(sum, base) << ");\n";
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
  os << "if (Cluster > 1)\n  queue.next();\n";
  for (fused::ReduceOp row : passes.rows) {
    std::string type = computed(row), total = totals[row];
    if (!row.getAbout()) {
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
  for (Exponential &sum : exponentials)
    os << "bad |= !" << safe[sum.reduce] << ";\n";
  open("if (t == 0) {");
  for (fused::ReduceOp row : passes.rows) {
    os << rowSums[row] << "[r] = ";
    if (row.getAbout())
      os << safe[row] << " ? " << totals[row] << " : heddle::not_a_number<"
         << computed(row) << ">();\n";
    else
      os << scope[row.getResult(0)] << ";\n";
  }
  close();
  // What is not safe is left to the repair, and gives nothing now.
  for (Exponential &sum : exponentials) {
    if (llvm::none_of(passes.columns, [&](fused::ReduceOp column) {
          return sharedBy(column) == sum.reduce.getOperation();
        }))
      continue;
    open("if (" + safe[sum.reduce] + " && is_row) {");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < Items; ++k) {");
    for (fused::ReduceOp column : passes.columns)
      if (sharedBy(column) == sum.reduce.getOperation())
        os << columnSums[column] << "[k] = heddle::multiply_add(" << sum.kept
           << "[b][k], " << powers[column] << ", " << columnSums[column]
           << "[k]);\n";
    close();
    close();
  }
  SmallVector<Value> roots;
  for (fused::ReduceOp column : passes.columns)
    if (!sharedBy(column))
      roots.push_back(column.getValue());
  if (!roots.empty()) {
    for (Value value : rowsMetBy(roots))
      if (!passes.isSecond(value) && !scope.knows(value))
        scope.bind(value, rowArrays[value] + "[r]");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < Items; ++k) {");
    os << "const int c = t + k * heddle::crew_threads;\n"
       << "const bool there = is_row && (" << kThere << ");\n";
    for (Value value : passes.kept)
      scope.bind(value, keptArrays[value] + "[b][k]");
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
    if (row.getAbout())
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
    if (sharedBy(column)) {
      std::string type = computed(column);
      std::string terms =
          sumOf(fused::decompose(column.getValue(), levels)->row, type);
      os << scratch(column, PanelScratchPer::row) << "[row] = heddle::per_bit<"
         << type << ">(" << (terms.empty() ? "0" : terms) << ");\n";
    }
  for (Exponential &sum : exponentials)
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
    os << columnSums[column]
       << "[k] = " << (sharedBy(column) ? "0" : kindOf(column) + "::neutral()")
       << ";\n";
  close();
  if (!exponentials.empty())
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
    else if (exponentials.empty())
      os << "__syncthreads();\n";
    else
      os << "const bool unsafe = __syncthreads_or(bad);\n";
    open("heddle::over_crews<" + kind + ">(" + columnSums[column] +
         ", width, gather, [&](int c, " + partType(column) + " part) {");
    std::string to = columnSums[column] + "_of_panel[c]";
    os << "if (HEDDLE_PANEL_TEAM" << (exponentials.empty() ? "" : " && !unsafe")
       << ")\n  " << partsOf(column) << "::give(panel, c, part);\n"
       << "else\n  " << to << " = begin == 0 ? part : " << kind << "::combine("
       << to << ", part);\n";
    close("});");
  }
  if (!exponentials.empty()) {
    open("if (unsafe) {");
    os << "__syncthreads();\n";
    for (Exponential &sum : exponentials) {
      if (failed(emitRepair(sum)))
        return failure();
      os << "repair_" << rowSums[sum.reduce] << "(panel, begin, count);\n";
    }
    os << "#if HEDDLE_PANEL_TEAM\n";
    for (fused::ReduceOp column : passes.columns)
      os << partsOf(column) << "::give_all(panel, member.columns);\n";
    os << "#endif\n";
    close();
  }
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
