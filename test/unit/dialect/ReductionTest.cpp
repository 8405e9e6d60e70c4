//===- ReductionTest.cpp - every kind along every axis --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter's reductions against plain loops, also over no elements and
// with NaN and infinity.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

/// A program that reduces the list `x` of rank `rank`.
std::string reduction(const std::string &kind, const std::string &axis,
                      int rank, const std::string &element = "f64") {
  std::string list = "!foreach.list<tensor<" +
                     std::string(rank == 2   ? "?x?x"
                                 : rank == 1 ? "?x"
                                             : "") +
                     element + ">>";
  int left = axis == "member" || axis == "list" ? 0 : rank - 1;
  auto resultOf = [&](const std::string &element) {
    if (axis == "list")
      return "tensor<" + element + ">";
    return std::string("!foreach.list<tensor<") + (left == 1 ? "?x" : "") +
           element + ">>";
  };
  bool positions = kind == "argmax" || kind == "argmin";
  std::string types =
      positions ? "(" + resultOf(element) + ", " + resultOf("i64") + ")"
                : resultOf(element);
  std::string values = positions ? "%value, %at" : "%value";
  std::string returned = positions ? resultOf(element) + ", " + resultOf("i64")
                                   : resultOf(element);
  return "func.func @f(%x: " + list + ") -> " + types + " {\n  " + values +
         " = foreach.reduce " + kind + " along " + axis +
         " (%e = %x : " + list + ") -> " + types +
         " { foreach.yield %e : " + element + " }\n  return " + values + " : " +
         returned + "\n}";
}

heddle::reference::Value matrix(int64_t rows, int64_t columns, Vector data) {
  return {{{{rows, columns}, std::move(data)}}};
}

Runner run(Context &context, const std::string &text,
           heddle::reference::Value x) {
  Runner runner = Runner::parse(context, text);
  runner.arguments["x"] = std::move(x);
  EXPECT_TRUE(succeeded(runner.step())) << context.message;
  return runner;
}

TEST(Reduction, AlongTheAxesOfAMatrix) {
  Context context;
  auto x = matrix(2, 3, {1, 2, 3, 40, 50, 60});
  EXPECT_EQ(run(context, reduction("add", "i", 2), x).member("value"),
            (Vector{41, 52, 63}));
  EXPECT_EQ(run(context, reduction("add", "j", 2), x).member("value"),
            (Vector{6, 150}));
  EXPECT_EQ(run(context, reduction("add", "member", 2), x).member("value"),
            (Vector{156}));
  EXPECT_EQ(run(context, reduction("add", "list", 2), x).member("value"),
            (Vector{156}));
  EXPECT_EQ(run(context, reduction("mul", "i", 2), x).member("value"),
            (Vector{40, 100, 180}));
  EXPECT_EQ(run(context, reduction("max", "j", 2), x).member("value"),
            (Vector{3, 60}));
  EXPECT_EQ(run(context, reduction("min", "i", 2), x).member("value"),
            (Vector{1, 2, 3}));
  // Leading dimensions are rows.
  heddle::reference::Value cube{{{{1, 2, 3}, {1, 2, 3, 40, 50, 60}}}};
  EXPECT_EQ(run(context, reduction("add", "j", 2), cube).member("value"),
            (Vector{6, 150}));
}

TEST(Reduction, LargeMatricesAgainstLoops) {
  Context context;
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  const int64_t rows = 1100, columns = 1027;
  Vector data(rows * columns);
  for (double &x : data)
    x = normal(random);
  std::vector<long double> rowSum(rows), columnSum(columns), rowExp(rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      rowSum[i] += data[i * columns + j];
      columnSum[j] += data[i * columns + j];
      rowExp[i] += std::exp(static_cast<long double>(data[i * columns + j]));
    }
  auto x = matrix(rows, columns, data);
  auto near = [](const Vector &found,
                 const std::vector<long double> &expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < found.size(); ++k)
      ASSERT_NEAR(found[k], static_cast<double>(expected[k]), 1e-12) << k;
  };
  near(run(context, reduction("add", "j", 2), x).member("value"), rowSum);
  near(run(context, reduction("add", "i", 2), x).member("value"), columnSum);
  for (long double &sum : rowExp)
    sum = std::log(sum);
  near(run(context, reduction("logsumexp", "j", 2), x).member("value"), rowExp);
}

