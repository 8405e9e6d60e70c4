//===- SinkhornTest.cpp - `sinkhorn` against plain loops ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares all options with the oracle, which traverses the matrix twice per
// iteration in double, and checks properties of solutions.
//
//===----------------------------------------------------------------------===//

#include "SinkhornHarness.h"

namespace heddle::test {
namespace {

/// A value of every option that changes the result.
struct Variant {
  Settings settings;
  std::string options;
  Scalars scalars;
  std::string convention = "scaling";
  bool given = false, logKernel = false, logWeights = false, normalize = false;
  bool list = false, groups = false, byColumns = false;
};

Variant randomVariant(std::mt19937_64 &random) {
  auto oneIn = [&](int k) { return random() % k == 0; };
  Variant v;
  Settings &s = v.settings;
  s.eps = 0.05 + 0.1 * (random() % 8);
  s.limit = 1 + random() % 30;
  if (oneIn(3))
    s.rhoA = 0.3 * (1 + random() % 5);
  if (oneIn(3))
    s.rhoB = 0.4 * (1 + random() % 5);
  s.entropy = oneIn(2);
  s.columnsFirst = oneIn(2);
  s.omega = oneIn(3) ? 0.7 : oneIn(2) ? 1.4 : 1;
  s.norm = std::vector<std::string>{"l1", "l2", "max"}[random() % 3];
  v.convention =
      std::vector<std::string>{"scaling", "ott", "geomloss"}[random() % 3];
  v.given = oneIn(2);
  v.logKernel = oneIn(4);
  v.logWeights = oneIn(3);
  v.normalize = oneIn(4);
  v.groups = oneIn(4);
  v.byColumns = oneIn(2);
  auto number = [&](const std::string &name, double value, double written) {
    v.options += "," + name + "=" + std::to_string(written);
    v.scalars[name] = value;
  };
  v.options = "dtype=f64,order=" + std::string(s.columnsFirst ? "v" : "u") +
              ",norm=" + s.norm + ",convention=" + v.convention +
              ",regularizer=" + (s.entropy ? "entropy" : "kl") +
              ",init=" + (v.given ? "given" : "zero") +
              ",matrix=" + (v.logKernel ? "log_kernel" : "cost") +
              ",layout=" + (v.byColumns ? "column" : "row") +
              ",weights=" + (v.logWeights ? "log" : "plain") +
              ",normalize=" + (v.normalize ? "true" : "false") +
              ",groups=" + (v.groups ? "true" : "false");
  number("eps", s.eps, 1);
  number("tol", -1, 1); // below every error
  if (s.rhoA != kInf)
    number("rho_a", s.rhoA, 1);
  if (s.rhoB != kInf)
    number("rho_b", s.rhoB, 1);
  if (s.omega != 1)
    number("omega", s.omega, 1.5);
  if (!v.logKernel && oneIn(3)) {
    double eps = s.eps;
    v.list = oneIn(2);
    v.options += std::string(",anneal=") + (v.list ? "list" : "geometric");
    if (!v.list) {
      number("eps0", 2, 1);
      number("decay", 0.6, 0.5);
    }
    s.epsOf = v.list ? std::function<double(int)>([eps](int iteration) {
      const double list[] = {3, 1, 0.9, 0.01};
      return std::fmax(eps, list[std::min(iteration, 3)]);
    })
                     : [eps](int iteration) {
                         return std::fmax(eps, 2 * std::pow(0.6, iteration));
                       };
  }
  v.options += ",outputs=potentials/plan/cost/dual/marginals/transforms/argmax/"
               "product/projection/history,points=2";
  v.scalars["limit"] = s.limit;
  s.tol = -1;
  return v;
}

/// Converts the log scalings of the oracle to the potentials of a convention
/// or, if `back`, vice versa.
Vector inConvention(const Variant &variant, const Vector &potentials,
                    const Vector &weights, bool back = false) {
  Vector result;
  for (size_t k = 0; k < potentials.size(); ++k) {
    double eps = variant.convention == "scaling" ? 1 : variant.settings.eps;
    double weight = variant.convention == "geomloss" ? std::log(weights[k]) : 0;
    result.push_back(back ? potentials[k] / eps + weight
                          : eps * (potentials[k] - weight));
  }
  return result;
}

/// -eps log sum exp(v - C / eps) for each row, or the same for columns.
Vector transformOf(const Problem &p, double eps, const Vector &other,
                   bool ofRows) {
  Vector result;
  int64_t count = ofRows ? p.rows : p.columns;
  for (int64_t k = 0; k < count; ++k) {
    double sum = 0;
    for (size_t l = 0; l < other.size(); ++l)
      sum += std::exp(other[l] -
                      p.cost[ofRows ? k * p.columns + l : l * p.columns + k] /
                          eps);
    result.push_back(-eps * std::log(sum));
  }
  return result;
}

/// Without iterations, the outputs of given potentials are those of the solve
/// that returned them. The given potentials are not changed.
TEST_P(Sinkhorn, OutputsOfGivenPotentials) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(5, 8), {17, 3}, {1, 6}, {4, 1}, {33, 40}})
    problems.push_back(oracle::randomProblem(n, m, n * 10 + m));
  removeWeights(problems.back(), {2, 30}, {0, 7});
  const std::string outputs =
      "plan/cost/dual/marginals/transforms/argmax/projection,points=1";
  for (std::string options :
       {"dtype=f64", "dtype=f64,rho_a=1,convention=ott",
        "dtype=f64,convention=geomloss,layout=column,order=v",
        "dtype=f64,regularizer=entropy,rho_b=2,normalize=true"}) {
    SCOPED_TRACE(options);
    Lists lists;
    for (const Problem &p : problems)
      lists["x1"].push_back(Vector(p.b.begin(), p.b.end()));
    isWide = false;
    Results whole = solve(options + ",outputs=potentials/" + outputs, problems,
                          {{"eps", 0.3}, {"limit", 20}, {"tol", -1}}, lists);
    ASSERT_FALSE(whole.lists.empty());
    for (const char *name : {"u", "v", "f", "g"})
      if (auto found = whole.lists.find(name); found != whole.lists.end())
        lists[name] = found->second;
    isWide = true; // without a loop, no panels run
    Results r = solve(options + ",iterate=false,init=given,outputs=" + outputs,
                      problems, {{"eps", 0.3}}, lists);
    EXPECT_EQ(r.lists.size(), 9u);
    for (auto &[name, members] : r.lists)
      for (size_t m = 0; m < members.size(); ++m)
        expectNear(members[m], whole[name][m], 1e-12, name);
  }
}

