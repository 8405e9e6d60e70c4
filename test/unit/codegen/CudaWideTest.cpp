//===- CudaWideTest.cpp - blocks that divide wide matrices ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitted CUDA source, executed on the host, gives the bits of the cpu
// target if several blocks divide the columns of a tile, whatever their number.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "CudaPrograms.h"
#include "CudaWidePrograms.h"
#include "gtest/gtest.h"

using namespace heddle::runtime;

namespace heddle::test {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

class CudaWide : public testing::TestWithParam<const char *> {};

/// Compares all forms for lists of these shapes.
void compare(Program &program, const Shapes &shapes, bool misaligned,
             llvm::StringRef entry = "_tiles") {
  Inputs inputs = randomInputs(
      program,
      [&](llvm::StringRef name, int64_t rank) -> Shapes {
        if (rank == 2)
          return shapes;
        Shapes vectors;
        for (const auto &shape : shapes)
          vectors.push_back({shape[name == "mean" ? 0 : 1]});
        return vectors;
      },
      7, misaligned);
  if (misaligned)
    spreadRows(inputs);
  auto cpu = program.cpu(inputs, /*fuse=*/true);
  ASSERT_TRUE(cpu);
  std::vector<Numbers> expected;
  for (int step = 0; step < 2; ++step) {
    ASSERT_FALSE(bool(cpu->step()));
    expected.push_back(cpu->results());
  }
  // The seed decides how many blocks divide a tile.
  for (uint64_t seed : {0, 1, 2, 3}) {
    SCOPED_TRACE(seed);
    auto cuda = program.cuda(inputs, entry, seed);
    ASSERT_TRUE(cuda);
    auto &graph = static_cast<CudaOnCpuGraph &>(cuda->graph());
    for (int step = 0; step < 2; ++step) {
      if (llvm::Error error = cuda->step())
        FAIL() << takeError(std::move(error)).second;
      EXPECT_EQ(differenceInBits(expected[step], cuda->results()), "");
    }
    // With an even seed, one block has a whole row, in sums in the same entry.
    bool severalParts =
        llvm::StringRef(program.cuda()).contains("heddle::states_of_parts<");
    if (((entry == "_row_clusters" || entry == "_row_parts") &&
         (seed % 2 || severalParts)) ||
        entry == "_long_parts" || entry == "_vectors" ||
        entry.starts_with("_held_rows_"))
      EXPECT_TRUE(llvm::any_of(graph.ran, [&](llvm::StringRef ran) {
        return ran.ends_with(entry);
      }));
  }
}

TEST_P(CudaWide, GivesTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  for (bool misaligned : {false, true})
    compare(program,
            {{40, 5000},
             {0, 3000},
             {3, 2049},
             {7, 100},
             {5, 0},
             {1, 9000},
             {17, 12345},
             {2, 4096},
             {1, 4097},
             {2, 8193},
             {0, 0},
             {33, 2048}},
            misaligned);
}

// A row of more than 2^20 columns, the last of whose parts are empty, and rows
// of many parts beside other rows.
TEST_P(CudaWide, TakesEmptyParts) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  compare(program, {{1, 1100001}, {2, 5000}, {3, 7}, {0, 9000}}, true);
  compare(program, {{2, 300001}, {1, 40961}, {4, 5000}}, true);
}

// One block holds a row, if no row of the list is wider. The widest row chooses
// the entry.
TEST_P(CudaWide, HoldsWholeRows) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  for (int64_t widest : {4096, 4097, 5000, 8191, 8192, 8193, 12345, 16384}) {
    SCOPED_TRACE(widest);
    compare(program,
            {{3, widest},
             {0, 3000},
             {3, std::min<int64_t>(widest, 9000)},
             {7, 100},
             {5, 0},
             {1, 4096},
             {2, 2049},
             {33, 3},
             {9, 1}},
            /*misaligned=*/widest % 2, "_held_rows");
  }
}

