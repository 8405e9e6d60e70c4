//===- CudaPanelListTest.cpp - lists with several size classes, executed --===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs lists of random extents, and of extents at the borders between forms, in
// the size classes that the runtime chooses. A member that a cluster processes
// alone must have the same bits in a list as alone, although the list's class
// has more items per thread, rows or columns.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "runtime/plan/PanelClass.h"
#include "gtest/gtest.h"

#include <map>

using namespace heddle::runtime;
using heddle::reference::Arithmetic;

namespace heddle::test {
namespace {

/// Log-domain balancing. The error is a sum over rows, and `mass` a sum over
/// columns, so that their orders affect bits.
constexpr const char *kBalances = R"mlir(
!mats = !foreach.list<tensor<?x?x$T>>
!list = !foreach.list<tensor<?x$T>>
!each = !foreach.list<tensor<$T>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
func.func @balances_$T(%x: !mats, %row: !list, %col: !list, %row_u: !list, %col_v: !list, %limit: tensor<i32>,
                       %sharp: !each, %bound: !each) -> (!list, !list, !each, !each, !iteration) {
  %u, %v, %error, %mass, %iterations = foreach.while (%u = %row_u, %v = %col_v : !list) upto %limit
      -> (!list, !list, !each, !each, !iteration) {
    %r = foreach.reduce logsumexp along j (%x = %x[i, j] : !mats, %v = %v[j] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : $T
      %y = arith.addf %sx, %v : $T
      foreach.yield %y : $T
    }
    %u1 = foreach.map (%a = %row, %r = %r : !list) -> !list {
      %y = arith.subf %a, %r : $T
      foreach.yield %y : $T
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats, %u = %u1[i] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : $T
      %y = arith.addf %sx, %u : $T
      foreach.yield %y : $T
    }
    %v1 = foreach.map (%b = %col, %c = %c : !list) -> !list {
      %y = arith.subf %b, %c : $T
      foreach.yield %y : $T
    }
    %error = foreach.reduce add along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u1, %u : $T
      %y = math.absf %d : $T
      foreach.yield %y : $T
    }
    %mass = foreach.reduce add along i (%v = %v : !list) -> !each {
      %y = arith.mulf %v, %v : $T
      foreach.yield %y : $T
    }
    %more = foreach.map (%error = %error, %bound = %bound : !each) -> !flag {
      %more = arith.cmpf ogt, %error, %bound : $T
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %error, %mass while %more : !list, !list, !each, !each while !flag
  }
  return %u, %v, %error, %mass, %iterations : !list, !list, !each, !each, !iteration
})mlir";

std::string programIn(const std::string &type) {
  std::string text = kBalances;
  for (size_t at; (at = text.find("$T")) != std::string::npos;)
    text.replace(at, 2, type);
  return text;
}

constexpr int64_t kSharedBytes = 227 * 1024;

struct List {
  const char *name, *type;
  std::vector<PanelExtents> members;

