//===- PlanJson.cpp - The JSON form of a plan -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/plan.md has the field names and defaults. Plans are read with LLVM's
// object mapper, whose errors have the path inside the text.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

#include "runtime/support/Json.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace heddle::runtime {

//===----------------------------------------------------------------------===//
// Enumerations: one table per type, for reading and writing
//===----------------------------------------------------------------------===//

template <typename T> struct EnumName {
  T value;
  StringLiteral name;
};

static constexpr EnumName<BufferKind> bufferKinds[] = {
    {BufferKind::List, "list"}, {BufferKind::Scalar, "scalar"}};
static constexpr EnumName<BufferRole> bufferRoles[] = {
    {BufferRole::Argument, "argument"},
    {BufferRole::Result, "result"},
    {BufferRole::Temporary, "temporary"}};
static constexpr EnumName<OperandIndex> operandIndices[] = {
    {OperandIndex::None, ""},         {OperandIndex::I, "i"},
    {OperandIndex::J, "j"},           {OperandIndex::IJ, "ij"},
    {OperandIndex::Length, "length"}, {OperandIndex::Stride, "stride"}};
static constexpr EnumName<ScratchPer> scratchPers[] = {
    {ScratchPer::Tile, "tile"},
    {ScratchPer::Member, "member"},
    {ScratchPer::TileColumn, "tile_column"},
    {ScratchPer::Once, "once"},
    {ScratchPer::PanelColumn, "panel_column"},
    {ScratchPer::Row, "row"},
    {ScratchPer::Panel, "panel"},
    {ScratchPer::Column, "column"},
    {ScratchPer::TileBlock, "tile_block"}};
static constexpr EnumName<NodeKind> nodeKinds[] = {{NodeKind::Kernel, "kernel"},
                                                   {NodeKind::While, "while"},
                                                   {NodeKind::Copy, "copy"},
                                                   {NodeKind::Fill, "fill"}};
static constexpr EnumName<SweepPart> sweepParts[] = {
    {SweepPart::Whole, "whole"},
    {SweepPart::Tiles, "tiles"},
    {SweepPart::Ends, "ends"}};
static constexpr EnumName<GridKind> gridKinds[] = {
    {GridKind::Tiles, "tiles"},
    {GridKind::Members, "members"},
    {GridKind::Resident, "resident"}};

template <typename T, size_t N>
static StringRef nameOf(const EnumName<T> (&names)[N], T value) {
  for (const EnumName<T> &entry : names)
    if (entry.value == value)
      return entry.name;
  return "";
}

template <typename T, size_t N>
static bool readEnum(const EnumName<T> (&names)[N], const json::Value &value,
                     T &out, json::Path path, StringLiteral expected) {
  if (std::optional<StringRef> text = value.getAsString())
    for (const EnumName<T> &entry : names)
      if (entry.name == *text) {
        out = entry.value;
        return true;
      }
  path.report(expected);
  return false;
}

