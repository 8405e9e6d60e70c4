//===- KernelUnits.cpp - The compiled kernels of a program ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/KernelUnits.h"

#include "runtime/binding/Tables.h"
#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

//===----------------------------------------------------------------------===//
// The units of a plan
//===----------------------------------------------------------------------===//

/// Calls `visit` with each node, and with whether the node is, or is part of, a
/// loop with a panel form.
static void
visitNodes(const PlanGraph &graph, bool inPanelLoop,
           function_ref<void(const PlanNode &, bool inPanelLoop)> visit) {
  for (const PlanNode &node : graph.nodes) {
    bool inside = inPanelLoop || node.panel;
    visit(node, inside);
    visitNodes(node.body, inside, visit);
  }
}

static void addEntries(
    const PlanNode &node, std::vector<std::string> &out,
    function_ref<bool(const PlanVariant &)> isWanted = [](const PlanVariant &) {
      return true;
    }) {
  for (const PlanVariant &variant : node.variants)
    if (!variant.entry.empty() && !is_contained(out, variant.entry) &&
        isWanted(variant))
      out.push_back(variant.entry);
}

/// Whether a replay never launches the variant if the graph owns the scalars of
/// the node. If the grid depends on the compiled kernel, preparing needs the
/// kernel all the same.
static bool isForAddresses(const Plan &plan, const PlanNode &node,
                           const PlanVariant &variant) {
  bool gridNeedsKernel = variant.grid == GridKind::Resident ||
                         variant.cooperative || variant.sharedBytes > 0 ||
                         (node.table >= 0 && plan.tables[node.table].rowParts);
  return node.kind == NodeKind::Kernel && node.hasByValueScalars() &&
         !variant.scalarsByValue && !gridNeedsKernel &&
         any_of(node.variants, [](const PlanVariant &other) {
           return other.scalarsByValue && !other.hasPredicate();
         });
}

static std::string programName(const Plan &plan) {
  return plan.name.empty() ? "program" : plan.name;
}

