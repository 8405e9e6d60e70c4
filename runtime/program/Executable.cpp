//===- Executable.cpp - Compiled kernels and their plan -------------------===//

#include "runtime/program/Executable.h"

#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/support/Dump.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace heddle::runtime {

Expected<std::shared_ptr<Executable>>
Executable::create(CompiledProgram program, Target target, StringRef arch) {
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
  if (plan.source.empty())
    return executable;
  Expected<CompiledImage> compiled = compileSource(
      {name, plan.source, plan.headers, plan.options}, arch, ImageKind::Cubin);
  if (!compiled)
    return compiled.takeError();
  executable->image = std::move(compiled->image);
  executable->compileLog = std::move(compiled->log);
  return executable;
}

Expected<std::shared_ptr<Module>> Executable::load(const ContextPtr &context) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[owner, module] : modules)
    if (owner == context)
      return module;
  Expected<std::shared_ptr<Module>> module =
      Module::load(context, ArrayRef<char>(image.data(), image.size()));
  if (!module)
    return withContext("'" + program->name + "' (compiled for " + architecture +
                           ")",
                       module.takeError());
  modules.emplace_back(context, *module);
  return module;
}

Expected<std::shared_ptr<Module>>
Executable::loadPanels(const ContextPtr &context, const PanelClass &panels) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const PanelModule &loaded : panelModules)
    if (loaded.context == context && loaded.panels == panels)
      return loaded.module;
  const Plan &plan = *program;
  std::vector<std::string> options = plan.options;
  append_range(options, panels.defines());
  options.push_back("-DHEDDLE_PANELS_ALONE");
  std::string name = (plan.name.empty() ? "program" : plan.name) + "_panels";
  Expected<CompiledImage> compiled =
      compileSource({name, plan.panelSource, plan.headers, options},
                    architecture, ImageKind::Cubin);
  if (!compiled)
    return compiled.takeError();
  Expected<std::shared_ptr<Module>> module = Module::load(
      context, ArrayRef<char>(compiled->image.data(), compiled->image.size()));
  if (!module)
    return withContext("'" + name + "'", module.takeError());
  panelModules.push_back({context, panels, *module});
  return module;
}

Expected<std::pair<Target, std::string>> chooseTarget(StringRef target,
                                                      StringRef arch) {
  if (target != "" && target != "cuda" && target != "cpu")
    return makeError(StatusCode::BadInput,
                     "target: expected 'cuda' or 'cpu', found '{0}'", target);
  if (target == "cpu")
    return std::make_pair(Target::Cpu, std::string("cpu"));
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
