//===- DivisionTests.cpp - Divisions and roots without branches -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs whose divisions and roots are branchless give the same bits as on
// cpu, for operands in the range of these forms and for others.
// BranchlessTests.cpp tests the forms alone, with many more operands.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <cmath>
#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

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

uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185u;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44du;
  return x ^ x >> 33;
}

/// A float with random fraction. In every 16th group of 64 elements it has any
/// exponent; otherwise one that is at most `spread` from that of 1, or is zero.
/// Then most threads have only operands in range.
double element(uint64_t seed, uint64_t index, bool isDenominator) {
  uint64_t random = mix(seed * 0x9e3779b97f4a7c15u + 2 * index + isDenominator);
  auto bits = static_cast<uint32_t>(random >> 32);
  uint32_t spread = isDenominator ? 39 : 60;
  if (index / 64 % 16) {
    uint32_t exponent = 127 - spread + (random & 0xffff) % (2 * spread + 1);
    bits = (bits & 0x807fffffu) | exponent << 23;
    if (!isDenominator && (random >> 16 & 15) == 0)
      bits &= 0x80000000u;
  }
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return std::isnan(x) ? 1.0f : x;
}

TEST(DivisionTest, BranchlessFormsAreExact) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    std::optional<Image> expected;
    for (const std::string &target : targets()) {
      SCOPED_TRACE(target + ", seed " + std::to_string(seed));
      Problem problem;
      // Without a GPU, a small part is enough.
      problem.members = vectors({CudaDriver::get() ? 1 << 22 : 1 << 16});
      problem.value = [&](const std::string &list, const Member &,
                          int64_t index) -> std::optional<double> {
        return element(seed, index, list == "b");
      };
      Trial run(kDivide, target, problem);
      run.step();
      Image after = run.read();
      if (expected)
        expectSame(*expected, after);
      else
        expected = after;
    }
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

} // namespace