static bool fromJSON(const json::Value &value, DType &out, json::Path path) {
  if (std::optional<StringRef> text = value.getAsString())
    if (std::optional<DType> dtype = parseDType(*text)) {
      out = *dtype;
      return true;
    }
  path.report("expected one of f64 f32 f16 bf16 i1 i8 i16 i32 i64");
  return false;
}
static bool fromJSON(const json::Value &value, BufferKind &out,
                     json::Path path) {
  return readEnum(bufferKinds, value, out, path, "expected 'list' or 'scalar'");
}
static bool fromJSON(const json::Value &value, BufferRole &out,
                     json::Path path) {
  return readEnum(bufferRoles, value, out, path,
                  "expected 'argument', 'result' or 'temporary'");
}
static bool fromJSON(const json::Value &value, OperandIndex &out,
                     json::Path path) {
  return readEnum(operandIndices, value, out, path,
                  "expected '', 'i', 'j', 'ij', 'length' or 'stride'");
}
static bool fromJSON(const json::Value &value, ScratchPer &out,
                     json::Path path) {
  return readEnum(scratchPers, value, out, path,
                  "expected 'tile', 'member', 'tile_column', 'once', "
                  "'panel_column', 'row', 'panel', 'column' or 'tile_block'");
}
static bool fromJSON(const json::Value &value, NodeKind &out, json::Path path) {
  return readEnum(nodeKinds, value, out, path,
                  "expected 'kernel', 'while', 'copy' or 'fill'");
}
static bool fromJSON(const json::Value &value, SweepPart &out,
                     json::Path path) {
  return readEnum(sweepParts, value, out, path,
                  "expected 'whole', 'tiles' or 'ends'");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// The object mapper finds these functions by the namespace of their arguments.
static bool fromJSON(const json::Value &value, ExtentRef &out,
                     json::Path path) {
  const json::Array *pair = value.getAsArray();
  if (!pair || pair->size() != 2) {
    path.report("expected [buffer, dimension]");
    return false;
  }
  return fromJSON((*pair)[0], out.buffer, path.index(0)) &&
         fromJSON((*pair)[1], out.dimension, path.index(1));
}

static bool fromJSON(const json::Value &value, PlanEdge &out, json::Path path) {
  const json::Array *pair = value.getAsArray();
  if (!pair || pair->size() < 2 || pair->size() > 3) {
    path.report("expected [from, to] or [from, to, \"programmatic\"]");
    return false;
  }
  out.programmatic = pair->size() == 3;
  if (out.programmatic && (*pair)[2].getAsString() != "programmatic") {
    path.index(2).report("expected 'programmatic'");
    return false;
  }
  return fromJSON((*pair)[0], out.from, path.index(0)) &&
         fromJSON((*pair)[1], out.to, path.index(1));
}

/// Reads a number that need not be finite. JSON has none of these: they are
/// strings.
static bool readReal(const json::Value &value, double &out, json::Path path) {
  if (std::optional<double> number = value.getAsNumber()) {
    out = *number;
    return true;
  }
  std::optional<StringRef> text = value.getAsString();
  if (text == "inf" || text == "-inf") {
    out = std::numeric_limits<double>::infinity();
    if (text == "-inf")
      out = -out;
    return true;
  }
  if (text == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  path.report("expected a number, 'inf', '-inf' or 'nan'");
  return false;
}

static json::Value realToJSON(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

static bool fromJSON(const json::Value &value, PlanBuffer &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("name", out.name) || !map.map("kind", out.kind) ||
      !map.map("dtype", out.dtype) || !map.map("rank", out.rank) ||
      !map.map("role", out.role) || !map.mapOptional("donated", out.donated) ||
      !map.mapOptional("positive", out.positive) ||
      !map.mapOptional("extents", out.extents) ||
      !map.mapOptional("members", out.members))
    return false;
  const json::Value *byDefault = value.getAsObject()->get("default");
  if (!byDefault || byDefault->getAsNull())
    return true;
  return readReal(*byDefault, out.defaultValue.emplace(),
                  path.field("default"));
}

static bool fromJSON(const json::Value &value, PlanResult &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", out.name) && map.map("buffer", out.buffer);
}

static bool fromJSON(const json::Value &value, PlanOperand &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("buffer", out.buffer) && map.map("index", out.index);
}

static bool fromJSON(const json::Value &value, PlanSegment &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("tile", out.tile) &&
         map.mapOptional("held_columns", out.held.columns) &&
         map.mapOptional("held_elements", out.held.elements) &&
         map.mapOptional("tall_units", out.held.tallUnits) &&
         map.mapOptional("align_tiles", out.alignTiles) &&
         map.map("operands", out.operands) && map.map("count", out.count) &&
         map.map("columns", out.columns);
}

static bool fromJSON(const json::Value &value, PlanTable &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", out.name) && map.map("rank", out.rank) &&
         map.map("pointers", out.pointers) &&
         map.mapOptional("tile_descriptors", out.tileDescriptors) &&
         map.mapOptional("block_columns", out.blockColumns) &&
         map.mapOptional("row_parts", out.rowParts) &&
         map.mapOptional("held_parts", out.heldParts) &&
         map.mapOptional("several_parts", out.severalParts) &&
         map.mapOptional("long_parts", out.longParts) &&
         map.mapOptional("widest_first", out.widestFirst) &&
         map.mapOptional("whole_columns", out.wholeColumns) &&
         map.map("segments", out.segments);
}

static bool fromJSON(const json::Value &value, PlanScratch &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("per", out.per) &&
         map.mapOptional("table", out.table) && map.map("bytes", out.bytes) &&
         map.mapOptional("zero", out.zero);
}

static bool fromJSON(const json::Value &value, PlanArgument &out,
                     json::Path path) {
  static constexpr EnumName<ArgumentKind> kinds[] = {
      {ArgumentKind::Table, "table"},
      {ArgumentKind::Buffer, "buffer"},
      {ArgumentKind::Scalar, "scalar"},
      {ArgumentKind::Scratch, "scratch"}};
  if (const json::Object *object = value.getAsObject();
      object && object->size() == 1)
    for (const EnumName<ArgumentKind> &kind : kinds)
      if (const json::Value *index = object->get(kind.name)) {
        out.kind = kind.value;
        return fromJSON(*index, out.index, path.field(kind.name));
      }
  path.report("expected an object with one of 'table', 'buffer', 'scalar', "
              "'scratch'");
  return false;
}

static bool readGrid(const json::Value &value, PlanVariant &out,
                     json::Path path) {
  if (std::optional<int64_t> blocks = value.getAsInteger()) {
    out.grid = GridKind::Fixed;
    out.gridBlocks = *blocks;
    return true;
  }
  return readEnum(
      gridKinds, value, out.grid, path,
      "expected 'tiles', 'members', 'resident' or a number of blocks");
}

static bool fromJSON(const json::Value &value, PlanVariant &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  std::string form, scalars = "address";
  if (!map || !map.mapOptional("entry", out.entry) ||
      !map.mapOptional("form", form) || !map.mapOptional("block", out.block) ||
      !map.mapOptional("shared", out.sharedBytes) ||
      !map.mapOptional("cooperative", out.cooperative) ||
      !map.mapOptional("cluster", out.cluster) ||
      !map.mapOptional("tile_descriptors", out.tileDescriptors) ||
      !map.mapOptional("distances", out.distances) ||
      !map.mapOptional("scalars", scalars))
    return false;
  if (!form.empty() && form != "graph") {
    path.field("form").report("expected 'graph'");
    return false;
  }
  out.graphForm = form == "graph";
  if (scalars != "value" && scalars != "address") {
    path.field("scalars").report("expected 'value' or 'address'");
    return false;
  }
  out.scalarsByValue = scalars == "value";
  const json::Object &object = *value.getAsObject();
  if (const json::Value *grid = object.get("grid"))
    if (!readGrid(*grid, out, path.field("grid")))
      return false;
  if (const json::Value *when = object.get("when")) {
    json::ObjectMapper predicate(*when, path.field("when"));
    // Ignoring an unknown condition would make the variant hold always.
    if (const json::Object *terms = when->getAsObject())
      for (const auto &term : *terms)
        if (term.first != "max_tiles" && term.first != "min_tiles" &&
            term.first != "min_elements" && term.first != "fits_l2" &&
            term.first != "max_columns" && term.first != "mostly_over" &&
            term.first != "mostly_multiples_of" && term.first != "max_parts") {
          path.field("when")
              .field(term.first)
              .report("expected 'max_tiles', 'min_tiles', 'min_elements', "
                      "'fits_l2', 'max_columns', 'mostly_over', "
                      "'mostly_multiples_of' or 'max_parts'");
          return false;
        }
    if (!predicate || !predicate.map("max_tiles", out.maxTiles) ||
        !predicate.map("min_tiles", out.minTiles) ||
        !predicate.map("min_elements", out.minElements) ||
        !predicate.map("fits_l2", out.fitsL2) ||
        !predicate.map("max_columns", out.maxColumns) ||
        !predicate.map("mostly_over", out.mostlyOver) ||
        !predicate.map("mostly_multiples_of", out.mostlyMultiplesOf) ||
        !predicate.map("max_parts", out.maxParts))
      return false;
  }
  // An entry for clusters never ends if its blocks are no cluster.
  if (out.maxParts && !object.get("cluster")) {
    path.field("cluster").report(
        "expected true or false, because 'when' has 'max_parts'");
    return false;
  }
  return true;
}

static bool fromJSON(const json::Value &value, PlanPanel &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", out.entry) && map.map("table", out.table) &&
         map.map("element_bytes", out.elementBytes) &&
         map.map("compute_bytes", out.computeBytes) &&
         map.map("words", out.words) && map.map("row_words", out.rowWords) &&
         map.map("columns", out.columns) && map.map("rows", out.rows) &&
         map.map("kept_of_row", out.keptOfRow) &&
         map.map("kept_of_column", out.keptOfColumn) &&
         map.map("cluster_per_member", out.clusterPerMember) &&
         map.map("arguments", out.arguments);
}

static bool fromJSON(const json::Value &value, SourceSection &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("text", out.text) &&
         map.mapOptional("entries", out.entries);
}

static bool fromJSON(const json::Value &value, Source &out, json::Path path) {
  if (std::optional<StringRef> text = value.getAsString()) {
    out = text->str();
    return true;
  }
  if (value.getAsArray())
    return json::fromJSON(value, out.sections, path);
  path.report("expected a string or a list of sections");
  return false;
}

static bool fromJSON(const json::Value &value, PlanNode &out, json::Path path);

static bool fromJSON(const json::Value &value, PlanGraph &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("nodes", out.nodes) &&
         map.mapOptional("edges", out.edges);
}

static bool fromJSON(const json::Value &value, PlanNode &out, json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("kind", out.kind) ||
      !map.mapOptional("name", out.name) ||
      !map.mapOptional("sweeps", out.sweeps) ||
      !map.mapOptional("part", out.part) ||
      !map.mapOptional("table", out.table) ||
      !map.mapOptional("variants", out.variants) ||
      !map.mapOptional("arguments", out.arguments) ||
      !map.mapOptional("writes", out.writes) ||
      !map.mapOptional("always", out.always))
    return false;
  switch (out.kind) {
  case NodeKind::Kernel:
    return true;
  case NodeKind::While:
    return map.map("body", out.body) && map.map("iterations", out.iterations) &&
           map.map("limit", out.limit) && map.map("condition", out.condition) &&
           map.mapOptional("panel", out.panel);
  case NodeKind::Copy:
    return map.map("from", out.from) && map.map("to", out.to);
  case NodeKind::Fill:
    if (!map.map("to", out.to))
      return false;
    if (const json::Value *fill = value.getAsObject()->get("value"))
      return readReal(*fill, out.value, path.field("value"));
    path.field("value").report("missing value");
    return false;
  }
  return false;
}

Expected<Plan> planFromJSON(const json::Value &value) {
  json::Path::Root root("plan");
  Plan plan;
  json::ObjectMapper map(value, root);
  if (!map || !map.mapOptional("name", plan.name) ||
      !map.map("buffers", plan.buffers) ||
      !map.mapOptional("results", plan.results) ||
      !map.mapOptional("tables", plan.tables) ||
      !map.mapOptional("scratch", plan.scratch) ||
      !map.map("nodes", plan.graph.nodes) ||
      !map.mapOptional("edges", plan.graph.edges) ||
      !map.mapOptional("source", plan.source) ||
      !map.mapOptional("panel_source", plan.panelSource) ||
      !map.mapOptional("headers", plan.headers) ||
      !map.mapOptional("options", plan.options)) {
    auto [code, text] = takeError(root.getError());
    return makeError(StatusCode::BadInput, "bad plan: {0}", text);
  }
  if (Error error = validatePlan(plan))
    return std::move(error);
  return plan;
}

Expected<Plan> parsePlan(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value) {
    auto [code, message] = takeError(value.takeError());
    return makeError(StatusCode::BadInput, "bad plan: not JSON: {0}", message);
  }
  return planFromJSON(*value);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value extentToJSON(const ExtentRef &extent) {
  return json::Array{extent.buffer, extent.dimension};
}

static json::Value
optionalExtentToJSON(const std::optional<ExtentRef> &extent) {
  return extent ? extentToJSON(*extent) : json::Value(nullptr);
}

static json::Value toJSON(const PlanBuffer &buffer) {
  json::Object object{{"name", buffer.name},
                      {"kind", nameOf(bufferKinds, buffer.kind)},
                      {"dtype", dtypeName(buffer.dtype)},
                      {"rank", buffer.rank},
                      {"role", nameOf(bufferRoles, buffer.role)}};
  if (buffer.donated)
    object["donated"] = true;
  if (buffer.defaultValue)
    object["default"] = realToJSON(*buffer.defaultValue);
  if (buffer.positive)
    object["positive"] = true;
  if (!buffer.extents.empty()) {
    json::Array extents;
    for (const ExtentRef &extent : buffer.extents)
      extents.push_back(extentToJSON(extent));
    object["extents"] = std::move(extents);
  }
  if (buffer.members >= 0)
    object["members"] = buffer.members;
  return object;
}

static json::Value toJSON(const PlanTable &table) {
  json::Array segments;
  for (const PlanSegment &segment : table.segments) {
    json::Array operands;
    for (const PlanOperand &operand : segment.operands)
      operands.push_back(
          json::Object{{"buffer", operand.buffer},
                       {"index", nameOf(operandIndices, operand.index)}});
    json::Object object{{"tile", segment.tile},
                        {"operands", std::move(operands)},
                        {"count", optionalExtentToJSON(segment.count)},
                        {"columns", optionalExtentToJSON(segment.columns)}};
    if (segment.alignTiles)
      object["align_tiles"] = true;
    if (segment.held.columns)
      object["held_columns"] = segment.held.columns;
    if (segment.held.columns && segment.held.elements != HeldRows().elements)
      object["held_elements"] = segment.held.elements;
    if (segment.held.tallUnits != HeldRows().tallUnits)
      object["tall_units"] = segment.held.tallUnits;
    segments.push_back(std::move(object));
  }
  json::Object object{{"name", table.name},
                      {"rank", table.rank},
                      {"pointers", table.pointers},
                      {"tile_descriptors", table.tileDescriptors},
                      {"segments", std::move(segments)}};
  if (table.blockColumns)
    object["block_columns"] = table.blockColumns;
  if (table.rowParts)
    object["row_parts"] = true;
  if (table.heldParts)
    object["held_parts"] = true;
  if (table.severalParts)
    object["several_parts"] = true;
  if (table.longParts)
    object["long_parts"] = true;
  if (table.widestFirst)
    object["widest_first"] = true;
  if (table.wholeColumns != kPartColumns)
    object["whole_columns"] = table.wholeColumns;
  return object;
}

static json::Value toJSON(const PlanScratch &scratch) {
  json::Object object{{"per", nameOf(scratchPers, scratch.per)},
                      {"bytes", scratch.bytes},
                      {"zero", scratch.zero}};
  if (scratch.table >= 0)
    object["table"] = scratch.table;
  return object;
}

static json::Value toJSON(const PlanVariant &variant) {
  if (variant.graphForm)
    return json::Object{{"form", "graph"}};
  json::Object object{{"entry", variant.entry}, {"block", variant.block}};
  if (variant.grid == GridKind::Fixed)
    object["grid"] = variant.gridBlocks;
  else
    object["grid"] = nameOf(gridKinds, variant.grid);
  if (variant.sharedBytes)
    object["shared"] = variant.sharedBytes;
  if (variant.cooperative)
    object["cooperative"] = true;
  if (!variant.tileDescriptors)
    object["tile_descriptors"] = false;
  if (variant.scalarsByValue)
    object["scalars"] = "value";
  if (variant.maxParts)
    object["cluster"] = variant.cluster;
  if (!variant.distances.empty())
    object["distances"] = json::Array(variant.distances);
  json::Object when;
  if (variant.maxTiles)
    when["max_tiles"] = *variant.maxTiles;
  if (variant.minTiles)
    when["min_tiles"] = *variant.minTiles;
  if (variant.minElements)
    when["min_elements"] = *variant.minElements;
  if (variant.fitsL2)
    when["fits_l2"] = *variant.fitsL2;
  if (variant.maxColumns)
    when["max_columns"] = *variant.maxColumns;
  if (variant.mostlyOver)
    when["mostly_over"] = *variant.mostlyOver;
  if (variant.mostlyMultiplesOf)
    when["mostly_multiples_of"] = *variant.mostlyMultiplesOf;
  if (variant.maxParts)
    when["max_parts"] = *variant.maxParts;
  if (!when.empty())
    object["when"] = std::move(when);
  return object;
}

static json::Value toJSON(const PlanArgument &argument) {
  switch (argument.kind) {
  case ArgumentKind::Table:
    return json::Object{{"table", argument.index}};
  case ArgumentKind::Buffer:
    return json::Object{{"buffer", argument.index}};
  case ArgumentKind::Scalar:
    return json::Object{{"scalar", argument.index}};
  case ArgumentKind::Scratch:
    return json::Object{{"scratch", argument.index}};
  }
  return nullptr;
}

static json::Value toJSON(const Source &source) {
  if (source.sections.size() <= 1 &&
      (source.empty() || source.sections[0].entries.empty()))
    return utf8Text(source.text());
  json::Array sections;
  for (const SourceSection &section : source.sections) {
    json::Object object{{"text", utf8Text(section.text)}};
    if (!section.entries.empty())
      object["entries"] = json::Array(section.entries);
    sections.push_back(std::move(object));
  }
  return sections;
}

static json::Object graphToJSON(const PlanGraph &graph);

static json::Value toJSON(const PlanPanel &panel) {
  json::Array arguments;
  for (const PlanArgument &argument : panel.arguments)
    arguments.push_back(toJSON(argument));
  return json::Object{{"entry", panel.entry},
                      {"table", panel.table},
                      {"element_bytes", json::Array(panel.elementBytes)},
                      {"compute_bytes", panel.computeBytes},
                      {"words", panel.words},
                      {"row_words", panel.rowWords},
                      {"columns", panel.columns},
                      {"rows", panel.rows},
                      {"kept_of_row", panel.keptOfRow},
                      {"kept_of_column", panel.keptOfColumn},
                      {"cluster_per_member", panel.clusterPerMember},
                      {"arguments", std::move(arguments)}};
}

static json::Value toJSON(const PlanNode &node) {
  json::Object object{{"kind", nameOf(nodeKinds, node.kind)},
                      {"name", node.name}};
  if (!node.writes.empty())
    object["writes"] = json::Array(node.writes);
  if (node.kind == NodeKind::Copy) {
    object["from"] = node.from;
    object["to"] = node.to;
    return object;
  }
  if (node.kind == NodeKind::Fill) {
    object["to"] = node.to;
    object["value"] = realToJSON(node.value);
    return object;
  }
  object["sweeps"] = json::Array(node.sweeps);
  if (node.part != SweepPart::Whole)
    object["part"] = nameOf(sweepParts, node.part);
  if (node.table >= 0)
    object["table"] = node.table;
  json::Array variants, arguments;
  for (const PlanVariant &variant : node.variants)
    variants.push_back(toJSON(variant));
  for (const PlanArgument &argument : node.arguments)
    arguments.push_back(toJSON(argument));
  object["variants"] = std::move(variants);
  object["arguments"] = std::move(arguments);
  if (node.always)
    object["always"] = true;
  if (node.kind == NodeKind::While) {
    object["body"] = graphToJSON(node.body);
    object["iterations"] = node.iterations;
    object["limit"] = node.limit;
    object["condition"] = node.condition;
    if (node.panel)
      object["panel"] = toJSON(*node.panel);
  }
  return object;
}

static json::Object graphToJSON(const PlanGraph &graph) {
  json::Array nodes, edges;
  for (const PlanNode &node : graph.nodes)
    nodes.push_back(toJSON(node));
  for (const PlanEdge &edge : graph.edges) {
    json::Array ends{edge.from, edge.to};
    if (edge.programmatic)
      ends.push_back("programmatic");
    edges.push_back(std::move(ends));
  }
  return json::Object{{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

json::Value planToJSON(const Plan &plan) {
  json::Array buffers, results, tables, scratch;
  for (const PlanBuffer &buffer : plan.buffers)
    buffers.push_back(toJSON(buffer));
  for (const PlanResult &result : plan.results)
    results.push_back(
        json::Object{{"name", result.name}, {"buffer", result.buffer}});
  for (const PlanTable &table : plan.tables)
    tables.push_back(toJSON(table));
  for (const PlanScratch &area : plan.scratch)
    scratch.push_back(toJSON(area));
  json::Object headers;
  for (const auto &[name, text] : plan.headers)
    headers[name] = utf8Text(text);
  json::Object object = graphToJSON(plan.graph);
  object["name"] = plan.name;
  object["buffers"] = std::move(buffers);
  object["results"] = std::move(results);
  object["tables"] = std::move(tables);
  object["scratch"] = std::move(scratch);
  object["source"] = toJSON(plan.source);
  if (!plan.panelSource.empty())
    object["panel_source"] = utf8Text(plan.panelSource);
  object["headers"] = std::move(headers);
  object["options"] = json::Array(plan.options);
  return object;
}

} // namespace heddle::runtime
