//===- PanelEmitter.cpp - a loop whose blocks keep panels of rows ---------===//
//
// A trip: the columns' values go into registers; panel by panel, a crew of the
// block for each row, a first pass takes the exponentials of a row that a bulk
// copy brought and reduces them, a second adds them to the columns. While one
// crew waits for its sum, another has work. Columns meet over the panels in a
// fixed order, each block combining a share of them.
//
// Sums of exponentials are taken about guesses. Where one is not safe, the row,
// or the columns, are reduced anew around their maxima, by the block alone:
// what a loop computes never depends on its guesses.
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

PanelEmitter::PanelEmitter(raw_indented_ostream &os, fused::SweepOp sweep,
                           const SweepLayout &layout, const SweepNames &names,
                           const Buffers &buffers, const PanelLayout &panel)
    : SegmentEmitter(os, sweep, layout, names, buffers, 0), panel(panel),
      passes(panel.passes) {
  for (fused::ReduceOp row : passes.rows)
    if (row.getAbout())
      exponentials.push_back({row, *fused::decompose(row.getValue(), levels)});
  for (fused::ReduceOp column : passes.columns)
    if (fused::Panel::takesOwnPowers(column))
      exponentials.push_back(
          {column, *fused::decompose(column.getValue(), levels)});
}

PanelEmitter::Exponential &PanelEmitter::exponentialOf(Operation *reduce) {
  return *llvm::find_if(exponentials, [&](Exponential &sum) {
    return sum.reduce.getOperation() == reduce;
  });
}

bool PanelEmitter::isNormalized(fused::ReduceOp column) {
  fused::ReduceOp row = cast<fused::ReduceOp>(sharedBy(column));
  double slope = 0;
  for (const fused::Term &term :
       fused::decompose(column.getValue(), levels)->row) {
    auto own = fused::slopeIn(term.value, row.getResult(0));
    if (!own || (*own != 0 && !term.factors.empty()))
      return false;
    slope += term.scale * *own;
  }
  return slope == -1;
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
    if (fused::Panel::takesOwnPowers(column))
      continue;
    if (!sharedBy(column)) {
      left.push_back(column.getValue());
      continue;
    }
    if (isNormalized(column))
      continue; // its numerator stands for all of them
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
  rowValues.insert_range(rowsOfResults());
}

/// What a row leaves behind: its results, its part of the member's, and what
/// the exponents of columns have of it.
SmallVector<Value> PanelEmitter::rootsOfResults() {
  SmallVector<Value> roots;
  for (auto [slot, value] :
       llvm::zip(slots.results, sweep.getSegmentYield(segment).getValues()))
    if (slot >= 0 && slots.operands[slot].index == kI)
      roots.push_back(value);
  for (fused::ReduceOp member : passes.members)
    if (!isOverColumns(member))
      roots.push_back(member.getValue());
  for (fused::ReduceOp column : passes.columns)
    if (fused::Panel::sumsPowers(column))
      llvm::append_range(
          roots, valuesOf(fused::decompose(column.getValue(), levels)->row));
  return roots;
}

/// The arguments of rows that this is made of.
llvm::SetVector<Value> PanelEmitter::rowsOfResults() {
  SmallVector<Value> left = rootsOfResults();
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
  os << "// Of the rows that the block is at: what their elements need of "
        "them, "
        "and\n// what became of them.\n";
  for (Value value : rowValues)
    rowArrays[value] = declare(ownName(value, "row_value") + "_of_row",
                               computedType(value.getType()));
  for (fused::ReduceOp row : passes.rows)
    rowSums[row] =
        declare(ownName(row.getResult(0), "row") + "_of_row", computed(row));
  for (Exponential &sum : exponentials) {
    bool ofRows = sum.isOfRows();
    std::string own =
        ownName(sum.reduce.getResult(0), ofRows ? "row" : "column");
    sum.columnPart = scope.fresh(own + "_columns");
    if (!ofRows)
      continue;
    sum.guess = declare(own + "_guess", computed(sum.reduce));
    sum.rowPart = declare(own + "_part", computed(sum.reduce));
    sum.kept = scope.fresh("power");
  }
  for (Value value : passes.kept)
    keptArrays[value] = scope.fresh(ownName(value, "value") + "_kept");
  for (Value value : columnValues)
    columnArrays[value] = scope.fresh(ownName(value, "value") + "_columns");
  for (fused::ReduceOp column : passes.columns)
    columnSums[column] =
        scope.fresh(ownName(column.getResult(0), "column") + "_part");
  for (fused::ReduceOp column : passes.columns)
    if (sharedBy(column) && isNormalized(column))
      numerators[column] =
          declare(ownName(column.getResult(0), "column") + "_numerator",
                  computed(column));
  for (auto [k, each] : llvm::enumerate(passes.rows)) {
    fused::ReduceOp row = each;
    std::string kind = partKind(row);
    ofWarps[row] = scope.fresh("sums_of_" + ownName(row.getResult(0), "row"));
    os << "heddle::row_meeting<" << kind << ", Cluster, " << k << "> "
       << ofWarps[row] << ";\n";
  }
}

