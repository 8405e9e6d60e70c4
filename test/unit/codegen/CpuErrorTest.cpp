//===- CpuErrorTest.cpp - IR that the cpu target rejects ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

using namespace heddle::test;

namespace {

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "expected '" << part << "' in: " << text;
}

/// A sum over a member, with parts of the module replaced.
void expectError(
    const std::string &message,
    std::initializer_list<std::pair<std::string, std::string>> changes) {
  std::string text = R"(
!list = !foreach.list<tensor<?xf32>>
!one = !foreach.list<tensor<f32>>
!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.program @sums(%x: !list) -> !one
    attributes {buffers = [#fused.buffer<"s", result, !one>]} {
  %s = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "sum" result_buffers [1]
      (%v = %x : !list) -> !one {
    %s = fused.reduce add member %v : f32
    fused.yield %s : f32
  }
  fused.yield %s : !one
})";
  for (auto &[from, to] : changes) {
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  CpuHarness harness(text);
  EXPECT_FALSE(harness.compile());
  expectContains(harness.diagnostics, message);
  expectContains(harness.diagnostics, "loc(");
  // The verifier rejects some programs before the target does.
  if (harness.fusedProgram())
    expectContains(harness.error, "cpu target");
}

TEST(CpuError, NoBuffers) {
  expectError("has no 'result_buffers'", {{"result_buffers [1]", ""}});
}

TEST(CpuError, NoSchedule) {
  expectError(
      "has no schedule",
      {{"schedule #fused.schedule<stream, threads = 256, vector = [4],", ""},
       {"tile = [1024], reason = \"\">", ""}});
}

TEST(CpuError, NoName) { expectError("has no name", {{"name \"sum\" ", ""}}); }

TEST(CpuError, Threads) {
  expectError("a multiple of 32 threads", {{"threads = 256", "threads = 100"}});
  expectError("a multiple of 32 threads", {{"threads = 256", "threads = 0"}});
}

TEST(CpuError, Tiles) {
  expectError("that are positive numbers", {{"[1024]", "[0]"}});
  expectError("that are positive numbers", {{"[4]", "[-1]"}});
}

TEST(CpuError, RowsOfAVector) {
  expectError("has a domain of rank 1", {{"stream", "rows"}});
}

TEST(CpuError, StreamOfRows) {
  expectError("has the schedule 'stream' but segment #0 yields row values",
              {{"%x: !list", "%x: !mat"},
               {"%x : !list", "%x[i, j] : !mat"},
               {"add member %v", "add row %v"},
               {"!one {", "!vec {"},
               {"result, !one>", "result, !vec>"},
               {") -> !one\n", ") -> !vec\n"},
               {"yield %s : !one", "yield %s : !vec"}});
}

TEST(CpuError, SixteenBitSum) {
  expectError("which is a storage type",
              {{"tensor<?xf32>", "tensor<?xbf16>"},
               {"tensor<f32>", "tensor<bf16>"},
               {"%v : f32", "%v : bf16"},
               {"yield %s : f32", "yield %s : bf16"}});
}

TEST(CpuError, TwoSweepsOfOneName) {
  std::string sweep = R"(fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "same" result_buffers [0]
      (%v = %x : !list) -> !list {
    fused.yield %v : f32
  })";
  CpuHarness harness("!list = !foreach.list<tensor<?xf32>>\n"
                     "fused.program @k(%x: !list) -> !list {\n%a = " +
                     sweep + "\n%b = " + sweep + "\nfused.yield %b : !list\n}");
  EXPECT_FALSE(harness.compile());
  expectContains(harness.diagnostics, "found the name of another sweep");
}

// The sum of the first sweep has no buffer, and the second sweep reads the sum.
TEST(CpuError, ReadsValueWithoutBuffer) {
  for (std::string use : {"as a list value", "in the epilogue", "as a flag"}) {
    bool inEpilogue = use == "in the epilogue", asFlag = use == "as a flag";
    std::string schedule =
        "schedule #fused.schedule<stream, threads = 256, vector = [4], "
        "tile = [1024], reason = \"\">";
    std::string text =
        "!list = !foreach.list<tensor<?xf32>>\n!flag = tensor<i1>\n"
        "fused.program @k(%x: !list) -> !list {\n%s = fused.sweep " +
        schedule +
        " name \"a\" result_buffers [-1] "
        "(%v = %x : !list) -> !flag {\n%p = math.isnan %v : f32\n"
        "%s = fused.reduce any list %p : i1\nfused.yield %s : i1\n}\n"
        "%y" +
        std::string(inEpilogue ? ", %z" : "") + " = fused.sweep " +
        (asFlag ? "where %s : !flag " : "") + schedule +
        " name \"b\" result_buffers [0" + (inEpilogue ? ", -1" : "") +
        "] (%v = %x : !list" +
        (asFlag || inEpilogue ? "" : ", %t = %s : !flag") +
        ") -> !list {\nfused.yield %v : f32\n}" +
        (inEpilogue ? " epilogue [] (%t = %s : !flag) -> !flag {\n"
                      "fused.yield %t : i1\n}"
                    : "") +
        "\nfused.yield %y : !list\n}";
    CpuHarness harness(text);
    ASSERT_TRUE(harness.fusedProgram()) << use << harness.diagnostics;
    EXPECT_FALSE(harness.compile()) << use;
    expectContains(harness.diagnostics, "reads a value that has no buffer");
  }
}

TEST(CpuError, UnknownSweep) {
  CpuHarness harness("fused.program @k() {\nfused.yield\n}");
  ASSERT_TRUE(harness.fusedProgram()) << harness.diagnostics;
  auto program = heddle::compileForCpu(harness.fusedProgram());
  ASSERT_TRUE(static_cast<bool>(program)) << toString(program.takeError());
  auto sweep = (*program)->lookup("absent");
  ASSERT_FALSE(static_cast<bool>(sweep));
  expectContains(toString(sweep.takeError()), "'absent'");
}

} // namespace
