//===- ScaledMaps.cpp - programs of many maps -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledParts.h"

#include "llvm/ADT/Twine.h"

using llvm::Twine;

namespace heddle::test {

static void chain(FunctionText &f, int n) {
  f.argument("v0", "!list");
  for (int k = 0; k < n; ++k)
    f.map("v" + Twine(k + 1), "v" + Twine(k));
  f.result("v" + Twine(n), "!list");
}

static void longBody(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.line("%r = foreach.map (%x0 = %a : !list) -> !list {");
  for (int k = 0; k < n; ++k) {
    f.line("  %c" + Twine(k) + " = arith.constant " + Twine(k) + ".5 : f32");
    f.line("  %x" + Twine(k + 1) + " = arith." + (k % 2 ? "mulf" : "addf") +
           " %x" + Twine(k) + ", %c" + Twine(k) + " : f32");
  }
  f.line("  foreach.yield %x" + Twine(n) + " : f32");
  f.line("}");
  f.result("r", "!list");
}

/// Every value has two uses, so copies of values would double n times.
static void sharedBody(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.line("%r = foreach.map (%x0 = %a : !list) -> !list {");
  for (int k = 0; k < n; ++k) {
    f.line("  %s" + Twine(k) + " = math.sin %x" + Twine(k) + " : f32");
    f.line("  %x" + Twine(k + 1) + " = arith.mulf %s" + Twine(k) + ", %x" +
           Twine(k) + " : f32");
  }
  f.line("  foreach.yield %x" + Twine(n) + " : f32");
  f.line("}");
  f.result("r", "!list");
}

static void fanOut(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.map("shared", "a");
  for (int k = 0; k < n; ++k) {
    f.map("r" + Twine(k), "shared");
    f.result("r" + Twine(k), "!list");
  }
}

static void fanIn(FunctionText &f, int n) {
  std::string operands, sum = "%x0";
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    f.map("b" + Twine(k), "a" + Twine(k));
    appendItem(operands, "%x" + Twine(k) + " = %b" + Twine(k));
  }
  f.line("%r = foreach.map (" + Twine(operands) + " : !list) -> !list {");
  for (int k = 1; k < n; ++k) {
    f.line("  %s" + Twine(k) + " = arith.addf " + sum + ", %x" + Twine(k) +
           " : f32");
    sum = ("%s" + Twine(k)).str();
  }
  f.line("  foreach.yield " + Twine(sum) + " : f32");
  f.line("}");
  f.result("r", "!list");
}

static void addMap(FunctionText &f, const Twine &to, const Twine &left,
                   const Twine &right) {
  f.line("%" + to + " = foreach.map (%x = %" + left + ", %y = %" + right +
         " : !list) -> !list {");
  f.line("  %z = arith.addf %x, %y : f32");
  f.line("  foreach.yield %z : f32");
  f.line("}");
}

static void accumulation(FunctionText &f, int n) {
  f.argument("s0", "!list");
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    addMap(f, "s" + Twine(k + 1), "s" + Twine(k), "a" + Twine(k));
  }
  f.result("s" + Twine(n), "!list");
}

static void diamonds(FunctionText &f, int n) {
  f.argument("v0", "!list");
  for (int k = 0; k < n; ++k) {
    f.map("left" + Twine(k), "v" + Twine(k));
    f.map("right" + Twine(k), "v" + Twine(k));
    addMap(f, "v" + Twine(k + 1), "left" + Twine(k), "right" + Twine(k));
  }
  f.result("v" + Twine(n), "!list");
}

/// Everything reads everything before it, within a window.
static void lattice(FunctionText &f, int n) {
  for (int k = 0; k < 4; ++k)
    f.argument("v" + Twine(k), "!list");
  for (int k = 4; k < n; ++k)
    addMap(f, "v" + Twine(k), "v" + Twine(k - 1), "v" + Twine(k - 4));
  f.result("v" + Twine(n - 1), "!list");
}