TEST(Reduction, OverNoElements) {
  Context context;
  struct {
    const char *kind;
    double neutral;
  } kinds[] = {{"add", 0},
               {"mul", 1},
               {"min", INFINITY},
               {"max", -INFINITY},
               {"logsumexp", -INFINITY},
               {"argmax", -INFINITY},
               {"argmin", INFINITY}};
  for (auto [kind, neutral] : kinds) {
    SCOPED_TRACE(kind);
    heddle::reference::Value noElements{{{{0}, {}}}}, noMembers;
    Runner member = run(context, reduction(kind, "member", 1), noElements);
    EXPECT_EQ(member.number("value"), neutral);
    Runner list = run(context, reduction(kind, "list", 0), noMembers);
    EXPECT_EQ(list.number("value"), neutral);
    if (std::string(kind).substr(0, 3) == "arg") {
      EXPECT_EQ(member.number("at"), -1);
      EXPECT_EQ(list.number("at"), -1);
    }
    // No rows, three columns: a neutral element for each column.
    Runner columns = run(context, reduction(kind, "i", 2), matrix(0, 3, {}));
    EXPECT_EQ(columns.member("value"), Vector(3, neutral));
    EXPECT_TRUE(run(context, reduction(kind, "j", 2), matrix(0, 3, {}))
                    .member("value")
                    .empty());
  }
  heddle::reference::Value none{{{{0}, {}}}};
  EXPECT_EQ(
      run(context, reduction("any", "member", 1, "i1"), none).number("value"),
      0);
  EXPECT_EQ(
      run(context, reduction("all", "member", 1, "i1"), none).number("value"),
      1);
  EXPECT_EQ(
      run(context, reduction("max", "member", 1, "i32"), none).number("value"),
      -2147483648.0);
  EXPECT_EQ(
      run(context, reduction("min", "member", 1, "i32"), none).number("value"),
      2147483647);
  // The largest 64-bit integer is not a double; 2^63 stands for it.
  EXPECT_EQ(
      run(context, reduction("min", "member", 1, "i64"), none).number("value"),
      0x1p63);
}

TEST(Reduction, FlagsAndIntegers) {
  Context context;
  heddle::reference::Value x{{{{3}, {0, 1, 0}}, {{2}, {1, 1}}}};
  Runner any = run(context, reduction("any", "member", 1, "i1"), x);
  EXPECT_EQ(any.number("value", 0), 1);
  EXPECT_EQ(any.number("value", 1), 1);
  Runner all = run(context, reduction("all", "member", 1, "i1"), x);
  EXPECT_EQ(all.number("value", 0), 0);
  EXPECT_EQ(all.number("value", 1), 1);
  EXPECT_EQ(run(context, reduction("any", "list", 1, "i1"), x).number("value"),
            1);
  // Sums of integers wrap around.
  heddle::reference::Value large{{{{3}, {2147483647, 100, -3}}}};
  EXPECT_EQ(
      run(context, reduction("add", "list", 1, "i32"), large).number("value"),
      -2147483552.0);
  EXPECT_EQ(
      run(context, reduction("add", "list", 1, "i64"), large).number("value"),
      2147483744.0);
  heddle::reference::Value small{{{{3}, {100, 100, -3}}}};
  EXPECT_EQ(
      run(context, reduction("mul", "list", 1, "i32"), small).number("value"),
      -30000);
}

TEST(Reduction, FirstMaximum) {
  Context context;
  Runner rows = run(context, reduction("argmax", "j", 2),
                    matrix(2, 3, {5, 9, 9, 7, 1, 7}));
  EXPECT_EQ(rows.member("value"), (Vector{9, 7}));
  EXPECT_EQ(rows.member("at"), (Vector{1, 0}));
  Runner columns = run(context, reduction("argmax", "i", 2),
                       matrix(2, 3, {5, 9, 9, 7, 1, 9}));
  EXPECT_EQ(columns.member("at"), (Vector{1, 0, 0}));
  // Over member scalars the position counts members, inactive members included.
  Runner list = Runner::parse(context, reduction("argmax", "list", 0));
  list.setEach("x", {9, 1, 3, 3});
  list.inactive["x"] = {true};
  ASSERT_TRUE(succeeded(list.step())) << context.message;
  EXPECT_EQ(list.number("value"), 3);
  EXPECT_EQ(list.number("at"), 2);
  heddle::reference::Value nan{{{{3}, {1, NAN, 5}}}};
  Runner found = run(context, reduction("argmax", "member", 1), nan);
  EXPECT_TRUE(std::isnan(found.number("value")));
  EXPECT_EQ(found.number("at"), 1);
  heddle::reference::Value lowest{{{{2}, {-INFINITY, -INFINITY}}}};
  EXPECT_EQ(run(context, reduction("argmax", "member", 1), lowest).number("at"),
            0);
}

