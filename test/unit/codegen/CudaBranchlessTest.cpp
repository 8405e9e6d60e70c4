//===- CudaBranchlessTest.cpp - divisions and roots without branches ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs emitted source whose divisions and square roots have branchless forms
// (codegen/device/branchless.cuh), and compares each bit with the operations of
// the host: every bf16 value, moderate floats and floats of any magnitude.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace heddle::test {
namespace {

/// A result of 16 bits, and 20 bytes for three operations, so they are
/// branchless.
constexpr const char *kDivide = R"mlir(
!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
func.func @divide(%a: !list, %b: !list) -> (!list, !list, !list, !half) {
  %q, %r, %p, %h = foreach.map (%a = %a : !list, %b = %b : !list) -> (!list, !list, !list, !half) {
    %q = arith.divf %a, %b : f32
    %r = math.sqrt %a : f32
    %p = arith.divf %b, %a : f32
    foreach.yield %q, %r, %p, %q : f32, f32, f32, f32
  }
  return %q, %r, %p, %h : !list, !list, !list, !half
})mlir";

/// The quotient of a root, by a scalar.
constexpr const char *kDivideRoot = R"mlir(
!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xf16>>
func.func @divide_root(%x: !list, %d: tensor<f32>) -> (!list, !half) {
  %q, %h = foreach.map (%x = %x : !list, %d = %d : tensor<f32>) -> (!list, !half) {
    %r = math.sqrt %x : f32
    %q = arith.divf %r, %d : f32
    foreach.yield %q, %q : f32, f32
  }
  return %q, %h : !list, !half
})mlir";

constexpr const char *kInverseRoot = R"mlir(
!list = !foreach.list<tensor<?xf32>>
func.func @inverse_root(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %y = math.rsqrt %x : f32
    foreach.yield %y : f32
  }
  return %y : !list
})mlir";

/// Quotients by the first element of the row, whose inverse they share.
constexpr const char *kDivideRows = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
func.func @divide_rows(%a: !mats) -> !mats {
  %d = foreach.reduce add along j (%a = %a[i, j] : !mats) -> !list {
    %j = foreach.index j : i64
    %first = arith.constant 0 : i64
    %zero = arith.constant 0.0 : f32
    %is = arith.cmpi eq, %j, %first : i64
    %d = arith.select %is, %a, %zero : f32
    foreach.yield %d : f32
  }
  %q = foreach.map (%a = %a[i, j] : !mats, %d = %d[i] : !list) -> !mats {
    %q = arith.divf %a, %d : f32
    foreach.yield %q : f32
  }
  return %q : !mats
})mlir";

/// Quotients of elements of rows, and elements of 16 bits, so that divisions
/// are branchless.
constexpr const char *kDivideElements = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!half = !foreach.list<tensor<?x?xbf16>>
!list = !foreach.list<tensor<?xf32>>
func.func @divide_elements(%a: !mats, %v: !list) -> (!mats, !half) {
  %q, %p = foreach.map (%a = %a[i, j] : !mats, %v = %v[i] : !list) -> (!mats, !half) {
    %one = arith.constant 1.0 : f32
    %size = math.absf %a : f32
    %b = arith.addf %size, %one : f32
    %q = arith.divf %a, %b : f32
    %p = arith.divf %v, %a : f32
    foreach.yield %q, %p : f32, f32
  }
  return %q, %p : !mats, !half
})mlir";

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// A float whose exponent is at most `spread` from that of 1.
float moderate(std::mt19937_64 &random, int spread) {
  uint32_t bits = random();
  uint32_t exponent = 127 - spread + (bits >> 8) % (2 * spread + 1);
  return fromBits((bits & 0x80000000u) | exponent << 23 |
                  (random() & 0x7fffffu));
}

/// Numerators and denominators: all bf16 numerators with some denominators,
/// then random pairs. Neighbours are similar, so most threads have only
/// operands in range or none.
std::vector<std::pair<float, float>> pairs() {
  std::vector<std::pair<float, float>> all;
  for (float denominator :
       {1.0f, -3.0f, 0x1.fffffep-3f, 1e-8f, 0x1p-60f, 0x1.fffffep-61f,
        0x1.fffffep39f, 0x1p40f, 0.0f, -0.0f, 1e-42f, INFINITY, NAN})
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      all.push_back({fromBits(bits << 16), denominator});
  std::mt19937_64 random(17);
  for (int k = 0; k < 200000; ++k)
    all.push_back({moderate(random, 60), moderate(random, 39)});
  for (int k = 0; k < 100000; ++k)
    all.push_back({fromBits(random()), fromBits(random())});
  // A thread with one operand out of range among others.
  for (int k = 0; k < 100000; ++k)
    all.push_back({k % 9 ? moderate(random, 20) : fromBits(random()),
                   k % 7 ? moderate(random, 20) : fromBits(random())});
  for (int k = 0; k < 4096; ++k)
    all.push_back({k % 2 ? -0.0f : 0.0f, moderate(random, 30)});
  return all;
}

