//===- Host.cpp - the machine that code is compiled for -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Host.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace heddle::cpu {

static void initializeOnce() {
  [[maybe_unused]] static bool done = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
}

Expected<Host> Host::detect() {
  initializeOnce();
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(CodeGenOptLevel::Aggressive);
  // Contraction is explicit: the IR contains an fma where it is allowed.
  builder->getOptions().AllowFPOpFusion = FPOpFusion::Strict;
  Host host(std::move(*builder));
  auto machine = host.builder.createTargetMachine();
  if (!machine)
    return machine.takeError();
  host.machine = std::move(*machine);
  StringRef features = host.machine->getTargetFeatureString();
  bool x86 = host.machine->getTargetTriple().isX86();
  // Other hosts convert and fuse in their base instruction set.
  host.traits.convertsF16 = !x86 || features.contains("+f16c");
  host.traits.hasFma = !x86 || features.contains("+fma");
  return host;
}

void Host::prepare(Module &module) const {
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine->getTargetCPU());
    function.addFnAttr("target-features", machine->getTargetFeatureString());
  }
}

void Host::optimize(Module &module) const {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = true;
  PassBuilder passes(machine.get(), tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  // LLVM must not replace a call of libm by another function, which the process
  // may lack.
  functions.registerPass([&] {
    TargetLibraryInfoImpl library(machine->getTargetTriple());
    library.disableAllFunctions();
    return TargetLibraryAnalysis(library);
  });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

} // namespace heddle::cpu