//===----------------------------------------------------------------------===//
// The beginning of a trip
//===----------------------------------------------------------------------===//

/// Whether `value` is the same in every trip.
bool PanelEmitter::isOfLoop(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    int slot = slots.inputs[argument.getArgNumber()];
    return slot < 0 ? !layout.scalars[-1 - slot].written
                    : !slots.operands[slot].written &&
                          !movesWithTrips(slots.operands[slot].index);
  }
  Operation *op = value.getDefiningOp();
  return !isa<foreach::TripOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfLoop(operand); });
}

/// Scalars of the list and of the member that the walk needs: those that are
/// the same in every trip, or the others.
SmallVector<Value> PanelEmitter::scalarsOfWalk(bool ofLoop) {
  SmallVector<Value> scalars;
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
        if (isScalar(operand) && isOfLoop(operand) == ofLoop)
          scalars.push_back(operand);
  return scalars;
}

/// Whether what the rows of a trip need is known before all blocks have ended
/// the trip before: the block's own rows, and nothing of columns or members.
bool PanelEmitter::waitsLate() {
  return scalarsOfWalk(/*ofLoop=*/false).empty() &&
         llvm::none_of(passes.members, [&](fused::ReduceOp member) {
           return isOverColumns(member);
         });
}

void PanelEmitter::emitMeetValues() {
  os << "if (trip > 0)\n  blocks_of_member.meet_values();\n";
}

void PanelEmitter::emitMore() {
  if (!layout.whereOperand.empty())
    os << "const bool more = *" << pointers[layout.whereOperand[segment]]
       << "; // looked at when all else has been asked for\n";
}

