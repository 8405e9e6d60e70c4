//===- RuleTest.cpp - rules of the rule builder against plain loops -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules with reductions, state of tensors, powers and conditions, for families
// and groups. AdamTest.cpp and the tests of the other standard programs have
// the rules of the library.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "dialect/library/RuleProgram.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace heddle;
using namespace heddle::library;
using namespace heddle::test;

namespace {

using Formula = llvm::function_ref<void(Rule &)>;

Runner build(Context &context, const OptimizerOptions &options,
             Formula formula) {
  ProgramBuilder program(context.get(), "rule");
  buildRule(program, options, formula);
  auto module = program.finish();
  EXPECT_TRUE(succeeded(mlir::verify(*module))) << context.message;
  return Runner(std::move(module));
}

OptimizerOptions with(const char *dtype, bool groups = false) {
  OptimizerOptions options;
  options.dtype.value = dtype;
  options.groups = groups;
  return options;
}

std::string argumentsOf(Runner &runner) {
  std::string names;
  for (mlir::BlockArgument argument : runner.function.getArguments())
    names += (names.empty() ? "" : " ") + nameOf(argument).str();
  return names;
}

double normOf(const Vector &x) {
  double sum = 0;
  for (double each : x)
    sum += each * each;
  return std::sqrt(sum);
}

/// A step whose length is that of the parameter: a norm before, and one after,
/// the new momentum, which the last stage reads again.
void trustRatio(Rule &rule) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("m");
  Term lr = rule.hyper("lr", 0.1), b = rule.hyper("beta", 0.9);
  Term size = norm(p);
  m += (1 - b) * (g - m);
  Term ratio = where((size > 0) & (norm(m) > 0), size / norm(m), 1);
  p -= lr * ratio * m;
}

void checkTrustRatio(const char *dtype, bool groups) {
  SCOPED_TRACE(std::string(dtype) + (groups ? ", groups" : ""));
  Context context;
  Runner runner = build(context, with(dtype, groups), trustRatio);
  bool several = llvm::StringRef(dtype).contains('/');
  std::mt19937_64 random(5);
  std::map<std::string, std::vector<Vector>> p, m;
  std::map<std::string, Storage> storages = {{"_f64", Storage::f64},
                                             {"_f32", Storage::f32}};
  if (!several)
    storages = {
        {"", llvm::StringRef(dtype) == "f64" ? Storage::f64 : Storage::f32}};
  for (auto [suffix, storage] : storages) {
    p[suffix] = raggedList(random);
    p[suffix].push_back({0, 0}); // no norm
    for (Vector &member : p[suffix])
      for (double &x : member)
        x = store(storage, x);
    m[suffix] = zerosLike(p[suffix]);
    runner.set("param" + suffix, p[suffix]);
    runner.set("m" + suffix, m[suffix]);
    if (groups) {
      runner.setEach("lr" + suffix, Vector(p[suffix].size(), 0.1));
      runner.setEach("beta" + suffix, Vector(p[suffix].size(), 0.9));
    }
  }
  for (int step = 0; step < 20; ++step) {
    for (auto [suffix, storage] : storages) {
      auto g = raggedList(random);
      g.push_back({0, 0});
      for (size_t i = 0; i < g.size(); ++i) {
        for (size_t k = 0; k < g[i].size(); ++k) {
          g[i][k] = store(storage, g[i][k]);
          m[suffix][i][k] += 0.1 * (g[i][k] - m[suffix][i][k]);
        }
        double a = normOf(p[suffix][i]), b = normOf(m[suffix][i]);
        double ratio = a > 0 && b > 0 ? a / b : 1;
        for (size_t k = 0; k < g[i].size(); ++k)
          p[suffix][i][k] -= 0.1 * ratio * m[suffix][i][k];
      }
      runner.set("grad" + suffix, g);
    }
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
  }
  for (auto [suffix, storage] : storages) {
    expectNear(runner["param" + suffix], p[suffix],
               storage == Storage::f64 ? Storage::f64 : Storage::f16, "param");
    expectNear(runner["m" + suffix], m[suffix], storage, "m");
  }
}

