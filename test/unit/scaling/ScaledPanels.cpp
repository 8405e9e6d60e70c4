//===- ScaledPanels.cpp - programs of panel loops -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledParts.h"

#include "llvm/ADT/Twine.h"

using llvm::StringRef;
using llvm::Twine;

namespace heddle::test {

/// A loop with the schedule `panel`: each iteration fits u, then v. Between the
/// reductions of rows and columns, `between` operations are in the body.
/// Without flags, it runs `limit` iterations.
static void panelLoop(FunctionText &f, StringRef number, int between,
                      bool hasFlags = true) {
  f.argument("m" + number, "!mats");
  f.argument("a" + number, "!list");
  f.argument("b" + number, "!list");
  f.line("%r" + number + ", %s" + number + ", %n" + number +
         " = foreach.while (%u = %a" + number + ", %v = %b" + number +
         " : !list) upto %limit -> (!list, !list, " +
         (hasFlags ? "!counts" : "tensor<i32>") + ") {");
  f.line("%row = foreach.reduce add along j (%x = %m" + number +
         "[i, j] : !mats, %v = %v[j] : !list) -> !list {");
  f.line("  %y = arith.mulf %x, %v : f32");
  f.line("  foreach.yield %y : f32");
  f.line("}");
  f.line("%u1 = foreach.map (%x0 = %row, %a = %a" + number +
         " : !list) -> !list {");
  for (int k = 0; k < between; ++k)
    f.line("  %x" + Twine(k + 1) + " = arith.divf %a, %x" + Twine(k) +
           " : f32");
  f.line("  foreach.yield %x" + Twine(between) + " : f32");
  f.line("}");
  f.line("%v1 = foreach.reduce add along i (%x = %m" + number +
         "[i, j] : !mats, %u = %u1[i] : !list) -> !list {");
  f.line("  %y = arith.mulf %x, %u : f32");
  f.line("  foreach.yield %y : f32");
  f.line("}");
  if (hasFlags) {
    f.line(
        "%error = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> "
        "!each {");
    f.line("  %y = arith.subf %u, %u1 : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
    f.line("%more = foreach.map (%s = %error : !each) -> !flags {");
    f.line("  %one = arith.constant 1.0 : f32");
    f.line("  %m = arith.cmpf ogt, %s, %one : f32");
    f.line("  foreach.yield %m : i1");
    f.line("}");
    f.line("foreach.yield %u1, %v1 while %more : !list, !list while !flags");
  } else {
    f.line("foreach.yield %u1, %v1 : !list, !list");
  }
  f.line("}");
  f.result("r" + number, "!list");
  f.result("s" + number, "!list");
  if (!hasFlags)
    f.result("n" + number, "tensor<i32>");
}

static void panels(FunctionText &f, int n) {
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k)
    panelLoop(f, std::to_string(k), 1);
}

static void fixedPanels(FunctionText &f, int n) {
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k)
    panelLoop(f, std::to_string(k), 1, /*hasFlags=*/false);
}

static void panelBody(FunctionText &f, int n) {
  f.argument("limit", "tensor<i32>");
  panelLoop(f, "", n);
}

/// n pairs of potentials in one loop over one matrix.
static void panelPairs(FunctionText &f, int n) {
  std::string inits, names, types, next;
  f.argument("limit", "tensor<i32>");
  f.argument("m", "!mats");
  for (int k = 0; k < n; ++k)
    for (StringRef side : {"u", "v"}) {
      std::string name = (side + Twine(k)).str();
      f.argument("init_" + name, "!list");
      appendItem(inits, "%" + name + " = %init_" + name);
      appendItem(names, "%r_" + name);
      appendItem(types, "!list");
      appendItem(next, "%next_" + name);
      f.result("r_" + name, "!list");
    }
  f.line(Twine(names) + ", %count = foreach.while (" + inits +
         " : !list) upto %limit -> (" + types + ", !counts) {");
  for (int k = 0; k < n; ++k) {
    std::string number = std::to_string(k);
    f.line("%next_u" + number +
           " = foreach.reduce logsumexp along j (%x = %m[i, j] : !mats, %v = "
           "%v" +
           number + "[j] : !list) -> !list {");
    f.line("  %y = arith.addf %x, %v : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
    f.line("%next_v" + number +
           " = foreach.reduce logsumexp along i (%x = %m[i, j] : !mats, %u = "
           "%next_u" +
           number + "[i] : !list) -> !list {");
    f.line("  %y = arith.addf %x, %u : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
  }
  f.line("%error = foreach.reduce max along i (%u = %next_u0 : !list) -> !each "
         "{");
  f.line("  foreach.yield %u : f32");
  f.line("}");
  f.line("%more = foreach.map (%s = %error : !each) -> !flags {");
  f.line("  %one = arith.constant 1.0 : f32");
  f.line("  %m = arith.cmpf ogt, %s, %one : f32");
  f.line("  foreach.yield %m : i1");
  f.line("}");
  f.line("foreach.yield " + Twine(next) + " while %more : " + types +
         " while !flags");
  f.line("}");
}

std::vector<ScaledProgram> scaledPanels() {
  return {
      {"panels", "panel loops", 64, panels},
      {"fixed_panels", "panel loops without flags", 64, fixedPanels},
      {"panel_body", "operations in a panel loop", 512, panelBody},
      {"panel_pairs", "pairs of potentials in a loop", 64, panelPairs},
  };
}

} // namespace heddle::test
