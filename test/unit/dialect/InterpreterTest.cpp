//===- InterpreterTest.cpp - maps, scalar operations, bad arguments -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation that a body may contain is evaluated and compared with C++.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <cmath>
#include <functional>

using namespace heddle;
using namespace heddle::test;

namespace {

/// The value of `operation`, with type `result`, on the device scalars %a, %b
/// and %c, with types `types`.
double evaluate(const std::string &operation,
                const std::vector<std::string> &types,
                const std::string &result, const Vector &values) {
  static const char *const names[] = {"a", "b", "c"};
  std::string arguments, bound;
  for (size_t k = 0; k < types.size(); ++k) {
    std::string name = std::string("%") + names[k];
    arguments += (k ? ", " : "") + name + ": tensor<" + types[k] + ">";
    bound +=
        (k ? ", " : "") + name + " = " + name + " : tensor<" + types[k] + ">";
  }
  std::string text = "func.func @f(" + arguments + ") -> tensor<" + result +
                     "> {\n  %r = foreach.map (" + bound + ") -> tensor<" +
                     result + "> {\n    %r = " + operation +
                     "\n    foreach.yield %r : " + result +
                     "\n  }\n  return %r : tensor<" + result + ">\n}";
  Context context;
  Runner runner = Runner::parse(context, text);
  for (size_t k = 0; k < types.size(); ++k)
    runner.setScalar(names[k], values[k]);
  EXPECT_TRUE(succeeded(runner.step())) << context.message << text;
  return runner.number("r");
}

const Vector kNumbers = {0.0,  -0.0, 1.0,  -1.0,     0.3,       -2.7,
                         40.5, 1e10, -1e5, INFINITY, -INFINITY, NAN};

void expectSame(double found, double expected, const std::string &what) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(found)) << what << " is " << found;
  else
    EXPECT_EQ(found, expected) << what;
}

TEST(ScalarOps, OfOneFloat) {
  std::pair<const char *, double (*)(double)> ops[] = {
      {"arith.negf", [](double a) { return -a; }},
      {"math.sqrt", [](double a) { return std::sqrt(a); }},
      {"math.rsqrt", [](double a) { return 1 / std::sqrt(a); }},
      {"math.exp", [](double a) { return std::exp(a); }},
      {"math.exp2", [](double a) { return std::exp2(a); }},
      {"math.expm1", [](double a) { return std::expm1(a); }},
      {"math.log", [](double a) { return std::log(a); }},
      {"math.log2", [](double a) { return std::log2(a); }},
      {"math.log1p", [](double a) { return std::log1p(a); }},
      {"math.absf", [](double a) { return std::fabs(a); }},
      {"math.tanh", [](double a) { return std::tanh(a); }},
      {"math.sin", [](double a) { return std::sin(a); }},
      {"math.cos", [](double a) { return std::cos(a); }},
      {"math.erf", [](double a) { return std::erf(a); }},
      {"math.floor", [](double a) { return std::floor(a); }},
      {"math.ceil", [](double a) { return std::ceil(a); }},
      {"math.trunc", [](double a) { return std::trunc(a); }},
      {"math.round", [](double a) { return std::round(a); }},
      {"math.roundeven", [](double a) { return std::nearbyint(a); }},
      {"math.log10", [](double a) { return std::log10(a); }},
      {"math.tan", [](double a) { return std::tan(a); }},
      {"math.atan", [](double a) { return std::atan(a); }},
      {"foreach.sign", [](double a) {
         return a > 0 ? 1.0 : a < 0 ? -1.0 : a;
       }}};
  for (auto [name, function] : ops)
    for (double x : kNumbers)
      expectSame(evaluate(std::string(name) + " %a : f64", {"f64"}, "f64", {x}),
                 function(x), name);
}

