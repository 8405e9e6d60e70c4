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
}

/// Gradients that no update takes are results, also if a later program reads
/// them.
TEST(Compose, GradientsWithoutAnUpdateAreResults) {
  for (const char *readers : {"check_finite", "global_norm+check_finite",
                              "check_finite+global_norm"}) {
    Context context;
    Runner runner = Runner::library(
        context, (llvm::Twine("clip_by_value+") + readers).str());
    EXPECT_EQ(resultsOf(runner.function).front(), "grad") << readers;
    EXPECT_TRUE(runner.function.getArgAttr(0, foreach::kDonateAttr)) << readers;
  }
  Context context;
  Runner runner = Runner::library(context, "average:count=4+check_finite");
  EXPECT_EQ(resultsOf(runner.function), (Names{"grad", "found_inf"}));
  runner.set("grad", {{8}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("grad"), 2);
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
  Runner runner = Runner::library(
      context, "average:count=2+average:count=2+clip_by_value:max_value=3");
  EXPECT_EQ(runner.function.getName(), "average_average_clip_by_value");
  EXPECT_EQ(argumentsOf(runner.function),
            (Names{"grad", "count", "max_value"}));
  EXPECT_EQ(resultsOf(runner.function), (Names{"grad"}));
  runner.set("grad", {{8, -16}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("grad"), (Vector{2, -3}));
}

/// Each of two updates has its own families, and one clip has all of them.
TEST(Compose, UpdatesOfDifferentLists) {
  Context context;
  Runner runner = Runner::library(
      context, "clip_by_value:dtype=f64/f32/bf16/f16+sgd:lr=0.5,dtype=f64/f32+"
               "adamw:lr=0.5,dtype=bf16/f16");
  EXPECT_EQ(resultsOf(runner.function),
            (Names{"param_f64", "param_f32", "param_bf16", "exp_avg_bf16",
                   "exp_avg_sq_bf16", "step_bf16", "param_f16", "exp_avg_f16",
                   "exp_avg_sq_f16", "step_f16"}));
}

std::string errorOf(llvm::StringRef text) {
  Context context;
  EXPECT_TRUE(failed(library::buildProgram(text, context.get()))) << text.str();
  return context.message;
}

TEST(ComposeErrors, Types) {
  EXPECT_EQ(
      errorOf("clip_by_global_norm:dtype=f64+sgd:dtype=f32"),
      "result 'grad' of 'clip_by_global_norm:dtype=f64' has type "
      "'!foreach.list<tensor<?xf64>>' but argument 'grad' of 'sgd:dtype=f32' "
      "has type '!foreach.list<tensor<?xf32>>'");
  EXPECT_EQ(errorOf("global_norm:dtype=f64+sgd:dtype=f32"),
            "argument 'grad' has type '!foreach.list<tensor<?xf64>>' in "
            "'global_norm:dtype=f64' and type '!foreach.list<tensor<?xf32>>' "
            "in 'sgd:dtype=f32'");
}

TEST(ComposeErrors, Defaults) {
  EXPECT_EQ(errorOf("average:count=2+average:count=4"),
            "argument 'count' has the value 2.000000e+00 : f64 in "
            "'average:count=2' and 4.000000e+00 : f64 in 'average:count=4'");
  // A result has the value of the argument that it replaces.
  EXPECT_EQ(errorOf("unscale+unscale:check=false,dynamic=false,scale=2+sgd"),
            "argument 'grad_scale' has the value 6.553600e+04 : f32 in "
            "'unscale' and 2.000000e+00 : f32 in "
            "'unscale:check=false,dynamic=false,scale=2'");
}

TEST(ComposeErrors, Results) {
  EXPECT_EQ(errorOf("global_norm+clip_by_global_norm"),
            "expected results with different names, found a result 'norm' of "
            "'global_norm' and one of 'clip_by_global_norm': leave one of "
            "these programs out");
}

/// The lists of an update are its own.
TEST(ComposeErrors, ProgramsAfterAnUpdate) {
  EXPECT_EQ(errorOf("adamw+adamw"),
            "expected one program that updates 'param', found 'adamw' and "
            "'adamw': leave one of these programs out, or give it lists of its "
            "own with the option 'lists'");
  EXPECT_EQ(errorOf("adamw:zero_grad=true+sgd"),
            "expected one program that updates 'param', found "
            "'adamw:zero_grad=true' and 'sgd': leave one of these programs "
            "out, or give it lists of its own with the option 'lists'");
  for (const char *late : {"clip_by_global_norm", "average:count=2", "unscale",
                           "check_finite", "global_norm"})
    EXPECT_EQ(errorOf((llvm::Twine("sgd+") + late).str()),
              (llvm::Twine(
                   "expected 'sgd', which updates parameters by 'grad', as the "
                   "last program with this list, found '") +
               late + "' after it: write '" + late + "' before 'sgd'")
                  .str());
  // Also if other programs stand between them.
  EXPECT_NE(errorOf("average+sgd+global_norm:dtype=f32+clip_by_value")
                .find("'global_norm:dtype=f32' before 'sgd'"),
            std::string::npos);
}

/// A limit holds for gradients of their true size.
TEST(ComposeErrors, SizesAfterALimit) {
  for (const char *limit : {"clip_by_global_norm", "clip_by_value"})
    for (const char *size : {"average:count=4", "unscale"})
      EXPECT_EQ(errorOf((llvm::Twine(limit) + "+" + size + "+adamw").str()),
                (llvm::Twine("expected '") + size + "' before '" + limit +
                 "', which limits gradients of their true size, found it "
                 "after: write '" +
                 size + "' before '" + limit + "'")
                    .str());
  // Also if another program stands between them. Other gradients are no reason.
  EXPECT_NE(errorOf("clip_by_value+global_norm+unscale+sgd")
                .find("write 'unscale' before 'clip_by_value'"),
            std::string::npos);
  Context context;
  EXPECT_TRUE(succeeded(library::buildProgram(
      "clip_by_value:lists=a+average:lists=b,count=2+sgd:lists=a/b",
      context.get(), "")))
      << context.message;
}

/// Gradients before an update have to reach it.
TEST(ComposeErrors, GradientsThatNoUpdateTakes) {
  EXPECT_EQ(errorOf("clip_by_value:dtype=f32/bf16+sgd:dtype=f32"),
            "expected a program after 'clip_by_value:dtype=f32/bf16' with its "
            "list 'grad_bf16', found none: give all programs the same 'dtype' "
            "and 'lists'");
  EXPECT_NE(errorOf("average:dtype=f32/bf16+check_finite:dtype=f32/bf16+sgd:"
                    "dtype=f32")
                .find("after 'check_finite:dtype=f32/bf16'"),
            std::string::npos);
}

} // namespace