/// One member aligned, one not, with a part of a tile at the end.
ListInput listOf(llvm::ArrayRef<std::pair<float, float>> pairs, bool second) {
  ListInput list;
  list.members.resize(2);
  for (auto [k, pair] : llvm::enumerate(pairs))
    list.members[k >= pairs.size() / 2].data.push_back(second ? pair.second
                                                              : pair.first);
  for (ListInput::Member &member : list.members)
    member.extents = {static_cast<int64_t>(member.data.size())};
  list.members[1].offset = 1;
  return list;
}

Numbers run(llvm::StringRef text, const Inputs &inputs,
            llvm::StringRef form = "element_math") {
  Program &program = sharedProgram(text.str());
  EXPECT_TRUE(llvm::StringRef(program.cuda()).contains(form)) << program.cuda();
  auto target = program.cuda(inputs, entrySuffixes().front(), /*seed=*/1);
  if (!target)
    return {};
  if (llvm::Error error = target->step())
    ADD_FAILURE() << runtime::takeError(std::move(error)).second;
  return target->results();
}

testing::AssertionResult same(float expected, double found) {
  float rounded = static_cast<float>(found);
  if ((std::isnan(expected) && std::isnan(rounded)) ||
      std::memcmp(&expected, &rounded, sizeof(float)) == 0)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected " << expected << ", found " << found;
}

TEST(CudaBranchless, QuotientsAndRootsAreExact) {
  auto all = pairs();
  Inputs inputs;
  inputs.lists["a"] = listOf(all, false);
  inputs.lists["b"] = listOf(all, true);
  Numbers found = run(kDivide, inputs);
  ASSERT_EQ(found.size(), 4u);
  size_t k = 0;
  for (size_t member = 0; member < 2; ++member)
    for (size_t i = 0; i < found[0][member].size(); ++i, ++k) {
      auto [a, b] = all[k];
      ASSERT_TRUE(same(a / b, found[0][member][i])) << a << " / " << b;
      ASSERT_TRUE(same(std::sqrt(a), found[1][member][i])) << "sqrt " << a;
      ASSERT_TRUE(same(b / a, found[2][member][i])) << b << " / " << a;
    }
  EXPECT_EQ(k, all.size());
}

TEST(CudaBranchless, QuotientsOfRootsAreExact) {
  auto all = pairs();
  for (float divisor : {0.0447214f, 1.0f, 1e-30f, 0.0f}) {
    Inputs inputs;
    inputs.lists["x"] = listOf(all, false);
    inputs.scalars["d"] = divisor;
    Numbers found = run(kDivideRoot, inputs);
    ASSERT_EQ(found.size(), 2u);
    size_t k = 0;
    for (size_t member = 0; member < 2; ++member)
      for (size_t i = 0; i < found[0][member].size(); ++i, ++k)
        ASSERT_TRUE(
            same(std::sqrt(all[k].first) / divisor, found[0][member][i]))
            << "sqrt " << all[k].first << " / " << divisor;
    EXPECT_EQ(k, all.size());
  }
}

// An inverse root has one branch, for operands out of range. The host computes
// the approximations exactly; test/gpu/BranchlessTests.cpp tests those of GPUs.
TEST(CudaBranchless, InverseRootsAreExact) {
  auto all = pairs();
  // All fractions of two exponents, in steps; every exponent.
  for (uint32_t bits = 0; bits < 1 << 24; bits += 97)
    all.push_back({fromBits(0x3f800000 + bits), 1.0f});
  std::mt19937_64 random(31);
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (int k = 0; k < 500; ++k)
      all.push_back({fromBits(exponent << 23 | (random() & 0x7fffff)), 1.0f});
  Inputs inputs;
  inputs.lists["x"] = listOf(all, false);
  Numbers found = run(kInverseRoot, inputs, "heddle::inverse_root");
  ASSERT_EQ(found.size(), 1u);
  size_t k = 0;
  for (size_t member = 0; member < 2; ++member)
    for (size_t i = 0; i < found[0][member].size(); ++i, ++k)
      ASSERT_TRUE(same(1.0f / std::sqrt(all[k].first), found[0][member][i]))
          << "1 / sqrt " << all[k].first;
  EXPECT_EQ(k, all.size());
}

