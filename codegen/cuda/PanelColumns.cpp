//===- PanelColumns.cpp - columns of a loop in panels --------------------===//
//
// Columns meet over the panels in a fixed order, each block but the last
// combining a share of them; the last sees to the member.
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

LogicalResult PanelEmitter::emitColumns() {
  Scope outer = scope;
  open("{ // each block but the last combines a share of the columns");
  os << "constexpr int Batch = heddle::combined_at_once;\n";
  for (fused::ReduceOp column : passes.columns) {
    std::string part = columnSums[column];
    std::string state = partType(column);
    os << "__shared__ " << state << ' ' << part << "_of_group[Threads];\n";
    if (fused::PanelAnalysis::sumsPowers(column))
      os << "__shared__ " << computed(column) << " exact_" << part
         << "_of[Batch];\n";
  }
  os << "const int group = threadIdx.x / Batch, c = threadIdx.x % Batch;\n";
  open("for (int base = 0; heddle::combines() && base < at.combined; base += "
       "Batch) {");
  os << "const bool there = group < heddle::column_threads && base + c < "
        "at.combined;\n"
     << "const bool is_first = there && (group == 0 || heddle::panel_groups == "
        "1);\n"
     << "const long long column = at.column(base + c);\n";
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
    if (fused::PanelAnalysis::sumsPowers(column)) {
      own[column] = *fused::decompose(column.getValue(), levels);
      llvm::append_range(all, valuesOf(own[column].column));
      llvm::append_range(all, valuesOfColumns(powersOf(column)));
    }
  }
  // Asked for together with the parts of the columns.
  for (Value input : inputsOf(all, Level::column))
    declareInput(input, pointers[slotOf(input)] + "[column]", "is_first");
  for (fused::ReduceOp column : passes.columns) {
    std::string sum = columnSums[column] + "_sum";
    os << "auto " << sum << " = " << partKind(column) << "::neutral();\n";
    open("if (there) {");
    os << sum << " = heddle::over_panels<" << partKind(column)
       << ">(at.panels_in_use(), heddle::panel_groups == 1 ? 0 : group, "
       << partsOf(column) << "::of("
       << scratch(column, PanelScratchPer::panelColumn)
       << ", member.columns, column, base + c));\n";
    close();
  }
  open("if constexpr (heddle::panel_groups > 1) {");
  os << "__syncthreads();\n";
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column]
       << "_of_group[threadIdx.x] = " << columnSums[column] << "_sum;\n";
  os << "__syncthreads();\n";
  open("if (is_first) {");
  open("for (int g = 1; g < heddle::panel_groups; ++g) {");
  for (fused::ReduceOp column : passes.columns)
    os << columnSums[column] << "_sum = " << partKind(column) << "::combine("
       << columnSums[column] << "_sum, " << columnSums[column]
       << "_of_group[g * Batch + c]);\n";
  close();
  close();
  close();
  llvm::DenseMap<Operation *, std::string> idle;
  for (fused::ReduceOp column : passes.columns)
    if (fused::PanelAnalysis::sumsPowers(column)) {
      FailureOr<std::string> name = declareIdle(column);
      if (failed(name))
        return failure();
      idle[column] = *name;
      open("if (heddle::any_combining(is_first && !heddle::is_safe_column(" +
           columnSums[column] + "_sum)" +
           (name->empty() ? "" : " && !" + *name) + ")) {");
      if (failed(emitExactColumns(column)))
        return failure();
      os << "exact(exact_" << columnSums[column]
         << "_of, base, at.combined - base < Batch ? at.combined - base : "
            "Batch);\n";
      close();
    }
  if (own.empty())
    os << "if (HEDDLE_PANEL_TEAM)\n  heddle::meet_combining(); // all threads "
          "of a column have read what is sent anew\n";
  llvm::DenseMap<int, std::string> made;
  for (int slot : slots.results)
    if (isColumnResult(slot)) {
      made[slot] = scope.fresh(nameOfSlot(slots.operands[slot]) + "_new");
      os << storedType(slots.operands[slot].storage) << ' ' << made[slot]
         << " = {};\n";
    }
  open("if (is_first) {");
  SmallVector<Value> before;
  for (fused::ReduceOp column : passes.columns)
    if (fused::PanelAnalysis::sumsPowers(column)) {
      llvm::append_range(before, valuesOf(own[column].column));
      llvm::append_range(before, valuesOfColumns(powersOf(column)));
    }
  if (failed(declareNeeded(before)))
    return failure();
  for (fused::ReduceOp column : passes.columns) {
    std::string type = computed(column), sum = columnSums[column] + "_sum";
    os << "const " << type << ' ' << scope[column.getResult(0)] << " = ";
    if (!fused::PanelAnalysis::sumsPowers(column)) {
      os << kindOf(column) << "::value(" << sum << ");\n";
      continue;
    }
    std::string mine = sumOf(own[column].column, type), back;
    std::string plus = mine.empty() ? "" : " + (" + mine + ")";
    // Of no rows there is no sum, whatever the column has.
    std::string empty =
        mine.empty()
            ? ""
            : "member.count == 0 ? -heddle::infinity<" + type + ">() : ";
    if (fused::PanelAnalysis::takesOwnPowers(column)) {
      back = " + " + text(column.getShift());
    } else {
      std::string taken = columnPartOf(powersOf(column));
      back = (taken.empty() ? "" : " - (" + taken + ")") + plus;
    }
    if (!idle[column].empty())
      os << idle[column] << " ? 0 : ";
    os << "heddle::is_safe_column(" << sum << ") ? heddle::per_e<" << type
       << ">(heddle::log_2(" << sum << "))" << back << " : " << empty
       << "heddle::per_e<" << type << ">(exact_" << columnSums[column]
       << "_of[c])" << plus << ";\n";
  }
  if (failed(declareNeeded(roots)))
    return failure();
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (isColumnResult(slot))
      os << made[slot] << " = "
         << storedExpression(value, slots.operands[slot].storage) << ";\n";
  close();
  for (int slot : slots.results)
    if (isColumnResult(slot))
      os << "heddle::hand_on_column(" << pointers[slot] << ", column, "
         << made[slot] << ", is_first, group);\n";
  os << "if (HEDDLE_PANEL_TEAM && Batch >= heddle::most_combined)\n  break;\n";
  close();
  close();
  scope = outer;
  return success();
}