TEST(Rule, NormsOfTensors) {
  for (bool groups : {false, true})
    for (const char *dtype : {"f64", "f32", "f64/f32"})
      checkTrustRatio(dtype, groups);
}

/// In f32 and f64 the first map stores the momentum that the norm needs, and
/// the second reads it. Storing bf16 would round it, so there only the last
/// stores.
TEST(Rule, StoresStateWithTheReduction) {
  auto mapsThatStore = [](const char *dtype) {
    Context context;
    Runner runner = build(context, with(dtype), trustRatio);
    unsigned maps = 0;
    runner.function.walk([&](foreach::MapOp map) {
      maps +=
          foreach::isList(map.getResult(0).getType()) &&
          llvm::cast<foreach::ListType>(map.getResult(0).getType()).getRank() ==
              1;
    });
    return maps;
  };
  EXPECT_EQ(mapsThatStore("f32"), 2u);
  EXPECT_EQ(mapsThatStore("bf16"), 1u);
}

/// The norm of the whole list combines families; with groups, each tensor has
/// its own limit.
TEST(Rule, NormOfTheList) {
  auto clip = [](Rule &rule) {
    auto p = rule.param(), g = rule.grad();
    Term lr = rule.hyper("lr", 1), most = rule.hyper("max_norm", 2);
    p -= lr * minimum(most / norm(g, Over::list), 1) * g;
  };
  for (bool groups : {false, true}) {
    Context context;
    Runner runner = build(context, with("f64/f32", groups), clip);
    runner.set("param_f64", {{1, 1}, {1}});
    runner.set("param_f32", {{1}});
    runner.set("grad_f64", {{2, 1}, {2}});
    runner.set("grad_f32", {{4}});
    for (std::string suffix : {"_f64", "_f32"})
      if (groups) {
        bool isFirst = suffix == "_f64";
        runner.setEach("lr" + suffix, isFirst ? Vector{1, 1} : Vector{1});
        runner.setEach("max_norm" + suffix, isFirst ? Vector{2, 1} : Vector{9});
      }
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    EXPECT_NEAR(runner.member("param_f64", 0)[0], 1 - 2 * 0.4, 1e-12);
    EXPECT_NEAR(runner.member("param_f64", 1)[0], groups ? 0.6 : 0.2, 1e-12);
    EXPECT_NEAR(runner.number("param_f32"), groups ? -3 : -0.6, 1e-6);
  }
}

