//===- Explain.cpp - kernels, traffic, floor and reasons of a program -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects all facts in one JSON object, which ExplainText.cpp prints.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/Explain.h"
#include "codegen/compiler/CopyBandwidth.h"
#include "codegen/compiler/ExplainText.h"
#include "codegen/compiler/ProgramCompiler.h"
#include "codegen/plan/PlanExtraction.h"
#include "codegen/plan/PlanShapes.h"
#include "dialect/Names.h"
#include "passes/Traffic.h"
#include "runtime/plan/PanelClass.h"
#include "runtime/support/Json.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle::runtime;
namespace json = llvm::json;

namespace heddle {

namespace {
/// The bytes that one step moves, with one iteration of each loop.
struct Bytes {
  double total = 0;
  /// Per element of the lists of highest rank.
  double perElement = 0;
};

struct Bandwidth {
  double bytesPerSecond;
  std::string source;
  bool measured;
};

/// The form of a panel loop for the given shapes.
struct PanelForm {
  /// The number of launches that run all iterations, one for each size class.
  /// If it is 0, each iteration is a launch with the schedule `rows`.
  int launches;
  /// The size classes, or the reason why there is no panel form.
  std::string text;
};

class Explanation {
public:
  Explanation(Compilation &compilation, const Plan &plan,
              const PlanShapes &shapes, StringRef arch)
      : compilation(compilation), plan(plan), shapes(shapes), arch(arch),
        domains(compilation.getProgram()) {
    for (const PlanTable &table : plan.tables)
      tables[table.name] = &table;
  }

  json::Object gather(const Bandwidth &bandwidth);

private:
  double elementsOf(const fused::Traffic &traffic) const;
  Bytes bytesOf(const fused::TrafficList &list) const;
  json::Object describeSweep(fused::SweepOp sweep);
  json::Object describeCopy(const fused::CopiedValue &copy);
  std::optional<PanelForm> panelFormOf(const PlanNode &loop) const;
  void describePanels(const PanelForm &form, json::Object &sweep) const;
  /// `loop` is the enclosing loop, or null.
  void addKernels(const PlanGraph &graph, const PlanNode *loop,
                  json::Array &kernels);