LogicalResult PanelEmitter::emitScalars(bool ofLoop) {
  SmallVector<Value> roots = scalarsOfWalk(ofLoop);
  llvm::DenseSet<Value> wanted;
  for (Level level : {Level::member, Level::list})
    wanted.insert_range(inputsOf(roots, level));
  declareScalarInputs([&](Value value) { return wanted.contains(value); });
  if (failed(declareNeeded(roots)))
    return failure();
  for (Exponential &sum : exponentials) {
    std::string type = computed(sum.reduce);
    if (llvm::all_of(sum.exponent.element, [&](const fused::Term &term) {
          return llvm::all_of(term.factors, [&](const fused::Factor &factor) {
            return isOfLoop(factor.value);
          });
        }) != ofLoop)
      continue;
    for (const fused::Term &term : sum.exponent.element) {
      std::string name = scope.fresh(
          (nameOf(term.value).empty() ? "x" : nameOf(term.value).str()) +
          "_factor");
      std::string factor = term.scale < 0 ? "-1" : "1";
      if (std::abs(term.scale) != 1)
        factor = number(term.scale);
      factor = "static_cast<" + type + ">(" + factor + ")";
      for (const fused::Factor &other : term.factors)
        factor +=
            (other.reciprocal ? " / " : " * ") + expression(other.value).text;
      os << "const " << type << ' ' << name << " = heddle::per_bit<" << type
         << ">(" << factor << ");\n";
      sum.factors.push_back(name);
    }
  }
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
  std::string parameters = "heddle::table table";
  for (auto [k, slot] : llvm::enumerate(layout.scalars)) {
    if (layout.trip == static_cast<int>(k))
      continue; // in a register
    const std::string &name = names.scalars[k];
    std::string type = storedType(slot.storage).str();
    parameters += slot.isNumber  ? ", heddle::scalar_argument<" + type + ", false> "
                  : slot.written ? ", " + type + " *"
                                 : ", const " + type + " *";
    parameters += name;
  }
  std::string limitAt = scope.fresh("limit_at"),
              barrier = scope.fresh("barrier");
  parameters += ", const int *" + limitAt;
  for (PanelScratch area : panel.scratch) {
    StringRef own = nameOf(area.owner.getResult(0));
    StringRef per = area.per == PanelScratchPer::panelColumn ? "_of_panels"
                    : area.per == PanelScratchPer::panel     ? "_of_panels"
                    : area.owner.getLevel() == Level::column ? "_shift_of_rows"
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
  for (StringRef word : {"first_of_panel",
                         "used",
                         "more",
                         "stopped",
                         "Threads",
                         "Items",
                         "t",
                         "gather",
                         "found",
                         "row_bytes",
                         "part",
                         "Cluster",
                         "limit",
                         "rank",
                         "unit",
                         "units",
                         "queue",
                         "m",
                         "member",
                         "rows",
                         "columns",
                         "share",
                         "first_column",
                         "width",
                         "trip",
                         "panel",
                         "begin",
                         "all",
                         "count",
                         "r",
                         "row",
                         "k",
                         "c",
                         "there",
                         "bad",
                         "is_first",
                         "to",
                         "g",
                         "Batch",
                         "unsafe",
                         "exact",
                         "of_thread",
                         "Rows",
                         "Tells",
                         "first",
                         "is_row",
                         "stored",
                         "base",
                         "until",
                         "group",
                         "column",
                         "lane",
                         "warp",
                         "b",
                         "state",
                         "blocks_of_member",
                         "at"})
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
     << "static_assert(4 * heddle::member_meeting::words == "
     << kPanelBarrierBytes << ", \"as large as the plan says\");\n"
     << "heddle::member_meeting blocks_of_member(" << barrier << ");\n";
  int64_t widest = 0;
  for (int slot : panel.matrices)
    widest = std::max(widest, storageBytes(slots.operands[slot].storage));
  os << "constexpr int row_bytes = heddle::crew_threads * Items * " << widest
     << " + 32; // and what lies beside a row\n"
     << "heddle::row_queue<HEDDLE_PANEL_STAGES, " << panel.matrices.size()
     << "> queue(row_bytes);\n"
     << "char *const gather = heddle::dynamic_shared() + heddle::crews * "
        "HEDDLE_PANEL_STAGES * "
     << panel.matrices.size() << " * row_bytes;\n";
  declareTells();
  declareRowArrays();
  os << "if (Cluster > 1 || HEDDLE_PANEL_TEAM)\n  heddle::cluster_barrier(); "
        "// all mailboxes are "
        "there\n";
  os << "__shared__ " << names.sweep << "_member_descriptor member;\n";
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
  declareKept();
  os << "__syncthreads();\n";
  open("for (int m = at.team; m < table.member_count; m += at.teams) {");
  os << "__syncthreads();\n";
  open("if (threadIdx.x == 0) {");
  os << "member = heddle::descriptor_at<" << names.sweep
     << "_member_descriptor>(table.members, m);\n"
     << "heddle::find_member<Cluster>(at, member.count, member.columns);\n";
  for (auto [k, slot] : llvm::enumerate(panel.matrices))
    os << "queue.take(" << k << ", " << pointers[slot] << ", "
       << pointers[slot + 1]
       << ", member.count, member.columns, at.first_column, at.width);\n";
  close();
  os << "__syncthreads();\n"
     << "queue.open(at.unit, at.units, member.count, at.width);\n";
  emitTeamBegins();
  if (failed(emitScalars(/*ofLoop=*/true)))
    return failure();
  keepMemberScalars();
  open("for (int trip = 0; trip < at.limit; ++trip) {");
  if (!waitsLate()) {
    emitMeetValues();
    emitMore();
    if (failed(emitScalars(/*ofLoop=*/false)))
      return failure();
  }
  open("if (at.unit >= at.used) { // it has no rows");
  if (waitsLate()) {
    emitMeetValues();
    emitMore();
  }
  if (!layout.whereOperand.empty())
    os << "if (!more)\n  goto stopped;\n";
  os << "blocks_of_member.give_columns();\n";
  close();
  if (failed(emitPanels()))
    return failure();
  bool rowsAlone = llvm::none_of(passes.members, [&](fused::ReduceOp member) {
    return isOverColumns(member);
  });
  os << "blocks_of_member.meet_columns<" << (rowsAlone ? "true" : "false")
     << ">(at);\n";
  if (failed(emitColumns()) || failed(emitMember()))
    return failure();
  os << "blocks_of_member.give_values();\n";
  close();
  os << "if (at.limit > 0)\n  blocks_of_member.meet_values();\n";
  if (!layout.whereOperand.empty())
    os.unindent() << "stopped:\n", os.indent();
  os << "queue.close();\n";
  emitTeamEnds();
  close();
  os << "if (Cluster > 1)\n  heddle::cluster_barrier(); // nobody writes to a "
        "block that has ended\n";
  os.unindent() << "}\n\n";
  return success();
}

} // namespace heddle::cuda