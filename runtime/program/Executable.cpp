//===- Executable.cpp - Compiled kernels and their plan -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Executable.h"

#include "runtime/support/Dump.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace heddle::runtime {

Expected<std::shared_ptr<Executable>>
Executable::create(CompiledProgram program, Target target, StringRef arch,
                   Compile when) {
  auto executable = std::make_shared<Executable>();
  executable->program = std::make_shared<const Plan>(std::move(program.plan));
  executable->programTarget = target;
  const Plan &plan = *executable->program;
  std::string name = plan.name.empty() ? "program" : plan.name;
  if (dumpEnabled())
    dump(name, "plan.json", formatv("{0:2}\n", planToJSON(plan)).str());
  if (target == Target::Cpu) {
    if (!program.cpu)
      return makeError(StatusCode::BadInput,
                       "'{0}': expected a program compiled for the cpu target",
                       name);
    executable->architecture = "cpu";
    executable->cpuProgram = std::move(program.cpu);
    return executable;
  }
  executable->architecture = arch.str();
  if (dumpEnabled())
    dump(name, safeFileName(name) + ".cu", plan.source.text());
  executable->units =
      std::make_unique<KernelUnits>(executable->program, arch.str());
  if (when == Compile::withBinding && executable->units->needsSizeClass()) {
    // Report a missing NVRTC here, not at the first binding.
    if (Expected<std::string> nvrtc = findNvrtc(); !nvrtc)
      return nvrtc.takeError();
    return executable;
  }
  if (Error error = executable->units->compile())
    return std::move(error);
  executable->compileLog = executable->units->log();
  return executable;
}

bool isArch(StringRef text) {
  if (!text.consume_front("sm_"))
    return false;
  if (text.ends_with("a") || text.ends_with("f"))
    text = text.drop_back();
  unsigned number = 0;
  return all_of(text, isDigit) && !text.starts_with("0") &&
         !text.getAsInteger(10, number) && number >= 50 && number < 200;
}

Expected<std::pair<Target, std::string>> chooseTarget(StringRef target,
                                                      StringRef arch) {
  if (target != "" && target != "cuda" && target != "cpu")
    return makeError(StatusCode::BadInput,
                     "target: expected 'cuda' or 'cpu', found '{0}'", target);
  if (target == "cpu" && !arch.empty() && arch != "cpu")
    return makeError(StatusCode::BadInput,
                     "arch: expected none for target 'cpu', found '{0}'", arch);
  if (target == "cpu")
    return std::make_pair(Target::Cpu, std::string("cpu"));
  if (!arch.empty() && !isArch(arch))
    return makeError(StatusCode::BadInput,
                     "arch: expected an architecture such as sm_80, sm_90, "
                     "sm_100 or sm_120, found '{0}'",
                     arch);
  if (!arch.empty())
    return std::make_pair(Target::Cuda, arch.str());
  Expected<ContextPtr> context = Context::current();
  if (context)
    return std::make_pair(Target::Cuda, (*context)->arch());
  if (target == "cuda")
    return withContext("target cuda without an architecture",
                       context.takeError());
  consumeError(context.takeError());
  return std::make_pair(Target::Cpu, std::string("cpu"));
}

} // namespace heddle::runtime
