//===- SinkhornPeerTest.cpp - `sinkhorn` against POT ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Skipped unless POT is installed.
//
//===----------------------------------------------------------------------===//

#include "SinkhornHarness.h"

#include <cstdio>

namespace heddle::test {
namespace {

TEST_P(Sinkhorn, AgreesWithPot) {
  const char *script =
      "import sys\n"
      "try:\n"
      "    import numpy as np, ot\n"
      "except ImportError:\n"
      "    sys.exit(0)\n"
      "n, m = 7, 9\n"
      "C = np.array([[(7 * i + 3 * j) % 11 / 11 for j in range(m)] for i in "
      "range(n)])\n"
      "a = np.arange(1.0, n + 1); a /= a.sum()\n"
      "b = np.arange(2.0, m + 2); b /= b.sum()\n"
      "P = ot.sinkhorn(a, b, C, 0.2, method='sinkhorn_log', stopThr=1e-13, "
      "numItermax=10000)\n"
      "Q = ot.unbalanced.sinkhorn_unbalanced(a, b, C, 0.2, (0.5, 0.8), "
      "reg_type='kl', stopThr=1e-13, numItermax=10000)\n"
      "print(*P.ravel(), *Q.ravel())\n";
  std::string command = "python3 -c \"" + std::string(script) + "\"";
  FILE *pipe = popen(command.c_str(), "r");
  ASSERT_TRUE(pipe);
  Vector numbers;
  for (double x; std::fscanf(pipe, "%lf", &x) == 1;)
    numbers.push_back(x);
  int ended = pclose(pipe);
  if (numbers.empty() && (ended == 0 || WEXITSTATUS(ended) == 127))
    GTEST_SKIP() << "Python or POT is not installed";
  ASSERT_EQ(ended, 0);
  Problem p{7, 9, Vector(63), Vector(7), Vector(9)};
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 9; ++j)
      p.at(i, j) = (7 * i + 3 * j) % 11 / 11.0;
  for (int i = 0; i < 7; ++i)
    p.a[i] = (i + 1) / 28.0;
  for (int j = 0; j < 9; ++j)
    p.b[j] = (j + 2) / 54.0;
  Scalars scalars{{"eps", 0.2}, {"tol", 1e-13}, {"limit", 10000}};
  Results balanced = solve("dtype=f64,outputs=plan", {p}, scalars);
  scalars["rho_a"] = 0.5;
  scalars["rho_b"] = 0.8;
  Results relaxed =
      solve("dtype=f64,outputs=plan,rho_a=1,rho_b=1", {p}, scalars);
  ASSERT_EQ(numbers.size(), 126u);
  expectNear(balanced["plan"][0], Vector(numbers.begin(), numbers.begin() + 63),
             1e-9, "plan");
  expectNear(relaxed["plan"][0], Vector(numbers.begin() + 63, numbers.end()),
             1e-9, "unbalanced plan");
}

} // namespace
} // namespace heddle::test
