//===- FoldTest.cpp - folding of the dialect's own operations -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of `foreach` fold to constants of `arith`.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/FoldUtils.h"

#include <cmath>

using namespace heddle::test;

namespace {

/// The constant that `foreach.sign` of `number` folds to.
double foldedSign(double number) {
  Context context;
  Runner runner = Runner::parse(context, R"mlir(
func.func @f() -> tensor<f64> {
  %r = foreach.map () -> tensor<f64> {
    %c = arith.constant 1.0 : f64
    %r = foreach.sign %c : f64
    foreach.yield %r : f64
  }
  return %r : tensor<f64>
})mlir");
  double folded = 7;
  runner.function.walk([&](heddle::foreach::MapOp map) {
    mlir::Block &body = map.getBody().front();
    auto constant = mlir::cast<mlir::arith::ConstantOp>(body.front());
    mlir::Builder builder(context.get());
    constant.setValueAttr(builder.getF64FloatAttr(number));
    mlir::OperationFolder folder(context.get());
    EXPECT_TRUE(succeeded(folder.tryToFold(constant->getNextNode())));
    mlir::Value yielded = map.getYield().getValues().front();
    auto result = yielded.getDefiningOp<mlir::arith::ConstantOp>();
    ASSERT_TRUE(result);
    folded = mlir::cast<mlir::FloatAttr>(result.getValue()).getValueAsDouble();
  });
  return folded;
}

TEST(Fold, Sign) {
  EXPECT_EQ(foldedSign(2.5), 1);
  EXPECT_EQ(foldedSign(5e-324), 1);
  EXPECT_EQ(foldedSign(-INFINITY), -1);
  EXPECT_EQ(foldedSign(0.0), 0);
  EXPECT_FALSE(std::signbit(foldedSign(0.0)));
  EXPECT_TRUE(std::signbit(foldedSign(-0.0)));
  EXPECT_TRUE(std::isnan(foldedSign(NAN)));
}

} // namespace
