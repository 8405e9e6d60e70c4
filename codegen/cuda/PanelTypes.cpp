//===- PanelTypes.cpp - types of a panel loop -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the parameters of the kernel, the member descriptor with the names and
// types of the program, and the structs that phases share.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

std::string PanelEmitter::Struct::add(StringRef type, StringRef wanted,
                                      StringRef suffix) {
  std::string name = scope.fresh(wanted);
  fields.push_back(
      {(type + (type.ends_with("*") ? "" : " ") + name + suffix).str(), name});
  return name;
}

void PanelEmitter::print(StringRef comment, StringRef name,
                         const Struct &fields) {
  os << "// " << comment << "\nstruct " << name << " {\n";
  os.indent();
  for (auto &[declaration, field] : fields.fields)
    os << declaration << ";\n";
  close("};\n");
}

void PanelEmitter::printAccessor(StringRef type, StringRef name) {
  os << "__device__ __forceinline__ " << type << " &" << name
     << "() { return heddle::in_shared_memory<" << type << ">(); }\n\n";
}

std::string PanelEmitter::scratch(fused::ReduceOp owner,
                                  PanelScratchPer per) const {
  return prefix("params." + scratchNames[panel.scratchOf(owner, per)]);
}

/// Names the arguments of the kernel, in order (PanelLayout.h).
void PanelEmitter::nameParameters() {
  parameters.fields.push_back({"heddle::table table", "table"});
  for (auto [k, slot] : llvm::enumerate(layout.scalars)) {
    if (layout.iteration == static_cast<int>(k))
      continue; // in a register
    StringRef name = StringRef(names.scalars[k]);
    name.consume_front("params.");
    std::string type = storedType(slot.storage).str();
    parameters.scope.fresh(name);
    parameters.fields.push_back(
        {(slot.isByValue ? "heddle::scalar_argument<" + type + ", false> "
          : slot.written ? type + " *"
                         : "const " + type + " *") +
             name.str(),
         name.str()});
  }
  parameters.fields.push_back(
      {"const int *iteration_limit", "iteration_limit"});
  for (PanelScratch area : panel.scratch) {
    StringRef own = nameOf(area.owner.getResult(0));
    StringRef per = area.per == PanelScratchPer::column      ? "_of_columns"
                    : area.per != PanelScratchPer::row       ? "_of_panels"
                    : area.owner.getLevel() == Level::column ? "_shift_of_rows"
                                                             : "_of_rows";
    bool isState = area.per == PanelScratchPer::panel;
    scratchNames.push_back(parameters.add(
        (isState ? stateOf(area.owner) : computed(area.owner)) + " *",
        ((own.empty() ? StringRef("sum") : own) + per).str()));
  }
  parameters.fields.push_back({"unsigned *barrier", "barrier"});
}

/// Names the operands of a member descriptor.
void PanelEmitter::nameOperands() {
  for (StringRef own : {"columns", "column_base", "count", "first_tile",
                        "tiles", "segment", "index"})
    operands.scope.reserve(own);
  for (const OperandSlot &slot : slots.operands) {
    std::string type = isLengthOrStride(slot)
                           ? "long long"
                           : (slot.written ? "" : "const ") +
                                 storedType(slot.storage).str() + " *";
    pointers.push_back("member()." + operands.add(type, nameOfSlot(slot)));
  }
}

/// Names the operands and scratch areas that a block keeps in shared memory
/// with a cluster per member.
void PanelEmitter::nameResidents() {
  for (auto [k, slot] : llvm::enumerate(slots.operands)) {
    if (slot.index > kJ || isLengthOrStride(slot))
      continue;
    int64_t bytes = storageBytes(slot.storage);
    // A message to another block has at least a word.
    std::string extent = slot.index == kI ? "heddle::buffered_rows"
                         : slot.index == kJ
                             ? "heddle::member_columns"
                             : std::to_string(bytes < 4 ? 4 / bytes : 1);
    residentOperands[k] =
        residents.add(("alignas(16) " + storedType(slot.storage)).str(),
                      nameOfSlot(slot), "[" + extent + "]");
  }
  for (auto [k, area] : llvm::enumerate(panel.scratch))
    if (area.per == PanelScratchPer::row)
      residentScratch[k] = residents.add(computed(area.owner), scratchNames[k],
                                         "[heddle::buffered_rows]");
    else if (area.per == PanelScratchPer::column)
      residentScratch[k] =
          residents.add("alignas(16) " + computed(area.owner), scratchNames[k],
                        "[heddle::member_columns]");
}

std::string PanelEmitter::computed(fused::ReduceOp op) const {
  return computedType(op.getValue().getType()).str();
}

static bool sumsPowers(fused::ReduceOp op) {
  return fused::PanelAnalysis::sumsPowers(op) && op.getLevel() != Level::member;
}

std::string PanelEmitter::partType(fused::ReduceOp op) const {
  return sumsPowers(op) ? computed(op) : stateOf(op);
}

