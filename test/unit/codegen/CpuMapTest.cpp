//===- CpuMapTest.cpp - maps on the cpu target ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

using namespace heddle::test;

namespace {

uint16_t bf16Of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (x != x)
    return (bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
float fromBf16(uint16_t x) {
  uint32_t bits = static_cast<uint32_t>(x) << 16;
  float y;
  std::memcpy(&y, &bits, 4);
  return y;
}
// The compiler's conversions, which share no code with ours.
uint16_t f16Of(float x) {
  _Float16 y = static_cast<_Float16>(x);
  uint16_t bits;
  std::memcpy(&bits, &y, 2);
  return bits;
}
float fromF16(uint16_t bits) {
  _Float16 y;
  std::memcpy(&y, &bits, 2);
  return static_cast<float>(y);
}

const std::vector<int64_t> sizes = {0,    1,    3,    5,    31,  64,
                                    1023, 1024, 1025, 2049, 5000};

/// p + s * g, over a list that is stored as `element`.
template <class T, class To, class From>
void scaledAdd(const std::string &element, const std::string &computed,
               To widen, From round) {
  using C = decltype(widen(T()));
  std::string list = listType(element);
  CpuHarness harness("fused.program @k(%p: " + list + ", %g: " + list +
                     ", %s: tensor<f64>) -> " + list +
                     " attributes {buffers = [#fused.buffer<\"r\", result, " +
                     list + ">]} {\n%r = fused.sweep" + stream("add", "3") +
                     "(%pp = %p as " + computed + ", %gg = %g as " + computed +
                     " : " + list + ", %ss = %s as " + computed +
                     " : tensor<f64>) -> " + list +
                     " {\n%m = arith.mulf %ss, %gg : " + computed +
                     "\n%a = arith.addf %pp, %m : " + computed +
                     "\nfused.yield %a : " + computed +
                     "\n}\nfused.yield %r : " + list + "\n}");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  double scale = -0.37;
  std::vector<Tensor<T>> p, g, r;
  for (int64_t size : sizes)
    for (int64_t offset : {0, 1, 3}) {
      p.emplace_back(size, offset);
      g.emplace_back(size, 2 * offset);
      r.emplace_back(size, offset + 1);
      for (int64_t k = 0; k < size; ++k) {
        p.back()[k] = round(static_cast<C>(randomIn(-2, 2)));
        g.back()[k] = round(static_cast<C>(randomIn(-9e4, 9e4)));
      }
    }
  auto members = [](std::vector<Tensor<T>> &list) {
    std::vector<Member> result;
    for (Tensor<T> &tensor : list)
      result.push_back(tensor.vector());
    return result;
  };
  harness.bindList(0, members(p));
  harness.bindList(1, members(g));
  harness.bindList(3, members(r));
  harness.bindScalar(2, &scale);
  harness.run();
  C s = static_cast<C>(scale);
  for (size_t m = 0; m < r.size(); ++m) {
    EXPECT_TRUE(r[m].guardHolds());
    for (int64_t k = 0; k < r[m].size(); ++k) {
      volatile C product = s * widen(g[m][k]);
      T expected = round(widen(p[m][k]) + product);
      ASSERT_EQ(std::memcmp(&r[m][k], &expected, sizeof(T)), 0)
          << element << " member " << m << " element " << k;
    }
  }
}

TEST(CpuMap, ScaledAddF32) {
  auto same = [](float x) { return x; };
  scaledAdd<float>("f32", "f32", same, same);
}
TEST(CpuMap, ScaledAddF64) {
  auto same = [](double x) { return x; };
  scaledAdd<double>("f64", "f64", same, same);
}
TEST(CpuMap, ScaledAddBf16) {
  scaledAdd<uint16_t>("bf16", "f32", fromBf16, bf16Of);
}
TEST(CpuMap, ScaledAddF16) {
  scaledAdd<uint16_t>("f16", "f32", fromF16, f16Of);
}

std::string copyProgram(const std::string &from, const std::string &to,
                        const std::string &computed) {
  std::string in = listType(from), out = listType(to);
  return "fused.program @k(%p: " + in + ") -> " + out +
         " attributes {buffers = [#fused.buffer<\"r\", result, " + out +
         ">]} {\n%r = fused.sweep" + stream("copy", "1") + "(%x = %p as " +
         computed + " : " + in + ") -> " + out +
         " {\nfused.yield %x : " + computed + "\n}\nfused.yield %r : " + out +
         "\n}";
}

// Every f16 widens exactly.
TEST(CpuMap, AllHalves) {
  CpuHarness widen(copyProgram("f16", "f32", "f32"));
  ASSERT_TRUE(widen.compile()) << widen.diagnostics << widen.error;
  Tensor<uint16_t> halves(65536);
  Tensor<float> floats(65536);
  for (int k = 0; k < 65536; ++k)
    halves[k] = k;
  widen.bindList(0, {halves.vector()});
  widen.bindList(1, {floats.vector()});
  widen.run();
  for (int k = 0; k < 65536; ++k) {
    float expected = fromF16(k);
    ASSERT_TRUE(floats[k] == expected ||
                (expected != expected && floats[k] != floats[k]))
        << k;
  }
}

template <class Round>
void narrowEverything(const std::string &element, Round round) {
  CpuHarness narrow(copyProgram("f32", element, "f32"));
  ASSERT_TRUE(narrow.compile()) << narrow.diagnostics << narrow.error;
  constexpr int64_t count = 1 << 21;
  Tensor<float> floats(count);
  Tensor<uint16_t> shorts(count);
  for (int64_t k = 0; k < count; ++k) {
    // Every exponent and sign, and the bits around the last bit that is kept.
    uint32_t bits = static_cast<uint32_t>(k) << 11 | (k % 3) * 0x3ff;
    bits ^= (k % 5) << 10;
    std::memcpy(&floats[k], &bits, 4);
  }
  narrow.bindList(0, {floats.vector()});
  narrow.bindList(1, {shorts.vector()});
  narrow.run();
  bool isF16 = element == "f16";
  for (int64_t k = 0; k < count; ++k) {
    if (floats[k] != floats[k]) {
      float back = isF16 ? fromF16(shorts[k]) : fromBf16(shorts[k]);
      ASSERT_NE(back, back) << k;
      continue;
    }
    ASSERT_EQ(shorts[k], round(floats[k])) << floats[k];
  }
}
TEST(CpuMap, NarrowToF16) { narrowEverything("f16", f16Of); }
TEST(CpuMap, NarrowToBf16) { narrowEverything("bf16", bf16Of); }

TEST(CpuMap, CopiesSixteenBitsAsTheyAre) {
  CpuHarness copy(copyProgram("bf16", "bf16", "bf16"));
  ASSERT_TRUE(copy.compile()) << copy.diagnostics << copy.error;
  Tensor<uint16_t> from(65536), to(65536);
  for (int k = 0; k < 65536; ++k)
    from[k] = k;
  copy.bindList(0, {from.vector()});
  copy.bindList(1, {to.vector()});
  copy.run();
  for (int k = 0; k < 65536; ++k)
    ASSERT_EQ(to[k], k);
}

const char *adamw = R"(
!list = !foreach.list<tensor<?xf32>>
!one = !foreach.list<tensor<f32>>
!num = tensor<f64>
fused.program @adamw(%param: !list {foreach.donate = 0 : i64},
                    %grad: !list,
                    %m: !list {foreach.donate = 1 : i64},
                    %v: !list {foreach.donate = 2 : i64},
                    %step: !one {foreach.donate = 3 : i64},
                    %lr: !num, %beta1: !num, %beta2: !num, %eps: !num,
                    %decay: !num) -> (!list, !list, !list, !one)
    attributes {buffers = []} {
  %p1, %m1, %v1, %t1 = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "step" result_buffers [0, 2, 3, 4]
      (%p = %param, %g = %grad, %mm = %m, %vv = %v : !list, %t = %step : !one,
       %lr32 = %lr as f32, %b1 = %beta1, %b2 = %beta2, %e = %eps as f32,
       %wd = %decay as f32 : !num) -> (!list, !list, !list, !one) {
    %one32 = arith.constant 1.0 : f32
    %next = arith.addf %t, %one32 : f32
    %c1, %c2, %b1f, %b2f, %n1f, %n2f =
        fused.precompute (%s = %t, %x1 = %b1, %x2 = %b2 : f32, f64, f64)
        -> (f32, f32, f32, f32, f32, f32) {
      %one = arith.constant 1.0 : f64
      %i1 = arith.constant 1.0 : f32
      %sn = arith.addf %s, %i1 : f32
      %n = arith.fptosi %sn : f32 to i32
      %p1 = math.fpowi %x1, %n : f64, i32
      %p2 = math.fpowi %x2, %n : f64, i32
      %d1 = arith.subf %one, %p1 : f64
      %d2 = arith.subf %one, %p2 : f64
      %r2 = math.sqrt %d2 : f64
      %f1 = arith.truncf %d1 : f64 to f32
      %f2 = arith.truncf %r2 : f64 to f32
      %b1s = arith.truncf %x1 : f64 to f32
      %b2s = arith.truncf %x2 : f64 to f32
      %o1 = arith.subf %one, %x1 : f64
      %o2 = arith.subf %one, %x2 : f64
      %o1s = arith.truncf %o1 : f64 to f32
      %o2s = arith.truncf %o2 : f64 to f32
      fused.yield %f1, %f2, %b1s, %b2s, %o1s, %o2s
        : f32, f32, f32, f32, f32, f32
    }
    %keep = arith.mulf %lr32, %wd : f32
    %factor = arith.subf %one32, %keep : f32
    %p0 = arith.mulf %p, %factor : f32
    %ma = arith.mulf %b1f, %mm : f32
    %mb = arith.mulf %n1f, %g : f32
    %mn = arith.addf %ma, %mb : f32
    %va = arith.mulf %b2f, %vv : f32
    %gg = arith.mulf %g, %g : f32
    %vb = arith.mulf %n2f, %gg : f32
    %vn = arith.addf %va, %vb : f32
    %root = math.sqrt %vn : f32
    %scaled = arith.divf %root, %c2 : f32
    %denom = arith.addf %scaled, %e : f32
    %size = arith.divf %lr32, %c1 : f32
    %ratio = arith.divf %mn, %denom : f32
    %move = arith.mulf %size, %ratio : f32
    %pn = arith.subf %p0, %move : f32
    fused.yield %pn, %mn, %vn, %next : f32, f32, f32, f32
  }
  fused.yield %p1, %m1, %v1, %t1 : !list, !list, !list, !one
})";

double powi(double base, int n) {
  double r = 1;
  for (unsigned e = n; e; e >>= 1) {
    if (e & 1)
      r *= base;
    base *= base;
  }
  return r;
}

TEST(CpuMap, AdamwStepsBitForBit) {
  CpuHarness harness(adamw);
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0.01;
  std::vector<Tensor<float>> p, g, m, v, t, p0, m0, v0;
  for (int64_t size : sizes) {
    for (auto *list : {&p, &g, &m, &v, &p0, &m0, &v0})
      list->emplace_back(size, list->size() % 3);
    t.emplace_back(1);
    t.back()[0] = 3.0f * t.size();
    for (int64_t k = 0; k < size; ++k) {
      p0.back()[k] = p.back()[k] = randomIn(-1, 1);
      m0.back()[k] = m.back()[k] = randomIn(-1, 1);
      v0.back()[k] = v.back()[k] = randomIn(0, 1);
      g.back()[k] = randomIn(-1, 1);
    }
  }
  int buffer = 0;
  for (auto *list : {&p, &g, &m, &v, &t}) {
    std::vector<Member> members;
    for (auto &tensor : *list)
      members.push_back(tensor.vector());
    harness.bindList(buffer++, members);
  }
  for (double *scalar : {&lr, &beta1, &beta2, &eps, &decay})
    harness.bindScalar(buffer++, scalar);
  harness.bind();
  constexpr int steps = 3;
  for (int step = 0; step < steps; ++step)
    harness.launch();
  for (size_t member = 0; member < p.size(); ++member) {
    EXPECT_EQ(t[member][0], 3.0f * (member + 1) + steps);
    EXPECT_TRUE(p[member].guardHolds() && v[member].guardHolds());
    for (int64_t k = 0; k < p[member].size(); ++k) {
      volatile float x = p0[member][k], mm = m0[member][k], vv = v0[member][k];
      float grad = g[member][k], lr32 = lr, b1 = beta1, b2 = beta2,
            o1 = 1 - beta1, o2 = 1 - beta2, e = eps, wd = decay;
      for (int step = 1; step <= steps; ++step) {
        int n = 3 * (member + 1) + step;
        float c1 = 1 - powi(beta1, n), c2 = std::sqrt(1 - powi(beta2, n));
        volatile float keep = lr32 * wd, factor = 1 - keep;
        x = x * factor;
        volatile float ma = b1 * mm, mb = o1 * grad;
        mm = ma + mb;
        volatile float gg = grad * grad, va = b2 * vv, vb = o2 * gg;
        vv = va + vb;
        volatile float scaled = std::sqrt(vv) / c2, denom = scaled + e;
        volatile float move = lr32 / c1 * (mm / denom);
        x = x - move;
      }
      ASSERT_EQ(p[member][k], x) << member << ' ' << k;
      ASSERT_EQ(m[member][k], mm);
      ASSERT_EQ(v[member][k], vv);
    }
  }
}

TEST(CpuMap, TwoSegments) {
  CpuHarness harness(R"(
!f = !foreach.list<tensor<?xf32>>
!d = !foreach.list<tensor<?xf64>>
fused.program @k(%a: !f {foreach.donate = 0 : i64},
                %b: !d {foreach.donate = 1 : i64}, %s: tensor<f32>) -> (!f, !d)
    attributes {buffers = []} {
  %x, %y = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4, 2],
                               tile = [1024, 512], reason = "">
      name "two" result_buffers [0, 1]
      (%p = %a : !f, %q = %s : tensor<f32>) -> !f {
    %r = arith.mulf %p, %q : f32
    fused.yield %r : f32
  } and (%p = %b : !d, %q = %s as f64 : tensor<f32>) -> !d {
    %r = arith.subf %p, %q : f64
    fused.yield %r : f64
  }
  fused.yield %x, %y : !f, !d
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Tensor<float> a(1500), b(3);
  Tensor<double> c(700), d(1300);
  for (auto &x : a)
    x = 2;
  for (auto &x : b)
    x = 3;
  for (auto &x : c)
    x = 4;
  for (auto &x : d)
    x = 5;
  float s = 0.5;
  harness.bindList(0, {a.vector(), b.vector()});
  harness.bindList(1, {c.vector(), d.vector()});
  harness.bindScalar(2, &s);
  harness.run();
  for (float x : a)
    ASSERT_EQ(x, 1);
  for (float x : b)
    ASSERT_EQ(x, 1.5);
  for (double x : c)
    ASSERT_EQ(x, 3.5);
  for (double x : d)
    ASSERT_EQ(x, 4.5);
}

} // namespace