/// The dual value for prices so large that the sums nearly match, in f32.
TEST_P(Sinkhorn, DualOfLargePrices) {
  std::vector<Problem> problems{oracle::randomProblem(17, 30, 5)};
  for (double rho : {3e4, 1e9, kInf})
    for (bool entropy : {false, true}) {
      SCOPED_TRACE(rho);
      Settings s;
      s.eps = 0.25;
      s.rhoA = s.rhoB = rho;
      s.entropy = entropy;
      s.limit = 200;
      s.tol = -1;
      Solution exact = oracle::solve(problems[0], s);
      Results r =
          solve(std::string("rho_a=1,rho_b=1,outputs=dual,regularizer=") +
                    (entropy ? "entropy" : "kl"),
                problems,
                {{"eps", 0.25},
                 {"rho_a", rho},
                 {"rho_b", rho},
                 {"tol", -1},
                 {"limit", 200}});
      double dual = oracle::outputsOf(problems[0], s, exact.u, exact.v).dual;
      expectNear(r["dual"][0], {dual}, 1e-5, "dual");
    }
}

TEST_P(Sinkhorn, EveryOption) {
  std::mt19937_64 random(17);
  // Every variant of the CUDA source is compiled.
  int count = GetParam() == Executor::interpreter ? 150
              : GetParam() == Executor::cpu       ? 40
                                                  : 8;
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(5, 8), {17, 3}, {1, 6}, {4, 1}, {33, 40}})
    problems.push_back(oracle::randomProblem(n, m, n * 100 + m));
  size_t size = problems.size();
  for (int k = 0; k < count; ++k) {
    Variant v = randomVariant(random);
    SCOPED_TRACE(v.options);
    Lists lists;
    std::vector<Solution> starts(size);
    auto number = [&] { return (random() % 1000) / 1000.0 - 0.5; };
    for (size_t m = 0; m < size; ++m) {
      const Problem &p = problems[m];
      double scale = v.normalize ? 3 : 1;
      Vector kernel = p.cost;
      for (double &c : kernel)
        c /= -v.settings.eps;
      lists["L"].push_back(kernel);
      for (auto [name, weights] : {std::pair("a", p.a), {"b", p.b}}) {
        for (double &w : weights)
          w = v.logWeights ? std::log(scale * w) : scale * w;
        lists[(v.logWeights ? "log_" : "") + std::string(name)].push_back(
            weights);
      }
      lists["x1"].push_back({});
      lists["x2"].push_back({});
      for (int64_t j = 0; j < p.columns; ++j) {
        lists["x1"].back().push_back(number());
        lists["x2"].back().push_back(number());
      }
      lists["errors"].push_back(Vector(10, -1));
      lists["epsilons"].push_back({3, 1, 0.9, 0.01});
      // The initial potentials of the convention, given or 0.
      Vector f(p.rows), g(p.columns);
      if (v.given)
        for (Vector *x : {&f, &g})
          for (double &w : *x)
            w = number();
      bool scaling = v.convention == "scaling";
      lists[scaling ? "u" : "f"].push_back(f);
      lists[scaling ? "v" : "g"].push_back(g);
      starts[m].u = inConvention(v, f, p.a, true);
      starts[m].v = inConvention(v, g, p.b, true);
    }
    if (v.groups)
      for (auto &[name, value] : v.scalars)
        lists[name] = std::vector<Vector>(size, Vector{value});
    spreads = k % 2;
    Results r = solve(v.options, problems, v.scalars, lists);
    ASSERT_FALSE(r.lists.empty());
    for (size_t m = 0; m < size; ++m) {
      SCOPED_TRACE(m);
      const Problem &p = problems[m];
      Solution s = oracle::solve(p, v.settings, &starts[m]);
      ASSERT_EQ(r["iterations"][m][0], v.settings.limit);
      ASSERT_EQ(r["status"][m], Vector{0});
      bool scaling = v.convention == "scaling";
      const Vector &f = r[scaling ? "u" : "f"][m],
                   &g = r[scaling ? "v" : "g"][m];
      expectNear(f, inConvention(v, s.u, p.a), 1e-12, "potentials of rows");
      expectNear(g, inConvention(v, s.v, p.b), 1e-12, "potentials of columns");
      expectNear(r["error"][m], {s.error}, 1e-11, "error");
      for (int t = 0; t < 10 && t < s.iterations; ++t)
        EXPECT_NEAR(r["errors"][m][t], s.errors[t], 1e-11 * (1 + s.errors[t]));
      for (int t = v.settings.limit; t < 10; ++t)
        EXPECT_EQ(r["errors"][m][t], -1);
      oracle::Outputs o = oracle::outputsOf(p, v.settings, s.u, s.v);
      expectNear(r["plan"][m], o.plan, 1e-11, "plan");
      expectNear(r["marginal_a"][m], o.rowSums, 1e-11, "marginal_a");
      expectNear(r["marginal_b"][m], o.columnSums, 1e-11, "marginal_b");
      expectNear(r["cost"][m], {o.cost}, 1e-11, "cost");
      expectNear(r["dual"][m], {o.dual}, 1e-10, "dual");
      expectNear(r["transform_a"][m],
                 transformOf(p, v.settings.eps, s.v, /*ofRows=*/true), 1e-11,
                 "transform_a");
      expectNear(r["transform_b"][m],
                 transformOf(p, v.settings.eps, s.u, /*ofRows=*/false), 1e-11,
                 "transform_b");
      for (int d = 1; d <= 2; ++d) {
        std::string x = "x" + std::to_string(d);
        for (int64_t i = 0; i < p.rows; ++i) {
          double sum = 0;
          for (int64_t j = 0; j < p.columns; ++j)
            sum += o.plan[i * p.columns + j] * lists[x][m][j];
          EXPECT_NEAR(r["product" + std::to_string(d)][m][i], sum, 1e-11);
          EXPECT_NEAR(r["y" + std::to_string(d)][m][i], sum / o.rowSums[i],
                      1e-11);
        }
      }
      for (int64_t i = 0; i < p.rows; ++i) {
        auto row = o.plan.begin() + i * p.columns;
        double most = *std::max_element(row, row + p.columns);
        EXPECT_NEAR(row[static_cast<int64_t>(r["argmax"][m][i])], most,
                    1e-12 * most);
      }
    }
  }
}

