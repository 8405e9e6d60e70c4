//===- EqualExtentsTest.cpp - dimensions that have equal extents ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/EqualExtents.h"
#include "Runner.h"

using namespace heddle;
using namespace heddle::test;
using heddle::reference::EqualExtents;

namespace {

const char *const kTypes = R"(
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
)";

/// The dimensions of the arguments that equal dimension `dimension` of argument
/// `name`: `x0 x1` are the rows and columns of `x`.
std::string equalTo(const std::string &text, llvm::StringRef name,
                    unsigned dimension) {
  Context context;
  auto module = parseProgram(kTypes + text, "test.mlir", context.get());
  if (!module)
    return "does not parse";
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  EqualExtents extents(function);
  EqualExtents::Dimension wanted;
  for (mlir::BlockArgument argument : function.getArguments())
    if (nameOf(argument) == name)
      wanted = extents.of(argument, dimension);
  std::string found;
  for (mlir::BlockArgument argument : function.getArguments())
    for (unsigned k = 0; k < foreach::rankOf(argument.getType()); ++k)
      if (extents.of(argument, k) == wanted)
        found += (found.empty() ? "" : " ") + nameOf(argument).str() +
                 std::to_string(k);
  return found;
}

TEST(EqualExtents, OperandsOfOneDomain) {
  std::string text = R"(
func.func @p(%x: !mats, %r: !list, %c: !list, %free: !list) -> !mats {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %r[i], %c = %c[j] : !list) -> !mats {
    foreach.yield %x : f32
  }
  return %y : !mats
}
)";
  EXPECT_EQ(equalTo(text, "x", 0), "x0 r0");
  EXPECT_EQ(equalTo(text, "x", 1), "x1 c0");
  EXPECT_EQ(equalTo(text, "free", 0), "free0");
}

TEST(EqualExtents, ResultsOfReductionsAndBranches) {
  std::string text = R"(
func.func @p(%x: !mats, %r: !list, %c: !list, %other: !list, %flag: tensor<i1>) -> (!list, !list) {
  %rows = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %columns = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %r1 = foreach.map (%a = %rows, %b = %r : !list) -> !list {
    foreach.yield %b : f32
  }
  %c1 = foreach.if %flag -> !list {
    foreach.yield %columns : !list
  } else (%c)
  return %r1, %c1 : !list, !list
}
)";
  EXPECT_EQ(equalTo(text, "x", 0), "x0 r0");
  EXPECT_EQ(equalTo(text, "x", 1), "x1 c0");
  EXPECT_EQ(equalTo(text, "other", 0), "other0");
}

TEST(EqualExtents, CarriedAndReplacedLists) {
  std::string text = R"(
func.func @p(%x: !list, %y: !list, %old: !list {foreach.donate = 0 : i64}, %log: !list,
             %limit: tensor<i32>) -> (!list, !list) {
  %x1, %log1, %n = foreach.while (%cx = %x, %clog = %log : !list) upto %limit -> (!list, !list, tensor<i32>) {
    %next = foreach.map (%y = %y : !list) -> !list {
      foreach.yield %y : f32
    }
    %sum = foreach.reduce add along list (%v = %cx : !list) -> tensor<f32> {
      foreach.yield %v : f32
    }
    %log2 = foreach.record %sum in %clog : tensor<f32> in !list
    %more = foreach.map (%s = %sum : tensor<f32>) -> tensor<i1> {
      %zero = arith.constant 0.0 : f32
      %m = arith.cmpf ogt, %s, %zero : f32
      foreach.yield %m : i1
    }
    foreach.yield %next, %log2 while %more : !list, !list while tensor<i1>
  }
  return %x1, %log1 : !list, !list
}
)";
  EXPECT_EQ(equalTo(text, "x", 0), "x0 y0 old0");
  EXPECT_EQ(equalTo(text, "log", 0), "log0");
}

} // namespace
