//===- CpuScalarTest.cpp - every scalar operation on the cpu target -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace heddle::test;

namespace {

/// Runs `body`, which computes %r from %a and %b, over lists.
template <class A, class B, class R>
std::vector<R> evaluate(const std::string &body, const std::string &ta,
                        const std::string &tb, const std::string &tr,
                        std::vector<A> a, std::vector<B> b) {
  std::string la = listType(ta), lb = listType(tb), lr = listType(tr);
  CpuHarness harness(
      "fused.program @k(%x: " + la + ", %y: " + lb + ") -> " + lr +
      " attributes {buffers = [#fused.buffer<\"r\", result, " + lr +
      ">]} {\n%z = fused.sweep" + stream("op", "2") + "(%a = %x : " + la +
      ", %b = %y : " + lb + ") -> " + lr + " {\n" + body +
      "\nfused.yield %r : " + tr + "\n}\nfused.yield %z : " + lr + "\n}");
  bool compiled = harness.compile();
  EXPECT_TRUE(compiled) << body << harness.diagnostics << harness.error;
  Tensor<A> x(a);
  Tensor<B> y(b);
  Tensor<R> z(a.size());
  if (compiled) {
    harness.bindList(0, {x.vector()});
    harness.bindList(1, {y.vector()});
    harness.bindList(2, {z.vector()});
    harness.run();
    EXPECT_TRUE(z.guardHolds());
  }
  return {z.begin(), z.end()};
}

/// Every pair of special values, then random ones: the first or the second of
/// each pair.
template <class T> std::vector<T> interesting(bool second = false) {
  using L = std::numeric_limits<T>;
  const T special[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       L::max(),
                       L::lowest(),
                       L::min(),
                       L::denorm_min(),
                       L::infinity(),
                       -L::infinity(),
                       L::quiet_NaN(),
                       T(0.5),
                       T(-2.5),
                       T(30)};
  std::vector<T> result;
  for (T x : special)
    for (T y : special)
      result.push_back(second ? y : x);
  for (int k = 0; k < 2000; ++k)
    result.push_back(randomIn(-5, 5));
  return result;
}
template <class T> std::vector<T> partners() { return interesting<T>(true); }

template <class T> bool same(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
void exact(const std::string &name, const std::string &type,
           std::function<T(T, T)> expected, bool unary) {
  auto a = interesting<T>(), b = partners<T>();
  auto found = evaluate<T, T, T>("%r = " + name +
                                     (unary ? " %a : " : " %a, %b : ") + type,
                                 type, type, type, a, b);
  for (size_t k = 0; k < a.size(); ++k) {
    volatile T e = expected(a[k], b[k]);
    ASSERT_TRUE(same<T>(found[k], e)) << name << ' ' << a[k] << ' ' << b[k]
                                      << ": " << found[k] << " not " << e;
  }
}

template <class T> T larger(T a, T b) {
  if (a != a || b != b)
    return std::numeric_limits<T>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
template <class T> T smaller(T a, T b) { return -larger(-a, -b); }
template <class T> T signOf(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }

/// The nearest whole number, of two the even one.
template <class T> T toEven(T x) {
  T down = std::floor(x), rest = x - down;
  bool up = rest > T(0.5) || (rest == T(0.5) && std::fmod(down, T(2)) != 0);
  return std::copysign(up ? down + 1 : down, x);
}

template <class T> void exactOps(const std::string &type) {
  exact<T>("arith.addf", type, [](T a, T b) { return a + b; }, false);
  exact<T>("arith.subf", type, [](T a, T b) { return a - b; }, false);
  exact<T>("arith.mulf", type, [](T a, T b) { return a * b; }, false);
  exact<T>("arith.divf", type, [](T a, T b) { return a / b; }, false);
  exact<T>("arith.negf", type, [](T a, T) { return -a; }, true);
  exact<T>("arith.maximumf", type, larger<T>, false);
  exact<T>("arith.minimumf", type, smaller<T>, false);
  exact<T>("math.sqrt", type, [](T a, T) { return std::sqrt(a); }, true);
  exact<T>("math.rsqrt", type, [](T a, T) { return 1 / std::sqrt(a); }, true);
  exact<T>("math.absf", type, [](T a, T) { return std::fabs(a); }, true);
  exact<T>("math.floor", type, [](T a, T) { return std::floor(a); }, true);
  exact<T>("math.ceil", type, [](T a, T) { return std::ceil(a); }, true);
  exact<T>("math.trunc", type, [](T a, T) { return std::trunc(a); }, true);
  exact<T>("math.round", type, [](T a, T) { return std::round(a); }, true);
  exact<T>("math.roundeven", type, [](T a, T) { return toEven(a); }, true);
  exact<T>("arith.remf", type, [](T a, T b) { return std::fmod(a, b); }, false);
  exact<T>(
      "math.copysign", type, [](T a, T b) { return std::copysign(a, b); },
      false);
  exact<T>("foreach.sign", type, [](T a, T) { return signOf(a); }, true);
}
TEST(CpuScalar, ExactF32) { exactOps<float>("f32"); }
TEST(CpuScalar, ExactF64) { exactOps<double>("f64"); }

template <class T> void libraryOps(const std::string &type) {
  auto near = [&](const std::string &name, double (*expected)(double)) {
    auto a = interesting<T>();
    auto found = evaluate<T, T, T>("%r = math." + name + " %a : " + type, type,
                                   type, type, a, a);
    for (size_t k = 0; k < a.size(); ++k) {
      T e = expected(a[k]);
      if (std::isnan(e) || std::isinf(e) || std::fabs(a[k]) > 1e6) {
        ASSERT_EQ(std::isnan(found[k]), std::isnan(e)) << name << ' ' << a[k];
        continue;
      }
      T ulp = std::nextafter(std::fabs(e), T(INFINITY)) - std::fabs(e);
      ASSERT_LE(std::fabs(found[k] - e), 2 * ulp) << name << ' ' << a[k];
    }
  };
  near("exp", std::exp);
  near("exp2", std::exp2);
  near("expm1", std::expm1);
  near("log", std::log);
  near("log2", std::log2);
  near("log1p", std::log1p);
  near("log10", std::log10);
  near("tan", std::tan);
  near("atan", std::atan);
  near("tanh", std::tanh);
  near("sin", std::sin);
  near("cos", std::cos);
  near("erf", std::erf);
}
TEST(CpuScalar, LibraryF32) { libraryOps<float>("f32"); }
TEST(CpuScalar, LibraryF64) { libraryOps<double>("f64"); }

TEST(CpuScalar, SineAndCosineOfOneValue) {
  std::vector<double> a = {0.0, 1.0, 2.0};
  auto found = evaluate<double, double, double>(
      "%s = math.sin %a : f64\n%c = math.cos %a : f64\n"
      "%r = arith.addf %s, %c : f64",
      "f64", "f64", "f64", a, a);
  for (size_t k = 0; k < a.size(); ++k)
    EXPECT_NEAR(found[k], std::sin(a[k]) + std::cos(a[k]), 1e-15);
}

TEST(CpuScalar, TernaryAndPower) {
  auto a = interesting<float>(), b = partners<float>();
  auto fma = evaluate<float, float, float>("%r = math.fma %a, %b, %a : f32",
                                           "f32", "f32", "f32", a, b);
  auto power = evaluate<float, float, float>("%r = math.powf %a, %b : f32",
                                             "f32", "f32", "f32", a, b);
  auto angle = evaluate<float, float, float>("%r = math.atan2 %a, %b : f32",
                                             "f32", "f32", "f32", a, b);
  auto most = evaluate<float, float, float>("%r = arith.maxnumf %a, %b : f32",
                                            "f32", "f32", "f32", a, b);
  auto least = evaluate<float, float, float>("%r = arith.minnumf %a, %b : f32",
                                             "f32", "f32", "f32", a, b);
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_TRUE(same(fma[k], std::fma(a[k], b[k], a[k])));
    ASSERT_TRUE(same(power[k], std::pow(a[k], b[k])));
    ASSERT_TRUE(same(angle[k], std::atan2(a[k], b[k])));
    float m = std::fmax(a[k], b[k]), l = std::fmin(a[k], b[k]);
    if (a[k] == b[k]) { // of two zeros, -0 is the smaller one
      m = std::signbit(a[k]) ? b[k] : a[k];
      l = std::signbit(a[k]) ? a[k] : b[k];
    }
    ASSERT_TRUE(same(most[k], m)) << a[k] << ' ' << b[k];
    ASSERT_TRUE(same(least[k], l)) << a[k] << ' ' << b[k];
  }
}

// Contraction takes place only if both operations allow it.
TEST(CpuScalar, Contraction) {
  std::vector<float> a = {1.000244140625f, 3.1f, 1e10f},
                     b = {-1.0f, 0.1f, 7.3f};
  auto run = [&](const std::string &flags) {
    return evaluate<float, float, float>(
        "%m = arith.mulf %a, %a fastmath<" + flags +
            "> : f32\n%r = arith.addf %b, %m fastmath<contract> : f32",
        "f32", "f32", "f32", a, b);
  };
  auto contracted = run("contract"), plain = run("none");
  for (size_t k = 0; k < a.size(); ++k) {
    volatile float product = a[k] * a[k];
    EXPECT_EQ(plain[k], b[k] + product);
    EXPECT_EQ(contracted[k], std::fma(a[k], a[k], b[k]));
  }
  EXPECT_NE(contracted[0], plain[0]);
}

template <class T> T powi(T base, int n) {
  T r = 1;
  for (unsigned e = n < 0 ? -static_cast<unsigned>(n) : n; e; e >>= 1) {
    if (e & 1)
      r *= base;
    base *= base;
  }
  return n < 0 ? 1 / r : r;
}

template <class T> void integerPowers(const std::string &type) {
  std::vector<T> a;
  std::vector<int32_t> n;
  for (int k = -40; k <= 40; ++k)
    for (T base : {T(0.9), T(0.999), T(-1.7), T(0), T(INFINITY), T(3)}) {
      a.push_back(base);
      n.push_back(k);
    }
  for (int k : {1000000, -1000000, INT32_MAX, INT32_MIN}) {
    a.push_back(T(0.999999));
    n.push_back(k);
  }
  auto found = evaluate<T, int32_t, T>(
      "%r = math.fpowi %a, %b : " + type + ", i32", type, "i32", type, a, n);
  for (size_t k = 0; k < a.size(); ++k)
    ASSERT_TRUE(same(found[k], powi(a[k], n[k]))) << a[k] << ' ' << n[k];
  for (int exponent : {-7, -1, 0, 1, 2, 3, 13}) {
    auto known = evaluate<T, int32_t, T>(
        "%n = arith.constant " + std::to_string(exponent) +
            " : i32\n%r = math.fpowi %a, %n : " + type + ", i32",
        type, "i32", type, a, n);
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_TRUE(same(known[k], powi(a[k], exponent))) << exponent;
  }
}
TEST(CpuScalar, IntegerPowersF32) { integerPowers<float>("f32"); }
TEST(CpuScalar, IntegerPowersF64) { integerPowers<double>("f64"); }

TEST(CpuScalar, Integers) {
  std::vector<int32_t> a, b;
  for (int32_t x : {0, 1, -1, 7, INT32_MAX, INT32_MIN, 123456789})
    for (int32_t y : {0, 1, -1, 5, INT32_MAX, INT32_MIN}) {
      a.push_back(x);
      b.push_back(y);
    }
  auto check = [&](const std::string &body,
                   std::function<int64_t(int64_t, int64_t)> expected) {
    auto found = evaluate<int32_t, int32_t, int32_t>("%r = " + body, "i32",
                                                     "i32", "i32", a, b);
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_EQ(found[k], static_cast<int32_t>(expected(a[k], b[k])))
          << body << ' ' << a[k] << ' ' << b[k];
  };
  using I = int64_t;
  check("arith.addi %a, %b : i32", [](I x, I y) { return x + y; });
  check("arith.subi %a, %b : i32", [](I x, I y) { return x - y; });
  check("arith.muli %a, %b : i32", [](I x, I y) { return x * y; });
  check("arith.andi %a, %b : i32", [](I x, I y) { return x & y; });
  check("arith.ori %a, %b : i32", [](I x, I y) { return x | y; });
  check("arith.xori %a, %b : i32", [](I x, I y) { return x ^ y; });
  check("arith.maxsi %a, %b : i32", [](I x, I y) { return std::max(x, y); });
  check("arith.minsi %a, %b : i32", [](I x, I y) { return std::min(x, y); });
  check("math.absi %a : i32", [](I x, I) { return std::abs(x); });
  using U = uint32_t;
  check("arith.maxui %a, %b : i32", [](U x, U y) { return std::max(x, y); });
  check("arith.minui %a, %b : i32", [](U x, U y) { return std::min(x, y); });
  check("arith.divsi %a, %b : i32", [](I x, I y) { return y ? x / y : 0; });
  check("arith.remsi %a, %b : i32", [](I x, I y) { return y ? x % y : x; });
  check("arith.divui %a, %b : i32", [](U x, U y) { return y ? x / y : 0; });
  check("arith.remui %a, %b : i32", [](U x, U y) { return y ? x % y : x; });
}

// Shifts by at least the width shift out every bit.
TEST(CpuScalar, Shifts) {
  std::vector<int32_t> a, b;
  for (int32_t x : {0, 1, -1, 7, INT32_MAX, INT32_MIN, 123456789})
    for (int32_t y : {0, 1, 5, 31, 32, 33, 64, -1, INT32_MIN, INT32_MAX}) {
      a.push_back(x);
      b.push_back(y);
    }
  auto check = [&](const std::string &name,
                   std::function<int32_t(int32_t, int32_t)> within,
                   std::function<int32_t(int32_t)> beyond) {
    auto found = evaluate<int32_t, int32_t, int32_t>(
        "%r = arith." + name + " %a, %b : i32", "i32", "i32", "i32", a, b);
    for (size_t k = 0; k < a.size(); ++k)
      EXPECT_EQ(found[k],
                b[k] >= 0 && b[k] < 32 ? within(a[k], b[k]) : beyond(a[k]))
          << name << ' ' << a[k] << ' ' << b[k];
  };
  using U = uint32_t;
  auto none = [](int32_t) { return 0; };
  check("shli", [](int32_t x, int32_t y) { return int32_t(U(x) << y); }, none);
  check("shrui", [](int32_t x, int32_t y) { return int32_t(U(x) >> y); }, none);
  check(
      "shrsi", [](int32_t x, int32_t y) { return x >> y; },
      [](int32_t x) { return x < 0 ? -1 : 0; });
}

TEST(CpuScalar, Bits) {
  std::vector<float> a = {0.0f, -0.0f, 1.0f, -2.5f, INFINITY};
  auto bits = evaluate<float, float, int32_t>(
      "%r = arith.bitcast %a : f32 to i32", "f32", "f32", "i32", a, a);
  EXPECT_EQ(bits, (std::vector<int32_t>{0, INT32_MIN, 0x3f800000,
                                        int32_t(0xc0200000), 0x7f800000}));
  auto back = evaluate<int32_t, int32_t, float>(
      "%r = arith.bitcast %a : i32 to f32", "i32", "i32", "f32", bits, bits);
  EXPECT_EQ(back, a);
}

TEST(CpuScalar, Conversions) {
  std::vector<float> a = {0.0f,  -1.9f, 2.5f,     3e9f,
                          -3e9f, NAN,   INFINITY, 127.5f};
  auto toInt = evaluate<float, float, int32_t>(
      "%r = arith.fptosi %a : f32 to i32", "f32", "f32", "i32", a, a);
  std::vector<int32_t> expected = {0,         -1, 2,         INT32_MAX,
                                   INT32_MIN, 0,  INT32_MAX, 127};
  EXPECT_EQ(toInt, expected);
  auto toUnsigned = evaluate<float, float, int32_t>(
      "%r = arith.fptoui %a : f32 to i32", "f32", "f32", "i32", a, a);
  expected = {0, 0, 2, int32_t(3000000000u), 0, 0, -1, 127};
  EXPECT_EQ(toUnsigned, expected);
  std::vector<int8_t> bytes = {0, 1, -1, 127, -128};
  auto run = [&](const std::string &body) {
    return evaluate<int8_t, int8_t, double>(body, "i8", "i8", "f64", bytes,
                                            bytes);
  };
  auto of = [](std::initializer_list<double> values) {
    return std::vector<double>(values);
  };
  EXPECT_EQ(run("%r = arith.sitofp %a : i8 to f64"), of({0, 1, -1, 127, -128}));
  EXPECT_EQ(run("%r = arith.uitofp %a : i8 to f64"), of({0, 1, 255, 127, 128}));
  EXPECT_EQ(run("%w = arith.extsi %a : i8 to i64\n"
                "%r = arith.sitofp %w : i64 to f64"),
            of({0, 1, -1, 127, -128}));
  EXPECT_EQ(run("%w = arith.extui %a : i8 to i64\n"
                "%r = arith.sitofp %w : i64 to f64"),
            of({0, 1, 255, 127, 128}));
  EXPECT_EQ(run("%w = arith.trunci %a : i8 to i1\n"
                "%r = arith.uitofp %w : i1 to f64"),
            of({0, 1, 1, 1, 0}));
  EXPECT_EQ(run("%f = arith.sitofp %a : i8 to f32\n"
                "%r = arith.extf %f : f32 to f64"),
            of({0, 1, -1, 127, -128}));
}

TEST(CpuScalar, Comparisons) {
  std::vector<double> a = {1, 1, 2, NAN, NAN, -0.0}, b = {1, 2, 1, 1, NAN, 0.0};
  auto check = [&](const std::string &predicate,
                   std::function<bool(double, double)> expected) {
    auto found = evaluate<double, double, uint8_t>(
        "%r = arith.cmpf " + predicate + ", %a, %b : f64", "f64", "f64", "i1",
        a, b);
    for (size_t k = 0; k < a.size(); ++k)
      EXPECT_EQ(found[k], expected(a[k], b[k])) << predicate << ' ' << k;
  };
  using D = double;
  auto un = [](D x, D y) { return x != x || y != y; };
  check("false", [](D, D) { return false; });
  check("true", [](D, D) { return true; });
  check("oeq", [](D x, D y) { return x == y; });
  check("ogt", [](D x, D y) { return x > y; });
  check("oge", [](D x, D y) { return x >= y; });
  check("olt", [](D x, D y) { return x < y; });
  check("ole", [](D x, D y) { return x <= y; });
  check("one", [](D x, D y) { return x < y || x > y; });
  check("ord", [=](D x, D y) { return !un(x, y); });
  check("ueq", [=](D x, D y) { return un(x, y) || x == y; });
  check("ugt", [=](D x, D y) { return un(x, y) || x > y; });
  check("uge", [=](D x, D y) { return un(x, y) || x >= y; });
  check("ult", [=](D x, D y) { return un(x, y) || x < y; });
  check("ule", [=](D x, D y) { return un(x, y) || x <= y; });
  check("une", [](D x, D y) { return x != y; });
  check("uno", un);
  std::vector<int16_t> i = {1, -1, 5, INT16_MIN}, j = {-1, 1, 5, 0};
  auto compare = [&](const std::string &predicate,
                     std::function<bool(int16_t, int16_t)> expected) {
    auto found = evaluate<int16_t, int16_t, uint8_t>(
        "%r = arith.cmpi " + predicate + ", %a, %b : i16", "i16", "i16", "i1",
        i, j);
    for (size_t k = 0; k < i.size(); ++k)
      EXPECT_EQ(found[k], expected(i[k], j[k])) << predicate << ' ' << k;
  };
  using S = int16_t;
  using U = uint16_t;
  compare("eq", [](S x, S y) { return x == y; });
  compare("ne", [](S x, S y) { return x != y; });
  compare("slt", [](S x, S y) { return x < y; });
  compare("sle", [](S x, S y) { return x <= y; });
  compare("sgt", [](S x, S y) { return x > y; });
  compare("sge", [](S x, S y) { return x >= y; });
  compare("ult", [](U x, U y) { return x < y; });
  compare("ule", [](U x, U y) { return x <= y; });
  compare("ugt", [](U x, U y) { return x > y; });
  compare("uge", [](U x, U y) { return x >= y; });
}

TEST(CpuScalar, ClassesAndChoices) {
  std::vector<float> a = {1, NAN, INFINITY, -INFINITY, 0};
  auto run = [&](const std::string &body) {
    return evaluate<float, float, uint8_t>(body, "f32", "f32", "i1", a, a);
  };
  using V = std::vector<uint8_t>;
  EXPECT_EQ(run("%r = math.isnan %a : f32"), (V{0, 1, 0, 0, 0}));
  EXPECT_EQ(run("%r = math.isinf %a : f32"), (V{0, 0, 1, 1, 0}));
  EXPECT_EQ(run("%r = math.isfinite %a : f32"), (V{1, 0, 0, 0, 1}));
  EXPECT_EQ(run("%z = arith.constant 0.5 : f32\n"
                "%p = arith.cmpf ogt, %a, %z : f32\n"
                "%q = math.isinf %a : f32\n%r = arith.select %p, %q, %p : i1"),
            (V{0, 0, 1, 0, 0}));
}

} // namespace
