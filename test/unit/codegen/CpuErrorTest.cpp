//===- CpuErrorTest.cpp - IR that the cpu target does not take ------------===//

#include "CpuHarness.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle::test;
using testing::HasSubstr;

namespace {

/// A sum over a member, with parts of its text replaced.
void expectError(
    const std::string &message,
    std::initializer_list<std::pair<std::string, std::string>> changes) {
  std::string text = R"(
!list = !foreach.list<tensor<?xf32>>
!one = !foreach.list<tensor<f32>>
!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.kernel @sums(%x: !list) -> !one
    attributes {fused.buffers = [{name = "s", type = !one, role = "result"}]} {
  %s = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      attributes {fused.name = "sum", fused.places = array<i64: 1>}
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
  ASSERT_TRUE(harness.kernel()) << harness.diagnostics;
  EXPECT_FALSE(harness.compile());
  EXPECT_THAT(harness.diagnostics, HasSubstr(message));
  EXPECT_THAT(harness.diagnostics, HasSubstr("loc("));
  EXPECT_THAT(harness.error, HasSubstr("cpu target"));
}

TEST(CpuError, Unplaced) {
  expectError("has no 'fused.places'", {{", fused.places = array<i64: 1>", ""}});
}

TEST(CpuError, Unscheduled) {
  expectError("has no schedule",
              {{"schedule #fused.schedule<stream, threads = 256, vector = [4],",
                ""},
               {"tile = [1024], reason = \"\">", ""}});
}

TEST(CpuError, Unnamed) {
  expectError("has no name", {{"fused.name = \"sum\", ", ""}});
}

TEST(CpuError, Threads) {
  expectError("expected a multiple of 32", {{"threads = 256", "threads = 100"}});
  expectError("expected a multiple of 32", {{"threads = 256", "threads = 0"}});
}

TEST(CpuError, Tiles) {
  expectError("expected positive numbers", {{"[1024]", "[0]"}});
  expectError("expected positive numbers", {{"[4]", "[-1]"}});
}

TEST(CpuError, RowsOfAVector) {
  expectError("has a domain of rank 1", {{"stream", "rows"}});
}

TEST(CpuError, StreamOfRows) {
  expectError("is scheduled as a stream but segment #0 yields a row value",
              {{"%x: !list", "%x: !mat"},
               {"%x : !list", "%x[i, j] : !mat"},
               {"add member %v", "add row %v"},
               {"!one {", "!vec {"},
               {"type = !one", "type = !vec"},
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

TEST(CpuError, LogsumexpOfIntegers) {
  expectError("takes the logarithm of sums of 'i32'",
              {{"tensor<?xf32>", "tensor<?xi32>"},
               {"tensor<f32>", "tensor<i32>"},
               {"add member", "logsumexp member"},
               {"%v : f32", "%v : i32"},
               {"yield %s : f32", "yield %s : i32"}});
}

TEST(CpuError, TwoSweepsOfOneName) {
  std::string sweep = R"(fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      attributes {fused.name = "same", fused.places = array<i64: 0>}
      (%v = %x : !list) -> !list {
    fused.yield %v : f32
  })";
  CpuHarness harness("!list = !foreach.list<tensor<?xf32>>\n"
                     "fused.kernel @k(%x: !list) -> !list {\n%a = " +
                     sweep + "\n%b = " + sweep + "\nfused.yield %b : !list\n}");
  EXPECT_FALSE(harness.compile());
  EXPECT_THAT(harness.diagnostics, HasSubstr("has the name of another sweep"));
}

TEST(CpuError, UnknownSweep) {
  CpuHarness harness("fused.kernel @k() {\nfused.yield\n}");
  ASSERT_TRUE(harness.kernel()) << harness.diagnostics;
  auto program = heddle::compileForCpu(harness.kernel());
  ASSERT_TRUE(static_cast<bool>(program)) << toString(program.takeError());
  auto sweep = (*program)->lookup("absent");
  ASSERT_FALSE(static_cast<bool>(sweep));
  EXPECT_THAT(toString(sweep.takeError()), HasSubstr("'absent'"));
}

} // namespace