/// Rounding between maps: fused maps keep the conversions.
static void halves(FunctionText &f, int n) {
  f.argument("v0", "!half");
  for (int k = 0; k < n; ++k) {
    f.line("%v" + Twine(k + 1) + " = foreach.map (%x = %v" + Twine(k) +
           " as f32 : !half) -> !half {");
    f.line("  %y = arith.addf %x, %x : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
  }
  f.result("v" + Twine(n), "!half");
}

static void unused(FunctionText &f, int n) {
  f.argument("v0", "!list");
  for (int k = 0; k < n; ++k)
    f.map("v" + Twine(k + 1), "v" + Twine(k));
  f.map("r", "v0");
  f.result("r", "!list");
}

static void results(FunctionText &f, int n) {
  std::string operands, yielded, types, scalars, names;
  for (int k = 0; k < n; ++k) {
    f.donated("a" + Twine(k), "!list");
    appendItem(operands, "%x" + Twine(k) + " = %a" + Twine(k));
    appendItem(names, "%r" + Twine(k));
    appendItem(yielded, "%y" + Twine(k));
    appendItem(types, "!list");
    appendItem(scalars, "f32");
  }
  f.line(Twine(names) + " = foreach.map (" + operands + " : !list) -> (" +
         types + ") {");
  for (int k = 0; k < n; ++k)
    f.line("  %y" + Twine(k) + " = arith.addf %x" + Twine(k) + ", %x" +
           Twine((k + 1) % n) + " : f32");
  f.line("  foreach.yield " + Twine(yielded) + " : " + scalars);
  f.line("}");
  for (int k = 0; k < n; ++k)
    f.result("r" + Twine(k), "!list");
}

/// Every donated argument moves to the next one: one cycle of copies.
static void rotation(FunctionText &f, int n) {
  for (int k = 0; k < n; ++k)
    f.donated("a" + Twine(k), "!list");
  for (int k = 0; k < n; ++k)
    f.result("a" + Twine((k + 1) % n), "!list");
}

/// Each old value is read after a reduction of the new one.
static void oldValues(FunctionText &f, int n) {
  for (int k = 0; k < n; ++k) {
    std::string number = std::to_string(k);
    f.donated("p" + number, "!list");
    f.argument("g" + number, "!list");
    f.line("%new" + number + " = foreach.map (%p = %p" + number + ", %g = %g" +
           number + " : !list) -> !list {");
    f.line("  %x = arith.mulf %g, %g : f32");
    f.line("  %y = arith.subf %p, %x : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
    f.line("%sum" + number + " = foreach.reduce add along i (%x = %new" +
           number + " : !list) -> !each {");
    f.line("  foreach.yield %x : f32");
    f.line("}");
    f.line("%q" + number + " = foreach.map (%p = %p" + number +
           " : !list, %s = %sum" + number + " : !each) -> !list {");
    f.line("  %y = arith.mulf %p, %s : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
    f.result("new" + number, "!list");
  }
  for (int k = 0; k < n; ++k)
    f.result("q" + Twine(k), "!list");
}

static void matrices(FunctionText &f, int n) {
  f.argument("v0", "!mats");
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    f.line("%v" + Twine(k + 1) + " = foreach.map (%x = %v" + Twine(k) +
           "[i, j] : !mats, %y = %a" + Twine(k) + "[" + (k % 2 ? "i" : "j") +
           "] : !list) -> !mats {");
    f.line("  %z = arith.mulf %x, %y : f32");
    f.line("  foreach.yield %z : f32");
    f.line("}");
  }
  f.result("v" + Twine(n), "!mats");
}

std::vector<ScaledProgram> scaledMaps() {
  return {
      {"chain", "maps in a row", 512, chain},
      {"long_body", "pairs of scalar operations", 1024, longBody},
      {"shared_body", "scalar values with two uses", 512, sharedBody},
      {"fan_out", "readers of a value", 512, fanOut},
      {"fan_in", "operands of a map", 512, fanIn},
      {"accumulation", "lists added one by one", 512, accumulation},
      {"diamonds", "diamonds in a row", 256, diamonds},
      {"lattice", "maps with two earlier operands", 512, lattice},
      {"halves", "maps in a row that round", 512, halves},
      {"unused", "maps without use", 512, unused},
      {"results", "results of a map, in place", 512, results},
      {"rotation", "donated arguments that change places", 512, rotation},
      {"old_values", "old values that are read later", 128, oldValues},
      {"matrices", "maps of a matrix with vectors", 512, matrices},
  };
}

} // namespace heddle::test
