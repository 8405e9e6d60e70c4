//===- ScaledLoops.cpp - programs of loops and conditions -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledParts.h"

#include "llvm/ADT/Twine.h"

using llvm::Twine;

namespace heddle::test {

/// Ends the loop %r<name> that carries %x, with the next value `next`.
static void endLoop(FunctionText &f, const Twine &next) {
  f.sum("s", next);
  f.line("%more = foreach.map (%s = %s : !num) -> tensor<i1> {");
  f.line("  %one = arith.constant 1.0 : f64");
  f.line("  %m = arith.cmpf ogt, %s, %one : f64");
  f.line("  foreach.yield %m : i1");
  f.line("}");
  f.line("foreach.yield %" + next + " while %more : !list while tensor<i1>");
  f.line("}");
}

static void beginLoop(FunctionText &f, const Twine &name, const Twine &init) {
  f.line("%" + name + ", %n" + name + " = foreach.while (%x = %" + init +
         " : !list) upto %limit -> (!list, tensor<i32>) {");
}

static void loops(FunctionText &f, int n) {
  f.argument("v0", "!list");
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k) {
    beginLoop(f, "v" + Twine(k + 1), "v" + Twine(k));
    f.map("y", "x");
    endLoop(f, "y");
  }
  f.result("v" + Twine(n), "!list");
}

static void separateLoops(FunctionText &f, int n) {
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    beginLoop(f, "r" + Twine(k), "a" + Twine(k));
    f.map("y", "x");
    endLoop(f, "y");
    f.result("r" + Twine(k), "!list");
  }
}

static void nestedLoops(FunctionText &f, int n) {
  f.argument("x", "!list");
  f.argument("limit", "tensor<i32>");
  std::string outer = "x";
  for (int k = 0; k < n; ++k) {
    std::string carried = "x" + std::to_string(k);
    f.line("%r" + Twine(k) + ", %n" + Twine(k) + " = foreach.while (%" +
           carried + " = %" + outer +
           " : !list) upto %limit -> (!list, tensor<i32>) {");
    outer = carried;
  }
  f.map("y", outer);
  endLoop(f, "y");
  for (int k = n - 1; k > 0; --k)
    endLoop(f, "r" + Twine(k));
  f.result("r0", "!list");
}

static void loopBody(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.argument("limit", "tensor<i32>");
  beginLoop(f, "r", "a");
  f.map("y0", "x");
  for (int k = 0; k < n; ++k)
    f.map("y" + Twine(k + 1), "y" + Twine(k));
  endLoop(f, "y" + Twine(n));
  f.result("r", "!list");
}

static void carriedValues(FunctionText &f, int n) {
  std::string inits, names, types, next;
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    appendItem(inits, "%x" + Twine(k) + " = %a" + Twine(k));
    appendItem(names, "%r" + Twine(k));
    appendItem(types, "!list");
    appendItem(next, "%y" + Twine(k));
  }
  f.line(Twine(names) + ", %count = foreach.while (" + inits +
         " : !list) upto %limit -> (" + types + ", tensor<i32>) {");
  for (int k = 0; k < n; ++k)
    f.map("y" + Twine(k), "x" + Twine((k + 1) % n));
  f.sum("s", "y0");
  f.line("%more = foreach.map (%s = %s : !num) -> tensor<i1> {");
  f.line("  %one = arith.constant 1.0 : f64");
  f.line("  %m = arith.cmpf ogt, %s, %one : f64");
  f.line("  foreach.yield %m : i1");
  f.line("}");
  f.line("foreach.yield " + Twine(next) + " while %more : " + types +
         " while tensor<i1>");
  f.line("}");
  for (int k = 0; k < n; ++k)
    f.result("r" + Twine(k), "!list");
}

/// Vectors into which each iteration records a value.
static void records(FunctionText &f, int n) {
  std::string inits, names, types, next;
  f.argument("a", "!list");
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k) {
    f.argument("h" + Twine(k), "!list");
    appendItem(inits, "%x" + Twine(k) + " = %h" + Twine(k));
    appendItem(names, "%r" + Twine(k));
    appendItem(types, "!list");
    appendItem(next, "%y" + Twine(k));
  }
  f.line(Twine(names) + ", %count = foreach.while (" + inits +
         " : !list) upto %limit -> (" + types + ", !counts) {");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k) +
           " = foreach.reduce add along member (%a = %a : !list) -> !each {");
    f.line("  %c = arith.constant " + Twine(k) + ".5 : f32");
    f.line("  %y = arith.mulf %a, %c : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
    f.line("%y" + Twine(k) + " = foreach.record %s" + Twine(k) + " in %x" +
           Twine(k) + " : !each in !list");
  }
  f.line("%more = foreach.map (%s = %s0 : !each) -> !flags {");
  f.line("  %one = arith.constant 1.0 : f32");
  f.line("  %m = arith.cmpf ogt, %s, %one : f32");
  f.line("  foreach.yield %m : i1");
  f.line("}");
  f.line("foreach.yield " + Twine(next) + " while %more : " + types +
         " while !flags");
  f.line("}");
  for (int k = 0; k < n; ++k)
    f.result("r" + Twine(k), "!list");
}