/// With annealing, the order of sides and the layout change neither the
/// iterations nor the result, and no problem converges before the last eps.
TEST_P(Sinkhorn, AnnealsInEveryOrder) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(40, 37), {150, 9}, {1, 6}, {300, 1}})
    problems.push_back(oracle::randomProblem(n, m, n + m));
  problems.push_back(oracle::randomProblem(70, 21, 3));
  removeWeights(problems.back(), {2, 69}, {0, 7, 20});
  const double list[] = {4, 3, 1.1, 0.9, 0.01};
  struct Sides {
    const char *options;
    double rhoA, rhoB, omega;
    bool entropy;
    const char *type = "f64";
  };
  for (Sides sides :
       {Sides{"", kInf, kInf, 1, false},
        {",rho_b=3", kInf, 3, 1, false, "f32"},
        {",rho_a=0.7,omega=1.3", 0.7, kInf, 1.3, false},
        {",rho_a=2,rho_b=0.4,regularizer=entropy", 2, 0.4, 1, true}})
    for (bool columnsFirst : {false, true})
      for (bool byColumns : {false, true}) {
        bool isList = columnsFirst != byColumns;
        isWide = byColumns; // 1 x 300 does not fit in panels
        std::string options =
            "dtype=" + std::string(sides.type) +
            ",outputs=potentials/history,order=" + (columnsFirst ? "v" : "u") +
            ",layout=" + (byColumns ? "column" : "row") +
            ",anneal=" + (isList ? "list" : "geometric") + sides.options;
        SCOPED_TRACE(options);
        Settings s;
        s.eps = 0.3;
        s.rhoA = sides.rhoA;
        s.rhoB = sides.rhoB;
        s.omega = sides.omega;
        s.entropy = sides.entropy;
        s.columnsFirst = columnsFirst;
        s.epsOf = [&](int iteration) {
          return std::fmax(s.eps, isList ? list[std::min(iteration, 4)]
                                         : 2 * std::pow(0.6, iteration));
        };
        // Of the geometric sequence 2 0.6^4 is the first value below 0.3; of
        // the list the last value.
        for (auto [limit, tol] : {std::pair(0, -1.0),
                                  {1, -1.0},
                                  {3, -1.0},
                                  {12, -1.0},
                                  {12, 1e9}}) {
          SCOPED_TRACE(limit);
          s.limit = limit;
          s.tol = tol;
          Lists lists;
          lists["errors"].assign(problems.size(), Vector(13, -1));
          lists["epsilons"].assign(problems.size(),
                                   Vector(std::begin(list), std::end(list)));
          Results r = solve(options, problems,
                            {{"eps", s.eps},
                             {"eps0", 2},
                             {"decay", 0.6},
                             {"limit", limit},
                             {"tol", tol}},
                            lists);
          ASSERT_FALSE(r.lists.empty());
          for (size_t m = 0; m < problems.size(); ++m) {
            SCOPED_TRACE(m);
            Solution o = oracle::solve(problems[m], s);
            EXPECT_EQ(r["iterations"][m][0], tol > 0 ? 5 : limit);
            EXPECT_EQ(r["converged"][m][0], tol > 0);
            double allowed = sides.type == std::string("f64") ? 1e-12 : 2e-5;
            expectNear(r["u"][m], o.u, allowed, "u");
            expectNear(r["v"][m], o.v, allowed, "v");
            for (int t = 0; t < 13; ++t) {
              double error = t < o.iterations ? o.errors[t] : -1;
              expectNear({r["errors"][m][t]}, {error}, 10 * allowed, "error");
            }
          }
        }
      }
}

