//===- PanelEmitter.cpp - a loop whose blocks keep panels of rows ---------===//
//
// A trip: the columns' values go into registers; panel by panel, row by row, a
// first pass takes the exponentials of a row that a bulk copy brought and
// reduces them, a second, one row behind, adds them to the columns. Columns meet
// over the panels in a fixed order, each block combining a share of them.
//
// Sums of exponentials are taken about guesses. Where one is not safe, the row,
// or the columns, are reduced anew around their maxima, by the block alone: what
// a loop computes never depends on its guesses.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::ReduceKind;
using heddle::fused::Level;
using llvm::Twine;

namespace heddle::cuda {

PanelEmitter::PanelEmitter(raw_indented_ostream &os, fused::SweepOp sweep,
                           const SweepLayout &layout, const SweepNames &names,
                           const Buffers &buffers, const PanelLayout &panel)
    : SegmentEmitter(os, sweep, layout, names, buffers, 0), panel(panel),
      passes(panel.passes) {
  for (fused::ReduceOp row : passes.rows)
    if (row.getAbout())
      exponentials.push_back({row, *fused::decompose(row.getValue(), levels)});
}

PanelEmitter::Exponential &PanelEmitter::exponentialOf(Operation *reduce) {
  return *llvm::find_if(exponentials, [&](Exponential &sum) {
    return sum.reduce.getOperation() == reduce;
  });
}

static Operation *sharedBy(fused::ReduceOp column) {
  Value shared = column.getSharing();
  return shared ? shared.getDefiningOp() : nullptr;
}

//===----------------------------------------------------------------------===//
// Values and their text
//===----------------------------------------------------------------------===//

void PanelEmitter::open(const Twine &line) {
  os << line.str() << "\n";
  os.indent();
}

void PanelEmitter::close(StringRef end) { os.unindent() << end << "\n"; }

LogicalResult PanelEmitter::declareNeeded(ArrayRef<Value> roots) {
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> left(roots);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || scope.knows(value) || !needed.insert(op).second)
      continue;
    if (auto record = dyn_cast<fused::RecordOp>(op))
      left.push_back(record.getValue());
    else
      llvm::append_range(left, op->getOperands());
  }
  for (Operation &op : body.without_terminator()) {
    if (!needed.contains(&op) ||
        isa<arith::ConstantOp, foreach::TripOp, fused::RecordOp>(op))
      continue;
    if (isa<fused::ReduceOp>(op))
      return op.emitOpError("is needed before it is complete");
    auto printed =
        printScalar(&op, [&](Value operand) { return expression(operand); });
    if (!printed)
      return op.emitOpError("has no CUDA text");
    Value result = op.getResult(0);
    os << "const " << computedType(result.getType()) << ' '
       << scope.declare(result) << " = " << printed->text << ";\n";
  }
  return success();
}

llvm::SetVector<Value> PanelEmitter::inputsOf(ArrayRef<Value> roots,
                                              Level level) {
  llvm::SetVector<Value> inputs;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left(roots);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (scope.knows(value) || !seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(left, op->getOperands());
    else if (levels.of(value).level == level)
      inputs.insert(value);
  }
  SmallVector<Value> sorted = inputs.takeVector();
  llvm::sort(sorted, [](Value a, Value b) {
    return cast<BlockArgument>(a).getArgNumber() <
           cast<BlockArgument>(b).getArgNumber();
  });
  return llvm::SetVector<Value>(sorted.begin(), sorted.end());
}

unsigned PanelEmitter::slotOf(Value argument) const {
  return slots.inputs[cast<BlockArgument>(argument).getArgNumber()];
}

/// Declares the value of an argument from its list at `at`; of one that is not
/// there, zero.
void PanelEmitter::declareInput(Value argument, const Twine &at,
                                StringRef there) {
  StringRef type = computedType(argument.getType());
  std::string load = ("heddle::convert<" + type + ">(" + at + ")").str();
  os << "const " << type << ' ' << scope.declare(argument) << " = ";
  if (there.empty())
    os << load << ";\n";
  else
    os << there << " ? " << load << " : 0;\n";
}

std::string PanelEmitter::computed(fused::ReduceOp op) const {
  return computedType(op.getValue().getType()).str();
}