TEST(Reduction, FirstMinimum) {
  Context context;
  Runner rows = run(context, reduction("argmin", "j", 2),
                    matrix(2, 3, {5, 1, 1, -7, 1, -7}));
  EXPECT_EQ(rows.member("value"), (Vector{1, -7}));
  EXPECT_EQ(rows.member("at"), (Vector{1, 0}));
  heddle::reference::Value nan{{{{3}, {1, NAN, -5}}}};
  Runner found = run(context, reduction("argmin", "member", 1), nan);
  EXPECT_TRUE(std::isnan(found.number("value")));
  EXPECT_EQ(found.number("at"), 1);
}

TEST(Reduction, Means) {
  Context context;
  auto x = matrix(2, 3, {1, 2, 3, 40, 50, 60});
  EXPECT_EQ(run(context, reduction("mean", "i", 2), x).member("value"),
            (Vector{20.5, 26, 31.5}));
  EXPECT_EQ(run(context, reduction("mean", "j", 2), x).member("value"),
            (Vector{2, 50}));
  EXPECT_EQ(run(context, reduction("mean", "member", 2), x).number("value"),
            26);
  heddle::reference::Value two{{{{1}, {1}}, {{3}, {2, 3, 4}}}},
      none{{{{0}, {}}}};
  EXPECT_EQ(run(context, reduction("mean", "list", 1), two).number("value"),
            2.5);
  EXPECT_TRUE(std::isnan(
      run(context, reduction("mean", "member", 1), none).number("value")));
  // Inactive members do not count.
  Runner list = Runner::parse(context, reduction("mean", "list", 0));
  list.setEach("x", {9, 1, 3, 5});
  list.inactive["x"] = {true};
  ASSERT_TRUE(succeeded(list.step())) << context.message;
  EXPECT_EQ(list.number("value"), 3);
}

TEST(Reduction, SpecialValues) {
  Context context;
  auto reduced = [&](const char *kind, Vector data) {
    auto size = static_cast<int64_t>(data.size());
    heddle::reference::Value x{{{{size}, std::move(data)}}};
    return run(context, reduction(kind, "member", 1), x).number("value");
  };
  for (const char *kind : {"add", "mul", "min", "max", "logsumexp"}) {
    EXPECT_TRUE(std::isnan(reduced(kind, {1, NAN, 2}))) << kind;
    EXPECT_TRUE(std::isnan(reduced(kind, {NAN}))) << kind;
  }
  EXPECT_EQ(reduced("logsumexp", {-INFINITY, -INFINITY}), -INFINITY);
  EXPECT_EQ(reduced("logsumexp", {-INFINITY, 0}), 0);
  EXPECT_EQ(reduced("logsumexp", {1, INFINITY}), INFINITY);
  EXPECT_EQ(reduced("logsumexp", {1e4, 1e4}), 1e4 + std::log(2.0));
  EXPECT_EQ(reduced("logsumexp", {-1e4, -1e4}), -1e4 + std::log(2.0));
  EXPECT_EQ(reduced("max", {-INFINITY}), -INFINITY);
}

TEST(Reduction, OfMemberScalars) {
  Context context;
  heddle::reference::Value x{{{{}, {2}}, {{}, {3}}}};
  EXPECT_EQ(run(context, reduction("add", "list", 0), x).number("value"), 5);
  EXPECT_EQ(run(context, reduction("add", "member", 0), x).number("value", 1),
            3);
}

/// Sums are rounded and taken pairwise, so their error stays small.
TEST(Reduction, AsWrittenRoundsSums) {
  Context context;
  Runner runner = Runner::parse(context, reduction("add", "list", 1, "f32"));
  runner.set("x", {Vector(1 << 20, static_cast<float>(0.1))});
  ASSERT_TRUE(succeeded(runner.step({reference::Arithmetic::plain, {}})));
  double plain = runner.number("value");
  ASSERT_TRUE(succeeded(runner.step()));
  EXPECT_EQ(plain, static_cast<float>(plain));
  EXPECT_NEAR(plain, runner.number("value"), 0.05);
  heddle::reference::Value two{{{{2}, {16777216, 1}}}};
  runner.arguments["x"] = two;
  ASSERT_TRUE(succeeded(runner.step({reference::Arithmetic::plain, {}})));
  EXPECT_EQ(runner.number("value"), 16777216);
}

} // namespace
