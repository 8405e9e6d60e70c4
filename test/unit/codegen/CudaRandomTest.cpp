//===- CudaRandomTest.cpp - random bits and rounding by them --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares foreach.random with published vectors of Philox4x32-7, and
// foreach.round with its definition, in the interpreter, on the cpu target and
// in the emitted CUDA source, executed on the host.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace heddle::runtime;
using heddle::reference::Arithmetic;

namespace heddle::test {
namespace {

using Member = ListInput::Member;

Member vectorOf(std::vector<double> data, int offset = 0) {
  Member member;
  member.extents = {static_cast<int64_t>(data.size())};
  member.data = std::move(data);
  member.offset = offset;
  return member;
}

Member valueOf(double value) {
  Member member;
  member.data = {value};
  return member;
}

/// Checks that all executors have the same results, and returns them.
Numbers runAll(Program &program, const Inputs &inputs) {
  auto reference = program.reference(inputs, Arithmetic::plain);
  EXPECT_FALSE(static_cast<bool>(reference->step()));
  Numbers expected = reference->results();
  std::unique_ptr<Runnable> targets[] = {
      program.cpu(inputs), program.cpu(inputs, /*fuse=*/false),
      program.cuda(inputs, "_tiles", /*seed=*/1)};
  for (auto &target : targets) {
    if (!target) {
      ADD_FAILURE() << "the program does not compile";
      continue;
    }
    if (llvm::Error error = target->step())
      ADD_FAILURE() << target->name << ": "
                    << takeError(std::move(error)).second;
    EXPECT_EQ(differenceInBits(expected, target->results()), "")
        << target->name;
  }
  return expected;
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

/// Vectors of the authors' library Random123 (kat_vectors): four words of the
/// counter, two of the key, and the result.
struct Vector {
  uint32_t counter[4], key[2], result[4];
};
const Vector vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}}};

std::string wide(uint32_t low, uint32_t high) {
  return std::to_string(static_cast<int64_t>(low | uint64_t(high) << 32));
}

TEST(CudaRandom, AgreesWithPublishedVectors) {
  std::string body, values, types, results, names;
  for (auto [k, vector] : llvm::enumerate(vectors)) {
    std::string n = std::to_string(k);
    body += "    %c" + n + " = arith.constant " +
            wide(vector.counter[0], vector.counter[1]) + " : i64\n    %s" + n +
            " = arith.constant " + wide(vector.counter[2], vector.counter[3]) +
            " : i64\n    %k" + n + " = arith.constant " +
            wide(vector.key[0], vector.key[1]) + " : i64\n";
    for (const char *type : {"i32", "i16"}) {
      body += "    %r" + n + type + " = foreach.random seed %k" + n +
              " stream %s" + n + " block %c" + n + " at %at : " + type + "\n";
      std::string comma = types.empty() ? "" : ", ";
      values += comma + "%r" + n + type;
      types += comma + type;
      names += comma + "%o" + n + type;
      results += comma + "!foreach.list<tensor<?x" + type + ">>";
    }
  }
  Program program("func.func @f(%x: !foreach.list<tensor<?xf32>>) -> (" +
                  results + ") {\n  " + names +
                  " = foreach.map (%x = %x : !foreach.list<tensor<?xf32>>) -> "
                  "(" +
                  results + ") {\n    %at = foreach.index member : i64\n" +
                  body + "    foreach.yield " + values + " : " + types +
                  "\n  }\n  return " + names + " : " + results + "\n}\n");
  ASSERT_TRUE(program.isGood()) << program.source();
  Inputs inputs;
  inputs.lists["x"].members = {vectorOf(std::vector<double>(8))};
  Numbers found = runAll(program, inputs);
  ASSERT_EQ(found.size(), 2 * std::size(vectors));
  for (auto [n, vector] : llvm::enumerate(vectors))
    for (int k = 0; k < 8; ++k) {
      if (k < 4)
        EXPECT_EQ(
            static_cast<uint32_t>(static_cast<int64_t>(found[2 * n][0][k])),
            vector.result[k]);
      EXPECT_EQ(
          static_cast<uint16_t>(static_cast<int64_t>(found[2 * n + 1][0][k])),
          static_cast<uint16_t>(vector.result[k / 2] >> k % 2 * 16));
    }
}

