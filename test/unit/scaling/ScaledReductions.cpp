//===- ScaledReductions.cpp - programs of many reductions -----------------===//
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

static void reductions(FunctionText &f, int n) {
  f.argument("a", "!list");
  for (int k = 0; k < n; ++k) {
    f.sum("r" + Twine(k), "a");
    f.result("r" + Twine(k), "!num");
  }
}

static void memberReductions(FunctionText &f, int n) {
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    f.line("%r" + Twine(k) + " = foreach.reduce max along member (%x = %a" +
           Twine(k) + " : !list) -> !each {");
    f.line("  foreach.yield %x : f32");
    f.line("}");
    f.result("r" + Twine(k), "!each");
  }
}

/// Each reduction needs the one before it: n launches.
static void phases(FunctionText &f, int n) {
  f.argument("v0", "!list");
  for (int k = 0; k < n; ++k) {
    f.sum("s" + Twine(k), "v" + Twine(k));
    writeUpdate(f, "v" + Twine(k + 1), "v" + Twine(k), "v0", "s" + Twine(k));
  }
  f.result("v" + Twine(n), "!list");
}

static void epilogue(FunctionText &f, int n) {
  f.argument("a", "!list");
  f.sum("s0", "a");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k + 1) + " = foreach.map (%x = %s" + Twine(k) +
           " : !num) -> !num {");
    f.line("  %y = math.sqrt %x : f64");
    f.line("  foreach.yield %y : f64");
    f.line("}");
  }
  f.result("s" + Twine(n), "!num");
}

/// A softmax of rows, n times.
static void rows(FunctionText &f, int n) {
  f.argument("m0", "!mats");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k) + " = foreach.reduce logsumexp along j (%x = %m" +
           Twine(k) + "[i, j] : !mats) -> !list {");
    f.line("  foreach.yield %x : f32");
    f.line("}");
    f.line("%m" + Twine(k + 1) + " = foreach.map (%x = %m" + Twine(k) +
           "[i, j] : !mats, %s = %s" + Twine(k) + "[i] : !list) -> !mats {");
    f.line("  %d = arith.subf %x, %s : f32");
    f.line("  %y = math.exp %d : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
  }
  f.result("m" + Twine(n), "!mats");
}

static void columns(FunctionText &f, int n) {
  f.argument("m0", "!mats");
  for (int k = 0; k < n; ++k) {
    f.line("%s" + Twine(k) + " = foreach.reduce add along i (%x = %m" +
           Twine(k) + "[i, j] : !mats) -> !list {");
    f.line("  foreach.yield %x : f32");
    f.line("}");
    f.line("%m" + Twine(k + 1) + " = foreach.map (%x = %m" + Twine(k) +
           "[i, j] : !mats, %s = %s" + Twine(k) + "[j] : !list) -> !mats {");
    f.line("  %y = arith.divf %x, %s : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
  }
  f.result("m" + Twine(n), "!mats");
}

/// Lists that a sweep computes again after a sum.
static void recomputed(FunctionText &f, int n) {
  std::string operands, squares, lists, yielded, types;
  for (int k = 0; k < n; ++k) {
    f.argument("a" + Twine(k), "!list");
    appendItem(operands, "%x" + Twine(k) + " = %a" + Twine(k));
    appendItem(squares, "%y" + Twine(k));
    appendItem(lists, "%u" + Twine(k));
    appendItem(yielded, "f32");
    appendItem(types, "!list");
  }
  f.line(Twine(lists) + " = foreach.map (" + operands + " : !list) -> (" +
         types + ") {");
  for (int k = 0; k < n; ++k)
    f.line("  %y" + Twine(k) + " = arith.mulf %x" + Twine(k) + ", %x" +
           Twine(k) + " : f32");
  f.line("  foreach.yield " + Twine(squares) + " : " + yielded);
  f.line("}");
  f.sum("s", "u0");
  for (int k = 0; k < n; ++k) {
    f.line("%r" + Twine(k) + " = foreach.map (%u = %u" + Twine(k) +
           ", %a = %a" + Twine(k) +
           " : !list, %s = %s as f32 : !num) -> !list {");
    f.line("  %v = arith.mulf %u, %s : f32");
    f.line("  %y = arith.addf %v, %a : f32");
    f.line("  foreach.yield %y : f32");
    f.line("}");
    f.result("r" + Twine(k), "!list");
  }
}

static void sidesOf(FunctionText &f, int n, StringRef axis, StringRef index) {
  f.argument("m", "!mats");
  for (int k = 0; k < n; ++k) {
    std::string number = std::to_string(k);
    f.argument("a" + number, "!list");
    f.line("%r" + number + " = foreach.reduce add along " + axis +
           " (%x = %m[i, j] : !mats, %y = %a" + number + "[" + index +
           "] : !list) -> !list {");
    f.line("  %z = arith.mulf %x, %y : f32");
    f.line("  foreach.yield %z : f32");
    f.line("}");
    f.result("r" + number, "!list");
  }
}

static void rowSums(FunctionText &f, int n) { sidesOf(f, n, "j", "j"); }
static void columnSums(FunctionText &f, int n) { sidesOf(f, n, "i", "i"); }

/// Rows of n lists of matrices.
static void rowLists(FunctionText &f, int n) {
  for (int k = 0; k < n; ++k) {
    f.argument("m" + Twine(k), "!mats");
    f.line("%r" + Twine(k) + " = foreach.reduce add along j (%x = %m" +
           Twine(k) + "[i, j] : !mats) -> !list {");
    f.line("  foreach.yield %x : f32");
    f.line("}");
    f.result("r" + Twine(k), "!list");
  }
}

std::vector<ScaledProgram> scaledReductions() {
  return {
      {"reductions", "reductions of a list", 512, reductions},
      {"member_reductions", "reductions of members", 512, memberReductions},
      {"phases", "reductions in a row", 256, phases},
      {"epilogue", "maps of a sum", 512, epilogue},
      {"recomputed", "lists that are computed again", 256, recomputed},
      {"rows", "softmaxes of rows in a row", 256, rows},
      {"columns", "normalizations of columns in a row", 256, columns},
      {"row_sums", "products of a matrix and a vector", 256, rowSums},
      {"column_sums", "products of a vector and a matrix", 256, columnSums},
      {"row_lists", "lists of matrices", 256, rowLists},
  };
}

} // namespace heddle::test
