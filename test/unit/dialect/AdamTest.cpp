//===- AdamTest.cpp - adam and adamw against plain loops ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops are written from the published rule, for every combination of
// options, 100 steps each.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

struct Rule {
  bool decoupled = false, amsgrad = false, maximize = false, decay = false;
  double lr = 3e-2, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0.1;
};

/// One step on one tensor; state is stored as `state`, parameters as `param`.
void adamStep(const Rule &rule, int t, Vector &p, const Vector &grad, Vector &m,
              Vector &v, Vector &vmax, Storage param, Storage state) {
  double bc1 = 1 - std::pow(rule.beta1, t), bc2 = 1 - std::pow(rule.beta2, t);
  for (size_t k = 0; k < p.size(); ++k) {
    double x = p[k], g = rule.maximize ? -grad[k] : grad[k];
    if (rule.decay && rule.decoupled)
      x *= 1 - rule.lr * rule.weightDecay;
    else if (rule.decay)
      g += rule.weightDecay * x;
    double m1 = m[k] + (1 - rule.beta1) * (g - m[k]);
    double v1 = v[k] * rule.beta2 + (1 - rule.beta2) * g * g;
    double second = v1;
    if (rule.amsgrad) {
      second = std::max(vmax[k], v1);
      vmax[k] = store(state, second);
    }
    double denom = std::sqrt(second) / std::sqrt(bc2) + rule.eps;
    x -= rule.lr / bc1 * (m1 / denom);
    p[k] = store(param, x);
    m[k] = store(state, m1);
    v[k] = store(state, v1);
  }
}

void check(bool adamw, const Rule &rule, Storage param, Storage state) {
  std::string text = adamw ? "adamw" : "adam";
  auto flag = [](bool value) { return value ? "true" : "false"; };
  text += std::string(":lr=0.03,dtype=") + nameOfStorage(param) +
          ",state=" + nameOfStorage(state) + ",amsgrad=" + flag(rule.amsgrad) +
          ",maximize=" + flag(rule.maximize) +
          ",decoupled=" + flag(rule.decoupled) +
          ",weight_decay=" + (rule.decay ? "0.1" : "0");
  SCOPED_TRACE(text);
  Context context;
  Runner runner = Runner::library(context, text);
  EXPECT_EQ(runner.arguments.count("weight_decay"), rule.decay);

  std::mt19937_64 random(7);
  auto p = raggedList(random);
  for (Vector &member : p)
    for (double &x : member)
      x = store(param, x);
  auto m = zerosLike(p), v = zerosLike(p), vmax = zerosLike(p);
  runner.set("param", p);
  runner.set("exp_avg", m);
  runner.set("exp_avg_sq", v);
  if (rule.amsgrad)
    runner.set("max_exp_avg_sq", vmax);
  runner.setEach("step", Vector(p.size(), 0.0));
  for (int t = 1; t <= 100; ++t) {
    auto g = raggedList(random, t % 10 ? 0.5 : 3);
    for (Vector &member : g)
      for (double &x : member)
        x = store(param, x);
    runner.set("grad", g);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    for (size_t k = 0; k < p.size(); ++k)
      adamStep(rule, t, p[k], g[k], m[k], v[k], vmax[k], param, state);
  }
  expectNear(runner["param"], p, param, "param");
  expectNear(runner["exp_avg"], m, state, "exp_avg");
  expectNear(runner["exp_avg_sq"], v, state, "exp_avg_sq");
  if (rule.amsgrad)
    expectNear(runner["max_exp_avg_sq"], vmax, state, "max_exp_avg_sq");
  for (size_t k = 0; k < p.size(); ++k)
    EXPECT_EQ(runner.number("step", k), 100);
}

void checkAll(bool adamw, Storage param, Storage state) {
  for (int bits = 0; bits < 16; ++bits) {
    Rule rule;
    rule.decoupled = bits & 1;
    rule.amsgrad = bits & 2;
    rule.maximize = bits & 4;
    rule.decay = bits & 8;
    check(adamw, rule, param, state);
  }
}