SmallVector<Value> PanelEmitter::rootsOfMember() {
  SmallVector<Value> roots;
  for (auto [slot, value] :
       llvm::zip(slots.results, sweep.getSegmentYield(segment).getValues()))
    if (slot >= 0 && isMemberIndex(slots.operands[slot].index))
      roots.push_back(value);
  return roots;
}

/// Scalars that the end of every trip needs, and that no trip changes: read
/// once.
void PanelEmitter::keepMemberScalars() {
  Scope before = scope;
  // What operations of a trip make for the walk is still at hand at its end.
  SmallVector<Value> computed = scalarsOfWalk(/*ofLoop=*/false);
  while (!computed.empty()) {
    Value value = computed.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || scope.knows(value))
      continue;
    scope.bind(value, "");
    llvm::append_range(computed, op->getOperands());
  }
  llvm::SetVector<Value> kept;
  for (Level level : {Level::member, Level::list})
    for (Value value : inputsOf(rootsOfMember(), level))
      if (isOfLoop(value))
        kept.insert(value);
  scope = before;
  if (kept.empty())
    return;
  SmallVector<std::string> names;
  for (Value value : kept) {
    StringRef name = nameOf(value);
    names.push_back(
        scope.fresh(((name.empty() ? "scalar" : name) + "_of_loop").str()));
    os << "__shared__ " << computedType(value.getType()) << ' ' << names.back()
       << ";\n";
  }
  Scope outer = scope;
  open("if (threadIdx.x == 0) {");
  declareScalarInputs([&](Value value) { return kept.contains(value); });
  for (auto [value, name] : llvm::zip(kept, names))
    os << name << " = " << text(value) << ";\n";
  close();
  scope = outer;
  for (auto [value, name] : llvm::zip(kept, names))
    memberScalars[value] = name;
}

LogicalResult PanelEmitter::emitMember() {
  Scope outer = scope;
  open("if (at.block == at.blocks - 1) { // what follows for the member");
  SmallVector<Value> roots = rootsOfMember();
  for (auto &[value, name] : memberScalars)
    scope.bind(value, name);
  llvm::DenseSet<Value> wanted;
  for (Level level : {Level::member, Level::list})
    wanted.insert_range(inputsOf(roots, level));
  declareScalarInputs([&](Value value) { return wanted.contains(value); });
  if (!passes.members.empty())
    os << "blocks_of_member.meet_member();\n";
  for (fused::ReduceOp member : passes.members) {
    std::string state = scope.fresh("state");
    os << "const auto " << state << " = " << partsOf(member) << "::all("
       << scratch(member, PanelScratchPer::panel) << ", at);\n"
       << "const " << computedType(member.getResult(0).getType()) << ' '
       << scope.declare(member.getResult(0), "sum") << " = " << kindOf(member)
       << "::value(" << state << ");\n";
  }
  open("if (threadIdx.x < heddle::member_threads) {");
  if (failed(declareNeeded(roots)))
    return failure();
  storeMemberResults();
  close();
  close();
  scope = outer;
  return success();
}

} // namespace heddle::cuda