  friend void PrintTo(const List &list, std::ostream *os) { *os << list.name; }
};

std::vector<PanelExtents> randomMembers(uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<PanelExtents> members;
  for (int k = 0; k < count; ++k)
    members.push_back({static_cast<int64_t>(1 + random() % 300),
                       static_cast<int64_t>(1 + random() % 300)});
  return members;
}

std::vector<List> lists() {
  return {
      {"Tiny", "f32", {{1, 1}, {2, 1}, {1, 33}, {0, 5}, {5, 0}, {31, 32}}},
      // One block, then two: at most 128 KiB and 256 rows of a block.
      {"OneAndTwoBlocks",
       "f32",
       {{181, 181},
        {182, 182},
        {256, 9},
        {512, 9},
        {257, 9},
        {270, 50},
        {290, 30},
        {310, 8}}},
      {"TwoAndFourBlocks", "f32", {{256, 256}, {257, 257}}},
      // At most 4, then 8 items per thread; at most 24.
      {"Widths",
       "f32",
       {{9, 128}, {9, 129}, {3, 300}, {2, 768}, {20, 40}, {20, 120}}},
      {"Random", "f32", randomMembers(5, 7)},
      {"InDouble", "f64", {{128, 128}, {129, 129}, {100, 17}, {7, 300}}},
      {"RandomInDouble", "f64", randomMembers(9, 4)},
  };
}

class CudaPanelLists : public testing::TestWithParam<List> {
protected:
  /// Runs `members` of `inputs` in the class `shape`.
  Numbers run(const Inputs &inputs, llvm::ArrayRef<int> members,
              const PanelClass &shape, uint64_t seed);
  Program &program() { return sharedProgram(programIn(GetParam().type)); }

private:
  std::map<std::vector<std::string>, std::shared_ptr<HostSource>> sources;
};

Inputs partOf(const Inputs &all, llvm::ArrayRef<int> members) {
  Inputs part = all;
  for (auto &[name, list] : part.lists) {
    auto every = std::move(list.members);
    list.members.clear();
    for (int member : members)
      list.members.push_back(every[member]);
  }
  return part;
}

Numbers CudaPanelLists::run(const Inputs &inputs, llvm::ArrayRef<int> members,
                            const PanelClass &shape, uint64_t seed) {
  auto &source = sources[shape.defines()];
  if (!source) {
    auto compiled = HostSource::compile(&program().plan(), {shape, {}});
    if (!compiled) {
      ADD_FAILURE() << takeError(compiled.takeError()).second;
      return {};
    }
    source = std::move(*compiled);
  }
  program().setHostSource(source);
  auto graph = program().cuda(partOf(inputs, members), "_panels", seed);
  if (llvm::Error error = graph->step()) {
    ADD_FAILURE() << takeError(std::move(error)).second;
    return {};
  }
  EXPECT_TRUE(llvm::any_of(
      static_cast<CudaOnCpuGraph &>(graph->graph()).ran,
      [](llvm::StringRef entry) { return entry.ends_with("_panels"); }));
  return graph->results();
}

/// The results of one member.
Numbers memberOf(const Numbers &all, size_t member) {
  Numbers one;
  for (const auto &result : all)
    one.push_back({result[member]});
  return one;
}

TEST_P(CudaPanelLists, HaveTheBitsOfTheirMembersAlone) {
  const std::vector<PanelExtents> &extents = GetParam().members;
  const PlanPanel *panel = nullptr;
  for (const PlanNode &node : program().plan().graph.nodes)
    if (node.panel)
      panel = &*node.panel;
  ASSERT_TRUE(panel);
  auto classes = panelClassesFor(*panel, extents, kSharedBytes);
  ASSERT_TRUE(classes);
  // With the larger factor, most sums are not safe.
  for (double sharp : {1.0, 100.0}) {
    SCOPED_TRACE(sharp);
    Inputs inputs = randomInputs(
        program(),
        [&](llvm::StringRef name, int64_t rank) {
          std::vector<std::vector<int64_t>> shapes;
          for (auto [rows, columns] : extents)
            shapes.push_back(rank == 0   ? std::vector<int64_t>()
                             : rank == 2 ? std::vector{rows, columns}
                             : name.starts_with("col") ? std::vector{columns}
                                                       : std::vector{rows});
          return shapes;
        },
        3);
    inputs.scalars["limit"] = 2;
    for (ListInput::Member &member : inputs.lists["sharp"].members)
      member.data = {sharp};
    // Some members stop after one iteration.
    for (auto [k, member] : llvm::enumerate(inputs.lists["bound"].members))
      member.data = {k % 3 ? -1.0 : 1e30};
    for (const PanelMembers &part : *classes) {
      SCOPED_TRACE(part.shape.describe());
      ASSERT_GT(part.shape.clusterPerMember, 0);
      Numbers found = run(inputs, part.members, part.shape, 1);
      ASSERT_FALSE(HasFailure());
      Inputs own = partOf(inputs, part.members);
      auto exact = program().reference(own, Arithmetic::exact);
      auto plain = program().reference(own, Arithmetic::plain);
      ASSERT_FALSE(exact->step());
      ASSERT_FALSE(plain->step());
      bool isDouble = llvm::StringRef(GetParam().type) == "f64";
      EXPECT_EQ(differenceFrom(exact->results(), plain->results(), found,
                               isDouble ? 2.3e-16 : 1.2e-7),
                "");
      int left = 4; // because compiling takes most of the time
      for (auto [k, member] : llvm::enumerate(part.members)) {
        auto [rows, columns] = extents[member];
        auto alone = panelClassesFor(*panel, extents[member], kSharedBytes);
        if (rows == 0 || columns == 0 || alone->front().shape == part.shape ||
            --left < 0)
          continue;
        SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns));
        EXPECT_EQ(
            differenceInBits(memberOf(found, k),
                             run(inputs, member, alone->front().shape, 4)),
            "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaPanelLists, testing::ValuesIn(lists()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle::test