static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.17g", value);
  if (text.find_first_of(".en") == std::string::npos)
    text += ".0";
  return text;
}

SmallVector<Value> PanelEmitter::valuesOf(ArrayRef<fused::Term> terms) {
  SmallVector<Value> values;
  for (const fused::Term &term : terms) {
    values.push_back(term.value);
    for (const fused::Factor &factor : term.factors)
      values.push_back(factor.value);
  }
  return values;
}

/// The sum of the terms, or an empty string; all values are in scope.
std::string PanelEmitter::sumOf(ArrayRef<fused::Term> terms, StringRef type) {
  std::string text;
  for (const fused::Term &term : terms) {
    std::string product = expression(term.value).text;
    if (expression(term.value).binding < Expression::product)
      product = "(" + product + ")";
    for (const fused::Factor &factor : term.factors)
      product += (factor.reciprocal ? " / " : " * ") +
                 expression(factor.value).text;
    double scale = term.scale;
    StringRef sign = text.empty() ? (scale < 0 ? "-" : "")
                                  : (scale < 0 ? " - " : " + ");
    if (scale = std::abs(scale); scale != 1)
      product = "static_cast<" + type.str() + ">(" + number(scale) + ") * " +
                product;
    text += sign.str() + product;
  }
  return text;
}

/// `base` and the terms of elements, in base 2.
std::string PanelEmitter::argumentInBaseTwo(const Exponential &sum,
                                            const Twine &base) {
  std::string text = base.str();
  for (auto [term, factor] : llvm::zip(sum.exponent.element, sum.factors))
    text = "heddle::multiply_add(" + expression(term.value).text + ", " +
           factor + ", " + text + ")";
  return text;
}

//===----------------------------------------------------------------------===//
// What the walk over elements needs
//===----------------------------------------------------------------------===//