/// At the solution the primal and dual values are equal and the potentials are
/// a fixed point; before, the dual value is lower.
TEST_P(Sinkhorn, SolutionsAreOptimal) {
  Problem p = oracle::randomProblem(9, 12, 5);
  for (const char *sides :
       {"", ",rho_a=0.7", ",rho_b=0.4", ",rho_a=0.7,rho_b=0.4"})
    for (bool entropy : {false, true}) {
      if (entropy && GetParam() == Executor::panels)
        continue;
      std::string options = "dtype=f64,outputs=potentials/cost/dual" +
                            std::string(sides) +
                            ",regularizer=" + (entropy ? "entropy" : "kl");
      SCOPED_TRACE(options);
      Settings s;
      s.eps = 0.15;
      s.entropy = entropy;
      llvm::StringRef given(sides);
      if (given.contains("rho_a"))
        s.rhoA = 0.7;
      if (given.contains("rho_b"))
        s.rhoB = 0.4;
      double best = -kInf;
      for (double limit : {3.0, 10000.0}) {
        Results r = solve(options, {p},
                          {{"eps", s.eps}, {"tol", 1e-14}, {"limit", limit}});
        auto o = oracle::outputsOf(p, s, r["u"][0], r["v"][0]);
        EXPECT_NEAR(r["dual"][0][0], o.dual, 1e-12);
        EXPECT_GE(o.dual, best - 1e-13);
        best = o.dual;
        if (limit > 3) {
          EXPECT_EQ(r["converged"][0], Vector{1});
          EXPECT_NEAR(o.primal, o.dual, 1e-12);
          s.limit = 1;
          Solution fixed{r["u"][0], r["v"][0]};
          fixed = oracle::solve(p, s, &fixed);
          expectNear(fixed.u, r["u"][0], 1e-12, "fixed point u");
          expectNear(fixed.v, r["v"][0], 1e-12, "fixed point v");
        }
      }
    }
}