// A group of threads takes two rows at a time, if no row of the list has more
// than 32 columns.
TEST_P(CudaWide, TakesNarrowRowsInPairs) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  bool isPaired = llvm::StringRef(program.cuda()).contains("_held_rows_32(");
  Shapes shapes = {{2000, 8}, {777, 16}, {513, 31}, {0, 7}, {4, 0}};
  for (int64_t width = 1; width <= 32; ++width)
    shapes.push_back({1 + 997 / width, width});
  for (bool misaligned : {false, true})
    compare(program, shapes, misaligned,
            isPaired ? "_held_rows_32" : "_held_rows");
}

/// Sums of columns, in f64. Those of bf16 alone would be exact in any order.
constexpr const char *kDoubleColumns = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf64>>
func.func @double_columns(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along i (%x = %x[i, j] as f64 : !mats) -> !vecs {
    %tenth = arith.constant 0.1 : f64
    %y = arith.mulf %x, %tenth : f64
    foreach.yield %y : f64
  }
  return %sum : !vecs
})mlir";

/// Two reductions of one kind, whose units are kept at the same time, and
/// flags.
constexpr const char *kMoments = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!flags = !foreach.list<tensor<?xi1>>
func.func @moments(%x: !mats) -> (!vecs, !vecs, !flags) {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %square = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !vecs {
    %y = arith.mulf %x, %x : f32
    foreach.yield %y : f32
  }
  %any = foreach.reduce any along i (%x = %x[i, j] : !mats) -> !flags {
    %bound = arith.constant 2.5 : f32
    %c = arith.cmpf ogt, %x, %bound : f32
    foreach.yield %c : i1
  }
  return %sum, %square, %any : !vecs, !vecs, !flags
})mlir";

/// Elements of 16 bits of rows that blocks share, in place.
constexpr const char *kHalfScale = R"mlir(
!mats = !foreach.list<tensor<?x?xf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @half_scale(%x: !mats {foreach.donate = 0 : i64}, %g: !mats, %mean: !vecs, %col: !vecs) -> !mats {
  %y = foreach.map (%x = %x[i, j] as f32, %g = %g[i, j] as f32 : !mats, %m = %mean[i], %c = %col[j] : !vecs) -> !mats {
    %a = arith.mulf %g, %m : f32
    %b = arith.mulf %a, %c : f32
    %y = arith.subf %x, %b : f32
    foreach.yield %y : f32
  }
  return %y : !mats
})mlir";

/// Two matrices of 16 bits whose columns are reduced.
constexpr const char *kHalfProducts = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @half_products(%x: !mats, %g: !mats, %col: !vecs) -> (!vecs, !vecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] as f32, %g = %g[i, j] as f32 : !mats, %c = %col[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %c : f32
    %y = arith.mulf %d, %g : f32
    foreach.yield %y : f32
  }
  %at = foreach.reduce max along i (%g = %g[i, j] as f32 : !mats) -> !vecs {
    foreach.yield %g : f32
  }
  return %sum, %at : !vecs, !vecs
})mlir";

/// One matrix, without an operand of columns, has vectors of 8.
constexpr const char *kHalfRowScale = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @half_row_scale(%x: !mats, %mean: !vecs) -> !mats {
  %y = foreach.map (%x = %x[i, j] as f32 : !mats, %m = %mean[i] : !vecs) -> !mats {
    %y = arith.mulf %x, %m : f32
    foreach.yield %y : f32
  }
  return %y : !mats
})mlir";

/// Positions of columns, and of rows.
constexpr const char *kHalfPositions = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @half_positions(%x: !mats) -> !vecs {
  %sum = foreach.reduce add along i (%x = %x[i, j] as f32 : !mats) -> !vecs {
    %j = foreach.index j : i64
    %i = foreach.index i : i64
    %fj = arith.sitofp %j : i64 to f32
    %fi = arith.sitofp %i : i64 to f32
    %a = arith.mulf %x, %fj : f32
    %y = arith.addf %a, %fi : f32
    foreach.yield %y : f32
  }
  return %sum : !vecs
})mlir";