void PanelEmitter::findWalkValues() {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left;
  for (fused::ReduceOp row : passes.rows)
    if (!row.getAbout())
      left.push_back(row.getValue());
  for (Exponential &sum : exponentials) {
    llvm::append_range(left, valuesOf(sum.exponent.element));
    llvm::append_range(left, valuesOf(sum.exponent.row));
  }
  for (fused::ReduceOp column : passes.columns) {
    if (!sharedBy(column)) {
      left.push_back(column.getValue());
      continue;
    }
    auto own = *fused::decompose(column.getValue(), levels);
    for (const fused::Term &term : own.row)
      if (levels.of(term.value).level == Level::row)
        left.push_back(term.value);
  }
  for (Value value : passes.kept)
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
      if (!passes.isSecond(value)) {
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
}

void PanelEmitter::declareRowArrays() {
  auto declare = [&](StringRef wanted, StringRef type) {
    std::string name = scope.fresh(wanted);
    os << "__shared__ " << type << ' ' << name << "[heddle::panel_rows];\n";
    return name;
  };
  auto ownName = [](Value value, StringRef otherwise) {
    StringRef name = nameOf(value);
    return name.empty() ? otherwise.str() : name.str();
  };
  os << "// Of the rows that the block is at: what their elements need of them, "
        "and\n// what became of them.\n";
  for (Value value : rowValues)
    rowArrays[value] = declare(ownName(value, "row_value") + "_of_row",
                               computedType(value.getType()));
  for (fused::ReduceOp row : passes.rows)
    rowSums[row] =
        declare(ownName(row.getResult(0), "row") + "_of_row", computed(row));
  for (Exponential &sum : exponentials) {
    std::string own = ownName(sum.reduce.getResult(0), "row");
    sum.guess = declare(own + "_guess", computed(sum.reduce));
    sum.rowPart = declare(own + "_part", computed(sum.reduce));
    sum.columnPart = scope.fresh(own + "_columns");
    sum.kept = "power" + (exponentials.size() > 1
                              ? std::to_string(&sum - exponentials.data())
                              : "");
  }
  for (auto [k, value] : llvm::enumerate(passes.kept))
    keptArrays[value] = identifierFrom(ownName(value, "value")) + "_" +
                        std::to_string(k);
  for (Value value : columnValues)
    columnArrays[value] = scope.fresh(ownName(value, "value") + "_columns");
  for (fused::ReduceOp column : passes.columns)
    columnSums[column] =
        scope.fresh(ownName(column.getResult(0), "column") + "_part");
  for (auto [k, each] : llvm::enumerate(passes.rows)) {
    fused::ReduceOp row = each;
    std::string kind = row.getAbout() ? "heddle::add<" + computed(row) + ">"
                                      : kindOf(row);
    ofWarps[row] =
        scope.fresh("sums_of_" + ownName(row.getResult(0), "row"));
    os << "heddle::row_meeting<" << kind << ", Threads / 32, Cluster, Rows, "
       << k << "> " << ofWarps[row] << ";\n";
  }
}

//===----------------------------------------------------------------------===//
// The beginning of a trip
//===----------------------------------------------------------------------===//

LogicalResult PanelEmitter::emitTripScalars() {
  SmallVector<Value> roots;
  auto isScalar = [&](Value value) {
    fused::LevelOf of = levels.of(value);
    return of.level <= Level::member && !of.after;
  };
  auto isAtEnd = [&](Value value) {
    fused::LevelOf of = levels.of(value);
    return of.level <= Level::member && of.after;
  };
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() && !isScalar(op.getResult(0)) &&
        !isAtEnd(op.getResult(0)))
      for (Value operand : op.getOperands())
        if (isScalar(operand))
          roots.push_back(operand);
  llvm::DenseSet<Value> wanted;
  for (Level level : {Level::member, Level::list})
    wanted.insert_range(inputsOf(roots, level));
  declareScalarInputs([&](Value value) { return wanted.contains(value); });
  if (failed(declareNeeded(roots)))
    return failure();
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce);
    for (const fused::Term &term : sum.exponent.element) {
      std::string name = scope.fresh(
          (nameOf(term.value).empty() ? "x" : nameOf(term.value).str()) +
          "_factor");
      std::string factor = term.scale < 0 ? "-1" : "1";
      if (std::abs(term.scale) != 1)
        factor = number(term.scale);
      factor = "static_cast<" + type + ">(" + factor + ")";
      for (const fused::Factor &other : term.factors)
        factor += (other.reciprocal ? " / " : " * ") +
                  expression(other.value).text;
      os << "const " << type << ' ' << name << " = heddle::per_bit<" << type
         << ">(" << factor << ");\n";
      sum.factors.push_back(name);
    }
  }
  return success();
}

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

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

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
       << "if (!heddle::is_finite(" << guess << "))\n  " << guess
       << " = 0;\n";
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
    os << parts[row] << "[q] = "
       << (row.getAbout() ? "0" : kindOf(row) + "::neutral()") << ";\n";
  open("if (Rows > 1 && r >= count) {");
  std::string kept;
  for (Exponential &sum : exponentials)
    kept += "  kept." + sum.kept + "[q][k] = 0;\n";
  if (!kept.empty())
    os << "#pragma unroll\n"
       << "for (int k = 0; k < Items; ++k)" << (exponentials.size() > 1 ? " {" : "")
       << "\n" << kept << (exponentials.size() > 1 ? "}\n" : "");
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
    std::string part =
        "(k % 2 ? " + odds[row] + " : " + parts[row] + "[q])";
    if (!row.getAbout()) {
      os << "if (there)\n  " << part << " = " << kindOf(row) << "::combine("
         << part << ", " << kindOf(row) << "::lift(" << text(row.getValue())
         << ", first_column + c));\n";
      continue;
    }
    Exponential &sum = exponentialOf(row);
    os << "kept." << sum.kept << "[q][k] = heddle::exp_2("
       << argumentInBaseTwo(sum, rowParts[row] + " + " + sum.columnPart +
                                     "[k]")
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
  os << "// What the warps of the block, or the cluster, know of the step's sums.\n";
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
  std::string type = computed(sum.reduce), kind = "heddle::log_sum_2<" + type + ">";
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
     << scope.declare(sum.reduce.getResult(0), "exact")
     << " = heddle::per_e<" << type << ">(" << kind << "::value(state))"
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
         << "[at.first_part + panel * member.columns + first_column + c] += heddle::exp_2("
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
    os << "bool " << safe[row] << " = heddle::is_safe_row(" << total
       << ");\n"
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
      os << pointers[slot] << "[row] = "
         << storedExpression(value, slots.operands[slot].storage) << ";\n";
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
  open("for (int begin = 0; begin == 0 || begin < all; begin += heddle::panel_rows) {");
  os << "const int count = all - begin < heddle::panel_rows ? all - begin : "
        "heddle::panel_rows;\n";
  for (fused::ReduceOp column : passes.columns)
    os << (sharedBy(column) ? computed(column) : stateOf(column)) << ' '
       << columnSums[column] << "[Items];\n";
  os << "#pragma unroll\n";
  open("for (int k = 0; k < Items; ++k) {");
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column] << "[k] = "
       << (sharedBy(column) ? "0" : kindOf(column) + "::neutral()") << ";\n";
  close();
  if (!exponentials.empty())
    os << "bool bad = false; // a row whose sum was not safe\n";
  loadColumns();
  if (failed(emitRowValues()) || failed(emitColumnParts()))
    return failure();
  if (!layout.whereOperand.empty())
    os << "if (!more)\n  goto stopped;\n";
  os << "__syncthreads();\n";
  if (failed(emitFirstPass()) ||
      failed(emitSecondPass()))
    return failure();
  os << "kept_of_step even, odd;\n";
  open("if (count > 0) {");
  os << "first_pass(0, even);\nsettle();\n";
  close();
  os << "// The second pass of a step runs while the elements of the next come.\n";
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
    std::string kind = sharedBy(column) ? "heddle::add<" + computed(column) + ">"
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
    os << part << " = heddle::over_block<" << kindOf(member)
       << ", Threads>(" << part << ");\n"
       << "if (threadIdx.x == 0 && at.rank == 0)\n  "
       << scratch(member, PanelScratchPer::panel) << "[at.first_panel + panel] = " << part
       << ";\n";
  }
  scope = outer;
  close();
  return success();
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Log-sum-exps of the columns at hand around their maxima, down all rows; a
/// function of its own.
LogicalResult PanelEmitter::emitExactColumns(fused::ReduceOp column) {
  Exponential &sum = exponentialOf(sharedBy(column));
  std::string type = computed(column);
  std::string kind = "heddle::log_sum_2<" + type + ">";
  std::string part = columnSums[column];
  Scope outer = scope;
  open("const auto exact_" + part +
       " = [=](" + type + " *to, long long base, int count) "
       "__attribute__((noinline)) {");
  os << "__shared__ heddle::log_sum<" << type << "> of_thread[Threads];\n"
     << "const int lane = threadIdx.x % 32;\n";
  open("for (int b = 0; b < count; b += 32) {");
  os << "const long long column = base + b + lane;\n"
     << "auto state = " << kind << "::neutral();\n";
  open("if (b + lane < count) {");
  open("for (long long row = threadIdx.x / 32; row < member.count; row += "
       "Threads / 32) {");
  SmallVector<Value> roots;
  for (const fused::Term &term : sum.exponent.element)
    roots.push_back(term.value);
  for (Value input : inputsOf(roots, Level::element))
    declareInput(input, pointers[slotOf(input)] + "[row * " +
                            pointers[slotOf(input) + 1] + " + column]");
  for (Level level : {Level::row, Level::column})
    for (Value input : inputsOf(roots, level))
      declareInput(input, pointers[slotOf(input)] +
                              (level == Level::row ? "[row]" : "[column]"));
  if (failed(declareNeeded(roots)))
    return failure();
  os << "state = " << kind << "::combine(state, " << kind << "::lift("
     << argumentInBaseTwo(
            sum, scratch(column, PanelScratchPer::row) + "[at.first_row + row]")
     << "));\n";
  close();
  close();
  os << "__syncthreads();\n"
     << "of_thread[threadIdx.x] = state;\n"
     << "__syncthreads();\n";
  open("if (threadIdx.x < 32 && b + lane < count) {");
  os << "for (int warp = 1; warp < Threads / 32; ++warp)\n"
     << "  state = " << kind << "::combine(state, of_thread[warp * 32 + lane]);\n"
     << "to[b + lane] = " << kind << "::value(state);\n";
  close();
  close();
  os << "__syncthreads();\n";
  close("};");
  scope = outer;
  return success();
}