TEST_P(Sinkhorn, ColumnSumsHoldAfterOneIteration) {
  Problem p = oracle::randomProblem(30, 20, 5);
  Results r = solve("dtype=f64,outputs=marginals", {p}, {{"limit", 1}});
  expectNear(r["marginal_b"][0], p.b, 1e-15, "column sums");
}

TEST_P(Sinkhorn, EveryStrengthOfTheEntropy) {
  std::vector<Problem> problems{oracle::randomProblem(21, 34, 2),
                                oracle::randomProblem(8, 8, 3)};
  for (double eps : {1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0, 1e4})
    for (const char *sides : {"", ",rho_a=1,rho_b=2"}) {
      Settings s;
      s.eps = eps;
      s.limit = 60;
      s.tol = -1;
      if (*sides)
        s.rhoA = 1, s.rhoB = 2;
      Results r = solve(std::string("dtype=f64") + sides, problems,
                        {{"eps", eps}, {"limit", 60}, {"tol", -1}});
      Results single = solve(std::string("dtype=f32") + sides, problems,
                             {{"eps", eps}, {"limit", 60}, {"tol", -1}});
      for (size_t m = 0; m < problems.size(); ++m) {
        Solution o = oracle::solve(problems[m], s);
        expectNear(r["u"][m], o.u, 1e-12, "u");
        expectNear(r["v"][m], o.v, 1e-12, "v");
        // In f32 the exponents have an error of one ulp, and so have sums of
        // their exponentials.
        Problem rounded = problems[m];
        for (Vector *x : {&rounded.cost, &rounded.a, &rounded.b})
          for (double &c : *x)
            c = static_cast<float>(c);
        Solution f = oracle::solve(rounded, s);
        double largest = 1 / eps;
        for (double u : f.u)
          largest = std::fmax(largest, std::fabs(u));
        for (size_t k = 0; k < f.u.size(); ++k)
          ASSERT_NEAR(single["u"][m][k], f.u[k], 16 * 0x1p-24 * largest) << eps;
      }
    }
}