class CudaAdjacentColumns : public testing::TestWithParam<const char *> {};

// A thread has adjacent columns if rows and columns are aligned for a vector;
// members of one list differ. Misaligned matrices, and the distances of their
// rows, are 1 to 9 elements off.
TEST_P(CudaAdjacentColumns, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  EXPECT_TRUE(llvm::StringRef(program.cuda()).contains("walk<true>"));
  EXPECT_TRUE(llvm::StringRef(program.cuda()).contains("walk<false>"));
  const Shapes shapes = {{5, 2052}, {70, 4100}, {9, 2050}, {4, 2049},
                         {37, 512}, {33, 1026}, {0, 3000}, {6, 258},
                         {3, 257},  {2, 8192},  {7, 100},  {1, 5001}};
  for (bool misaligned : {false, true})
    compare(program, shapes, misaligned);
}

INSTANTIATE_TEST_SUITE_P(, CudaAdjacentColumns,
                         testing::Values(kHalfScale, kHalfProducts,
                                         kDoubleColumns, kHalfRowScale,
                                         kHalfPositions),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

/// Two matrices of other types, with divisions and roots. Neither the flags nor
/// the integers are floats.
constexpr const char *kMappedTypes = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!half = !foreach.list<tensor<?x?xf16>>
!flags = !foreach.list<tensor<?x?xi1>>
!counts = !foreach.list<tensor<?x?xi32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @mapped_types(%x: !mats {foreach.donate = 0 : i64}, %g: !half, %mean: !vecs, %col: !vecs, %t: !each) -> (!mats, !half, !flags, !counts, !each) {
  %y, %z, %over, %n = foreach.map (%x = %x[i, j] : !mats, %g = %g[i, j] as f32 : !half, %m = %mean[i], %c = %col[j] : !vecs, %t = %t : !each) -> (!mats, !half, !flags, !counts) {
    %a = arith.mulf %g, %m : f32
    %b = math.absf %a : f32
    %r = math.sqrt %b : f32
    %d = arith.addf %r, %t : f32
    %q = arith.divf %x, %d : f32
    %y = arith.subf %q, %c : f32
    %over = arith.cmpf ogt, %y, %x : f32
    %n = arith.extui %over : i1 to i32
    foreach.yield %y, %y, %over, %n : f32, f32, i1, i32
  }
  %most = foreach.reduce max along member (%m = %mean : !vecs) -> !each {
    foreach.yield %m : f32
  }
  return %y, %z, %over, %n, %most : !mats, !half, !flags, !counts, !each
})mlir";

/// Elements that are only written.
constexpr const char *kOuterProduct = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @outer_product(%mean: !vecs, %col: !vecs, %like: !mats) -> !mats {
  %y = foreach.map (%r = %mean[i], %c = %col[j] : !vecs, %x = %like[i, j] : !mats) -> !mats {
    %y = arith.mulf %r, %c : f32
    foreach.yield %y : f32
  }
  return %y : !mats
})mlir";

class CudaVectors : public testing::TestWithParam<const char *> {};

// The elements of a tile are vectors, whatever the rows that end within the
// turns of a block. Tiles that are not aligned, and rows of other widths, have
// vectors of one element.
TEST_P(CudaVectors, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  const Shapes shapes = {{1, 260},  {2, 300},   {3, 512},  {4, 768},  {5, 1020},
                         {70, 264}, {9, 1024},  {6, 1028}, {1, 4100}, {7, 257},
                         {4, 1026}, {0, 3000},  {33, 3},   {5, 0},    {2, 5001},
                         {3, 8192}, {2, 12348}, {1, 4},    {8, 772}};
  for (bool misaligned : {false, true})
    compare(program, shapes, misaligned, "_vectors");
}