LogicalResult PanelEmitter::emitColumns() {
  Scope outer = scope;
  open("{ // each block but the last combines a share of the columns");
  os << "constexpr int Batch = Threads / heddle::panel_groups;\n"
     << "constexpr int per_group = heddle::panels / heddle::panel_groups;\n";
  for (fused::ReduceOp column : passes.columns) {
    std::string part = columnSums[column];
    std::string state = sharedBy(column) ? computed(column) : stateOf(column);
    os << "__shared__ " << state << ' ' << part << "_of_group[Threads];\n";
    if (sharedBy(column))
      os << "__shared__ " << computed(column) << " exact_" << part
         << "_of[Batch];\n";
  }
  os << "const long long columns = member.columns, share = at.share_of_columns(columns);\n"
     << "const long long until = columns < (at.block + 1) * share ? columns "
        ": (at.block + 1) * share;\n"
     << "const int group = threadIdx.x / Batch;\n";
  open("for (long long base = at.block * share; base < until; base += Batch) "
       "{");
  os << "const int c = threadIdx.x % Batch;\n"
     << "const long long column = base + c;\n"
     << "const bool is_first = group == 0 && column < until;\n";
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<Value> roots;
  auto isColumnResult = [&](int slot) {
    return slot >= 0 && slots.operands[slot].index == kJ;
  };
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isColumnResult(slot))
      roots.push_back(value);
  SmallVector<Value> all = roots;
  llvm::DenseMap<Operation *, fused::Exponent> own;
  for (fused::ReduceOp column : passes.columns) {
    scope.declare(column.getResult(0), "sum"); // so that nobody looks behind it
    if (Operation *shared = sharedBy(column)) {
      own[column] = *fused::decompose(column.getValue(), levels);
      llvm::append_range(all, valuesOf(own[column].column));
      llvm::append_range(all, valuesOf(exponentialOf(shared).exponent.column));
    }
  }
  // Asked for together with the parts of the columns.
  for (Value input : inputsOf(all, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]", "is_first");
  auto kind = [&](fused::ReduceOp column) {
    return sharedBy(column) ? "heddle::add<" + computed(column) + ">"
                            : kindOf(column);
  };
  for (fused::ReduceOp column : passes.columns) {
    std::string sum = columnSums[column] + "_sum";
    os << "auto " << sum << " = " << kind(column) << "::neutral();\n";
    open("if (column < until && group < heddle::panel_groups) {");
    os << "#pragma unroll\n";
    open("for (int k = 0; k < per_group; ++k)");
    open("if (group * per_group + k < at.used)");
    os << sum << " = " << kind(column) << "::combine(" << sum << ", "
       << scratch(column, PanelScratchPer::panelColumn)
       << "[at.first_part + (group * per_group + k) * member.columns + column]);\n";
    os.unindent();
    os.unindent();
    close();
  }
  os << "__syncthreads();\n";
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column] << "_of_group[threadIdx.x] = "
       << columnSums[column] << "_sum;\n";
  os << "__syncthreads();\n";
  open("if (is_first) {");
  open("for (int g = 1; g < heddle::panel_groups; ++g) {");
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column] << "_sum = " << kind(column) << "::combine("
       << columnSums[column] << "_sum, " << columnSums[column]
       << "_of_group[g * Batch + c]);\n";
  close();
  close();
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column))
      os << "if (__syncthreads_or(is_first && !heddle::is_safe_column("
         << columnSums[column] << "_sum)))\n  exact_" << columnSums[column]
         << "(exact_" << columnSums[column]
         << "_of, base, static_cast<int>(until - base < Batch ? until - base : Batch));\n";
  open("if (is_first) {");
  SmallVector<Value> before;
  for (fused::ReduceOp column : passes.columns)
    if (Operation *shared = sharedBy(column)) {
      llvm::append_range(before, valuesOf(own[column].column));
      llvm::append_range(before,
                         valuesOf(exponentialOf(shared).exponent.column));
    }
  if (failed(declareNeeded(before)))
    return failure();
  for (fused::ReduceOp column : passes.columns) {
    std::string type = computed(column), sum = columnSums[column] + "_sum";
    os << "const " << type << ' ' << scope[column.getResult(0)] << " = ";
    Operation *shared = sharedBy(column);
    if (!shared) {
      os << kindOf(column) << "::value(" << sum << ");\n";
      continue;
    }
    std::string mine = sumOf(own[column].column, type);
    std::string taken = sumOf(exponentialOf(shared).exponent.column, type);
    std::string plus = mine.empty() ? "" : " + (" + mine + ")";
    std::string minus = taken.empty() ? "" : " - (" + taken + ")";
    os << "heddle::is_safe_column(" << sum << ") ? heddle::per_e<" << type
       << ">(heddle::log_2(" << sum << "))" << minus << plus
       << " : heddle::per_e<" << type << ">(exact_" << columnSums[column]
       << "_of[c])" << plus << ";\n";
  }
  if (failed(declareNeeded(roots)))
    return failure();
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isColumnResult(slot))
      os << pointers[slot] << "[column] = "
         << storedExpression(value, slots.operands[slot].storage) << ";\n";
  close();
  close();
  close();
  scope = outer;
  return success();
}

