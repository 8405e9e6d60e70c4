//===- Plans.h - plans of tests of the runtime ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_PLANS_H
#define HEDDLE_TEST_UNIT_RUNTIME_PLANS_H

#include "Helpers.h"

namespace heddle::runtime {

inline constexpr const char *scalarsPlan = R"json({
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "lr", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "argument", "default": 1},
    {"name": "most", "kind": "scalar", "dtype": "f32", "rank": 0, "role": "result"},
    {"name": "part", "kind": "list", "dtype": "bf16", "rank": 1, "role": "temporary", "extents": [[0, 0]], "members": 0}],
  "tables": [{"name": "t", "rank": 1, "pointers": 1, "segments": [{"tile": 2,
     "operands": [{"buffer": 0, "index": "i"}], "count": [0, 0], "align_tiles": true}]}],
  "nodes": [
    {"kind": "kernel", "name": "a", "table": 0, "arguments": [{"table": 0}, {"scalar": 1}], "writes": [0], "variants": [
      {"entry": "cached", "scalars": "value", "when": {"fits_l2": 0.97}}, {"entry": "address", "scalars": "address"}]},
    {"kind": "kernel", "name": "b", "sweeps": ["b"], "part": "ends", "table": 0, "arguments": [{"table": 0}, {"buffer": 1}], "writes": [0],
     "variants": [{"entry": "b"}]},
    {"kind": "fill", "name": "c", "to": 2, "value": "inf"},
    {"kind": "fill", "name": "d", "to": 3, "value": 0.5}],
  "edges": [[0, 1, "programmatic"], [1, 2]]})json";

inline constexpr const char *loopPlan = R"json({
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 2, "role": "argument"},
    {"name": "limit", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "argument", "default": 3},
    {"name": "iterations", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "result"},
    {"name": "more", "kind": "list", "dtype": "i1", "rank": 0, "role": "temporary", "extents": [], "members": 0},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 2, "role": "result", "extents": [[0, 0], [0, 1]], "members": 0}],
  "results": [{"name": "iterations", "buffer": 2}, {"name": "y", "buffer": 4}],
  "tables": [{"name": "t", "rank": 2, "pointers": 3, "segments": [{"tile": 2,
     "operands": [{"buffer": 4, "index": "ij"}, {"buffer": 4, "index": "stride"}, {"buffer": 3, "index": ""}], "count": [0, 0], "columns": [0, 1]}]}],
  "scratch": [{"per": "tile_column", "table": 0, "bytes": 4, "zero": false}],
  "nodes": [
    {"kind": "copy", "name": "start", "from": 0, "to": 4},
    {"kind": "fill", "name": "clear", "to": 3, "value": 1},
    {"kind": "while", "name": "loop", "sweeps": [], "table": 0, "iterations": 2, "limit": 1, "condition": 3,
     "variants": [{"form": "graph"}, {"entry": "whole", "cooperative": true, "grid": "resident"}], "arguments": [{"table": 0}],
     "writes": [4, 3],
     "body": {"nodes": [{"kind": "kernel", "name": "k", "sweeps": ["t"], "table": 0,
        "variants": [{"entry": "k", "block": 64, "grid": 7}], "arguments": [{"table": 0}], "writes": [4]}], "edges": []}}],
  "edges": [[0, 2], [1, 2]]})json";

/// The loop with a panel form and its scratch areas.
inline Plan panelPlan() {
  Plan plan = parsed(loopPlan);
  int first = plan.scratch.size();
  for (ScratchPer per :
       {ScratchPer::PanelColumn, ScratchPer::Row, ScratchPer::Panel})
    plan.scratch.push_back({per, 0, 4, false});
  PlanPanel panel;
  panel.entry = "loop_panels";
  panel.table = 0;
  panel.elementBytes = {4, 2};
  panel.computeBytes = 8;
  panel.words = 3;
  panel.rowWords = 5;
  panel.keptOfRow = 12;
  panel.keptOfColumn = 24;
  panel.clusterPerMember = false;
  panel.arguments = {{ArgumentKind::Table, 0}, {ArgumentKind::Buffer, 1}};
  for (int area = 0; area < 3; ++area)
    panel.arguments.push_back({ArgumentKind::Scratch, first + area});
  plan.graph.nodes[2].panel = panel;
  plan.panelSource = "panel source";
  return plan;
}

} // namespace heddle::runtime

#endif // HEDDLE_TEST_UNIT_RUNTIME_PLANS_H
