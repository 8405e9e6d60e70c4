//===- CpuSpeedTest.cpp - the speed of the cpu target ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not run by default (--gtest_also_run_disabled_tests). Prints the bandwidth of
// typical sweeps beside the bandwidth of a plain loop over the same bytes.
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

#include <chrono>

using namespace heddle::test;

namespace {

double secondsOf(llvm::function_ref<void()> work) {
  double best = 1e9;
  for (int k = 0; k < 10; ++k) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count());
  }
  return best;
}

struct Floats {
  std::vector<std::vector<float>> memory;
  std::vector<Member> members;
  Floats(int64_t total, int64_t each, float low, float high) {
    for (; total > 0; total -= each) {
      auto &list = memory.emplace_back(std::min(total, each));
      float x = low;
      for (float &value : list) {
        value = x;
        x = x + 0.001f > high ? low : x + 0.001f;
      }
    }
    for (auto &list : memory)
      members.push_back({list.data(), 1, static_cast<int64_t>(list.size())});
  }
};

constexpr int64_t total = 25'600'000, each = 160'000;

TEST(CpuSpeed, DISABLED_Adamw) {
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>
fused.program @k(%param: !list {foreach.donate = 0 : i64}, %grad: !list,
                %m: !list {foreach.donate = 1 : i64},
                %v: !list {foreach.donate = 2 : i64}, %lr: !num)
    -> (!list, !list, !list) attributes {buffers = []} {
  %p1, %m1, %v1 = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "step" result_buffers [0, 2, 3]
      (%p = %param, %g = %grad, %mm = %m, %vv = %v : !list, %l = %lr : !num)
      -> (!list, !list, !list) {
    %b1 = arith.constant 0.9 : f32
    %n1 = arith.constant 0.1 : f32
    %b2 = arith.constant 0.999 : f32
    %n2 = arith.constant 0.001 : f32
    %e = arith.constant 1.0e-8 : f32
    %factor = arith.constant 0.99999 : f32
    %p0 = arith.mulf %p, %factor : f32
    %ma = arith.mulf %b1, %mm : f32
    %mb = arith.mulf %n1, %g : f32
    %mn = arith.addf %ma, %mb : f32
    %va = arith.mulf %b2, %vv : f32
    %gg = arith.mulf %g, %g : f32
    %vb = arith.mulf %n2, %gg : f32
    %vn = arith.addf %va, %vb : f32
    %root = math.sqrt %vn : f32
    %c2 = arith.constant 0.7 : f32
    %scaled = arith.divf %root, %c2 : f32
    %denom = arith.addf %scaled, %e : f32
    %ratio = arith.divf %mn, %denom : f32
    %move = arith.mulf %l, %ratio : f32
    %pn = arith.subf %p0, %move : f32
    fused.yield %pn, %mn, %vn : f32, f32, f32
  }
  fused.yield %p1, %m1, %v1 : !list, !list, !list
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Floats p(total, each, -1, 1), g(total, each, -1, 1), m(total, each, -1, 1),
      v(total, each, 0.1, 1);
  float lr = 1e-3;
  int buffer = 0;
  for (Floats *list : {&p, &g, &m, &v})
    harness.bindList(buffer++, list->members);
  harness.bindScalar(buffer, &lr);
  harness.bind();
  double ours = secondsOf([&] { harness.launch(); });
  // The same bytes, almost without computation.
  double plain = secondsOf([&] {
    for (size_t t = 0; t < p.memory.size(); ++t) {
      float *__restrict__ a = p.memory[t].data(),
                          *__restrict__ b = g.memory[t].data(),
                          *__restrict__ c = m.memory[t].data(),
                          *__restrict__ d = v.memory[t].data();
      for (size_t k = 0; k < p.memory[t].size(); ++k) {
        a[k] += b[k];
        c[k] += b[k];
        d[k] += b[k];
      }
    }
  });
  printf("adamw: %.2f ms, %.1f GB/s; plain loop %.2f ms, %.1f GB/s\n",
         ours * 1e3, total * 28 / ours * 1e-9, plain * 1e3,
         total * 28 / plain * 1e-9);
}

TEST(CpuSpeed, DISABLED_Norm) {
  for (std::string computed : {"f32", "f64"}) {
    std::string num = "tensor<" + computed + ">";
    CpuHarness harness(
        "!list = !foreach.list<tensor<?xf32>>\n"
        "fused.program @k(%x: !list) -> " +
        num + " attributes {buffers = [#fused.buffer<\"s\", result, " + num +
        ">]} {\n%s = fused.sweep" + stream("norm", "1", 4, 4096) +
        "(%g = %x as " + computed + " : !list) -> " + num +
        " {\n%q = arith.mulf %g, %g : " + computed +
        "\n%s = fused.reduce add list %q : " + computed +
        "\nfused.yield %s : " + computed + "\n}\nfused.yield %s : " + num +
        "\n}");
    ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
    Floats x(total, each, -1, 1);
    double sum = 0;
    harness.bindList(0, x.members);
    harness.bindScalar(1, &sum);
    harness.bind();
    double ours = secondsOf([&] { harness.launch(); });
    printf("norm in %s: %.2f ms, %.1f GB/s\n", computed.c_str(), ours * 1e3,
           total * 4 / ours * 1e-9);
  }
}

TEST(CpuSpeed, DISABLED_Softmax) {
  CpuHarness harness(R"(
!mat = !foreach.list<tensor<?x?xf32>>
fused.program @k(%x: !mat) -> !mat
    attributes {buffers = [#fused.buffer<"y", result, !mat>]} {
  %y = fused.sweep
      schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4],
                               reason = "">
      name "softmax" result_buffers [1]
      (%v = %x[i, j] : !mat) -> !mat {
    %m = fused.reduce max row %v : f32
    %d = arith.subf %v, %m : f32
    %e = math.exp %d : f32
    %s = fused.reduce add row %e : f32
    %p = arith.divf %e, %s : f32
    fused.yield %p : f32
  }
  fused.yield %y : !mat
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  std::vector<float> x(2000 * 2000, 0.5f), y(x);
  harness.bindList(0, {{x.data(), 2000, 2000}});
  harness.bindList(1, {{y.data(), 2000, 2000}});
  harness.bind();
  double ours = secondsOf([&] { harness.launch(); });
  printf("softmax of 4 M: %.2f ms, %.2f ns per element\n", ours * 1e3,
         ours / x.size() * 1e9);
}

} // namespace