std::string PanelEmitter::partKind(fused::ReduceOp op) const {
  return sumsPowers(op) ? "heddle::add<" + computed(op) + ">" : kindOf(op);
}

void PanelEmitter::emitTypes() {
  print("The arguments of the kernel.", "loop_params", parameters);

  os << "// A member of the list: its operands, rows (`count`) and columns.\n"
     << "struct alignas(16) member_descriptor {\n";
  os.indent();
  for (auto &[declaration, field] : operands.fields)
    os << declaration << ";\n";
  os << "long long columns, column_base, count;\n"
     << "int first_tile, tiles, segment, index;\n";
  close("};");
  os << "static_assert(sizeof(member_descriptor) == "
        "sizeof(heddle::member_descriptor<"
     << layout.pointers << ", 2>), \"as in the table\");\n";
  printAccessor("member_descriptor", "member");

  print("Shared memory with a cluster per member: the values that iterations "
        "read and write.",
        "resident_operands", residents);
  printAccessor("resident_operands", "resident");

  print("Shared memory of a block: values of the rows in progress, and scalars "
        "of the member's results.",
        "block_values", blockValues);
  printAccessor("block_values", "block");

  if (!scalars.fields.empty())
    print("Registers: scalars, which are the same for all elements.",
          "loop_scalars", scalars);

  os << "// Registers: the state of a loop.\n"
     << "struct loop_state {\n";
  os.indent();
  os << "heddle::member_barrier barrier; // of the blocks that process the "
        "member\n"
     << "heddle::row_queue<" << panel.matrices.size()
     << "> queue; // of the rows in flight\n";
  if (!analysis.ofCompleteColumns.empty())
    os << "heddle::column_barrier column_results; // of the same blocks\n";
  for (auto &[declaration, field] : rowReductions.fields)
    os << declaration << "; // over the threads of a group\n";
  os << "int iteration;\n";
  close("};\n");

  if (!columnInputs.empty())
    print("Registers: values of a thread's columns, as loaded.",
          "column_inputs", inputs);
  print("Registers: values of a thread's columns; terms of exponents are in "
        "base 2.",
        "column_values", columns);
  print("Registers: elements of the rows in progress, from the reduce phase to "
        "the accumulate phase.",
        "row_elements", elements);
  print("Registers: the sums of a thread's columns over rows.", "column_sums",
        sums);
  if (!analysis.members.empty())
    print("Registers: a thread's part of the reductions over the member.",
          "member_sums", memberSums);

  for (auto [k, column] : llvm::enumerate(analysis.columns))
    os << "using " << parts[column] << " = heddle::parts_of_columns<"
       << partType(column) << ", " << k << ">;\n";
  for (auto [k, member] : llvm::enumerate(analysis.members))
    os << "using " << parts[member] << " = heddle::parts_of_member<"
       << partKind(member) << ", " << k << ", "
       << (isOverColumns(member) ? "false" : "true") << ">;\n";
  os << "\n";

  // Dynamic shared memory: the stages of rows, then the buffers.
  int64_t widest = 0, computes = 0;
  std::string widestSum;
  for (int slot : panel.matrices)
    widest = std::max(widest, storageBytes(slots.operands[slot].storage));
  for (fused::ReduceOp column : analysis.columns)
    if (int64_t own = storageBytes(column.getValue().getType());
        own > computes) {
      computes = own;
      widestSum = computed(column);
    }
  std::string sizes;
  for (Value value : columnValues)
    sizes += " + sizeof(" + computedType(value.getType()).str() + ")";
  for (Exponential &sum : exponentials)
    sizes += " + sizeof(" + computed(sum.reduce) + ")";
  os << "// Dynamic shared memory: the stages of rows (with 32 bytes for the "
        "alignment of a bulk copy), the columns of all thread\n"
        "// groups, and column values that threads broadcast.\n"
     << "constexpr int row_bytes = heddle::bytes_of_row<" << widest << ">;\n"
     << "constexpr bool broadcasts = heddle::broadcast_bytes<" << widestSum
     << ", " << 4 * panel.words
     << "> >= " << (sizes.empty() ? "0" : StringRef(sizes).drop_front(3))
     << ";\n"
     << "__device__ __forceinline__ char *gather_buffer() {\n"
     << "  return heddle::dynamic_shared() + heddle::thread_groups * "
        "heddle::stages * "
     << panel.matrices.size() << " * row_bytes;\n}\n"
     << "__device__ __forceinline__ char *broadcast_buffer(int bytes_before) "
        "{\n"
     << "  const int offset = bytes_before * heddle::items_per_thread * "
        "heddle::group_threads;\n"
     << "  return gather_buffer() + offset + (heddle::has_broadcast_buffer ? "
        "heddle::block_threads * heddle::items_per_thread * sizeof("
     << widestSum << ") : 0);\n}\n\n";
}

} // namespace heddle::cuda