/// Draws for lists of f64. With one, two and three of them, a thread has 8, 4
/// and 2 elements.
std::string draws(int lists) {
  std::string args, map, sum = "    %sum0 = arith.negf %x0 : f64\n";
  for (int k = 0; k < lists; ++k) {
    std::string n = std::to_string(k);
    args += "%x" + n + ": !x, ";
    map += (k ? ", %x" : "%x") + n + " = %x" + n;
    if (k)
      sum += "    %sum" + n + " = arith.addf %sum" + std::to_string(k - 1) +
             ", %x" + n + " : f64\n";
  }
  return R"mlir(!x = !foreach.list<tensor<?xf64>>
!short = !foreach.list<tensor<?xi16>>
!int = !foreach.list<tensor<?xi32>>
!each = !foreach.list<tensor<i64>>
func.func @draws()mlir" +
         args +
         R"mlir(%first: !each, %seed: tensor<i64> {foreach.default = 1 : i64}) -> (!short, !int, !x) {
  %a, %b, %c = foreach.map ()mlir" +
         map +
         R"mlir( : !x, %first = %first : !each, %seed = %seed : tensor<i64>) -> (!short, !int, !x) {
    %k = foreach.index member : i64
    %a = foreach.random seed %seed stream %seed block %first at %k : i16
    %b = foreach.random seed %seed stream %seed block %first at %k : i32
)mlir" + sum +
         "    foreach.yield %a, %b, %sum" + std::to_string(lists - 1) +
         R"mlir( : i16, i32, f64
  }
  return %a, %b, %c : !short, !int, !x
})mlir";
}

/// The inputs of draws(), whose lists have the same members.
Inputs drawing(int lists, std::vector<Member> members,
               std::vector<Member> first, int64_t seed) {
  Inputs inputs;
  for (int k = 0; k < lists; ++k)
    inputs.lists["x" + std::to_string(k)].members = members;
  inputs.lists["first"].members = std::move(first);
  inputs.scalars["seed"] = seed;
  return inputs;
}

// A number depends on the seed, the stream and its number in the sequence only:
// not on the tile, on the alignment, or on the list. Sequences that begin at
// another block are parts of the same one.
class CudaDraws : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Lists, CudaDraws, testing::Values(1, 2, 3));
TEST_P(CudaDraws, DependOnPositionsOnly) {
  Program program(draws(GetParam()));
  ASSERT_TRUE(program.isGood());
  std::vector<double> zeros(10007);
  Numbers expected =
      runAll(program, drawing(GetParam(), {vectorOf(zeros)}, {valueOf(5)}, 1));

  std::vector<Member> parts, first;
  for (int64_t begin : {0, 8, 9992, 4000, 16, 8000})
    for (int offset : {0, 1, 4, 8, 13}) {
      parts.push_back(vectorOf(
          std::vector<double>(std::min<int64_t>(5000, 10007 - begin)), offset));
      first.push_back(valueOf(5 + begin / 8.0));
    }
  Numbers found = runAll(program, drawing(GetParam(), parts, first, 1));
  size_t member = 0;
  for (int64_t begin : {0, 8, 9992, 4000, 16, 8000})
    for (int k = 0; k < 5; ++k, ++member) {
      const auto &bits = found[0][member];
      ASSERT_FALSE(bits.empty());
      for (size_t i = 0; i < bits.size(); ++i)
        ASSERT_EQ(bits[i], expected[0][0][begin + i]) << begin << ' ' << i;
    }

  Numbers differs =
      runAll(program, drawing(GetParam(), {vectorOf(zeros)}, {valueOf(5)}, 2));
  int equal = 0;
  for (size_t k = 0; k < zeros.size(); ++k)
    equal += differs[0][0][k] == expected[0][0][k];
  EXPECT_LE(equal, 5); // of 10007, each with a chance of 2^-16
}

// The tiles of a long misaligned member begin at aligned elements, inside of
// blocks.
TEST(CudaRandom, TilesOfMisalignedListsBeginInsideOfBlocks) {
  Program program(R"mlir(
!half = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<i64>>
func.func @noise(%x: !half {foreach.donate = 0 : i64}, %first: !each, %seed: tensor<i64> {foreach.default = 1 : i64}) -> !half {
  %y = foreach.map (%x = %x as f32 : !half, %first = %first : !each, %seed = %seed : tensor<i64>) -> !half {
    %k = foreach.index member : i64
    %bits = foreach.random seed %seed stream %seed block %first at %k : i16
    %factor = arith.constant 1.001 : f32
    %more = arith.mulf %x, %factor : f32
    %y = foreach.round %more to bf16 by %bits : f32
    foreach.yield %y : f32
  }
  return %y : !half
})mlir");
  ASSERT_TRUE(program.isGood());
  Inputs inputs;
  inputs.scalars["seed"] = 3;
  for (int offset : {0, 1, 3, 4, 8}) {
    inputs.lists["x"].members.push_back(
        vectorOf(std::vector<double>(50001, 1), offset));
    inputs.lists["first"].members.push_back(valueOf(5));
  }
  Numbers found = runAll(program, inputs);
  for (const auto &member : found[0])
    EXPECT_EQ(member, found[0].front());
}

