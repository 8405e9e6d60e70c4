//===- ScalingTest.cpp - the growth of the compiler's work ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No stage of the compiler may do more than n log n work on programs that users
// can write. The work is counted in basic blocks, so the results do not depend
// on the machine. `heddle_scaling` prints the work and seconds of larger
// programs.
//
//===----------------------------------------------------------------------===//

#include "ScaledPrograms.h"
#include "Stages.h"

#include "codegen/compiler/ProgramCompiler.h"
#include "codegen/cpu/CpuTarget.h"
#include "dialect/WorkCounter.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

namespace heddle::test {

/// Stages with less work for each of n are not checked.
constexpr uint64_t kLittleWork = 8;

void PrintTo(const ScaledProgram &program, std::ostream *os) {
  *os << program.name.str();
}

class Scaling : public testing::TestWithParam<ScaledProgram> {};

/// The work that the second half of a program adds, compared with the work that
/// the second quarter adds. Work that does not depend on n cancels out.
TEST_P(Scaling, IsAtMostNLogN) {
  if (!countsWork())
    GTEST_SKIP() << "this build does not count work (HEDDLE_COUNT_WORK)";
  const ScaledProgram &program = GetParam();
  std::vector<Stage> stages[3];
  for (int k = 0; k < 3; ++k) {
    auto measured = compileInStages(program.text(program.size >> (2 - k)),
                                    /*all=*/false);
    if (!measured)
      FAIL() << llvm::toString(measured.takeError());
    stages[k] = std::move(*measured);
  }
  ASSERT_EQ(stages[0].size(), stages[2].size());
  for (size_t k = 0; k < stages[0].size(); ++k) {
    uint64_t quarter = stages[0][k].work, half = stages[1][k].work,
             whole = stages[2][k].work;
    if (whole < half + kLittleWork * program.size)
      continue;
    double growth =
        double(whole - half) / std::max<double>(1, double(half) - quarter);
    EXPECT_LE(growth, program.mostGrowth)
        << "'" << stages[0][k].name << "' takes " << quarter << ", " << half
        << " and " << whole << " basic blocks for " << program.size / 4 << ", "
        << program.size / 2 << " and " << program.size << " "
        << program.meaning.str();
  }
}

/// The loops of many reductions in one function take LLVM a time that grows
/// with the square of their number.
TEST(CpuScaling, ColumnReductionsOfOneKindShareTheirLoops) {
  std::string text = "!list = !foreach.list<tensor<?xf32>>\n"
                     "!mats = !foreach.list<tensor<?x?xf32>>\n"
                     "func.func @f(%x: !mats) -> (!list, !list, !list) {\n";
  for (int k = 0; k < 3; ++k)
    text += llvm::formatv(R"(
      %s{0} = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {{
        %k = arith.constant {0}.5 : f32
        %y = arith.addf %x, %k : f32
        foreach.yield %y : f32
      })",
                          k);
  text += "  return %s0, %s1, %s2 : !list, !list, !list\n}\n";
  Compilation compilation;
  if (llvm::Error error = compilation.read(text))
    FAIL() << llvm::toString(std::move(error));
  if (llvm::Error error = compilation.lower())
    FAIL() << llvm::toString(std::move(error));
  auto ir = printCpuIr(compilation.getProgram());
  if (!ir)
    FAIL() << llvm::toString(ir.takeError());
  llvm::StringRef shown = *ir;
  EXPECT_EQ(shown.count("define internal void @heddle.over_groups.add.f32"),
            1u);
  EXPECT_EQ(shown.count("call void @heddle.over_groups.add.f32"), 3u);
}

INSTANTIATE_TEST_SUITE_P(Programs, Scaling,
                         testing::ValuesIn(scaledPrograms().begin(),
                                           scaledPrograms().end()),
                         [](const auto &info) {
                           return info.param.name.str();
                         });

} // namespace heddle::test