//===----------------------------------------------------------------------===//
// The end of a trip
//===----------------------------------------------------------------------===//

LogicalResult PanelEmitter::emitMember() {
  Scope outer = scope;
  open("if (at.block == at.blocks - 1) { // what follows for the member");
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<Value> roots;
  auto isMemberResult = [&](int slot) {
    return slot >= 0 && isMemberIndex(slots.operands[slot].index);
  };
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isMemberResult(slot))
      roots.push_back(value);
  llvm::DenseSet<Value> wanted;
  for (Level level : {Level::member, Level::list})
    wanted.insert_range(inputsOf(roots, level));
  declareScalarInputs([&](Value value) { return wanted.contains(value); });
  for (fused::ReduceOp member : passes.members) {
    std::string state = scope.fresh("state");
    os << "const auto " << state << " = heddle::over_states<" << kindOf(member)
       << ", Threads>(" << scratch(member, PanelScratchPer::panel)
       << " + at.first_panel, at.used);\n"
       << "const " << computedType(member.getResult(0).getType()) << ' '
       << scope.declare(member.getResult(0), "sum") << " = " << kindOf(member)
       << "::value(" << state << ");\n";
  }
  open("if (threadIdx.x == 0) {");
  if (failed(declareNeeded(roots)))
    return failure();
  storeMemberResults();
  close();
  close();
  scope = outer;
  return success();
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