// Every number has 16 bits that are set in half of all cases.
TEST(CudaRandom, HasUnbiasedBits) {
  Program program(draws(1));
  auto cpu = program.cpu(
      drawing(1, {vectorOf(std::vector<double>(1 << 16))}, {valueOf(0)}, 1));
  ASSERT_TRUE(cpu && !cpu->step());
  Numbers found = cpu->results();
  for (int result : {0, 1})
    for (int bit = 0; bit < (result ? 32 : 16); ++bit) {
      int set = 0;
      for (double number : found[result][0])
        set += static_cast<int64_t>(number) >> bit & 1;
      EXPECT_LT(std::abs(set - (1 << 15)), 4 * 128) << result << ' ' << bit;
    }
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

const char *const kRounds = R"mlir(
!list = !foreach.list<tensor<?xf32>>
!int = !foreach.list<tensor<?xi32>>
func.func @rounds(%x: !list, %bits: !int) -> (!list, !list) {
  %a, %b = foreach.map (%x = %x : !list, %bits = %bits : !int) -> (!list, !list) {
    %by = arith.trunci %bits : i32 to i16
    %a = foreach.round %x to bf16 by %by : f32
    %b = foreach.round %x to f16 by %by : f32
    foreach.yield %a, %b : f32, f32
  }
  return %a, %b : !list, !list
})mlir";

/// The neighbours of |x| in a type with `digits` digits, a smallest unit and a
/// bound, from the definition of the type.
struct Neighbours {
  double low, high;
};
Neighbours neighboursOf(double x, int digits, double smallest, double bound) {
  double unit =
      std::max(std::exp2(std::floor(std::log2(x)) + 1 - digits), smallest);
  double low = x == 0 ? 0 : std::floor(x / unit) * unit;
  double high = low == x ? low : low + unit;
  auto limited = [&](double y) { return y >= bound ? HUGE_VAL : y; };
  return {limited(low), limited(high)};
}

// Over all bits, a number is rounded away from 0 as often as its distance to
// the farther neighbour is small, so the mean of all results is the number.
TEST(CudaRandom, RoundsInProportion) {
  Program program(kRounds);
  ASSERT_TRUE(program.isGood());
  std::vector<double> bits;
  for (int k = 0; k < 1 << 16; ++k)
    bits.push_back(k);
  const double numbers[] = {0,
                            1,
                            1.0 + 0x1p-23,
                            1.00390625,
                            -3.14159265f,
                            0x1.fffffep0,
                            -0x1.fffffep127,
                            0x1.fep127,
                            65519.9921875,
                            65505,
                            -0x1.fffffep-15,
                            0x1.8p-24,
                            0x1.2345p-20,
                            0x1p-40,
                            0x1.23456p-130,
                            -0x1p-149,
                            0x1p-133};
  Inputs inputs;
  for (double x : numbers) {
    inputs.lists["x"].members.push_back(
        vectorOf(std::vector<double>(bits.size(), x)));
    inputs.lists["bits"].members.push_back(vectorOf(bits));
  }
  Numbers found = runAll(program, inputs);
  for (auto [member, x] : llvm::enumerate(numbers))
    for (int type : {0, 1}) {
      SCOPED_TRACE(std::to_string(x) + (type ? " to f16" : " to bf16"));
      auto [low, high] = type
                             ? neighboursOf(std::fabs(x), 11, 0x1p-24, 0x1p16)
                             : neighboursOf(std::fabs(x), 8, 0x1p-133, 0x1p128);
      size_t up = 0;
      for (double y : found[type][member]) {
        ASSERT_EQ(std::signbit(y), std::signbit(x));
        ASSERT_TRUE(std::fabs(y) == low || std::fabs(y) == high) << y;
        up += std::fabs(y) == high;
      }
      if (low == high) {
        EXPECT_EQ(up, bits.size());
        continue;
      }
      double next = std::isinf(high) ? type ? 0x1p16 : 0x1p128 : high;
      double share = (std::fabs(x) - low) / (next - low) * 65536;
      EXPECT_EQ(up, std::floor(share));
    }
}

TEST(CudaRandom, KeepsSpecialValues) {
  Program program(kRounds);
  Inputs inputs;
  const double special[] = {HUGE_VAL, -HUGE_VAL, NAN, -0.0, 0x1p16, 1e30};
  for (double x : special)
    for (int bits : {0, 1, 32767, 32768, 65535}) {
      inputs.lists["x"].members.push_back(vectorOf({x}));
      inputs.lists["bits"].members.push_back(vectorOf({double(bits)}));
    }
  Numbers found = runAll(program, inputs);
  size_t member = 0;
  for (double x : special)
    for (int k = 0; k < 5; ++k, ++member) {
      double brain = found[0][member][0], half = found[1][member][0];
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(brain) && std::isnan(half));
        continue;
      }
      if (!std::isfinite(x) || x == 0 || x == 0x1p16)
        EXPECT_EQ(brain, x);
      EXPECT_EQ(std::signbit(brain), std::signbit(x));
      EXPECT_EQ(half, x == 0 ? x : std::copysign(HUGE_VAL, x));
      EXPECT_EQ(std::signbit(half), std::signbit(x));
    }
}

} // namespace
} // namespace heddle::test