/// Every problem of a list stops at its own iteration, with the values of that
/// iteration.
TEST_P(Sinkhorn, ProblemsStopAlone) {
  std::vector<Problem> problems;
  std::vector<Vector> eps;
  for (int k = 0; k < 6; ++k) {
    problems.push_back(oracle::randomProblem(5 + 3 * k, 20 - 2 * k, k));
    eps.push_back({0.02 * (1 << k)});
  }
  Results r = solve("dtype=f64,groups=true", problems, {{"limit", 400}},
                    {{"eps", eps}, {"tol", std::vector<Vector>(6, {1e-7})}});
  std::set<double> iterations;
  for (size_t m = 0; m < problems.size(); ++m) {
    Settings s;
    s.eps = eps[m][0];
    s.tol = 1e-7;
    s.limit = 400;
    Solution o = oracle::solve(problems[m], s);
    iterations.insert(o.iterations);
    EXPECT_EQ(r["iterations"][m][0], o.iterations);
    EXPECT_EQ(r["converged"][m][0], o.error <= 1e-7);
    expectNear(r["u"][m], o.u, 1e-12, "u");
  }
  EXPECT_GE(iterations.size(), 5u);
}

TEST_P(Sinkhorn, NoIterations) {
  Problem p = oracle::randomProblem(3, 4, 1);
  Results r = solve("dtype=f64,init=given", {p}, {{"limit", 0}},
                    {{"u", {{1, 2, 3}}}, {"v", {{4, 5, 6, 7}}}});
  EXPECT_EQ(r["u"][0], (Vector{1, 2, 3}));
  EXPECT_EQ(r["v"][0], (Vector{4, 5, 6, 7}));
  EXPECT_EQ(r["error"][0], Vector{kInf});
  EXPECT_EQ(r["iterations"][0], Vector{0});
  EXPECT_EQ(r["converged"][0], Vector{0});
  EXPECT_EQ(r["status"][0], Vector{0});
}

/// From a solution, one iteration converges.
TEST_P(Sinkhorn, WarmStarts) {
  Problem p = oracle::randomProblem(14, 11, 1);
  for (std::string convention : {"scaling", "ott", "geomloss"})
    for (std::string sides : {"", ",rho_a=1,rho_b=2"})
      for (std::string order : {"u", "v"}) {
        std::string options = "dtype=f64,init=given,convention=" + convention +
                              ",order=" + order + sides;
        SCOPED_TRACE(options);
        std::string f = convention == "scaling" ? "u" : "f";
        std::string g = convention == "scaling" ? "v" : "g";
        Scalars scalars{{"eps", 0.1}, {"tol", 1e-10}};
        Results cold = solve(options, {p}, scalars,
                             {{f, {Vector(14)}}, {g, {Vector(11)}}});
        EXPECT_GT(cold["iterations"][0][0], 3);
        Results warm =
            solve(options, {p}, scalars, {{f, cold[f]}, {g, cold[g]}});
        EXPECT_EQ(warm["iterations"][0], Vector{1});
        EXPECT_EQ(warm["converged"][0], Vector{1});
        expectNear(warm[f][0], cold[f][0], 1e-8, "potentials");
      }
}

TEST_P(Sinkhorn, NarrowMatrices) {
  Problem p = oracle::randomProblem(19, 27, 6);
  for (const char *dtype : {"f64", "f32", "bf16", "f16"})
    for (const char *compute : {"matrix", "f64", "f32"}) {
      std::string options = std::string("dtype=") + dtype +
                            ",compute=" + compute +
                            ",outputs=potentials/plan/cost";
      SCOPED_TRACE(options);
      Problem stored = p;
      llvm::StringRef name(dtype);
      bool isDouble = compute == std::string("f64") ||
                      (compute == std::string("matrix") && name == "f64");
      // Multiples of 1/8, and weights of 2^-k, which every type represents.
      for (double &c : stored.cost)
        c = std::round(c * 8) / 8;
      stored.a = Vector(19, 1.0 / 16);
      stored.b = Vector(27, 19.0 / 16 / 27);
      if (!isDouble)
        for (double &w : stored.b)
          w = static_cast<float>(w);
      Settings s;
      s.limit = 25;
      s.tol = -1;
      Results r = solve(options, {stored},
                        {{"eps", s.eps}, {"limit", 25}, {"tol", -1}});
      Solution o = oracle::solve(stored, s);
      expectNear(r["u"][0], o.u, isDouble ? 1e-12 : 1e-5, "u");
      expectNear(r["v"][0], o.v, isDouble ? 1e-12 : 1e-5, "v");
    }
}

} // namespace
} // namespace heddle::test