  Compilation &compilation;
  const Plan &plan;
  const PlanShapes &shapes;
  std::string arch;
  fused::Domains domains;
  llvm::StringMap<fused::SweepOp> sweeps;
  llvm::StringMap<const PlanTable *> tables;
  /// The elements of the largest list of each rank.
  mutable llvm::DenseMap<int64_t, double> largest;
};
} // namespace

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The number of elements of the domain of `traffic`. A domain that no argument
/// has is assumed to be as large as the largest list of its rank.
double Explanation::elementsOf(const fused::Traffic &traffic) const {
  if (traffic.argument >= 0)
    return shapes.elementsOf(traffic.argument);
  auto [found, isNew] = largest.try_emplace(traffic.rank(), 0);
  if (isNew)
    for (auto [number, buffer] : llvm::enumerate(plan.buffers))
      if (buffer.kind == BufferKind::List && buffer.rank == traffic.rank())
        found->second =
            std::max<double>(found->second, shapes.elementsOf(number));
  return found->second;
}

Bytes Explanation::bytesOf(const fused::TrafficList &list) const {
  int64_t rank = 0;
  for (const fused::Traffic &traffic : list)
    rank = std::max(rank, traffic.rank());
  Bytes bytes;
  std::map<std::pair<int, bool>, double> counted;
  double moved = 0, elements = 0, sum = 0;
  int domains = 0;
  for (const fused::Traffic &traffic : list) {
    double count = elementsOf(traffic);
    bytes.total += count * traffic.bytes();
    if (traffic.rank() != rank)
      continue;
    moved += count * traffic.bytes();
    sum += traffic.bytes();
    // Traffic inside and outside of a loop counts the same elements once.
    if (counted.try_emplace({traffic.argument, false}, count).second) {
      elements += count;
      ++domains;
    }
  }
  if (elements > 0)
    bytes.perElement = moved / elements;
  else if (domains > 0)
    bytes.perElement = sum / domains;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static std::string sweepName(fused::SweepOp sweep) {
  return sweep.getName().value_or("").str();
}

json::Object Explanation::describeSweep(fused::SweepOp sweep) {
  json::Object object{{"name", sweepName(sweep)}};
  object["traffic"] = fused::describe(fused::trafficOf(sweep, domains),
                                      compilation.getProgram());
  object["segments"] = sweep.getNumSegments();
  object["reversed"] = sweep.getReversed();
  if (auto schedule = sweep.getSchedule()) {
    object["schedule"] = fused::stringifyScheduleKind(schedule->getKind());
    object["reason"] = schedule->getReason();
    object["threads"] = schedule->getThreads();
    object["tile"] = json::Array(schedule->getTile());
    object["vector"] = json::Array(schedule->getVector());
    if (const PlanTable *table = tables.lookup(sweepName(sweep))) {
      if (table->blockColumns)
        object["columns"] = table->blockColumns;
      if (int64_t held = table->segments.front().held.columns)
        object["held_columns"] = held;
      const PlanSegment &first = table->segments.front();
      if (first.held.tallUnits > 1)
        object["tall_tile"] = first.held.tallUnits * first.tile;
    }
  }
  return object;
}

json::Object Explanation::describeCopy(const fused::CopiedValue &copy) {
  return json::Object{
      {"value", nameOf(copy.value)},
      {"to", copy.to},
      {"in_loop", copy.perIteration},
      {"traffic", fused::describe(fused::trafficOf(copy, domains),
                                  compilation.getProgram())}};
}

/// Whether all rows of a node have short parts, and the entry for them runs:
/// at most `most` blocks divide a row, or one block has all of its parts.
static bool dividesRows(const PlanNode &node, int64_t most,
                        const PlanShapes &shapes) {
  int64_t blocks = shapes.blocksPerTile(node.table);
  return (blocks > 1 || shapes.hasSeveralParts(node.table)) && blocks <= most &&
         shapes.haveShortParts(node.table);
}

/// The variant that runs for `tiles` tiles if the data does not fit in the L2
/// cache. (A plan does not contain the size of the cache, and a device may have
/// no clusters.)
static const PlanVariant *chosenVariant(const PlanNode &node, int64_t tiles,
                                        const PlanShapes &shapes) {
  for (const PlanVariant &variant : node.variants)
    if (!variant.fitsL2 && (!variant.maxTiles || tiles <= *variant.maxTiles) &&
        (!variant.minTiles || tiles >= *variant.minTiles) &&
        (!variant.minElements ||
         shapes.elementsOfTable(node.table) >= *variant.minElements) &&
        (!variant.maxColumns ||
         shapes.widestOf(node.table) <= *variant.maxColumns) &&
        (!variant.mostlyOver ||
         shapes.areMostlyOver(node.table, *variant.mostlyOver)) &&
        (!variant.mostlyMultiplesOf ||
         shapes.areMostlyVectorsOf(node.table, *variant.mostlyMultiplesOf)) &&
        (!variant.maxParts || dividesRows(node, *variant.maxParts, shapes)))
      return &variant;
  return nullptr;
}

/// The members of a size class, and why they have this class.
static std::string describeMembers(const PlanPanel &panel,
                                   ArrayRef<runtime::PanelExtents> extents,
                                   const runtime::PanelMembers &part) {
  int64_t element = 0, rows = 0, columns = 0, most = 0;
  for (int bytes : panel.elementBytes)
    element += bytes;
  for (int member : part.members) {
    auto [ownRows, ownColumns] = extents[member];
    rows = std::max(rows, ownRows);
    columns = std::max(columns, ownColumns);
    most = std::max(most, ownRows * ownColumns * element);
  }
  int blocks = part.shape.clusterPerMember;
  return llvm::formatv("{0} of at most {1} rows, {2} columns and {3} KiB, {4}",
                       counted(part.members.size(), "member"), rows, columns,
                       (most + 1023) / 1024,
                       blocks == 0 ? std::string("too large for one cluster")
                       : blocks == 1
                           ? std::string("kept by a block")
                           : llvm::formatv("kept by {0} blocks", blocks).str())
      .str();
}

/// The form of a panel loop; nothing if `loop` is no panel loop or its lists
/// are empty.
std::optional<PanelForm> Explanation::panelFormOf(const PlanNode &loop) const {
  if (!loop.panel)
    return std::nullopt;
  int64_t widest = 0, longest = 0;
  std::vector<runtime::PanelExtents> members;
  for (const runtime::PlanSegment &segment :
       plan.tables[loop.panel->table].segments) {
    auto matrix = llvm::find_if(
        segment.operands, [](const runtime::PlanOperand &operand) {
          return operand.index == runtime::OperandIndex::IJ;
        });
    if (matrix == segment.operands.end())
      continue;
    for (const Extents &extents : shapes.of(matrix->buffer)) {
      int64_t columns = extents.back();
      int64_t rows = elementCount(extents) / std::max<int64_t>(1, columns);
      members.push_back({rows, columns});
      widest = std::max(widest, columns);
      longest = std::max(longest, rows);
    }
  }
  if (widest == 0 || longest == 0)
    return std::nullopt;
  int64_t sharedBytes = runtime::panelBytesOf(arch);
  if (sharedBytes == 0)
    return PanelForm{0, arch + " has no bulk copies"};
  auto classes = runtime::panelClassesFor(*loop.panel, members, sharedBytes);
  if (!classes)
    return PanelForm{0, llvm::formatv("{0} has no size class for {1}", arch,
                                      counted(widest, "column"))};
  std::string text;
  for (const runtime::PanelMembers &part : *classes)
    text += (text.empty() ? "" : "; ") +
            describeMembers(*loop.panel, members, part) + ": " +
            part.shape.describe();
  return PanelForm{static_cast<int>(classes->size()), text};
}

/// Describes the form of a sweep with the schedule `panel`.
void Explanation::describePanels(const PanelForm &form,
                                 json::Object &sweep) const {
  if (sweep.getString("schedule") != StringRef("panel"))
    return;
  sweep["panels"] =
      form.launches == 0 ? "one launch per iteration"
      : form.launches == 1
          ? "one launch for all iterations: " + form.text
          : std::to_string(form.launches) +
                " launches for all iterations, one for each size class: " +
                form.text;
  if (form.launches > 0)
    return;
  sweep["schedule"] = "rows";
  sweep["reason"] = "no panel schedule: " + form.text;
}

void Explanation::addKernels(const PlanGraph &graph, const PlanNode *loop,
                             json::Array &kernels) {
  for (const PlanNode &node : graph.nodes) {
    if (node.kind == NodeKind::While)
      addKernels(node.body, &node, kernels);
    if (node.kind != NodeKind::Kernel)
      continue;
    json::Array described;
    std::string schedule, reason;
    std::optional<PanelForm> form;
    if (loop)
      form = panelFormOf(*loop);
    for (const std::string &name : node.sweeps) {
      auto found = sweeps.find(name);
      if (found == sweeps.end())
        continue;
      json::Object sweep = describeSweep(found->second);
      if (form)
        describePanels(*form, sweep);
      for (auto [key, text] :
           {std::pair("schedule", &schedule), std::pair("reason", &reason)})
        if (auto value = sweep.getString(key); value && !value->empty())
          if (!StringRef(*text).contains(*value))
            *text += (text->empty() ? "" : "; ") + value->str();
      // The traffic of a sweep is that of its tiles.
      if (node.part != SweepPart::Ends)
        described.push_back(std::move(sweep));
    }
    int64_t tiles = 0;
    for (const PlanArgument &argument : node.arguments)
      if (argument.kind == ArgumentKind::Table)
        tiles = addCounts(tiles, shapes.tilesOf(argument.index));
    json::Object kernel{{"name", node.name}, {"schedule", schedule},
                        {"reason", reason},  {"in_loop", loop != nullptr},
                        {"tiles", tiles},    {"sweeps", std::move(described)}};
    if (node.part == SweepPart::Ends) {
      kernel["ends"] = node.sweeps.front();
      const runtime::PlanVariant &variant = node.variants.front();
      if (variant.grid == runtime::GridKind::Members)
        kernel["members"] = shapes.membersOf(node.table);
      else
        kernel["blocks"] = variant.gridBlocks;
    }
    if (const PlanVariant *variant = chosenVariant(node, tiles, shapes)) {
      kernel["entry"] = variant->entry;
      kernel["threads"] = variant->block;
    }
    kernels.push_back(std::move(kernel));
  }
}

/// Removes the severity and the operation, as in `remark: 'fused.sweep' op `,
/// from a remark.
static std::string readableRemark(StringRef remark) {
  remark.consume_front("remark: ");
  auto [operation, text] = remark.split(" op ");
  if (operation.starts_with("'") && operation.ends_with("'") &&
      operation.contains('.') && !operation.contains(' '))
    remark = text;
  return remark.trim().str();
}

static bool hasLoop(const PlanGraph &graph) {
  return llvm::any_of(graph.nodes, [](const PlanNode &node) {
    return node.kind == NodeKind::While;
  });
}

json::Object Explanation::gather(const Bandwidth &bandwidth) {
  fused::ProgramOp program = compilation.getProgram();
  int64_t sweepCount = 0;
  program.walk([&](fused::SweepOp sweep) {
    sweeps[sweepName(sweep)] = sweep;
    ++sweepCount;
  });
  auto copied = fused::copiesOf(program, compilation.getBuffers());
  fused::TrafficList traffic = fused::trafficOf(program, domains);
  fused::addTraffic(traffic, fused::trafficOf(copied, domains));
  Bytes after = bytesOf(traffic);
  Bytes before = bytesOf(fused::trafficBefore(program));
  if (before.total == 0)
    before = after;

  int64_t members = 0, elements = 0;
  for (auto [number, buffer] : llvm::enumerate(plan.buffers))
    if (buffer.kind == BufferKind::List &&
        buffer.role == runtime::BufferRole::Argument) {
      members = shapes.of(number).size();
      elements = std::max(elements, shapes.elementsOf(number));
    }
  json::Array kernels, copies, remarks;
  addKernels(plan.graph, nullptr, kernels);
  for (const fused::CopiedValue &copy : copied)
    copies.push_back(describeCopy(copy));
  // A pass that runs to a fixed point may repeat a remark.
  llvm::StringSet<> seen;
  for (const std::string &remark : compilation.getRemarks())
    if (seen.insert(readableRemark(remark)).second)
      remarks.push_back(readableRemark(remark));
  return json::Object{
      {"program", plan.name},
      {"members", members},
      {"elements", elements},
      {"launches", shapes.launches()},
      {"sweeps", sweepCount},
      {"loops", hasLoop(plan.graph)},
      {"bytes_per_element", after.perElement},
      {"bytes_per_element_unfused", before.perElement},
      {"bytes", after.total},
      {"bytes_unfused", before.total},
      {"floor_us", after.total / bandwidth.bytesPerSecond * 1e6},
      {"bandwidth", json::Object{{"bytes_per_second", bandwidth.bytesPerSecond},
                                 {"measured", bandwidth.measured},
                                 {"source", bandwidth.source}}},
      {"kernels", std::move(kernels)},
      {"copies", std::move(copies)},
      {"remarks", std::move(remarks)}};
}

//===----------------------------------------------------------------------===//
// The floor
//===----------------------------------------------------------------------===//

static Bandwidth findBandwidth(StringRef arch) {
  if (auto context = Context::current()) {
    if (arch.empty() || arch == (*context)->arch()) {
      if (auto measured = measureCopyBandwidth(*context, size_t(1) << 31, 8))
        return {*measured, (*context)->name(), true};
      else
        llvm::consumeError(measured.takeError());
    }
  } else {
    llvm::consumeError(context.takeError());
  }
  NominalDevice device = nominalDevice(arch.empty() ? "sm_90" : arch);
  return {device.bytesPerSecond, device.name.str(), false};
}

llvm::Expected<std::string> explainProgram(Compilation &compilation,
                                           StringRef shapesText, bool asJson,
                                           StringRef arch) {
  std::vector<Extents> shapes{{1000, 1000}};
  if (!shapesText.empty()) {
    auto value = parseJson(shapesText);
    if (!value)
      return makeError(StatusCode::BadInput, "shapes: {0}",
                       llvm::toString(value.takeError()));
    auto read = shapesFromJSON(*value, "shapes");
    if (!read)
      return read.takeError();
    shapes = std::move(*read);
  }
  auto plan = extractPlan(compilation.getProgram(), compilation.getBuffers());
  if (failed(plan))
    return compilation.failure("plan extraction failed");
  PlanShapes bound = PlanShapes::bind(*plan, shapes);
  json::Object object =
      Explanation(compilation, *plan, bound, arch.empty() ? "sm_90" : arch)
          .gather(findBandwidth(arch));
  if (asJson)
    return llvm::formatv("{0:2}\n", json::Value(std::move(object))).str();
  return printExplanation(object);
}

} // namespace heddle