/// Each tensor has a step size, which grows while the signs of gradients agree.
TEST(Rule, StateOfTensors) {
  Context context;
  Runner runner = build(context, with("f64"), [](Rule &rule) {
    auto p = rule.param(), g = rule.grad(), before = rule.state("before");
    auto size = rule.tensorState("size", 0.5);
    size *= where(sum(g * before) >= 0, 2, 0.25);
    p -= size * sign(g);
    before = g;
  });
  EXPECT_EQ(argumentsOf(runner), "param grad before size");
  runner.set("param", {{0, 0}, {0}});
  runner.set("before", {{1, 1}, {1}});
  runner.setEach("size", {0.5, 0.5});
  runner.set("grad", {{3, -1}, {-2}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("param", 0), (Vector{-1, 1}));
  EXPECT_EQ(runner.member("param", 1), Vector{0.125});
  EXPECT_EQ(runner.number("size", 0), 1);
  EXPECT_EQ(runner.number("size", 1), 0.125);
  EXPECT_EQ(runner.member("before", 0), (Vector{3, -1}));
}

TEST(Rule, Powers) {
  Context context;
  Runner runner = build(context, with("f64"), [](Rule &rule) {
    auto p = rule.param(), g = rule.grad(), t = rule.step();
    Term b = rule.hyper("b", 0.5);
    p = pow(g, 2) + pow(b, t) + pow(b, t + 1) + pow(b, 2 + t - 1) +
        pow(b, 1.5) + pow(g, b) + g / t;
  });
  runner.set("param", {{0}});
  runner.set("grad", {{3}});
  runner.setEach("step", {2});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_NEAR(runner.number("param"),
              9 + 0.125 + 0.0625 + 0.0625 + std::pow(0.5, 1.5) + std::sqrt(3) +
                  1,
              1e-12);
  EXPECT_EQ(runner.number("step"), 3);
  unsigned integerPowers = 0;
  runner.function.walk([&](mlir::math::FPowIOp) { ++integerPowers; });
  EXPECT_EQ(integerPowers, 2u); // b^(t + 1) is computed once
}

TEST(Rule, ConditionsAndExtrema) {
  Context context;
  Runner runner = build(context, with("f64"), [](Rule &rule) {
    auto p = rule.param(), g = rule.grad();
    Term safe = where(isFinite(g) & !(g == 0), g, 7);
    p = where(any(isNaN(g)) | (amax(safe) < amin(safe)), safe, mean(safe));
  });
  runner.set("param", {{0, 0, 0}, {0, 0}});
  runner.set("grad", {{1, NAN, 0}, {2, 6}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("param", 0), (Vector{1, 7, 7}));
  EXPECT_EQ(runner.member("param", 1), (Vector{4, 4}));
}

/// Steps are counted even if no value depends on them, but not those of tensors
/// that a step skips.
TEST(Rule, CountsSteps) {
  Context context;
  Runner runner = build(context, with("f64"), [](Rule &rule) {
    auto p = rule.param(), g = rule.grad();
    rule.countSteps();
    p -= g;
  });
  EXPECT_EQ(argumentsOf(runner), "param grad step");
  runner.set("param", {{5}, {5}});
  runner.set("grad", {{}, {3}});
  runner.setEach("step", {7, 0});
  runner.inactive["grad"] = {true, false};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("param", 0), 5);
  EXPECT_EQ(runner.number("param", 1), 2);
  EXPECT_EQ(runner.number("step", 0), 7);
  EXPECT_EQ(runner.number("step", 1), 1);
}

/// A variable that is assigned twice keeps its last value; a term keeps the
/// value of its time. Assignments to the gradient are not in the program.
TEST(Rule, Variables) {
  Context context;
  Runner runner = build(context, with("f64"), [](Rule &rule) {
    auto p = rule.param(), g = rule.grad(), m = rule.state("m");
    auto unused = rule.state("unused"), t = rule.step();
    rule.hyper("off", 1);
    Term old = m;
    m += g;
    m = m * 2;
    g = -g;
    p = old + g;
  });
  EXPECT_EQ(argumentsOf(runner), "param grad m");
  runner.set("param", {{5}});
  runner.set("grad", {{3}});
  runner.set("m", {{1}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("param"), -2);
  EXPECT_EQ(runner.number("m"), 8);
}

/// The new parameter may be independent of elements.
TEST(Rule, ConstantResults) {
  Context context;
  Runner runner = build(context, with("f64"), [](Rule &rule) {
    auto p = rule.param();
    auto size = rule.tensorState("size", 2);
    p = 4;
    size = 3;
  });
  runner.set("param", {{1, 2}, {}});
  runner.set("grad", {{1, 1}, {}});
  runner.setEach("size", {2, 2});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("param"), (Vector{4, 4}));
  EXPECT_EQ(runner.number("size", 1), 3);
}

/// The example of CONTRIBUTING.md.
TEST(Rule, Example) {
  for (bool nesterov : {false, true}) {
    Context context;
    Runner runner = build(context, with("f64"), [&](Rule &rule) {
      auto p = rule.param(), g = rule.grad(),
           buffer = rule.state("momentum_buffer");
      Term lr = rule.hyper("lr", 0.1), mu = rule.hyper("momentum", 0.5);
      buffer = mu * buffer + g;
      p -= lr * (nesterov ? g + mu * buffer : buffer);
    });
    runner.set("param", {{1}});
    runner.set("grad", {{2}});
    runner.set("momentum_buffer", {{2}});
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    EXPECT_EQ(runner.number("momentum_buffer"), 3);
    EXPECT_NEAR(runner.number("param"), nesterov ? 0.65 : 0.7, 1e-12);
  }
}

} // namespace
