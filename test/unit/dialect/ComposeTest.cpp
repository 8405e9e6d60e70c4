//===- ComposeTest.cpp - programs joined by `+` ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments and results of compositions, and the errors of invalid ones.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

using namespace heddle;
using namespace heddle::test;

namespace {

std::vector<std::string> argumentsOf(mlir::func::FuncOp function) {
  std::vector<std::string> names;
  for (mlir::BlockArgument argument : function.getArguments())
    names.push_back(nameOf(argument).str());
  return names;
}

std::vector<std::string> resultsOf(mlir::func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned k = 0; k < function.getNumResults(); ++k)
    names.push_back(library::resultName(function, k).str());
  return names;
}

using Names = std::vector<std::string>;

TEST(Compose, ClippedGradientsFeedTheOptimizer) {
  Context context;
  Runner runner = Runner::library(context, "clip_by_global_norm+adamw");
  EXPECT_EQ(runner.function.getName(), "clip_by_global_norm_adamw");
  EXPECT_EQ(argumentsOf(runner.function),
            (Names{"grad", "max_norm", "param", "exp_avg", "exp_avg_sq", "step",
                   "lr", "beta1", "beta2", "eps", "weight_decay"}));
  EXPECT_EQ(resultsOf(runner.function),
            (Names{"norm", "param", "exp_avg", "exp_avg_sq", "step"}));
  // The optimizer consumes the clipped gradients: they are not written.
  EXPECT_FALSE(runner.function.getArgAttr(0, foreach::kDonateAttr));
  EXPECT_EQ(runner.number("max_norm"), 1);
  EXPECT_EQ(runner.number("weight_decay"), 0.01);
}

TEST(Compose, AloneGradientsAreReplaced) {
  Context context;
  Runner runner = Runner::library(context, "clip_by_global_norm");
  EXPECT_TRUE(runner.function.getArgAttr(0, foreach::kDonateAttr));
  EXPECT_EQ(resultsOf(runner.function), (Names{"grad", "norm"}));
}

TEST(Compose, SharedArguments) {
  Context context;
  Runner runner = Runner::library(context, "global_norm+sgd");
  EXPECT_EQ(argumentsOf(runner.function), (Names{"grad", "param", "lr"}));
  EXPECT_EQ(resultsOf(runner.function), (Names{"norm", "param"}));
}

/// A program that only reads the gradients hides no change of those before it.
TEST(Compose, ReadersPassGradientsOn) {
  for (const char *reader :
       {"check_finite", "global_norm", "global_norm+check_finite"}) {
    Context context;
    Runner runner = Runner::library(
        context, (llvm::Twine("average:count=4+") + reader + "+sgd").str());
    // The average feeds the reader and the optimizer, and nothing else reads
    // the argument.
    EXPECT_TRUE(runner.function.getArgument(0).hasOneUse()) << reader;
    EXPECT_FALSE(runner.function.getArgAttr(0, foreach::kDonateAttr)) << reader;
    EXPECT_EQ(resultsOf(runner.function).back(), "param") << reader;
  }
  // The last program reads them, too, and they are no result.
  Context context;
  Runner runner = Runner::library(context, "clip_by_value+check_finite");
  EXPECT_EQ(resultsOf(runner.function), (Names{"found_inf"}));
}

TEST(Compose, Families) {
  Context context;
  Runner runner =
      Runner::library(context, "clip_by_global_norm+sgd:dtype=f32/bf16");
  EXPECT_EQ(argumentsOf(runner.function),
            (Names{"grad_f32", "grad_bf16", "max_norm", "param_f32",
                   "param_bf16", "lr"}));
  EXPECT_EQ(resultsOf(runner.function),
            (Names{"norm", "param_f32", "param_bf16"}));
}

/// An argument that several programs replace is donated to the last result.
TEST(Compose, ChainsOfDonation) {
  Context context;
  Runner runner = Runner::library(context, "sgd:lr=1+sgd:lr=1+sgd:lr=1");
  EXPECT_EQ(runner.function.getName(), "sgd_sgd_sgd");
  EXPECT_EQ(argumentsOf(runner.function), (Names{"param", "grad", "lr"}));
  EXPECT_EQ(resultsOf(runner.function), (Names{"param"}));
  runner.set("param", {{10}});
  runner.set("grad", {{2}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("param"), 4);
}

std::string errorOf(llvm::StringRef text) {
  Context context;
  EXPECT_TRUE(failed(library::buildProgram(text, context.get()))) << text.str();
  return context.message;
}

TEST(ComposeErrors, Types) {
  EXPECT_EQ(
      errorOf("clip_by_global_norm:dtype=f64+sgd:dtype=f32"),
      "result 'grad' of 'clip_by_global_norm' has type "
      "'!foreach.list<tensor<?xf64>>' but argument 'grad' of 'sgd' has type "
      "'!foreach.list<tensor<?xf32>>'");
  EXPECT_EQ(errorOf("global_norm:dtype=f64+sgd:dtype=f32"),
            "argument 'grad' has type '!foreach.list<tensor<?xf64>>' in "
            "'global_norm' and type '!foreach.list<tensor<?xf32>>' in 'sgd'");
}

TEST(ComposeErrors, Defaults) {
  EXPECT_EQ(errorOf("sgd:lr=0.5+sgd:lr=0.25"),
            "argument 'lr' has the value 5.000000e-01 : f64 in 'sgd' and "
            "2.500000e-01 : f64 in 'sgd'");
}

TEST(ComposeErrors, Results) {
  EXPECT_EQ(errorOf("global_norm+clip_by_global_norm"),
            "expected results with different names, found a result 'norm' of "
            "'global_norm' and one of 'clip_by_global_norm': leave one of "
            "these programs out");
}

} // namespace