TEST(Adam, EveryOptionInDouble) { checkAll(false, Storage::f64, Storage::f64); }
TEST(Adam, EveryOptionInSingle) { checkAll(false, Storage::f32, Storage::f32); }
TEST(AdamW, EveryOptionInDouble) { checkAll(true, Storage::f64, Storage::f64); }
TEST(AdamW, EveryOptionInSingle) { checkAll(true, Storage::f32, Storage::f32); }

TEST(AdamW, StateInSinglePrecision) {
  Rule rule;
  rule.decoupled = rule.decay = true;
  check(true, rule, Storage::bf16, Storage::f32);
  check(true, rule, Storage::f16, Storage::f32);
}

/// With bf16 or f16 state many steps are noisy, so one step is compared.
TEST(AdamW, SixteenBitState) {
  for (Storage storage : {Storage::bf16, Storage::f16}) {
    Context context;
    Runner runner = Runner::library(
        context, std::string("adamw:lr=0.03,dtype=") + nameOfStorage(storage));
    runner.set("param", {{1.5, -0.25, 0}});
    runner.set("grad", {{0.5, 2, -1}});
    runner.set("exp_avg", {{0, 0.5, 0}});
    runner.set("exp_avg_sq", {{0, 0.25, 1}});
    runner.setEach("step", {4});
    ASSERT_TRUE(succeeded(runner.step()));
    Vector p{1.5, -0.25, 0}, m{0, 0.5, 0}, v{0, 0.25, 1}, none(3);
    Rule rule;
    rule.decoupled = rule.decay = true;
    rule.weightDecay = 0.01;
    adamStep(rule, 5, p, {0.5, 2, -1}, m, v, none, storage, storage);
    EXPECT_EQ(runner.member("param"), p);
    EXPECT_EQ(runner.member("exp_avg"), m);
    EXPECT_EQ(runner.member("exp_avg_sq"), v);
  }
}

/// The plain evaluation and plain float code agree bit for bit.
TEST(AdamW, AsWrittenIsPlainFloatCode) {
  Context context;
  Runner runner = Runner::library(context, "adamw:weight_decay=0.1");
  std::mt19937_64 random(3);
  auto p = raggedList(random);
  for (Vector &member : p)
    for (double &x : member)
      x = static_cast<float>(x);
  std::vector<std::vector<float>> fp, fm, fv;
  for (const Vector &member : p) {
    fp.emplace_back(member.begin(), member.end());
    fm.emplace_back(member.size());
    fv.emplace_back(member.size());
  }
  runner.set("param", p);
  runner.set("exp_avg", zerosLike(p));
  runner.set("exp_avg_sq", zerosLike(p));
  runner.setEach("step", Vector(p.size(), 0.0));
  for (int t = 1; t <= 20; ++t) {
    auto g = raggedList(random);
    runner.set("grad", g);
    ASSERT_TRUE(succeeded(runner.step({reference::Arithmetic::plain, {}})));
    float lr = 1e-3, b2 = 0.999, eps = 1e-8, wd = 0.1;
    auto w1 = static_cast<float>(1 - 0.9), w2 = static_cast<float>(1 - 0.999);
    auto bc1 = static_cast<float>(1 - std::pow(0.9, t));
    auto root = static_cast<float>(std::sqrt(1 - std::pow(0.999, t)));
    for (size_t i = 0; i < fp.size(); ++i)
      for (size_t k = 0; k < fp[i].size(); ++k) {
        auto grad = static_cast<float>(g[i][k]);
        float shrink = lr * wd;
        float decay = 1.0f - shrink;
        float x = fp[i][k] * decay;
        float gap = grad - fm[i][k];
        float move = w1 * gap;
        fm[i][k] = fm[i][k] + move;
        float kept = fv[i][k] * b2;
        float weighted = w2 * grad;
        float square = weighted * grad;
        fv[i][k] = kept + square;
        float corrected = std::sqrt(fv[i][k]) / root;
        float denom = corrected + eps;
        float size = lr / bc1;
        float ratio = fm[i][k] / denom;
        float change = size * ratio;
        fp[i][k] = x - change;
      }
  }
  for (size_t i = 0; i < fp.size(); ++i)
    for (size_t k = 0; k < fp[i].size(); ++k) {
      ASSERT_EQ(runner.member("param", i)[k], fp[i][k]);
      ASSERT_EQ(runner.member("exp_avg", i)[k], fm[i][k]);
      ASSERT_EQ(runner.member("exp_avg_sq", i)[k], fv[i][k]);
    }
}