KernelUnits::KernelUnits(std::shared_ptr<const Plan> planned, std::string arch)
    : plan(std::move(planned)), arch(std::move(arch)) {
  if (plan->source.empty())
    return;
  bool panelsCanRun = panelBytesOf(this->arch) > 0;
  std::vector<std::string> entries, first;
  visitNodes(plan->graph, /*inPanelLoop=*/false,
             [&](const PlanNode &node, bool inPanelLoop) {
               addEntries(node, entries);
               if (!inPanelLoop || !panelsCanRun)
                 addEntries(node, first, [&](const PlanVariant &variant) {
                   return variant.distances.empty() &&
                          !isForAddresses(*plan, node, variant);
                 });
             });
  std::vector<SourceUnit> sources = plan->source.units(entries);
  for (SourceUnit &source : sources) {
    auto unit = std::make_unique<Unit>();
    unit->source = {sources.size() == 1 ? programName(*plan)
                                        : source.entries.front(),
                    std::move(source.text), plan->headers, plan->options,
                    programName(*plan)};
    unit->deferred = none_of(source.entries, [&](const std::string &entry) {
      return is_contained(first, entry);
    });
    unit->entries = std::move(source.entries);
    units.push_back(std::move(unit));
  }
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Error KernelUnits::compileAll(ArrayRef<Unit *> needed,
                              ArrayRef<StringRef> files) {
  std::vector<Unit *> missing;
  copy_if(needed, std::back_inserter(missing),
          [](Unit *unit) { return !unit->compiled; });
  std::vector<std::optional<Error>> outcomes(missing.size() + files.size());
  // The longest source first: it takes the most time, and NVRTC parses one
  // source at a time.
  // A pair has the complement of the length of a source, and its task.
  SmallVector<std::pair<size_t, size_t>> order;
  for (size_t task = 0; task < outcomes.size(); ++task)
    order.emplace_back(
        task < missing.size() ? ~missing[task]->source.text.size() : ~size_t(0),
        task);
  llvm::sort(order);
  runInParallel(order.size(), [&](size_t position) {
    size_t task = order[position].second;
    if (task >= missing.size()) {
      outcomes[task] = compileBuiltin(files[task - missing.size()], arch);
      return;
    }
    Unit &unit = *missing[task];
    Expected<CompiledImage> compiled =
        compileSource(unit.source, arch, ImageKind::Cubin);
    outcomes[task] = Error::success();
    if (compiled)
      unit.compiled = std::move(*compiled);
    else if (unit.panels)
      unit.failure = takeError(compiled.takeError());
    else
      outcomes[task] = compiled.takeError();
  });
  Error first = Error::success();
  for (std::optional<Error> &outcome : outcomes) {
    if (first)
      consumeError(std::move(*outcome));
    else
      first = std::move(*outcome);
  }
  return first;
}

std::vector<KernelUnits::Unit *> KernelUnits::firstUnits() const {
  std::vector<Unit *> first;
  for (const auto &unit : units)
    if (!unit->deferred)
      first.push_back(unit.get());
  return first;
}

std::vector<StringRef> KernelUnits::builtinFiles() const {
  std::vector<StringRef> files;
  bool copies = false;
  visitNodes(plan->graph, false, [&](const PlanNode &node, bool) {
    copies |= node.kind == NodeKind::Copy || node.kind == NodeKind::Fill;
  });
  if (copies)
    files.push_back(kCopyFile);
  if (!plan->source.empty() && any_of(plan->tables, [](const PlanTable &table) {
        return table.tileDescriptors;
      }))
    files.push_back(kDescriptorsFile);
  return files;
}

bool KernelUnits::needsSizeClass() const {
  return panelBytesOf(arch) > 0 &&
         any_of(plan->graph.nodes,
                [](const PlanNode &node) { return node.panel.has_value(); });
}

Error KernelUnits::compile() {
  std::lock_guard<std::mutex> lock(mutex);
  return compileAll(firstUnits(), builtinFiles());
}

std::vector<KernelUnits::Unit *>
KernelUnits::deferredUnits(ArrayRef<std::string> entries) const {
  std::vector<Unit *> deferred;
  for (const auto &unit : units)
    if (unit->deferred && any_of(unit->entries, [&](const std::string &entry) {
          return is_contained(entries, entry);
        }))
      deferred.push_back(unit.get());
  return deferred;
}

Error KernelUnits::compileFor(ArrayRef<PanelClass> classes,
                              ArrayRef<const PlanNode *> nodes,
                              std::vector<std::string> entries) {
  for (const PlanNode *node : nodes) {
    addEntries(*node, entries);
    visitNodes(node->body, false, [&](const PlanNode &inner, bool) {
      addEntries(inner, entries);
    });
  }
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<Unit *> needed = firstUnits();
  append_range(needed, deferredUnits(entries));
  for (const PanelClass &panels : classes)
    needed.push_back(unitOf(panels));
  return compileAll(needed, builtinFiles());
}

Error KernelUnits::compileEntries(ArrayRef<std::string> entries) {
  std::lock_guard<std::mutex> lock(mutex);
  return compileAll(deferredUnits(entries), {});
}

bool KernelUnits::awaitsCompilation(StringRef entry) const {
  std::lock_guard<std::mutex> lock(mutex);
  return any_of(units, [&](const auto &unit) {
    return !unit->panels && !unit->compiled &&
           is_contained(unit->entries, entry);
  });
}

std::string KernelUnits::log() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::string all;
  for (const auto &unit : units)
    if (!unit->deferred && unit->compiled)
      all += unit->compiled->log;
  return all;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<Module>>
KernelUnits::moduleOf(Unit &unit, const ContextPtr &context) {
  for (const auto &[owner, module] : unit.modules)
    if (owner == context)
      return module;
  if (Error error = compileAll(&unit, {}))
    return std::move(error);
  const std::string &image = unit.compiled->image;
  Expected<std::shared_ptr<Module>> module =
      Module::load(context, ArrayRef<char>(image.data(), image.size()));
  if (!module)
    return withContext("'" + unit.source.name + "' (compiled for " + arch + ")",
                       module.takeError());
  unit.modules.emplace_back(context, *module);
  return module;
}

Error KernelUnits::load(const ContextPtr &context) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &unit : units)
    if (unit->compiled && !unit->panels)
      if (auto module = moduleOf(*unit, context); !module)
        return module.takeError();
  return Error::success();
}

Expected<CUfunction> KernelUnits::function(const ContextPtr &context,
                                           StringRef entry, size_t arguments,
                                           size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &unit : units) {
    if (unit->panels || !is_contained(unit->entries, entry))
      continue;
    auto module = moduleOf(*unit, context);
    if (!module)
      return module.takeError();
    return (*module)->function(entry, arguments, bytes);
  }
  return makeError(StatusCode::BadInput,
                   "'{0}': expected a source with entry '{1}', found none",
                   programName(*plan), entry);
}

KernelUnits::Unit *KernelUnits::unitOf(const PanelClass &panels) {
  for (const auto &unit : units)
    if (unit->panels == panels)
      return unit.get();
  auto unit = std::make_unique<Unit>();
  std::vector<std::string> options = plan->options;
  append_range(options, panels.defines());
  unit->source = {programName(*plan) + "_panels", plan->panelSource,
                  plan->headers, std::move(options), programName(*plan)};
  unit->deferred = true;
  unit->panels = panels;
  return units.emplace_back(std::move(unit)).get();
}

Expected<CUfunction> KernelUnits::panelFunction(const ContextPtr &context,
                                                StringRef entry,
                                                size_t arguments,
                                                const PanelClass &panels) {
  std::lock_guard<std::mutex> lock(mutex);
  Unit *unit = unitOf(panels);
  if (!unit->failure)
    if (Error error = compileAll(unit, {}))
      return std::move(error);
  if (unit->failure) {
    // Another binding compiles the class again: memory may have been short.
    auto [code, text] = *std::exchange(unit->failure, std::nullopt);
    return make_error<StatusError>(code, std::move(text));
  }
  auto module = moduleOf(*unit, context);
  if (!module)
    return module.takeError();
  return (*module)->function(entry, arguments, sizeof(DeviceTable));
}

} // namespace heddle::runtime