/// Dividends whose quotient by `divisor` is close to the middle of two floats.
/// With the significands A and B, they solve A * 2^k = c modulo B for a small
/// remainder c, where k is 24 or 25.
void addHardDividends(uint32_t significand, std::vector<float> &all) {
  int zeros = std::countr_zero(significand);
  int64_t odd = significand >> zeros;
  for (int k : {24, 25}) {
    int64_t inverse = 1 % odd; // of 2^(k - zeros)
    for (int i = zeros; i < k; ++i)
      inverse = (inverse % 2 ? inverse + odd : inverse) / 2;
    for (int64_t c : {-2, -1, 1, 2}) {
      int64_t dividend = (c + odd) % odd * inverse % odd;
      dividend += ((1 << 23) - dividend + odd - 1) / odd * odd;
      if (dividend < 1 << 24)
        all.push_back(static_cast<float>(dividend));
    }
  }
}

// Rows of one thread, of a group, of a block and of several parts.
TEST(CudaBranchless, QuotientsByRowValuesAreExact) {
  std::mt19937_64 random(23);
  std::vector<float> dividends;
  for (uint32_t bits = 0; bits < 0x10000; bits += 5)
    dividends.push_back(fromBits(bits << 16));
  for (int k = 0; k < 3000; ++k)
    dividends.push_back(fromBits(random()));
  std::vector<float> divisors = {
      1.0f, -3.0f,    0x1p-30f, 0x1.fffffep-31f, 0x1p40f, 1e-42f,
      0.0f, INFINITY, NAN,      0x1.fffffep-1f};
  for (int k = 0; k < 12; ++k)
    divisors.push_back(moderate(random, 29));
  for (int64_t columns : {3, 7, 100, 2048, 2049, 9000}) {
    SCOPED_TRACE(columns);
    Inputs inputs;
    ListInput &list = inputs.lists["a"];
    list.members.resize(1);
    ListInput::Member &a = list.members[0];
    a.extents = {int64_t(divisors.size()), columns};
    for (float divisor : divisors) {
      std::vector<float> hard;
      uint32_t bits;
      std::memcpy(&bits, &divisor, sizeof(bits));
      if (std::isnormal(divisor))
        addHardDividends((bits & 0x7fffff) | 0x800000, hard);
      for (int64_t j = 0; j < columns; ++j) {
        // Most threads of some rows have only operands in range.
        bool isHard = !hard.empty() && (j % 8 < 6 || divisor < 0);
        a.data.push_back(j == 0   ? divisor
                         : isHard ? hard[random() % hard.size()]
                                  : dividends[random() % dividends.size()]);
      }
    }
    Numbers found = run(kDivideRows, inputs, "heddle::divisor");
    ASSERT_EQ(found.size(), 1u);
    for (size_t k = 0; k < a.data.size(); ++k) {
      float x = a.data[k], y = divisors[k / columns];
      ASSERT_TRUE(same(x / y, found[0][0][k])) << x << " / " << y;
    }
  }
}

// Short rows, which one block processes, and rows that blocks share.
TEST(CudaBranchless, QuotientsOfElementsOfRowsAreExact) {
  std::mt19937_64 random(29);
  for (int64_t columns : {1, 3, 8, 30, 256, 257, 5000}) {
    SCOPED_TRACE(columns);
    Inputs inputs;
    ListInput &list = inputs.lists["a"];
    list.members.resize(1);
    ListInput::Member &a = list.members[0];
    a.extents = {50, columns};
    for (int64_t k = 0; k < 50 * columns; ++k)
      a.data.push_back(k % 3 == 0   ? moderate(random, 20)
                       : k % 7 == 0 ? -0.0f
                                    : fromBits(random()));
    ListInput &row = inputs.lists["v"];
    row.members.resize(1);
    row.members[0].extents = {50};
    row.members[0].data.assign(50, 1.0);
    Numbers found = run(kDivideElements, inputs, "math.divide");
    ASSERT_EQ(found.size(), 2u);
    for (size_t k = 0; k < a.data.size(); ++k) {
      float x = a.data[k];
      ASSERT_TRUE(same(x / (std::fabs(x) + 1.0f), found[0][0][k]))
          << x << " / (1 + |" << x << "|)";
    }
  }
}

} // namespace
} // namespace heddle::test