TEST(ScalarOps, OfTwoFloats) {
  std::pair<const char *, double (*)(double, double)> ops[] = {
      {"arith.addf", [](double a, double b) { return a + b; }},
      {"arith.subf", [](double a, double b) { return a - b; }},
      {"arith.mulf", [](double a, double b) { return a * b; }},
      {"arith.divf", [](double a, double b) { return a / b; }},
      {"arith.maximumf",
       [](double a, double b) {
         return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
       }},
      {"arith.minimumf",
       [](double a, double b) {
         return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
       }},
      {"arith.maxnumf", [](double a, double b) { return std::fmax(a, b); }},
      {"arith.minnumf", [](double a, double b) { return std::fmin(a, b); }},
      {"math.powf", [](double a, double b) { return std::pow(a, b); }},
      {"math.atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"arith.remf", [](double a, double b) { return std::fmod(a, b); }},
      {"math.copysign",
       [](double a, double b) { return std::copysign(a, b); }}};
  for (auto [name, function] : ops)
    for (double a : {0.0, -1.5, 3.0, (double)INFINITY, (double)NAN})
      for (double b : {2.0, -0.5, (double)-INFINITY, (double)NAN})
        expectSame(evaluate(std::string(name) + " %a, %b : f64", {"f64", "f64"},
                            "f64", {a, b}),
                   function(a, b), name);
  EXPECT_FALSE(std::signbit(evaluate("arith.maximumf %a, %b : f64",
                                     {"f64", "f64"}, "f64", {-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(evaluate("arith.minimumf %a, %b : f64",
                                    {"f64", "f64"}, "f64", {0.0, -0.0})));
  EXPECT_FALSE(std::signbit(evaluate("arith.maxnumf %a, %b : f64",
                                     {"f64", "f64"}, "f64", {-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(evaluate("arith.minnumf %a, %b : f64",
                                    {"f64", "f64"}, "f64", {0.0, -0.0})));
}

TEST(ScalarOps, Comparisons) {
  struct {
    const char *name;
    bool less, equal, greater, unordered;
  } predicates[] = {
      {"oeq", 0, 1, 0, 0}, {"ogt", 0, 0, 1, 0}, {"oge", 0, 1, 1, 0},
      {"olt", 1, 0, 0, 0}, {"ole", 1, 1, 0, 0}, {"one", 1, 0, 1, 0},
      {"ord", 1, 1, 1, 0}, {"ueq", 0, 1, 0, 1}, {"ugt", 0, 0, 1, 1},
      {"uge", 0, 1, 1, 1}, {"ult", 1, 0, 0, 1}, {"ule", 1, 1, 0, 1},
      {"une", 1, 0, 1, 1}, {"uno", 0, 0, 0, 1}, {"false", 0, 0, 0, 0},
      {"true", 1, 1, 1, 1}};
  for (auto &p : predicates) {
    auto holds = [&](double a, double b) {
      return evaluate("arith.cmpf " + std::string(p.name) + ", %a, %b : f64",
                      {"f64", "f64"}, "i1", {a, b});
    };
    EXPECT_EQ(holds(1, 2), p.less) << p.name;
    EXPECT_EQ(holds(2, 2), p.equal) << p.name;
    EXPECT_EQ(holds(3, 2), p.greater) << p.name;
    EXPECT_EQ(holds(NAN, 2), p.unordered) << p.name;
  }
  struct {
    const char *name;
    bool less, equal, greater, negative;
  } integers[] = {{"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 1},  {"slt", 1, 0, 0, 1},
                  {"sle", 1, 1, 0, 1}, {"sgt", 0, 0, 1, 0}, {"sge", 0, 1, 1, 0},
                  {"ult", 1, 0, 0, 0}, {"ule", 1, 1, 0, 0}, {"ugt", 0, 0, 1, 1},
                  {"uge", 0, 1, 1, 1}};
  for (auto &p : integers) {
    auto holds = [&](double a, double b) {
      return evaluate("arith.cmpi " + std::string(p.name) + ", %a, %b : i16",
                      {"i16", "i16"}, "i1", {a, b});
    };
    EXPECT_EQ(holds(1, 2), p.less) << p.name;
    EXPECT_EQ(holds(2, 2), p.equal) << p.name;
    EXPECT_EQ(holds(3, 2), p.greater) << p.name;
    EXPECT_EQ(holds(-3, 2), p.negative) << p.name;
  }
  // In signed arithmetic a set flag is -1.
  EXPECT_EQ(evaluate("arith.cmpi slt, %a, %b : i1", {"i1", "i1"}, "i1", {1, 0}),
            1);
}

TEST(ScalarOps, Integers) {
  auto binary = [](const char *name, const char *type, double a, double b) {
    return evaluate("arith." + std::string(name) + " %a, %b : " + type,
                    {type, type}, type, {a, b});
  };
  EXPECT_EQ(binary("addi", "i8", 100, 100), -56);
  EXPECT_EQ(binary("subi", "i16", -32768, 1), 32767);
  EXPECT_EQ(binary("muli", "i32", 65536, 65537), 65536);
  EXPECT_EQ(binary("muli", "i64", 3, -5), -15);
  EXPECT_EQ(binary("andi", "i8", 12, 10), 8);
  EXPECT_EQ(binary("ori", "i8", 12, 10), 14);
  EXPECT_EQ(binary("xori", "i1", 1, 1), 0);
  EXPECT_EQ(binary("andi", "i1", 1, 1), 1);
  EXPECT_EQ(binary("maxsi", "i32", -4, 3), 3);
  EXPECT_EQ(binary("minsi", "i32", -4, 3), -4);
  EXPECT_EQ(binary("maxsi", "i1", 1, 0), 0);
  EXPECT_EQ(binary("maxui", "i8", -1, 3), -1);
  EXPECT_EQ(binary("minui", "i8", -1, 3), 3);
  EXPECT_EQ(binary("divsi", "i32", -7, 2), -3);
  EXPECT_EQ(binary("remsi", "i32", -7, 2), -1);
  EXPECT_EQ(binary("divui", "i8", -1, 2), 127);
  EXPECT_EQ(binary("remui", "i8", -1, 2), 1);
  for (const char *name : {"divsi", "divui"})
    EXPECT_EQ(binary(name, "i32", 5, 0), 0) << name;
  for (const char *name : {"remsi", "remui"})
    EXPECT_EQ(binary(name, "i32", 5, 0), 5) << name;
  EXPECT_EQ(binary("divsi", "i8", -128, -1), -128);
  EXPECT_EQ(binary("remsi", "i8", -128, -1), 0);
  EXPECT_EQ(binary("shli", "i8", 65, 1), -126);
  EXPECT_EQ(binary("shrsi", "i8", -5, 1), -3);
  EXPECT_EQ(binary("shrui", "i8", -5, 1), 125);
  for (double count : {8, 9, -1})
    for (const char *name : {"shli", "shrui", "shrsi"})
      EXPECT_EQ(binary(name, "i8", -5, count),
                name == std::string("shrsi") ? -1 : 0)
          << name << ' ' << count;
  EXPECT_EQ(evaluate("math.absi %a : i8", {"i8"}, "i8", {-7}), 7);
  EXPECT_EQ(evaluate("math.absi %a : i8", {"i8"}, "i8", {-128}), -128);
}

TEST(ScalarOps, Conversions) {
  EXPECT_EQ(evaluate("arith.extsi %a : i8 to i32", {"i8"}, "i32", {-7}), -7);
  EXPECT_EQ(evaluate("arith.extui %a : i8 to i32", {"i8"}, "i32", {-7}), 249);
  EXPECT_EQ(evaluate("arith.extsi %a : i1 to i32", {"i1"}, "i32", {1}), -1);
  EXPECT_EQ(evaluate("arith.extui %a : i1 to i32", {"i1"}, "i32", {1}), 1);
  EXPECT_EQ(evaluate("arith.trunci %a : i32 to i8", {"i32"}, "i8", {300}), 44);
  EXPECT_EQ(evaluate("arith.sitofp %a : i32 to f32", {"i32"}, "f32", {-3}), -3);
  EXPECT_EQ(evaluate("arith.uitofp %a : i8 to f32", {"i8"}, "f32", {-1}), 255);
  EXPECT_EQ(evaluate("arith.uitofp %a : i1 to f32", {"i1"}, "f32", {1}), 1);
  EXPECT_EQ(evaluate("arith.fptosi %a : f64 to i32", {"f64"}, "i32", {-2.9}),
            -2);
  EXPECT_EQ(evaluate("arith.fptosi %a : f64 to i8", {"f64"}, "i8", {1e9}), 127);
  EXPECT_EQ(evaluate("arith.fptoui %a : f64 to i8", {"f64"}, "i8", {200.5}),
            -56);
  EXPECT_EQ(evaluate("arith.fptoui %a : f64 to i8", {"f64"}, "i8", {-3}), 0);
  EXPECT_EQ(evaluate("arith.fptoui %a : f64 to i8", {"f64"}, "i8", {1e9}), -1);
  EXPECT_EQ(evaluate("arith.bitcast %a : f32 to i32", {"f32"}, "i32", {-2.5}),
            static_cast<int32_t>(0xc0200000));
  EXPECT_EQ(
      evaluate("arith.bitcast %a : i32 to f32", {"i32"}, "f32", {0x3fc00000}),
      1.5);
  EXPECT_EQ(evaluate("arith.extf %a : f32 to f64", {"f32"}, "f64", {0.5}), 0.5);
  EXPECT_EQ(evaluate("arith.truncf %a : f64 to f32", {"f64"}, "f32", {0.1}),
            static_cast<float>(0.1));
}

TEST(ScalarOps, Others) {
  EXPECT_EQ(evaluate("math.fpowi %a, %b : f64, i32", {"f64", "i32"}, "f64",
                     {0.5, 10}),
            std::pow(0.5, 10));
  EXPECT_EQ(
      evaluate("math.fpowi %a, %b : f64, i32", {"f64", "i32"}, "f64", {2, -3}),
      0.125);
  EXPECT_EQ(evaluate("math.fma %a, %b, %c : f64", {"f64", "f64", "f64"}, "f64",
                     {3, 4, 5}),
            17);
  EXPECT_EQ(evaluate("arith.select %a, %b, %c : f32", {"i1", "f32", "f32"},
                     "f32", {1, 2, 3}),
            2);
  EXPECT_EQ(evaluate("arith.select %a, %b, %c : i32", {"i1", "i32", "i32"},
                     "i32", {0, 2, 3}),
            3);
  EXPECT_EQ(evaluate("math.isnan %a : f64", {"f64"}, "i1", {NAN}), 1);
  EXPECT_EQ(evaluate("math.isnan %a : f64", {"f64"}, "i1", {INFINITY}), 0);
  EXPECT_EQ(evaluate("math.isinf %a : f64", {"f64"}, "i1", {-INFINITY}), 1);
  EXPECT_EQ(evaluate("math.isfinite %a : f64", {"f64"}, "i1", {NAN}), 0);
  EXPECT_EQ(evaluate("math.isfinite %a : f64", {"f64"}, "i1", {1}), 1);
  EXPECT_EQ(evaluate("arith.constant -7 : i16", {"f64"}, "i16", {0}), -7);
  EXPECT_EQ(evaluate("arith.constant true", {"f64"}, "i1", {0}), 1);
}

/// Exact arithmetic does not round f32 operations before they are stored.
TEST(Interpreter, RoundsWhereValuesAreStored) {
  constexpr const char *text = R"mlir(
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = foreach.map (%x = %x : tensor<f32>) -> tensor<f32> {
    %big = arith.constant 16777216.0 : f32
    %s = arith.addf %x, %big : f32
    %y = arith.subf %s, %big : f32
    foreach.yield %y : f32
  }
  return %y : tensor<f32>
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  runner.setScalar("x", 0.125);
  ASSERT_TRUE(succeeded(runner.step()));
  EXPECT_EQ(runner.number("y"), 0.125);
  ASSERT_TRUE(succeeded(runner.step({reference::Arithmetic::plain, {}})));
  EXPECT_EQ(runner.number("y"), 0);
}

TEST(Interpreter, AsWrittenRoundsWhereOperandsAreBound) {
  constexpr const char *text = R"mlir(
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %y = foreach.map (%x = %x as f32 : tensor<f64>) -> tensor<f64> {
    foreach.yield %x : f32
  }
  return %y : tensor<f64>
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  runner.setScalar("x", 0.1);
  ASSERT_TRUE(succeeded(runner.step()));
  EXPECT_EQ(runner.number("y"), 0.1);
  ASSERT_TRUE(succeeded(runner.step({reference::Arithmetic::plain, {}})));
  EXPECT_EQ(runner.number("y"), static_cast<float>(0.1));
}

/// Cancellation shows the perturbation; exact operations are not perturbed.
TEST(Interpreter, PerturbsRoundedOperations) {
  constexpr const char *text = R"mlir(
!list = !foreach.list<tensor<?xf32>>
func.func @f(%x: !list) -> (!list, !list) {
  %y = foreach.map (%x = %x : !list) -> !list {
    %e = math.exp %x : f32
    %l = math.log %e : f32
    %d = arith.subf %l, %x : f32
    foreach.yield %d : f32
  }
  %z = foreach.map (%x = %x : !list) -> !list {
    %zero = arith.constant 0.0 : f32
    %n = arith.negf %x : f32
    %a = math.absf %n : f32
    %m = arith.maximumf %a, %zero : f32
    foreach.yield %m : f32
  }
  return %y, %z : !list, !list
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  runner.set("x", {{0, 1, 2.5, 3, 4.75, 6, 7.125, 8}});
  ASSERT_TRUE(succeeded(runner.step({reference::Arithmetic::perturbed, {}})));
  double most = 0;
  for (double d : runner["y"].members[0].data)
    most = std::max(most, std::fabs(d));
  EXPECT_GT(most, 0x1p-23);
  EXPECT_LT(most, 8 * 0x1p-22);
  EXPECT_EQ(runner["z"].members[0].data,
            (std::vector<double>{0, 1, 2.5, 3, 4.75, 6, 7.125, 8}));
  // Another seed perturbs other elements; the same seed gives the same values.
  std::vector<double> first = runner["y"].members[0].data;
  reference::InterpretOptions options;
  options.arithmetic = reference::Arithmetic::perturbed;
  options.seed = 1;
  ASSERT_TRUE(succeeded(runner.step(options)));
  std::vector<double> second = runner["y"].members[0].data;
  EXPECT_NE(second, first);
  ASSERT_TRUE(succeeded(runner.step(options)));
  EXPECT_EQ(runner["y"].members[0].data, second);
}

/// Exact arithmetic rounds conversions to a storage type and back.
TEST(Interpreter, SixteenBitValuesAreRounded) {
  constexpr const char *text = R"mlir(
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %y = foreach.map (%x = %x : tensor<f64>) -> tensor<f64> {
    %b = arith.truncf %x : f64 to bf16
    %y = arith.extf %b : bf16 to f64
    foreach.yield %y : f64
  }
  return %y : tensor<f64>
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  runner.setScalar("x", 0.1);
  ASSERT_TRUE(succeeded(runner.step()));
  EXPECT_EQ(runner.number("y"), store(Storage::bf16, 0.1));
}

constexpr const char *kIndices = R"mlir(
!list = !foreach.list<tensor<?xf64>>
!mats = !foreach.list<tensor<?x?xf64>>
!each = !foreach.list<tensor<f64>>
func.func @f(%C: !mats, %u: !list, %v: !list, %s: !each, %t: tensor<f64>) -> (!mats, !mats) {
  %y = foreach.map (%c = %C : !mats, %u = %u[i], %v = %v[j] : !list, %s = %s : !each, %t = %t : tensor<f64>) -> !mats {
    %cu = arith.addf %c, %u : f64
    %uv = arith.addf %cu, %v : f64
    %vs = arith.addf %uv, %s : f64
    %y = arith.addf %vs, %t : f64
    foreach.yield %y : f64
  }
  %outer = foreach.map (%u = %u[i], %v = %v[j] : !list) -> !mats {
    %o = arith.mulf %u, %v : f64
    foreach.yield %o : f64
  }
  return %y, %outer : !mats, !mats
})mlir";

TEST(Interpreter, Indices) {
  Context context;
  Runner runner = Runner::parse(context, kIndices);
  runner.arguments["C"] = {{{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{0, 2}, {}}}};
  runner.set("u", {{10, 20}, {}});
  runner.set("v", {{100, 200, 300}, {1, 2}});
  runner.setEach("s", {1000, 7});
  runner.setScalar("t", 1e4);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("y"),
            (Vector{11111, 11212, 11313, 11124, 11225, 11326}));
  EXPECT_EQ(runner.member("outer"),
            (Vector{1000, 2000, 3000, 2000, 4000, 6000}));
  EXPECT_EQ(runner["outer"].members[0].extents, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(runner["outer"].members[1].extents, (std::vector<int64_t>{0, 2}));
}

TEST(Interpreter, ExtentsAndPositions) {
  Context context;
  Runner runner = Runner::parse(context, R"mlir(
!list = !foreach.list<tensor<?xf64>>
!mats = !foreach.list<tensor<?x?xf64>>
!longs = !foreach.list<tensor<?x?xi64>>
!each = !foreach.list<tensor<f64>>
func.func @f(%C: !mats, %x: !list) -> (!longs, !longs, !list, !list) {
  %at, %extents = foreach.map (%c = %C : !mats) -> (!longs, !longs) {
    %i = foreach.index i : i64
    %j = foreach.index j : i64
    %k = foreach.index member : i64
    %n = foreach.extent i : i64
    %m = foreach.extent j : i64
    %s = foreach.extent member : i64
    %ten = arith.constant 10 : i64
    %a0 = arith.muli %i, %ten : i64
    %a1 = arith.addi %a0, %j : i64
    %a2 = arith.muli %a1, %ten : i64
    %a = arith.addi %a2, %k : i64
    %e0 = arith.muli %n, %ten : i64
    %e1 = arith.addi %e0, %m : i64
    %e2 = arith.muli %e1, %ten : i64
    %e = arith.addi %e2, %s : i64
    foreach.yield %a, %e : i64, i64
  }
  %column = foreach.reduce add along i (%c = %C : !mats) -> !list {
    %i = foreach.index i : i64
    %w = arith.sitofp %i : i64 to f64
    %p = arith.mulf %c, %w : f64
    foreach.yield %p : f64
  }
  %y = foreach.map (%x = %x : !list) -> !list {
    %k = foreach.index member : i64
    %n = foreach.extent i : i64
    %r = arith.subi %n, %k : i64
    %y = arith.sitofp %r : i64 to f64
    foreach.yield %y : f64
  }
  return %at, %extents, %column, %y : !longs, !longs, !list, !list
})mlir");
  runner.arguments["C"] = {{{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{0, 2}, {}}}};
  runner.arguments["x"] = {{{{2, 2}, {0, 0, 0, 0}}, {{1}, {0}}}};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("at"), (Vector{0, 11, 22, 103, 114, 125}));
  EXPECT_EQ(runner.member("extents"), (Vector{236, 236, 236, 236, 236, 236}));
  EXPECT_EQ(runner.member("column"), (Vector{4, 5, 6}));
  EXPECT_EQ(runner.member("y"), (Vector{4, 3, 2, 1}));
}

TEST(Interpreter, Shorthands) {
  Context context;
  Runner runner = Runner::parse(context, R"mlir(
!list = !foreach.list<tensor<?xf64>>
func.func private @next(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %y = arith.addf %x, %one : f64
  return %y : f64
}
func.func @f(%x: !list, %n: tensor<i32>) -> (!list, tensor<i32>, tensor<f64>) {
  %half = arith.constant dense<0.5> : tensor<f64>
  %rate = arith.addf %half, %half : tensor<f64>
  %y, %k = foreach.while (%y = %x : !list) upto %n -> (!list, tensor<i32>) {
    %z = foreach.map (%y = %y : !list, %r = %rate : tensor<f64>) -> !list {
      %p = arith.mulf %y, %r : f64
      %z = func.call @next(%p) : (f64) -> f64
      foreach.yield %z : f64
    }
    foreach.yield %z : !list
  }
  return %y, %k, %rate : !list, tensor<i32>, tensor<f64>
})mlir");
  for (int n : {5, 0, 1}) {
    runner.set("x", {{10, 20}});
    runner.setScalar("n", n);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    EXPECT_EQ(runner.member("y"), (Vector{10. + n, 20. + n}));
    EXPECT_EQ(runner.number("k"), n);
    EXPECT_EQ(runner.number("rate"), 1);
  }
}

TEST(Interpreter, ShapesOfVectorsAreKept) {
  Context context;
  Runner runner = Runner::library(context, "sgd");
  runner.arguments["param"] = {{{{2, 1, 2}, {1, 2, 3, 4}}}};
  runner.arguments["grad"] = {{{{2, 2}, {1, 1, 1, 1}}}};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner["param"].members[0].extents,
            (std::vector<int64_t>{2, 1, 2}));
}

TEST(InterpreterErrors, Extents) {
  Context context;
  auto messageOf = [&](std::function<void(Runner &)> change) {
    Runner runner = Runner::parse(context, kIndices);
    runner.arguments["C"] = {{{{1, 2}, {1, 2}}}};
    runner.set("u", {{10}});
    runner.set("v", {{100, 200}});
    runner.setEach("s", {1});
    runner.setScalar("t", 1);
    change(runner);
    EXPECT_TRUE(failed(runner.step()));
    return context.message;
  };
  EXPECT_EQ(messageOf([](Runner &r) { r.set("u", {{10, 20}}); }),
            "'foreach.map' op operand #1 'u' has 2 rows in member 0; expected "
            "1");
  EXPECT_EQ(messageOf([](Runner &r) { r.set("v", {{1, 2, 3}}); }),
            "'foreach.map' op operand #2 'v' has 3 columns in member 0; "
            "expected 2");
  EXPECT_EQ(messageOf([](Runner &r) { r.set("v", {{1, 2}, {1, 2}}); }),
            "'foreach.map' op operand #2 'v' has 2 members; expected 1");
  EXPECT_EQ(
      messageOf([](Runner &r) { r.arguments["C"] = {{{{2, 2}, {1, 2}}}}; }),
      "'func.func' op argument #0 'C' has 2 elements in member 0; its "
      "extents give 4");
  EXPECT_EQ(messageOf([](Runner &r) { r.set("s", {{1, 2}}); }),
            "'func.func' op argument #3 's' has 2 elements in member 0; "
            "expected 1");
  EXPECT_EQ(messageOf([](Runner &r) { r.set("t", {{1}, {2}}); }),
            "'func.func' op argument #4 't' is a device scalar, one member; "
            "found 2");
}

TEST(InterpreterErrors, Functions) {
  Context context;
  Runner runner = Runner::library(context, "sgd");
  EXPECT_TRUE(failed(reference::interpret(runner.function, {})));
  EXPECT_EQ(context.message,
            "'func.func' op has 3 arguments; found values for 0");
  Runner other = Runner::parse(context, R"mlir(
func.func @f() -> tensor<2xf32> {
  %c = arith.constant dense<1.0> : tensor<2xf32>
  return %c : tensor<2xf32>
})mlir");
  EXPECT_TRUE(failed(other.step()));
  EXPECT_EQ(context.message, "'arith.constant' op is not a constant that the "
                             "interpreter supports");
}

TEST(Interpreter, ReturnsConstantsAndArguments) {
  Context context;
  Runner runner = Runner::parse(context, R"mlir(
func.func @f(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<f64>) {
  %n = arith.constant dense<-3> : tensor<i32>
  %h = arith.constant dense<0.5> : tensor<f64>
  return %x, %n, %h : tensor<i32>, tensor<i32>, tensor<f64>
})mlir");
  runner.setScalar("x", 4);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("x"), 4);
  EXPECT_EQ(runner.number("n"), -3);
  EXPECT_EQ(runner.number("h"), 0.5);
}

} // namespace
