//===- TextTest.cpp - programs printed, parsed and printed again ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of values survive text, printing is stable, and bytecode is refused.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "mlir/Bytecode/BytecodeWriter.h"

using namespace heddle;
using namespace heddle::test;

namespace {

std::string print(mlir::Operation *module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printProgram(module, stream);
  return text;
}

const char *const kPrograms[] = {"adam:amsgrad=true,weight_decay=0.1",
                                 "adamw",
                                 "adamw:groups=true,dtype=f32/bf16,state=f32",
                                 "sgd:momentum=0.9,dampening=0.1",
                                 "global_norm:dtype=f16/f64",
                                 "clip_by_global_norm+adamw",
                                 "average+average+clip_by_value"};

TEST(Text, PrintingIsStable) {
  for (const char *program : kPrograms) {
    Context context;
    auto module = library::buildProgram(program, context.get());
    ASSERT_TRUE(succeeded(module));
    std::string once = print(**module);
    auto read = parseProgram(once, "printed.mlir", context.get());
    ASSERT_TRUE(read) << once;
    EXPECT_EQ(print(*read), once);
    // Another context has only the text.
    Context fresh;
    auto again = parseProgram(once, "printed.mlir", fresh.get());
    ASSERT_TRUE(again);
    EXPECT_EQ(print(*again), once);
  }
}

/// MLIR's reader of bytecode trusts its input, so heddle does not use it.
TEST(Text, BytecodeIsRefused) {
  Context context;
  auto module = library::buildProgram("sgd", context.get());
  ASSERT_TRUE(succeeded(module));
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  ASSERT_TRUE(succeeded(mlir::writeBytecodeToFile(**module, stream)));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(parseProgram(bytes, "program.mlirbc", context.get()));
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("expected a program as text, found MLIR bytecode"),
            std::string::npos)
      << said;
}

/// A region that is isolated from above has names of its own, and every result
/// of an operation keeps its name.
TEST(Text, NamesDoNotChange) {
  const std::string text = R"mlir(!list = !foreach.list<tensor<?xf32>>
module {
  func.func @f(%x: !list, %lr: tensor<f64>) -> (!list, !list) {
    %a, %b = foreach.map (%x = %x : !list, %lr = %lr as f32 : tensor<f64>) -> (!list, !list) {
      %a = arith.mulf %x, %lr : f32
      %x_0 = arith.addf %x, %a : f32
      foreach.yield %a, %x_0 : f32, f32
    }
    return %a, %b : !list, !list
  }
}
)mlir";
  Context context;
  auto module = parseProgram(text, "text.mlir", context.get());
  ASSERT_TRUE(module) << context.message;
  EXPECT_EQ(print(*module), text);
}

/// The same in loops, whose regions use values from outside.
TEST(Text, NamesInFusedPrograms) {
  const std::string text = R"mlir(!list = !foreach.list<tensor<?xf32>>
!each_i32 = !foreach.list<tensor<i32>>
!each_i1 = !foreach.list<tensor<i1>>
module {
  fused.program @f(%x0: !list, %limit: tensor<i32>, %tol: tensor<f64>) -> (!list, !each_i32) {
    %x, %iterations = fused.loop (%x = %x0 : !list) upto %limit active %active: !each_i1 -> (!list, !each_i32) {
      %y, %sum, %more, %norm = fused.sweep reversed where %active : !each_i1 (%x = %x : !list, %tol = %tol as f32 : tensor<f64>) -> (!list, tensor<f32>, !each_i1) {
        %y = arith.mulf %x, %x : f32
        %sum = fused.reduce add list %y : f32
        %size = fused.reduce max member %y : f32
        %more = arith.cmpf ogt, %size, %tol : f32
        fused.yield %y, %sum, %more : f32, f32, i1
      } epilogue [%sum: f32] (%tol = %tol : tensor<f64>) -> tensor<f64> {
        %norm = math.sqrt %tol : f64
        fused.yield %norm : f64
      }
      fused.yield %y while %more : !list while !each_i1
    }
    fused.yield %x, %iterations : !list, !each_i32
  }
}
)mlir";
  Context context;
  auto module = parseProgram(text, "text.mlir", context.get());
  ASSERT_TRUE(module) << context.message;
  EXPECT_EQ(print(*module), text);
}

/// In the parser, functions see the names of the modules around them.
TEST(Text, ValuesOutsideOfFunctions) {
  Context context;
  auto module = parseProgram(R"(
    %x = arith.constant 1.0 : f32
    %0 = arith.constant 2.0 : f32
    func.func @f(%y: tensor<f32>) -> tensor<f32> {
      %1 = foreach.map (%2 = %y : tensor<f32>) -> tensor<f32> {
        %3 = arith.addf %2, %2 : f32
        foreach.yield %3 : f32
      }
      return %1 : tensor<f32>
    }
    module {
      %4 = arith.constant 3.0 : f32
    })",
                             "program.mlir", context.get());
  ASSERT_TRUE(module);
  std::string once = print(*module);
  auto read = parseProgram(once, "printed.mlir", context.get());
  ASSERT_TRUE(read) << once;
  EXPECT_EQ(print(*read), once);
}

TEST(Text, ClashingMissingAndStrangeNames) {
  Context context;
  Runner runner = Runner::library(context, "sgd");
  mlir::Block &block = runner.function.getBody().front();
  setName(block.getArgument(0), "same");
  setName(block.getArgument(1), "same");
  setName(block.getArgument(2), "2 \"odd\" %name\n");
  mlir::Operation &map = block.front();
  map.setLoc(mlir::UnknownLoc::get(context.get()));
  runner.function->setAttr(
      "note", mlir::StringAttr::get(
                  context.get(), "%value0 \\ \" !foreach.list<tensor<f32>>"));
  std::string once = print(*runner.module);
  EXPECT_NE(once.find("%same: !list"), std::string::npos) << once;
  EXPECT_NE(once.find("%same_0: !list"), std::string::npos) << once;
  EXPECT_NE(once.find("%_2__odd___name_: tensor<f64>"), std::string::npos)
      << once;
  EXPECT_NE(once.find("%0 = foreach.map"), std::string::npos) << once;
  // A string contains neither names nor types.
  EXPECT_NE(once.find("\"%value0 \\\\ \\22 !foreach.list<tensor<f32>>\""),
            std::string::npos)
      << once;
  auto read = parseProgram(once, "printed.mlir", context.get());
  ASSERT_TRUE(read) << once;
  EXPECT_EQ(print(*read), once);
}

} // namespace
