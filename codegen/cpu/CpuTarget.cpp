//===- CpuTarget.cpp - fused IR to machine code of this process -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/SweepFunctions.h"
#include "runtime/support/MemoryReserve.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

using namespace heddle::cpu;
using heddle::runtime::CpuProgram;
using heddle::runtime::makeError;
using heddle::runtime::MemoryReserve;
using heddle::runtime::StatusCode;
using llvm::Error;
using llvm::Expected;

namespace heddle {

namespace {
struct Emitted {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  llvm::StringMap<SweepFunctions> sweeps;
};

class JitProgram : public CpuProgram {
public:
  Expected<Sweep> lookup(llvm::StringRef sweep) override {
    auto it = sweeps.find(sweep);
    if (it == sweeps.end())
      return makeError(StatusCode::BadInput,
                       "the program has no sweep '{0}' on the cpu target",
                       sweep);
    return it->second;
  }

  std::unique_ptr<Jit> jit;
  llvm::StringMap<Sweep> sweeps;
};
} // namespace

static mlir::LogicalResult emitSweeps(fused::ProgramOp program, Ir &ir,
                                      llvm::StringMap<SweepFunctions> &sweeps) {
  auto buffers = Buffers::read(program);
  if (failed(buffers))
    return mlir::failure();
  auto result = program.walk([&](fused::SweepOp sweep) {
    auto layout = SweepLayout::compute(sweep, *buffers);
    if (failed(layout))
      return mlir::WalkResult::interrupt();
    if (sweeps.contains(layout->name)) {
      sweep.emitOpError("has the name of another sweep, '")
          << layout->name << "'";
      return mlir::WalkResult::interrupt();
    }
    auto functions = emitSweep(ir, sweep, *layout);
    if (failed(functions))
      return mlir::WalkResult::interrupt();
    sweeps[layout->name] = *functions;
    return mlir::WalkResult::advance();
  });
  return mlir::failure(result.wasInterrupted());
}

static Expected<Emitted> emit(fused::ProgramOp program, const Host &host) {
  Emitted emitted;
  emitted.context = std::make_unique<llvm::LLVMContext>();
  emitted.module =
      std::make_unique<llvm::Module>(program.getSymName(), *emitted.context);
  Ir ir(*emitted.module, host.traits);
  if (failed(emitSweeps(program, ir, emitted.sweeps)))
    return makeError(StatusCode::BadInput,
                     "program '{0}' cannot be compiled for the cpu target; the "
                     "diagnostics say why",
                     program.getSymName());
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(*emitted.module, &os))
    return makeError(StatusCode::Failed,
                     "internal error: the cpu target emitted invalid LLVM IR "
                     "for program '{0}': {1}",
                     program.getSymName(), problem);
  host.prepare(*emitted.module);
  return emitted;
}

template <class Function>
static Error resolve(Jit &jit, const std::string &name, bool exists,
                     Function &function) {
  if (!exists)
    return Error::success();
  auto address = jit.lookup(name);
  if (!address)
    return address.takeError();
  function = reinterpret_cast<Function>(*address);
  return Error::success();
}

Expected<std::unique_ptr<CpuProgram>>
compileForCpu(fused::ProgramOp program,
              llvm::function_ref<void(llvm::Module &)> change) {
  auto host = Host::detect();
  if (!host)
    return host.takeError();
  auto emitted = emit(program, *host);
  if (!emitted)
    return emitted.takeError();
  if (Error error = MemoryReserve::check())
    return std::move(error);
  if (change)
    change(*emitted->module);
  host->optimize(*emitted->module);
  if (Error error = MemoryReserve::check())
    return std::move(error);
  auto compiled = std::make_unique<JitProgram>();
  auto jit = Jit::compile(
      *host, {std::move(emitted->module), std::move(emitted->context)});
  if (!jit)
    return jit.takeError();
  compiled->jit = std::move(*jit);
  for (auto &entry : emitted->sweeps) {
    CpuProgram::Sweep sweep;
    std::string name = entry.getKey().str();
    const SweepFunctions &made = entry.getValue();
    if (Error error =
            resolve(*compiled->jit, name + "_tile", made.tile, sweep.tile))
      return std::move(error);
    if (Error error = resolve(*compiled->jit, name + "_member", made.member,
                              sweep.member))
      return std::move(error);
    if (Error error = resolve(*compiled->jit, name + "_epilogue", made.epilogue,
                              sweep.epilogue))
      return std::move(error);
    compiled->sweeps[name] = sweep;
  }
  return compiled;
}

Expected<std::string> printCpuIr(fused::ProgramOp program) {
  auto host = Host::detect();
  if (!host)
    return host.takeError();
  auto emitted = emit(program, *host);
  if (!emitted)
    return emitted.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << *emitted->module;
  return text;
}

} // namespace heddle
