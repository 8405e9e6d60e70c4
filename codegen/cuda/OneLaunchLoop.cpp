//===- OneLaunchLoop.cpp - a loop in one launch ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the entry of the cooperative form of a loop.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/ProgramEmitter.h"

using namespace mlir;

namespace heddle::cuda {

/// Prints the entry that runs the whole loop in one launch: all its blocks are
/// resident, and synchronize between sweeps.
LogicalResult ProgramEmitter::emitLoop(fused::LoopOp loop) {
  auto cooperative = loop.getCooperativeAttr();
  if (!cooperative)
    return success();
  std::string name = oneLaunchEntry(loop);
  beginSection({name});
  struct Call {
    SweepNames names;
    std::string params, arguments; // a structure, and the values of its fields
    bool endsList, reversed;
  };
  std::vector<Call> calls;
  std::vector<SweepLayout> layouts;
  Scope scope;
  const StringRef taken = "iterations_taken", limit = "iteration_limit",
                  condition = "condition", barrier = "barrier";
  for (StringRef own : {taken, limit, condition, barrier})
    scope.reserve(own);
  Value active = loop.getActive();
  std::string anyActive;
  for (auto sweep : loop.getBody().front().getOps<fused::SweepOp>()) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      return failure();
    Call &call = calls.emplace_back();
    call.names = nameSweep(sweep, *layout);
    call.params = scope.fresh(call.names.sweep);
    call.endsList = layout->endsList;
    call.reversed = sweep.getReversed();
    if (active && sweep.getWhere() == active)
      anyActive = llvm::formatv(
          "heddle::any_member<{0}, {1}>({2}.table.members, "
          "{2}.table.member_count)",
          call.names.memberType(*layout), layout->whereOperand[0], call.params);
    layouts.push_back(std::move(*layout));
  }
  SmallVector<std::string> parameters;
  auto declare = [&](StringRef type, const Twine &wanted) {
    std::string own = scope.fresh(wanted.str());
    parameters.push_back(type.str() + own);
    return own;
  };
  // The values of the fields of each structure, by position.
  std::vector<std::map<size_t, std::string>> values(calls.size());
  auto pass = [&](const KernelArgument &argument, size_t position,
                  StringRef wanted = "") {
    const SweepNames::Field &field =
        calls[argument.sweep].names.fields[position];
    values[argument.sweep][position] =
        declare(field.typeFor("false"),
                wanted.empty() ? StringRef(field.name) : wanted);
  };
  for (const KernelArgument &argument :
       KernelSignature::ofCooperative(loop, layouts, buffers).arguments) {
    size_t scalars = layouts[argument.sweep].scalars.size();
    switch (argument.kind) {
    case KernelArgumentKind::table:
      pass(argument, 0, "table_of_" + calls[argument.sweep].names.sweep);
      break;
    case KernelArgumentKind::scalar:
      pass(argument, 1 + argument.slot);
      break;
    case KernelArgumentKind::scratch:
      pass(argument, 1 + scalars + argument.slot);
      break;
    case KernelArgumentKind::iterations:
      parameters.push_back(("int *" + taken).str());
      break;
    case KernelArgumentKind::limit:
      parameters.push_back(("const int *" + limit).str());
      break;
    case KernelArgumentKind::condition:
      parameters.push_back(("const bool *" + condition).str());
      break;
    case KernelArgumentKind::barrier:
      parameters.push_back(("unsigned *" + barrier).str());
      break;
    case KernelArgumentKind::panelScratch:
      break;
    }
  }
  for (auto [call, own] : llvm::zip(calls, values))
    for (size_t k = 0; k < call.names.fields.size(); ++k)
      call.arguments +=
          (k ? ", " : "") + (own.count(k) ? own[k] : std::string("&iteration"));

  os << "// The whole loop in one launch, whose blocks synchronize between "
        "sweeps.\n"
     << "extern \"C\" __global__ void __launch_bounds__("
     << cooperative.getThreads() << ", " << cooperative.getBlocks() << ")\n"
     << DeviceFunctions::wrapped(name + "(", parameters, ") {") << "\n";
  os.indent();
  os << "const int limit = *" << limit << ";\n"
     << "int iteration = 0;\n";
  for (const Call &call : calls)
    os << "const " << call.names.params
       << (call.names.isTemplate ? "<false> " : " ") << call.params << " = {"
       << call.arguments << "};\n";
  os << "for (bool more = limit > 0; more;) {\n";
  os.indent();
  for (const Call &call : calls) {
    std::pair<StringRef, StringRef> arguments[] = {{"params", call.params},
                                                   {"EvictFirst", "false"}};
    std::string tile = call.names.sweep + "_tile",
                table = call.params + ".table";
    if (call.endsList)
      os << "if (" << table << ".tile_count == 0 && blockIdx.x == 0)\n  "
         << functions.call(call.names.sweep + "_epilogue", arguments) << ";\n";
    os << "for (int k = blockIdx.x; k < " << table
       << ".tile_count; k += gridDim.x) {\n";
    os.indent();
    os << "const int tile_index = "
       << (call.reversed ? table + ".tile_count - 1 - k" : "k") << ";\n"
       << "const auto tile = heddle::descriptor_at<" << tile << ">(" << table
       << ".tiles, tile_index);\n"
       << functions.call(call.names.sweep + "_process", arguments) << ";\n";
    os.unindent() << "}\n"
                  << "heddle::grid_barrier(" << barrier << ");\n";
  }
  os << "++iteration;\n"
     << "more = iteration < limit && "
     << (active
             ? anyActive
             : ("*static_cast<const volatile bool *>(" + condition + ")").str())
     << ";\n"
     << "heddle::grid_barrier(" << barrier
     << "); // no block writes the condition before all have read it\n";
  os.unindent() << "}\n"
                << "if (blockIdx.x == 0 && threadIdx.x == 0)\n  *" << taken
                << " = iteration;\n";
  os.unindent() << "}\n\n";
  return success();
}

} // namespace heddle::cuda