/// A loop with a log-sum-exp. It is computed from the carried value, and the
/// next value from it, through scalars with two uses.
static void shiftedBody(FunctionText &f, int n) {
  f.argument("m", "!mats");
  f.argument("a", "!list");
  f.argument("b", "!list");
  f.argument("limit", "tensor<i32>");
  f.line("%r, %count = foreach.while (%u = %a : !list) upto %limit -> (!list, "
         "!counts) {");
  f.line("%scaled = foreach.map (%u = %u, %x0 = %b : !list) -> !list {");
  for (int k = 0; k < n; ++k)
    f.line("  %x" + Twine(k + 1) + " = arith.mulf %x" + Twine(k) + ", %x" +
           Twine(k) + " : f32");
  f.line("  %y = arith.mulf %x" + Twine(n) + ", %u : f32");
  f.line("  foreach.yield %y : f32");
  f.line("}");
  f.line("%row = foreach.reduce logsumexp along j (%x = %m[i, j] : !mats, "
         "%u = %scaled[i] : !list) -> !list {");
  f.line("  %y = arith.addf %x, %u : f32");
  f.line("  foreach.yield %y : f32");
  f.line("}");
  f.line("%next = foreach.map (%row = %row, %x0 = %b : !list) -> !list {");
  for (int k = 0; k < n; ++k)
    f.line("  %x" + Twine(k + 1) + " = arith.subf %x" + Twine(k) + ", %x" +
           Twine(k) + " : f32");
  f.line("  %y0 = arith.addf %row, %x" + Twine(n) + " : f32");
  for (int k = 0; k < n; ++k)
    f.line("  %y" + Twine(k + 1) + " = arith.addf %x" + Twine(k) + ", %y" +
           Twine(k) + " : f32");
  f.line("  foreach.yield %y" + Twine(n) + " : f32");
  f.line("}");
  f.line("%error = foreach.reduce max along i (%u = %next : !list) -> !each {");
  f.line("  foreach.yield %u : f32");
  f.line("}");
  f.line("%more = foreach.map (%s = %error : !each) -> !flags {");
  f.line("  %one = arith.constant 1.0 : f32");
  f.line("  %m = arith.cmpf ogt, %s, %one : f32");
  f.line("  foreach.yield %m : i1");
  f.line("}");
  f.line("foreach.yield %next while %more : !list while !flags");
  f.line("}");
  f.result("r", "!list");
}

static void conditions(FunctionText &f, int n) {
  f.argument("ok", "tensor<i1>");
  f.argument("v0", "!list");
  for (int k = 0; k < n; ++k) {
    f.line("%v" + Twine(k + 1) + " = foreach.if %ok -> (!list) {");
    f.map("y", "v" + Twine(k));
    f.line("  foreach.yield %y : !list");
    f.line("} else (%v" + Twine(k) + ")");
  }
  f.result("v" + Twine(n), "!list");
}

static void nestedConditions(FunctionText &f, int n) {
  f.argument("ok", "tensor<i1>");
  f.argument("v0", "!list");
  for (int k = 0; k < n; ++k) {
    f.line("%r" + Twine(k) + " = foreach.if %ok -> (!list) {");
    f.map("v" + Twine(k + 1), "v" + Twine(k));
  }
  f.map("r" + Twine(n), "v" + Twine(n));
  for (int k = n - 1; k >= 0; --k) {
    f.line("foreach.yield %r" + Twine(k + 1) + " : !list");
    f.line("} else (%v" + Twine(k) + ")");
  }
  f.result("r0", "!list");
}

static void conditionResults(FunctionText &f, int n) {
  std::string names, kept, types, updated;
  f.argument("ok", "tensor<i1>");
  for (int k = 0; k < n; ++k) {
    f.donated("a" + Twine(k), "!list");
    appendItem(names, "%r" + Twine(k));
    appendItem(kept, "%a" + Twine(k));
    appendItem(types, "!list");
    appendItem(updated, "%y" + Twine(k));
  }
  f.line(Twine(names) + " = foreach.if %ok -> (" + types + ") {");
  for (int k = 0; k < n; ++k)
    f.map("y" + Twine(k), "a" + Twine(k));
  f.line("  foreach.yield " + Twine(updated) + " : " + types);
  f.line("} else (" + Twine(kept) + ")");
  for (int k = 0; k < n; ++k)
    f.result("r" + Twine(k), "!list");
}

std::vector<ScaledProgram> scaledLoops() {
  return {
      {"loops", "loops in a row", 128, loops},
      {"separate_loops", "loops over separate lists", 128, separateLoops},
      // The parser accepts 200 levels. An operation may take a step for each
      // level around it, which is quadratic.
      {"nested_loops", "nesting of loops", 48, nestedLoops, 3.5},
      {"loop_body", "maps in a loop", 512, loopBody},
      {"carried_values", "carried values of a loop", 256, carriedValues},
      {"records", "recorded values of a loop", 256, records},
      {"shifted_body", "operations around a log-sum-exp", 256, shiftedBody},
      {"conditions", "conditions in a row", 256, conditions},
      {"nested_conditions", "nesting of conditions", 64, nestedConditions},
      {"condition_results", "results of a condition", 512, conditionResults},
  };
}

} // namespace heddle::test
