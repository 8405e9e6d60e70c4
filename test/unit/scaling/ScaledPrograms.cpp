//===- ScaledPrograms.cpp - programs of every size ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledPrograms.h"

#include "llvm/ADT/Twine.h"

using llvm::StringRef;
using llvm::Twine;

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void add(std::string &list, const Twine &item) {
  if (!list.empty())
    list += ", ";
  list += item.str();
}

void FunctionText::argument(const Twine &name, StringRef type,
                            const Twine &attributes) {
  add(arguments, "%" + name + ": " + type + attributes);
}

void FunctionText::donated(const Twine &name, StringRef type) {
  argument(name, type, " {foreach.donate = " + Twine(donations++) + " : i64}");
}

void FunctionText::result(const Twine &value, StringRef type) {
  add(results, "%" + value);
  add(types, type);
}

void FunctionText::map(const Twine &to, const Twine &from) {
  line("%" + to + " = foreach.map (%x = %" + from + " : !list) -> !list {");
  line("  %one = arith.constant 1.0 : f32");
  line("  %y = arith.addf %x, %one : f32");
  line("  foreach.yield %y : f32");
  line("}");
}

void FunctionText::sum(const Twine &to, const Twine &from) {
  line("%" + to + " = foreach.reduce add along list (%x = %" + from +
       " as f64 : !list) -> !num {");
  line("  foreach.yield %x : f64");
  line("}");
}

std::string FunctionText::str() const {
  return "!list = !foreach.list<tensor<?xf32>>\n"
         "!half = !foreach.list<tensor<?xbf16>>\n"
         "!mats = !foreach.list<tensor<?x?xf32>>\n"
         "!each = !foreach.list<tensor<f32>>\n"
         "!flags = !foreach.list<tensor<i1>>\n"
         "!counts = !foreach.list<tensor<i32>>\n"
         "!num = tensor<f64>\n"
         "func.func @scaled(" +
         arguments + ") -> (" + types + ") {\n" + body + "return " + results +
         " : " + types + "\n}\n";
}

std::string ScaledProgram::text(int n) const {
  FunctionText function;
  write(function, n);
  return function.str();
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

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
    add(operands, "%x" + Twine(k) + " = %b" + Twine(k));
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
    add(operands, "%x" + Twine(k) + " = %a" + Twine(k));
    add(names, "%r" + Twine(k));
    add(yielded, "%y" + Twine(k));
    add(types, "!list");
    add(scalars, "f32");
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

//===----------------------------------------------------------------------===//
// Segments and scalars
//===----------------------------------------------------------------------===//

static void update(FunctionText &f, const Twine &to, const Twine &param,
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
    update(f, "r" + Twine(k), "param" + Twine(k), "grad" + Twine(k), "lr");
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
    add(operands, "%x" + Twine(k) + " = %sum" + Twine(k));
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
    update(f, "r" + Twine(k), "param" + Twine(k), "c" + Twine(k),
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
    add(operands, "%h" + Twine(k) + " = %h" + Twine(k) + " as f32");
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
  update(f, "r", "a", "a", "s" + Twine(n));
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
    update(f, "v" + Twine(k + 1), "v" + Twine(k), "v0", "s" + Twine(k + 1));
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

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

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
    update(f, "v" + Twine(k + 1), "v" + Twine(k), "v0", "s" + Twine(k));
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
    add(operands, "%x" + Twine(k) + " = %a" + Twine(k));
    add(squares, "%y" + Twine(k));
    add(lists, "%u" + Twine(k));
    add(yielded, "f32");
    add(types, "!list");
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

//===----------------------------------------------------------------------===//
// Loops and conditions
//===----------------------------------------------------------------------===//

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
    add(inits, "%x" + Twine(k) + " = %a" + Twine(k));
    add(names, "%r" + Twine(k));
    add(types, "!list");
    add(next, "%y" + Twine(k));
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
    add(inits, "%x" + Twine(k) + " = %h" + Twine(k));
    add(names, "%r" + Twine(k));
    add(types, "!list");
    add(next, "%y" + Twine(k));
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
    add(names, "%r" + Twine(k));
    add(kept, "%a" + Twine(k));
    add(types, "!list");
    add(updated, "%y" + Twine(k));
  }
  f.line(Twine(names) + " = foreach.if %ok -> (" + types + ") {");
  for (int k = 0; k < n; ++k)
    f.map("y" + Twine(k), "a" + Twine(k));
  f.line("  foreach.yield " + Twine(updated) + " : " + types);
  f.line("} else (" + Twine(kept) + ")");
  for (int k = 0; k < n; ++k)
    f.result("r" + Twine(k), "!list");
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// A loop with the schedule `panel`: each iteration fits u, then v. Between the
/// reductions of rows and columns, `between` operations are in the body.
static void panelLoop(FunctionText &f, StringRef number, int between) {
  f.argument("m" + number, "!mats");
  f.argument("a" + number, "!list");
  f.argument("b" + number, "!list");
  f.line("%r" + number + ", %s" + number + ", %n" + number +
         " = foreach.while (%u = %a" + number + ", %v = %b" + number +
         " : !list) upto %limit -> (!list, !list, !counts) {");
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
  f.line("%error = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> "
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
  f.line("}");
  f.result("r" + number, "!list");
  f.result("s" + number, "!list");
}

static void panels(FunctionText &f, int n) {
  f.argument("limit", "tensor<i32>");
  for (int k = 0; k < n; ++k)
    panelLoop(f, std::to_string(k), 1);
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
      add(inits, "%" + name + " = %init_" + name);
      add(names, "%r_" + name);
      add(types, "!list");
      add(next, "%next_" + name);
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

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

llvm::ArrayRef<ScaledProgram> scaledPrograms() {
  static const ScaledProgram programs[] = {
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
      {"matrices", "maps of a matrix with vectors", 512, matrices},
      {"segments", "lists", 512, segments},
      {"groups", "parameter groups with one norm", 256, groups},
      {"corrections", "step counters", 256, corrections},
      {"hyperparameters", "scalar arguments", 512, hyperparameters},
      {"scalars", "maps of a scalar", 512, scalars},
      {"used_scalars", "scalars for a chain of maps", 256, usedScalars},
      {"scalar_results", "scalars that are results", 256, scalarResults},
      {"member_scalars", "maps of member scalars", 512, memberScalars},
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
      {"panels", "panel loops", 64, panels},
      {"panel_body", "operations in a panel loop", 512, panelBody},
      {"panel_pairs", "pairs of potentials in a loop", 64, panelPairs},
  };
  return programs;
}

} // namespace heddle::test