// All widths of vectors, and some others, of one turn and of several.
TEST_P(CudaVectors, OfManyWidthsGiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  Shapes shapes;
  for (int64_t width = 257; width <= 1100; ++width)
    if (width % 4 == 0 || width % 11 == 0)
      shapes.push_back({1 + width % 5, width});
  compare(program, shapes, /*misaligned=*/false, "_vectors");
}

INSTANTIATE_TEST_SUITE_P(, CudaVectors,
                         testing::Values(kHalfScale, kHalfRowScale,
                                         kMappedTypes, kOuterProduct),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

class CudaTallTiles : public testing::TestWithParam<const char *> {};

/// Compares a program that has tall tiles for lists of these shapes.
void compareTall(const std::string &text, std::vector<Shapes> lists) {
  Program &program = sharedProgram(text);
  if (!program.isGood() || !program.hostSource())
    return;
  EXPECT_TRUE(
      llvm::StringRef(program.cuda()).contains("heddle::units_of_tile<"));
  for (auto [k, shapes] : llvm::enumerate(lists))
    compare(program, shapes, /*misaligned=*/k % 2);
}

// A block sums the units of a tall tile, of 16 rows, and combines them as the
// cpu target combines tiles. The last tiles have 1, 2 and 3 units.
TEST_P(CudaTallTiles, GiveTheBitsOfTheCpu) {
  compareTall(GetParam(), {{{70, 65540}, {40, 5000}, {0, 140000}, {33, 2048}},
                           {{2790, 2049}, {90, 65537}, {1, 131073}}});
}

// Segments of several types keep units in the same memory.
TEST(CudaTallTilesOfLists, GiveTheBitsOfTheCpu) {
  auto found = llvm::find_if(writtenPrograms(), [](const NamedProgram &named) {
    return named.name == "ColumnsOfSeveralTypes";
  });
  ASSERT_NE(found, writtenPrograms().end());
  compareTall(found->text, {{{70, 65537}, {40, 5000}, {0, 140000}, {33, 2048}},
                            {{90, 65537}, {3, 7}}});
}

INSTANTIATE_TEST_SUITE_P(, CudaTallTiles,
                         testing::Values(kColumns, kDoubleColumns, kMoments),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

class CudaWarpWidths : public testing::TestWithParam<const char *> {};

// A warp has each row of up to 1024 columns (512 of doubles) in entries of
// their own. The widest row chooses the entry: rows of every width it has.
TEST_P(CudaWarpWidths, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  for (auto [first, last] :
       {std::pair(1, 32), {1, 256}, {257, 512}, {513, 1024}}) {
    std::string entry = "_held_rows_" + std::to_string(std::max(32, last));
    if (last == 256)
      entry = "_held_rows_512";
    if (!llvm::StringRef(program.cuda()).contains(entry + "("))
      continue;
    SCOPED_TRACE(entry);
    Shapes shapes;
    for (int64_t width = first; width <= last; ++width)
      shapes.push_back({1 + width % 3 + 40 / width, width});
    for (bool misaligned : {false, true})
      compare(program, shapes, misaligned, entry);
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaWarpWidths,
                         testing::Values(kSoftmax, kHalfRows, kDoubleSoftmax,
                                         kRowSums, kHalfRowSums),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

class CudaClusters : public testing::TestWithParam<const char *> {};

// The blocks of a row are a cluster. Narrower rows need fewer of its blocks,
// but all rows have several parts. The columns of some are multiples of 4.
TEST_P(CudaClusters, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  for (int64_t widest : {16385, 16388, 40001, 131072})
    for (bool misaligned : {false, true}) {
      SCOPED_TRACE(widest);
      compare(program,
              {{5, widest},
               {0, 30000},
               {2, 16385},
               {2, std::min<int64_t>(widest, 20000)},
               {0, 16386},
               {1, std::min<int64_t>(widest, 24577)}},
              misaligned, "_row_clusters");
    }
}

class CudaRowParts : public testing::TestWithParam<const char *> {};

// All rows have several parts, any number of them, and blocks exchange states
// through memory. Narrower rows have fewer of the blocks. In sums, a block has
// several parts, too, or all of them, depending on the seed.
TEST_P(CudaRowParts, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  EXPECT_TRUE(llvm::StringRef(program.cuda()).contains("_row_parts("));
  compare(program, {{2, 131076}, {0, 30000}, {3, 16385}, {1, 40001}},
          /*misaligned=*/false, "_row_parts");
  // The last of 128 parts has one column.
  compare(program, {{1, 1 << 20}, {1, 1040385}, {1, 16388}}, true,
          "_row_parts");
}

// All reductions of a sweep keep the states of parts in the same memory.
TEST(CudaRowPartsOfTwoKinds, GiveTheBitsOfTheCpu) {
  auto found = llvm::find_if(writtenPrograms(), [](const NamedProgram &named) {
    return named.name == "RowsOfTwoKinds";
  });
  ASSERT_NE(found, writtenPrograms().end());
  Program &program = sharedProgram(found->text);
  if (!program.isGood() || !program.hostSource())
    return;
  EXPECT_TRUE(llvm::StringRef(program.cuda()).contains("_row_parts("));
  compare(program, {{3, 8193}, {0, 9000}, {1, 40004}}, /*misaligned=*/true,
          "_row_parts");
}

class CudaWideRowsInPairs : public testing::TestWithParam<const char *> {};

// A block loads two rows of 2049 to 4096 columns at a time: in lists with
// wider rows, and in the entry that has no others. Members have odd numbers of
// rows, too.
TEST_P(CudaWideRowsInPairs, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  EXPECT_TRUE(llvm::StringRef(program.cuda()).contains("Items == 16"));
  Shapes shapes = {{3, 2049}, {1, 4096}, {2, 2052}, {0, 3000}, {5, 4096},
                   {7, 2050}, {4, 3333}, {1, 1},    {9, 300},  {2, 2048}};
  for (bool misaligned : {false, true}) {
    compare(program, shapes, misaligned, "_held_rows");
    shapes.push_back({3, 5000});
    compare(program, shapes, misaligned);
    shapes.pop_back();
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaWideRowsInPairs,
                         testing::Values(kRowSums, kHalfRowSums,
                                         kHalfRowProducts, kRoundedRowSums),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

class CudaLongParts : public testing::TestWithParam<const char *> {};

// Blocks hold long parts of very wide rows, and traverse other wide rows.
TEST_P(CudaLongParts, GiveTheBitsOfTheCpu) {
  Program &program = sharedProgram(GetParam());
  if (!program.isGood() || !program.hostSource())
    return;
  compare(program,
          {{2, 131073}, {1, 131072}, {3, 100}, {2, 0}, {0, 200000}, {1, 20000}},
          /*misaligned=*/true, "_long_parts");
  compare(program, {{2, 1000001}, {9, 1}, {1, 5000}}, false, "_long_parts");
  compare(program, {{1, 1044481}, {1, 1048576}}, true, "_long_parts");
}

INSTANTIATE_TEST_SUITE_P(, CudaLongParts,
                         testing::Values(kSoftmax, kEntropy, kChain, kHalfRows),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

INSTANTIATE_TEST_SUITE_P(, CudaRowParts,
                         testing::Values(kRowSums, kHalfRowSums,
                                         kHalfRowProducts, kDoubleSoftmax),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

INSTANTIATE_TEST_SUITE_P(, CudaClusters,
                         testing::Values(kSoftmax, kHalfSums, kHalfRows),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

INSTANTIATE_TEST_SUITE_P(, CudaWide,
                         testing::Values(kColumns, kRows, kSoftmax, kEntropy,
                                         kChain, kTraversed, kAcross,
                                         kHalfAcross),
                         [](const auto &info) {
                           llvm::StringRef text = info.param;
                           text = text.split("@").second;
                           return text.split("(").first.str();
                         });

} // namespace
} // namespace heddle::test
