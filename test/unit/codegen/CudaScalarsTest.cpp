//===- CudaScalarsTest.cpp - every scalar op and reduction kind, executed -===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests every entry of dialect/ScalarOps.def and dialect/ReduceKinds.td in the
// interpreter, on the cpu target and as emitted CUDA source that the host
// executes, over random and special values. An entry without a program here
// fails, as does an entry with different results on two targets.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "dialect/Foreach.h"
#include "dialect/ReduceKinds.h"
#include "dialect/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <set>

using heddle::reference::Arithmetic;

namespace heddle::test {
namespace {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// The operands and the result of an operation, from its column REFERENCE.
enum class Form { float1, float2, float3, predicate, integer1, integer2, code };

struct Entry {
  llvm::StringRef name;
  Form form;
};

#define FLOAT1(EXPRESSION) Form::float1
#define FLOAT2(EXPRESSION) Form::float2
#define FLOAT3(EXPRESSION) Form::float3
#define PREDICATE(EXPRESSION) Form::predicate
#define INTEGER1(EXPRESSION) Form::integer1
#define INTEGER2(EXPRESSION) Form::integer2
#define CODE Form::code
using namespace mlir;
const Entry table[] = {
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
  {OP::getOperationName(), REFERENCE},
#include "dialect/ScalarOps.def"
};
#undef FLOAT1
#undef FLOAT2
#undef FLOAT3
#undef PREDICATE
#undef INTEGER1
#undef INTEGER2
#undef CODE

/// Statements that compute %r from %a, %b and %c of type `$T`; for integers of
/// type `$I`, %q of this type, or %r, from %x and %y.
struct Code {
  std::string entry, text;
  std::string type = "$T"; // of %r
};

/// Statements for the entries whose form does not determine them.
std::vector<Code> specialFloats(const std::string &type) {
  std::vector<Code> codes = {
      {"math.fpowi", "%l = arith.constant -9.0 : $T\n"
                     "%h = arith.constant 9.0 : $T\n"
                     "%m = arith.maxnumf %b, %l : $T\n"
                     "%k = arith.minnumf %m, %h : $T\n"
                     "%n = arith.fptosi %k : $T to i32\n"
                     "%r = math.fpowi %a, %n : $T, i32"},
      {"arith.fptosi",
       "%w = arith.fptosi %a : $T to i8\n"
       "%r = arith.extsi %w : i8 to i32",
       "i32"},
      {"arith.fptosi",
       "%w = arith.fptosi %a : $T to i1\n"
       "%r = arith.extui %w : i1 to i32",
       "i32"},
      {"arith.fptosi",
       "%w = arith.fptosi %a : $T to i64\n"
       "%r = arith.sitofp %w : i64 to f64",
       "f64"},
      {"arith.fptoui",
       "%w = arith.fptoui %a : $T to i1\n"
       "%r = arith.extui %w : i1 to i32",
       "i32"},
      {"arith.fptoui",
       "%w = arith.fptoui %a : $T to i16\n"
       "%r = arith.extui %w : i16 to i32",
       "i32"},
      {"arith.fptoui", "%r = arith.fptoui %a : $T to i32", "i32"},
      {"arith.fptoui",
       "%w = arith.fptoui %a : $T to i64\n"
       "%r = arith.uitofp %w : i64 to f64",
       "f64"},
      {"arith.fptosi", "%r = arith.fptosi %a : $T to i32", "i32"},
      {"arith.select", "%t = arith.cmpf olt, %a, %b : $T\n"
                       "%r = arith.select %t, %b, %c : $T"}};
  for (const char *predicate :
       {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
        "uge", "ult", "ule", "une", "uno", "true"})
    codes.push_back({"arith.cmpf",
                     "%t = arith.cmpf " + std::string(predicate) +
                         ", %a, %b : $T\n"
                         "%r = arith.extui %t : i1 to i32",
                     "i32"});
  if (type == "f32") {
    for (const char *to : {"bf16", "f16"})
      codes.push_back({"foreach.round", "%w = arith.bitcast %b : f32 to i32\n"
                                        "%v = arith.trunci %w : i32 to i16\n"
                                        "%r = foreach.round %a to " +
                                            std::string(to) + " by %v : f32"});
    codes.push_back({"foreach.high", "%r = foreach.high %a : f32"});
    codes.push_back({"foreach.low",
                     "%w = foreach.low %a : f32\n"
                     "%r = arith.extsi %w : i16 to i32",
                     "i32"});
    codes.push_back({"foreach.join", "%h = foreach.high %b : f32\n"
                                     "%l = foreach.low %a : f32\n"
                                     "%r = foreach.join %h, %l : f32"});
    codes.push_back({"arith.bitcast", "%w = arith.bitcast %a : f32 to i32\n"
                                      "%n = arith.constant 1 : i32\n"
                                      "%v = arith.xori %w, %n : i32\n"
                                      "%r = arith.bitcast %v : i32 to f32"});
    codes.push_back(
        {"arith.bitcast", "%r = arith.bitcast %b : f32 to i32", "i32"});
    codes.push_back({"arith.extf", "%r = arith.extf %a : f32 to f64", "f64"});
    codes.push_back({"arith.truncf", "%w = arith.truncf %a : f32 to bf16\n"
                                     "%r = arith.extf %w : bf16 to f32"});
  } else {
    codes.push_back({"arith.bitcast", "%w = arith.bitcast %a : f64 to i64\n"
                                      "%n = arith.constant 1 : i64\n"
                                      "%v = arith.xori %w, %n : i64\n"
                                      "%r = arith.bitcast %v : i64 to f64"});
    codes.push_back(
        {"arith.fptosi", "%r = arith.fptosi %a : f64 to i32", "i32"});
    codes.push_back(
        {"arith.truncf", "%r = arith.truncf %a : f64 to f32", "f32"});
    codes.push_back({"arith.extf", "%w = arith.truncf %a : f64 to f16\n"
                                   "%r = arith.extf %w : f16 to f64"});
  }
  return codes;
}

std::vector<Code> specialIntegers(unsigned width) {
  std::vector<Code> codes = {
      {"arith.sitofp", "%r = arith.sitofp %x : $I to f64", "f64"},
      {"arith.uitofp", "%r = arith.uitofp %x : $I to f32", "f32"},
      {"arith.select", "%t = arith.cmpi slt, %x, %y : $I\n"
                       "%q = arith.select %t, %y, %x : $I"}};
  for (const char *predicate :
       {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
    codes.push_back({"arith.cmpi",
                     "%t = arith.cmpi " + std::string(predicate) +
                         ", %x, %y : $I\n"
                         "%r = arith.extui %t : i1 to i32",
                     "i32"});
  for (const char *type : {"i16", "i32"})
    if (width == 64)
      codes.push_back(
          {"foreach.random",
           "%p = foreach.index member : i64\n"
           "%w = foreach.random seed %x stream %y block %x at %p : " +
               std::string(type) + "\n%r = arith.sitofp %w : " + type +
               " to f64",
           "f64"});
  for (unsigned other : {1, 8, 16, 32, 64}) {
    std::string type = "i" + std::to_string(other);
    // Lists of the harness hold integers of up to 53 bits.
    std::string end =
        other == 32 ? "" : "\n%r = arith.sitofp %w : " + type + " to f64";
    std::string result = other == 32 ? "%r" : "%w";
    if (other > width)
      for (const char *op : {"arith.extsi", "arith.extui"})
        codes.push_back({op, result + " = " + op + " %x : $I to " + type + end,
                         other == 32 ? "i32" : "f64"});
    if (other < width)
      codes.push_back({"arith.trunci",
                       result + " = arith.trunci %x : $I to " + type + end,
                       other == 32 ? "i32" : "f64"});
  }
  return codes;
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// A program with one result for each `Code`.
struct Group {
  std::string name, type;
  std::vector<Code> codes;

  std::string text() const {
    std::string body, yields, types, outs, results;
    for (size_t k = 0; k < codes.size(); ++k) {
      std::string suffix = std::to_string(k);
      // Names of values end in the index of the result.
      std::string code;
      llvm::StringRef left = codes[k].text;
      while (!left.empty()) {
        code += left.front();
        bool isName = left.consume_front("%");
        if (!isName) {
          left = left.drop_front();
          continue;
        }
        llvm::StringRef name = left.take_while(llvm::isAlnum);
        code += name;
        if (name != "a" && name != "b" && name != "c")
          code += "_" + suffix;
        left = left.drop_front(name.size());
      }
      std::string result = replaced(codes[k].type, "$T", type);
      std::string comma = k ? ", " : "";
      body += "    " + replaced(code, "$T", type) + "\n";
      yields += comma + "%r_" + suffix;
      types += comma + result;
      outs += comma + "%o" + suffix;
      results += comma + "!foreach.list<tensor<?x" + result + ">>";
    }
    std::string list = "!foreach.list<tensor<?x" + type + ">>";
    return "func.func @" + name + "(%a: " + list + ", %b: " + list +
           ", %c: " + list + ") -> (" + results + ") {\n  " + outs +
           " = foreach.map (%a = %a, %b = %b, %c = %c : " + list + ") -> (" +
           results + ") {\n" + body + "    foreach.yield " + yields + " : " +
           types + "\n  }\n  return " + outs + " : " + results + "\n}\n";
  }
};

Group floats(const std::string &type) {
  Group group{"scalars_" + type, type, specialFloats(type)};
  std::set<std::string> special;
  for (const Code &code : group.codes)
    special.insert(code.entry);
  for (const Entry &entry : table) {
    std::string name = entry.name.str();
    if (special.count(name))
      continue;
    switch (entry.form) {
    case Form::float1:
      group.codes.push_back({name, "%r = " + name + " %a : $T"});
      break;
    case Form::float2:
      group.codes.push_back({name, "%r = " + name + " %a, %b : $T"});
      break;
    case Form::float3:
      group.codes.push_back({name, "%r = " + name + " %a, %b, %c : $T"});
      break;
    case Form::predicate:
      group.codes.push_back(
          {name,
           "%t = " + name + " %a : $T\n" + "%r = arith.extui %t : i1 to i32",
           "i32"});
      break;
    default:
      break;
    }
  }
  return group;
}

/// Integers of `width` bits; up to 32 bits they come from lists of i32.
Group integers(unsigned width) {
  std::string type = "i" + std::to_string(width);
  bool isNarrow = width < 32;
  Group group{"scalars_" + type, width == 64 ? "i64" : "i32",
              specialIntegers(width)};
  // Not every width has every kind of conversion.
  std::set<std::string> special = {"arith.extsi", "arith.extui",
                                   "arith.trunci"};
  for (const Code &code : group.codes)
    special.insert(code.entry);
  for (const Entry &entry : table) {
    std::string name = entry.name.str();
    if (special.count(name))
      continue;
    if (entry.form == Form::integer1)
      group.codes.push_back({name, "%q = " + name + " %x : $I"});
    if (entry.form == Form::integer2)
      group.codes.push_back({name, "%q = " + name + " %x, %y : $I"});
  }
  for (Code &code : group.codes) {
    if (isNarrow)
      code.text = "%x = arith.trunci %a : i32 to $I\n"
                  "%y = arith.trunci %b : i32 to $I\n" +
                  code.text;
    else
      code.text = replaced(replaced(code.text, "%x", "%a"), "%y", "%b");
    if (code.text.find("%q = ") != std::string::npos) {
      if (isNarrow)
        code.text += "\n%r = arith.extsi %q : $I to i32";
      else
        code.text = replaced(code.text, "%q", "%r");
    }
    code.text = replaced(code.text, "$I", type);
  }
  return group;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Every pair of special values, then random ones.
template <class T> void fillFloats(ListInput::Member (&members)[3]) {
  using L = std::numeric_limits<T>;
  const T special[] = {0, T(-0.0), 1, -1, L::max(), L::lowest(), L::min(),
                       L::denorm_min(), -100 * L::denorm_min(), T(0.5),
                       L::infinity(), -L::infinity(), T(-2.5), L::quiet_NaN(),
                       T(30),
                       // The ends of the integers of 32 and 64 bits.
                       T(0x1p31), std::nextafter(T(0x1p31), T(0)), T(-0x1p31),
                       T(-0x1p31 - 1), std::nextafter(T(-0x1p31), T(-INFINITY)),
                       T(0x1p32), T(0x1p63), T(-0x1p63)};
  auto push = [&](T a, T b, T c) {
    members[0].data.push_back(a);
    members[1].data.push_back(b);
    members[2].data.push_back(c);
  };
  for (size_t i = 0; i < std::size(special); ++i)
    for (size_t k = 0; k < std::size(special); ++k)
      push(special[i], special[k], special[(i + 3 * k) % std::size(special)]);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 3);
  for (int k = 0; k < 800; ++k)
    push(T(normal(random)), T(normal(random)), T(normal(random)));
}

/// Products stay below 2^31, and those of 64-bit integers below 2^53: beyond
/// these bounds, signed arithmetic of the host is undefined, and lists of the
/// harness are inexact.
void fillIntegers(bool isWide, ListInput::Member (&members)[3]) {
  std::vector<double> special = {0,   1,   -1,   2,     7,      -8,    127,
                                 128, 255, -128, 32767, -32768, 65535, 4097};
  std::mt19937_64 random(6);
  if (isWide)
    special.insert(special.end(), {67108863, -67108864, 3000000});
  for (int k = 0; k < 20; ++k)
    special.push_back(double(random() % 60001) - 30000);
  for (double a : special)
    for (double b : special) {
      bool fits = std::fabs(a * b) < (isWide ? 0x1p53 : 0x1p31);
      members[0].data.push_back(fits ? a : std::fmod(a, 1000));
      members[1].data.push_back(fits ? b : std::fmod(b, 1000));
      members[2].data.push_back(a - b);
    }
}

Inputs inputsOf(const std::string &type) {
  ListInput::Member members[3];
  if (type == "f32")
    fillFloats<float>(members);
  else if (type == "f64")
    fillFloats<double>(members);
  else
    fillIntegers(type == "i64", members);
  Inputs inputs;
  for (auto [name, member] : llvm::zip(std::array{"a", "b", "c"}, members)) {
    member.extents = {static_cast<int64_t>(member.data.size())};
    inputs.lists[name].members = {member};
  }
  return inputs;
}

/// The distance of two floats in units in the last place of `type`.
double ulps(const std::string &type, double expected, double found) {
  if ((std::isnan(expected) && std::isnan(found)) || expected == found)
    return std::signbit(expected) == std::signbit(found) || expected != 0
               ? 0
               : INFINITY;
  if (!std::isfinite(expected) || !std::isfinite(found))
    return INFINITY;
  double size = std::fabs(expected);
  double unit = type == "f32"
                    ? std::nextafter(float(size), INFINITY) - float(size)
                    : std::nextafter(size, INFINITY) - size;
  return std::fabs(expected - found) / unit;
}

/// Runs the emitted source on `inputs`, by the entry that every program has.
std::unique_ptr<GraphRun> emitted(Program &program, const Inputs &inputs) {
  return program.cuda(inputs, entrySuffixes().front(), /*seed=*/1);
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

std::vector<Group> groups() {
  std::vector<Group> result = {floats("f32"), floats("f64")};
  for (unsigned width : {1, 8, 16, 32, 64})
    result.push_back(integers(width));
  return result;
}

TEST(CudaScalars, EveryOperationHasAProgram) {
  std::set<std::string> covered;
  for (const Group &group : groups())
    for (const Code &code : group.codes)
      covered.insert(code.entry);
  ASSERT_EQ(std::size(table), scalarOps().size());
  for (const ScalarOp &op : scalarOps())
    EXPECT_TRUE(covered.count(op.name.str()))
        << op.name.str() << " has no program here that executes it";
}

TEST(CudaScalars, EveryOperationHasOneMeaning) {
  std::map<std::string, double> accuracy;
  for (const ScalarOp &op : scalarOps())
    accuracy[op.name.str()] = op.accuracy;

  std::vector<Group> all = groups();
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<const runtime::Plan *> plans;
  for (const Group &group : all) {
    programs.push_back(std::make_unique<Program>(group.text()));
    ASSERT_TRUE(programs.back()->isGood()) << group.text();
    plans.push_back(&programs.back()->plan());
  }
  auto source = HostSource::compile(plans);
  ASSERT_TRUE(static_cast<bool>(source))
      << runtime::takeError(source.takeError()).second;

  for (auto [group, program] : llvm::zip(all, programs)) {
    SCOPED_TRACE(group.name);
    program->setHostSource(*source);
    Inputs inputs = inputsOf(group.type);
    auto reference = program->reference(inputs, Arithmetic::plain);
    std::unique_ptr<Runnable> targets[] = {program->cpu(inputs),
                                           emitted(*program, inputs)};
    ASSERT_FALSE(static_cast<bool>(reference->step()));
    Numbers expected = reference->results();
    for (auto &target : targets) {
      ASSERT_TRUE(target);
      SCOPED_TRACE(target->name);
      if (llvm::Error error = target->step())
        FAIL() << runtime::takeError(std::move(error)).second;
      Numbers found = target->results();
      ASSERT_EQ(found.size(), group.codes.size());
      for (auto [k, code] : llvm::enumerate(group.codes)) {
        // The operations of one host are closer than those of two targets.
        double most = std::min(accuracy[code.entry] * 2, 2.0);
        const auto &e = expected[k][0], &f = found[k][0];
        ASSERT_EQ(e.size(), inputs.lists["a"].members[0].data.size());
        ASSERT_EQ(e.size(), f.size());
        for (size_t i = 0; i < e.size(); ++i)
          ASSERT_LE(ulps(group.type, e[i], f[i]), most)
              << code.text << "\na = " << inputs.lists["a"].members[0].data[i]
              << ", b = " << inputs.lists["b"].members[0].data[i]
              << ", c = " << inputs.lists["c"].members[0].data[i]
              << ": expected " << e[i] << ", found " << f[i];
      }
    }
  }
}

/// A reduction of every member, with all its results.
std::string reduction(foreach::ReduceKind kind, const std::string &type) {
  std::string name = foreach::stringifyReduceKind(kind).str();
  std::string list = "!foreach.list<tensor<?x" + type + ">>";
  std::string each = "!foreach.list<tensor<" + type + ">>";
  bool positions = foreach::hasPosition(kind);
  std::string results =
      positions ? each + ", !foreach.list<tensor<i64>>" : each;
  std::string values = positions ? "%r, %at" : "%r";
  return "func.func @reduce_" + name + "_" + type + "(%x: " + list + ") -> (" +
         results + ") {\n  " + values + " = foreach.reduce " + name +
         " along member (%x = %x : " + list + ") -> (" + results +
         ") {\n    foreach.yield %x : " + type + "\n  }\n  return " + values +
         " : " + results + "\n}\n";
}

TEST(CudaScalars, EveryReductionKindHasOneMeaning) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  const mlir::Type types[] = {builder.getI1Type(), builder.getI32Type(),
                              builder.getI64Type(), builder.getF32Type(),
                              builder.getF64Type()};
  struct Case {
    foreach
      ::ReduceKind kind;
    std::string type;
    std::unique_ptr<Program> program;
  };
  std::vector<Case> cases;
  std::vector<const runtime::Plan *> plans;
  for (uint64_t value = 0; value <= foreach::getMaxEnumValForReduceKind();
       ++value) {
    auto kind = static_cast<foreach::ReduceKind>(value);
    size_t before = cases.size();
    for (mlir::Type type : types) {
      if (!foreach::isReducible(kind, type))
        continue;
      std::string name;
      llvm::raw_string_ostream(name) << type;
      cases.push_back(
          {kind, name, std::make_unique<Program>(reduction(kind, name))});
      ASSERT_TRUE(cases.back().program->isGood());
      plans.push_back(&cases.back().program->plan());
    }
    EXPECT_GT(cases.size(), before) << "no type for kind " << value;
  }
  auto source = HostSource::compile(plans);
  ASSERT_TRUE(static_cast<bool>(source))
      << runtime::takeError(source.takeError()).second;

  for (Case &each : cases) {
    SCOPED_TRACE(reduction(each.kind, each.type));
    each.program->setHostSource(*source);
    bool isFloat = each.type[0] == 'f', isFlag = each.type == "i1";
    std::vector<std::vector<double>> members = {
        {}, {1}, {0}, {1, 1, 1}, {0, 0}, {0, 1, 0, 1}};
    if (!isFlag)
      members.insert(members.end(),
                     {{-7}, {2, -3, 5, 5, 1}, {-1, -4, -2}, {3, 3, -3}});
    if (isFloat)
      members.insert(members.end(), {{-2, -0.0},
                                     {-0.0, 0.0, -0.0},
                                     {0.0, -0.0},
                                     {-0.0, -0.0},
                                     {INFINITY, 1},
                                     {-INFINITY},
                                     {-INFINITY, 2, -INFINITY},
                                     {1, NAN, 2},
                                     {NAN, INFINITY},
                                     {0.5, 30, -80},
                                     {1e-40, 1e-41}});
    // Small integers, whose sums and maxima are exact in any order.
    std::vector<double> &large = members.emplace_back();
    std::mt19937_64 random(3);
    bool isProduct = each.kind == foreach::ReduceKind::mul;
    for (int k = 0; k < 3000; ++k)
      large.push_back(isFlag      ? double(k != 1234)
                      : isProduct ? double(k == 777) + 1
                                  : double(random() % 17) - 8);
    Inputs inputs;
    for (const auto &member : members)
      inputs.lists["x"].members.push_back(
          {{static_cast<int64_t>(member.size())}, member});
    // The data of a list are elements of its type.
    if (each.type == "f32")
      for (ListInput::Member &member : inputs.lists["x"].members)
        for (double &x : member.data)
          x = static_cast<float>(x);

    auto reference = each.program->reference(inputs, Arithmetic::plain);
    std::unique_ptr<Runnable> targets[] = {each.program->cpu(inputs),
                                           emitted(*each.program, inputs)};
    ASSERT_FALSE(static_cast<bool>(reference->step()));
    Numbers expected = reference->results();
    bool rounds = each.kind == foreach::ReduceKind::logsumexp;
    for (auto &target : targets) {
      ASSERT_TRUE(target);
      SCOPED_TRACE(target->name);
      if (llvm::Error error = target->step())
        FAIL() << runtime::takeError(std::move(error)).second;
      Numbers found = target->results();
      ASSERT_EQ(expected.size(), found.size());
      for (size_t r = 0; r < expected.size(); ++r)
        for (size_t m = 0; m < members.size(); ++m)
          EXPECT_LE(ulps(isFloat ? each.type : "f64", expected[r][m][0],
                         found[r][m][0]),
                    rounds ? 4 : 0)
              << "result " << r << ", member " << m << ": expected "
              << expected[r][m][0] << ", found " << found[r][m][0];
    }
  }
}

/// A sum starts from +0, so that of negative zeros is +0, along every axis and
/// in every schedule.
TEST(CudaScalars, SumOfNegativeZerosIsPositive) {
  std::string text = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f32>
func.func @zeros(%m: !mats, %x: !list, %s: !each) -> (!list, !list, !each, !num, !each, !num, !num) {
)mlir";
  struct Sum {
    const char *axis, *operand, *type, *result;
  };
  const Sum sums[] = {
      {"j", "%m[i, j]", "!mats", "!list"}, {"i", "%m[i, j]", "!mats", "!list"},
      {"member", "%m", "!mats", "!each"},  {"list", "%m", "!mats", "!num"},
      {"member", "%x", "!list", "!each"},  {"list", "%x", "!list", "!num"},
      {"list", "%s", "!each", "!num"}};
  std::string results, types;
  for (auto [k, sum] : llvm::enumerate(sums)) {
    std::string name = "%r" + std::to_string(k);
    text += "  " + name + " = foreach.reduce add along " + sum.axis +
            " (%a = " + sum.operand + " : " + sum.type + ") -> " + sum.result +
            " {\n    foreach.yield %a : f32\n  }\n";
    results += (k ? ", " : "") + name;
    types += std::string(k ? ", " : "") + sum.result;
  }
  Program program(text + "  return " + results + " : " + types + "\n}\n");
  ASSERT_TRUE(program.isGood());
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                               {1, 300},
                               {3, 1},
                               {40, 2},
                               {2, 1025}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    auto zeros = [](std::vector<int64_t> extents) {
      ListInput::Member member{extents, {}};
      int64_t count = 1;
      for (int64_t extent : extents)
        count *= extent;
      member.data.assign(count, -0.0);
      ListInput list;
      list.members.push_back(member);
      return list;
    };
    Inputs inputs;
    inputs.lists["m"] = zeros({rows, columns});
    inputs.lists["x"] = zeros({rows * columns});
    inputs.lists["s"] = zeros({});
    std::vector<std::unique_ptr<Runnable>> runs;
    runs.push_back(program.reference(inputs, Arithmetic::plain));
    runs.push_back(program.reference(inputs, Arithmetic::exact));
    runs.push_back(program.cpu(inputs));
    runs.push_back(program.cpu(inputs, /*fuse=*/false));
    runs.push_back(emitted(program, inputs));
    for (auto &run : runs) {
      ASSERT_TRUE(run);
      ASSERT_FALSE(static_cast<bool>(run->step()));
      for (auto [k, result] : llvm::enumerate(run->results()))
        for (double value : result[0])
          EXPECT_TRUE(value == 0 && !std::signbit(value))
              << run->name << ": result " << k << " is " << value;
    }
  }
}

} // namespace
} // namespace heddle::test
