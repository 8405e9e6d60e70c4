//===- CudaWidthsTest.cpp - rows of every width ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitted CUDA source, executed on the host, gives the bits of the cpu
// target for rows of every width, in several types, wherever they are in memory
// and whichever other members the list has.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "gtest/gtest.h"

using namespace heddle::runtime;

namespace heddle::test {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

/// Elements of type `type`; arithmetic in `real`. Elements need a reduction of
/// their row and an operand of their column; rows, columns, members and the
/// list have results.
std::string programOf(const std::string &type, const std::string &real) {
  std::string text = R"mlir(
!mats = !foreach.list<tensor<?x?xTYPE>>
!vecs = !foreach.list<tensor<?xREAL>>
!each = !foreach.list<tensor<REAL>>
func.func @widths(%x: !mats, %col: !vecs) -> (!mats, !vecs, !vecs, !each, tensor<REAL>) {
  %r = foreach.reduce add along j (%x = %x[i, j] as REAL : !mats, %c = %col[j] : !vecs) -> !vecs {
    %y = arith.mulf %x, %c : REAL
    foreach.yield %y : REAL
  }
  %y = foreach.map (%x = %x[i, j] as REAL : !mats, %r = %r[i], %c = %col[j] : !vecs) -> !mats {
    %a = arith.divf %x, %r : REAL
    %y = arith.subf %a, %c : REAL
    foreach.yield %y : REAL
  }
  %s = foreach.reduce add along i (%x = %x[i, j] as REAL : !mats, %r = %r[i] : !vecs) -> !vecs {
    %z = arith.mulf %x, %r : REAL
    foreach.yield %z : REAL
  }
  %m = foreach.reduce add along member (%x = %x as REAL : !mats) -> !each {
    foreach.yield %x : REAL
  }
  %l = foreach.reduce max along list (%x = %x as REAL : !mats) -> tensor<REAL> {
    foreach.yield %x : REAL
  }
  return %y, %r, %s, %m, %l : !mats, !vecs, !vecs, !each, tensor<REAL>
})mlir";
  auto replace = [&](const std::string &what, const std::string &by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), by);
  };
  if (type == real)
    replace(" as REAL", "");
  replace("TYPE", type);
  replace("REAL", real);
  return text;
}

Inputs inputsOf(Program &program, const Shapes &shapes, uint64_t seed,
                bool misaligned) {
  return randomInputs(
      program,
      [&](llvm::StringRef name, int64_t rank) -> Shapes {
        if (rank == 2)
          return shapes;
        Shapes columns;
        for (const auto &shape : shapes)
          columns.push_back({shape[1]});
        return columns;
      },
      seed, misaligned);
}

Numbers run(Runnable &executor) {
  if (llvm::Error error = executor.step())
    ADD_FAILURE() << executor.name << ": "
                  << takeError(std::move(error)).second;
  return executor.results();
}

/// Compares all executors, and returns the results of the cpu target.
Numbers compare(Program &program, const Inputs &inputs) {
  auto cpu = program.cpu(inputs, /*fuse=*/true);
  if (!cpu) {
    ADD_FAILURE() << "the program does not compile";
    return {};
  }
  Numbers expected = run(*cpu);
  for (llvm::StringRef entry : {"_tiles", "_held_rows"})
    EXPECT_EQ(differenceInBits(expected, run(*program.cuda(inputs, entry, 1))),
              "")
        << entry.str();
  return expected;
}

class CudaWidths
    : public testing::TestWithParam<std::pair<const char *, const char *>> {
protected:
  std::string text() const {
    return programOf(GetParam().first, GetParam().second);
  }
};

TEST_P(CudaWidths, GiveTheBitsOfTheCpu) {
  if (!sharedProgram(text()).isGood() || !sharedProgram(text()).hostSource())
    return;
  Program &program = sharedProgram(text());
  Shapes shapes;
  for (int64_t width = 1; width <= 2000; ++width)
    shapes.push_back({width <= 64      ? 1 + 5000 / (width + 7) % 131
                      : width % 7 == 0 ? 3
                                       : 1,
                      width});
  for (bool misaligned : {false, true}) {
    SCOPED_TRACE(misaligned ? "misaligned, with a stride" : "aligned");
    Inputs inputs = inputsOf(program, shapes, 3, misaligned);
    if (misaligned)
      spreadRows(inputs);
    compare(program, inputs);
  }
}

// More tiles than a group of tiles has, in each form; several threads combine a
// column of members with few columns.
TEST_P(CudaWidths, TakeManyTiles) {
  Program &program = sharedProgram(text());
  if (!program.isGood() || !program.hostSource())
    return;
  compare(program, inputsOf(program,
                            {{150000, 1},
                             {20001, 3},
                             {20000, 20},
                             {5000, 64},
                             {500, 65},
                             {1200, 100},
                             {161, 300},
                             {70, 1025}},
                            4, true));
}

TEST_P(CudaWidths, DoNotDependOnOtherMembers) {
  Program &program = sharedProgram(text());
  if (!program.isGood() || !program.hostSource())
    return;
  const Shapes shapes = {{7, 3},   {0, 5},    {2000, 1}, {5, 64},  {3, 0},
                         {4, 257}, {0, 0},    {2, 2049}, {600, 3}, {1, 1},
                         {33, 64}, {3, 2048}, {9, 100}};
  Inputs inputs = inputsOf(program, shapes, 5, true);
  Numbers all = compare(program, inputs);
  ASSERT_EQ(all.size(), 5u);
  for (size_t k = 0; k < shapes.size(); ++k) {
    SCOPED_TRACE(k);
    Inputs alone = inputs;
    for (auto &[name, list] : alone.lists) {
      list.members = {list.members[k]};
      list.members.front().offset = 0;
    }
    Numbers expected = all;
    for (size_t result = 0; result + 1 < all.size(); ++result)
      expected[result] = {all[result][k]};
    Numbers found = compare(program, alone);
    found.back() = expected.back(); // of the list
    EXPECT_EQ(differenceInBits(expected, found), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    , CudaWidths,
    testing::Values(std::pair("f32", "f32"), std::pair("bf16", "f32"),
                    std::pair("f16", "f32"), std::pair("f64", "f64")),
    [](const auto &info) { return std::string(info.param.first); });

} // namespace
} // namespace heddle::test