std::string PanelEmitter::scratch(fused::ReduceOp owner,
                                  PanelScratchPer per) const {
  return scratchNames[panel.scratchOf(owner, per)];
}

LogicalResult PanelEmitter::emitLoop() {
  newScope();
  std::string parameters = "heddle_table table";
  for (auto [k, slot] : llvm::enumerate(layout.scalars)) {
    if (layout.trip == static_cast<int>(k))
      continue; // in a register
    const std::string &name = names.scalars[k];
    std::string type = storedType(slot.storage).str();
    parameters += slot.isNumber  ? ", heddle::number<" + type + ", false> "
                  : slot.written ? ", " + type + " *"
                                 : ", const " + type + " *";
    parameters += name;
  }
  std::string limitAt = scope.fresh("limit_at"), barrier = scope.fresh("barrier");
  parameters += ", const int *" + limitAt;
  for (PanelScratch area : panel.scratch) {
    StringRef own = nameOf(area.owner.getResult(0));
    StringRef per = area.per == PanelScratchPer::panelColumn ? "_of_panels"
                    : area.per == PanelScratchPer::panel     ? "_of_panels"
                    : area.owner.getSharing()                ? "_shift_of_rows"
                                                             : "_of_rows";
    std::string name =
        scope.fresh(((own.empty() ? StringRef("sum") : own) + per).str());
    scratchNames.push_back(name);
    parameters += ", " +
                  (area.per == PanelScratchPer::panel ? stateOf(area.owner)
                                                      : computed(area.owner)) +
                  " *" + name;
  }
  parameters += ", unsigned *" + barrier;
  for (StringRef word :
       {"first_of_panel", "used", "more", "stopped", "Threads", "Items", "Rows", "first", "q", "is_row", "Cluster", "limit", "rank", "unit", "units",
        "queue", "m", "member", "rows", "columns", "share", "first_column",
        "width", "trip", "panel", "begin", "all", "count", "r", "row", "k", "c",
        "kept", "even", "odd", "meet", "first_pass", "second_pass", "settle", "base",
        "until", "group", "column", "lane", "warp", "b", "state", "blocks_of_member", "at"})
    scope.fresh(word);
  findWalkValues();

  os << "extern \"C\" __global__ void HEDDLE_PANEL_CLUSTER_DIMENSIONS "
        "__launch_bounds__(HEDDLE_PANEL_THREADS, 1)\n"
     << identifierFrom(panel.name) << "(" << parameters << ") {\n";
  os.indent();
  os << "constexpr int Threads = HEDDLE_PANEL_THREADS, Items = "
        "HEDDLE_PANEL_ITEMS, Rows = HEDDLE_PANEL_ROWS, Cluster = "
        "HEDDLE_PANEL_CLUSTER;\n"
     << "__shared__ heddle::panel_place at;\n"
     << "if (threadIdx.x == 0)\n  heddle::find_place<Cluster>(at, *" << limitAt
     << ");\n"
     << "heddle::member_meeting blocks_of_member(" << barrier << ");\n";
  int64_t widest = 0;
  for (int slot : panel.matrices)
    widest = std::max(widest, storageBytes(slots.operands[slot].storage));
  os << "heddle::row_queue<HEDDLE_PANEL_STAGES, Rows, " << panel.matrices.size()
     << "> queue(Threads * Items * " << widest << " + 32);\n";
  declareRowArrays();
  open("struct kept_of_step { // exponentials and values of elements between "
       "the passes");
  for (Exponential &sum : exponentials)
    os << computed(sum.reduce) << ' ' << sum.kept << "[Rows][Items];\n";
  for (Value value : passes.kept)
    os << computedType(value.getType()) << ' ' << keptArrays[value]
       << "[Rows][Items];\n";
  close("};");
  os << "if (Cluster > 1)\n  heddle::cluster_barrier(); // all mailboxes are "
        "there\n";
  os << "__shared__ " << names.sweep << "_member_row member;\n";
  for (auto [k, slot] : llvm::enumerate(slots.operands)) {
    std::string name = scope.fresh(nameOfSlot(slot));
    pointers.push_back(name + "()");
    if (isNumberOfOperand(slot)) {
      os << "const auto " << name
         << " = [&] { return reinterpret_cast<long long>(member.operand[" << k
         << "]); };\n";
      continue;
    }
    StringRef type = storedType(slot.storage);
    StringRef qualifier = slot.written ? "" : "const ";
    os << "const auto " << name << " = [&] { return static_cast<" << qualifier
       << type << " *>(member.operand[" << k << "]); };\n";
  }
  os << "__syncthreads();\n";
  open("for (int m = at.team; m < table.member_count; m += at.teams) {");
  os << "__syncthreads();\n";
  open("if (threadIdx.x == 0) {");
  os << "member = heddle::row_at<" << names.sweep
     << "_member_row>(table.members, m);\n"
     << "at.used = queue.used(member.count);\n"
     << "at.width = heddle::width_of<Cluster>(member.columns, at.rank);\n"
     << "at.first_column = at.rank * heddle::share_of<Cluster>(member.columns);"
        "\n";
  for (auto [k, slot] : llvm::enumerate(panel.matrices))
    os << "queue.take(" << k << ", " << pointers[slot] << ", "
       << pointers[slot + 1]
       << ", member.count, member.columns, at.first_column, at.width);\n";
  close();
  os << "__syncthreads();\n"
     << "queue.open(at.unit, at.units, member.count, at.width);\n";
  open("for (int trip = 0; trip < at.limit; ++trip) {");
  if (!layout.whereOperand.empty())
    os << "const bool more = *" << pointers[layout.whereOperand[segment]]
       << "; // looked at when all else has been asked for\n";
  if (failed(emitTripScalars()))
    return failure();
  if (!layout.whereOperand.empty())
    os << "if (at.unit >= at.used && !more)\n  break; // it has no rows\n";
  if (failed(emitPanels()))
    return failure();
  os << "blocks_of_member.meet();\n";
  if (failed(emitColumns()) || failed(emitMember()))
    return failure();
  os << "blocks_of_member.meet();\n";
  close();
  if (!layout.whereOperand.empty())
    os.unindent() << "stopped:\n", os.indent();
  os << "queue.close();\n";
  close();
  os << "if (Cluster > 1)\n  heddle::cluster_barrier(); // nobody writes to a "
        "block that has ended\n";
  os.unindent() << "}\n\n";
  return success();
}

} // namespace heddle::cuda