TEST(AdamW, InactiveMembersKeepTheirStateAndCounter) {
  Context context;
  Runner runner = Runner::library(context, "adamw");
  runner.set("param", {{1, 2}, {3}, {4, 5, 6}});
  runner.set("exp_avg", {{0, 0}, {0.5}, {0, 0, 0}});
  runner.set("exp_avg_sq", {{0, 0}, {0.25}, {0, 0, 0}});
  runner.setEach("step", {0, 7, 0});
  // The gradient of the second member is missing: it has no elements.
  runner.set("grad", {{1, 1}, {}, {1, 1, 1}});
  runner.inactive["grad"] = {false, true};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("step", 0), 1);
  EXPECT_EQ(runner.number("step", 1), 7);
  EXPECT_EQ(runner.number("step", 2), 1);
  EXPECT_EQ(runner.member("param", 1), Vector{3});
  EXPECT_EQ(runner.member("exp_avg", 1), Vector{0.5});
  EXPECT_EQ(runner.member("exp_avg_sq", 1), Vector{0.25});
  EXPECT_NE(runner.member("param", 0)[0], 1);
  EXPECT_NE(runner.member("param", 2)[2], 6);
}

TEST(AdamW, EmptyListsAndMembers) {
  Context context;
  Runner runner = Runner::library(context, "adamw");
  for (const char *name : {"param", "grad", "exp_avg", "exp_avg_sq"})
    runner.set(name, {});
  runner.setEach("step", {});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_TRUE(runner["param"].members.empty());

  for (const char *name : {"param", "grad", "exp_avg", "exp_avg_sq"})
    runner.set(name, {{}});
  runner.setEach("step", {2});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_TRUE(runner.member("param").empty());
  // A tensor without elements is still a parameter.
  EXPECT_EQ(runner.number("step"), 3);
}

/// Each group has its own hyperparameters, and each family its own members.
TEST(AdamW, GroupsAndFamilies) {
  Context context;
  Runner runner = Runner::library(context, "adamw:groups=true,dtype=f64/f32");
  Runner alone = Runner::library(context, "adamw:dtype=f64");
  for (std::string family : {"_f64", "_f32"}) {
    for (const char *name : {"param", "grad"})
      runner.set(name + family, {{1, 2, 3}, {4}});
    for (const char *name : {"exp_avg", "exp_avg_sq"})
      runner.set(name + family, {{0, 0, 0}, {0}});
    runner.setEach("step" + family, {0, 5});
    runner.setEach("lr" + family, {1e-3, 1e-2});
    runner.setEach("beta1" + family, {0.9, 0.8});
    runner.setEach("beta2" + family, {0.999, 0.99});
    runner.setEach("eps" + family, {1e-8, 1e-6});
    runner.setEach("weight_decay" + family, {0, 0.1});
  }
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  alone.set("param", {{4}});
  alone.set("grad", {{4}});
  alone.set("exp_avg", {{0}});
  alone.set("exp_avg_sq", {{0}});
  alone.setEach("step", {5});
  alone.setScalar("lr", 1e-2);
  alone.setScalar("beta1", 0.8);
  alone.setScalar("beta2", 0.99);
  alone.setScalar("eps", 1e-6);
  alone.setScalar("weight_decay", 0.1);
  ASSERT_TRUE(succeeded(alone.step())) << context.message;
  EXPECT_EQ(runner.member("param_f64", 1), alone.member("param"));
  EXPECT_NEAR(runner.number("param_f32", 1), alone.number("param"), 1e-6);
  EXPECT_EQ(runner.number("step_f32", 1), 6);
}

} // namespace
