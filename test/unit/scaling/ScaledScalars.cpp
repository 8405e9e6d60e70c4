//===- ScaledScalars.cpp - programs of many lists and scalars -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledParts.h"

#include "llvm/ADT/Twine.h"

using llvm::Twine;

namespace heddle::test {

void writeUpdate(FunctionText &f, const Twine &to, const Twine &param,
                 const Twine &grad, const Twine &rate) {
  f.line("%" + to + " = foreach.map (%p = %" + param + ", %g = %" + grad +
         " : !list, %lr = %" + rate + " as f32 : !num) -> !list {");
  f.line("  %step = arith.mulf %lr, %g : f32");
  f.line("  %q = arith.subf %p, %step : f32");
  f.line("  foreach.yield %q : f32");
  f.line("}");
}

static void segments(FunctionText &f, int n) {
  f.argument("lr", "!num");
  for (int k = 0; k < n; ++k) {
    f.donated("param" + Twine(k), "!list");
    f.argument("grad" + Twine(k), "!list");
    writeUpdate(f, "r" + Twine(k), "param" + Twine(k), "grad" + Twine(k), "lr");
    f.result("r" + Twine(k), "!list");
  }
}

/// Parameter groups with separate rates, and one norm of all gradients.
static void groups(FunctionText &f, int n) {
  std::string operands, sum;
  for (int k = 0; k < n; ++k) {
    f.donated("param" + Twine(k), "!list");
    f.argument("grad" + Twine(k), "!list");
    f.argument("lr" + Twine(k), "!num", " {foreach.default = 0.001 : f64}");
    f.sum("sum" + Twine(k), "grad" + Twine(k));
    appendItem(operands, "%x" + Twine(k) + " = %sum" + Twine(k));
  }
  f.line("%norm = foreach.map (" + Twine(operands) + " : !num) -> !num {");
  sum = "%x0";
  for (int k = 1; k < n; ++k) {
    f.line("  %s" + Twine(k) + " = arith.addf " + sum + ", %x" + Twine(k) +
           " : f64");
    sum = ("%s" + Twine(k)).str();
  }
  f.line("  %root = math.sqrt " + Twine(sum) + " : f64");
  f.line("  foreach.yield %root : f64");
  f.line("}");
  for (int k = 0; k < n; ++k) {
    f.line("%c" + Twine(k) + " = foreach.map (%g = %grad" + Twine(k) +
           " : !list, %n = %norm as f32 : !num) -> !list {");
    f.line("  %c = arith.divf %g, %n : f32");
    f.line("  foreach.yield %c : f32");
    f.line("}");
    writeUpdate(f, "r" + Twine(k), "param" + Twine(k), "c" + Twine(k),
                "lr" + Twine(k));
    f.result("r" + Twine(k), "!list");
  }
}

/// Bias corrections with a step counter for each group: precomputed scalars.
static void corrections(FunctionText &f, int n) {
  f.argument("beta", "!num");
  for (int k = 0; k < n; ++k) {
    std::string number = std::to_string(k);
    f.donated("param" + number, "!list");
    f.donated("step" + number, "!each");
    f.line("%t" + number + ", %c" + number + " = foreach.map (%t = %step" +
           number + " : !each, %b = %beta : !num) -> (!each, !each) {");
    f.line("  %one = arith.constant 1.0 : f32");
    f.line("  %t1 = arith.addf %t, %one : f32");
    f.line("  %n = arith.fptosi %t1 : f32 to i32");
    f.line("  %p = math.fpowi %b, %n : f64, i32");
    f.line("  foreach.yield %t1, %p : f32, f64");
    f.line("}");
    f.line("%r" + number + " = foreach.map (%p = %param" + number +
           " : !list, %c = %c" + number + " : !each) -> !list {");
    f.line("  %q = arith.divf %p, %c : f32");
    f.line("  foreach.yield %q : f32");
    f.line("}");
    f.result("r" + number, "!list");
    f.result("t" + number, "!each");
  }
}

static void hyperparameters(FunctionText &f, int n) {
  std::string operands;
  f.argument("a", "!list");
  for (int k = 0; k < n; ++k) {
    f.argument("h" + Twine(k), "!num",
               " {foreach.default = " + Twine(k) + ".0 : f64}");
    appendItem(operands, "%h" + Twine(k) + " = %h" + Twine(k) + " as f32");
  }
  f.line("%r = foreach.map (%x0 = %a : !list, " + Twine(operands) +
         " : !num) -> !list {");
  for (int k = 0; k < n; ++k)
    f.line("  %x" + Twine(k + 1) + " = arith.mulf %x" + Twine(k) + ", %h" +
           Twine(k) + " : f32");
  f.line("  foreach.yield %x" + Twine(n) + " : f32");
  f.line("}");
  f.result("r", "!list");
}

/// Scalar math before a map, which moves into the body.
static void scalars(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.argument("s0", "!num");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k + 1) + " = foreach.map (%x = %s" + Twine(k) +
           " : !num) -> !num {");
    f.line("  %y = arith.addf %x, %x : f64");
    f.line("  foreach.yield %y : f64");
    f.line("}");
  }
  writeUpdate(f, "r", "a", "a", "s" + Twine(n));
  f.result("r", "!list");
}

/// Scalar math of which every value is used by a map.
static void usedScalars(FunctionText &f, int n) {
  f.argument("v0", "!list");
  f.argument("s0", "!num");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k + 1) + " = foreach.map (%x = %s" + Twine(k) +
           " : !num) -> !num {");
    f.line("  %y = math.sqrt %x : f64");
    f.line("  foreach.yield %y : f64");
    f.line("}");
    writeUpdate(f, "v" + Twine(k + 1), "v" + Twine(k), "v0",
                "s" + Twine(k + 1));
  }
  f.result("v" + Twine(n), "!list");
}

static void scalarResults(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.argument("s0", "!num");
  f.map("r", "a");
  f.result("r", "!list");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k + 1) + " = foreach.map (%x = %s" + Twine(k) +
           " : !num) -> !num {");
    f.line("  %y = math.sqrt %x : f64");
    f.line("  foreach.yield %y : f64");
    f.line("}");
    f.result("s" + Twine(k + 1), "!num");
  }
}

static void memberScalars(FunctionText &f, int n) {
  f.argument("v0", "!each");
  for (int k = 0; k < n; ++k) {
    f.line("%v" + Twine(k + 1) + " = foreach.map (%x = %v" + Twine(k) +
           " : !each) -> !each {");
    f.line("  %y = arith.addf %x, %x : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
  }
  f.result("v" + Twine(n), "!each");
}

std::vector<ScaledProgram> scaledScalars() {
  return {
      {"segments", "lists", 512, segments},
      {"groups", "parameter groups with one norm", 256, groups},
      {"corrections", "step counters", 256, corrections},
      {"hyperparameters", "scalar arguments", 512, hyperparameters},
      {"scalars", "maps of a scalar", 512, scalars},
      {"used_scalars", "scalars for a chain of maps", 256, usedScalars},
      {"scalar_results", "scalars that are results", 256, scalarResults},
      {"member_scalars", "maps of member scalars", 512, memberScalars},
  };
}

} // namespace heddle::test
