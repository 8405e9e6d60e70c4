//===- SinkhornTest.cpp - the program `sinkhorn` against oracles ----------===//
//
// Closed forms, two passes per trip in plain loops, and inputs at the border of
// what has a solution; by the interpreter, on the cpu target, and by the CUDA
// text in panels, executed on the host.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "SinkhornOracle.h"
#include "dialect/Names.h"
#include "dialect/library/Compose.h"
#include "gtest/gtest.h"

#include <cstdio>

using heddle::reference::Arithmetic;
using heddle::runtime::takeError;

namespace heddle::test {

using oracle::kInf;
using oracle::Problem;
using oracle::Settings;
using oracle::Solution;
using oracle::Vector;

namespace {

enum class Executor { interpreter, cpu, panels };

void PrintTo(Executor executor, std::ostream *os) {
  const char *const names[] = {"interpreter", "cpu", "panels"};
  *os << names[static_cast<int>(executor)];
}

/// The members of each result, by name.
struct Results {
  const std::vector<Vector> &operator[](const std::string &name) const {
    auto found = lists.find(name);
    if (found != lists.end())
      return found->second;
    ADD_FAILURE() << "there is no result " << name;
    static const std::vector<Vector> none(64, Vector(64));
    return none;
  }
  std::map<std::string, std::vector<Vector>> lists;
};
using Lists = std::map<std::string, std::vector<Vector>>;
using Scalars = std::map<std::string, double>;

class Sinkhorn : public testing::TestWithParam<Executor> {
protected:
  /// Solves `problems` once by `sinkhorn:OPTIONS`. The names of lists are those
  /// of arguments; `C`, `a` and `b` are the problems' if nothing else is given.
  Results solve(const std::string &options,
                const std::vector<Problem> &problems,
                const Scalars &scalars = {}, Lists lists = {});

  static Inputs inputsFor(Program &program,
                          const std::vector<Problem> &problems,
                          const Scalars &scalars, Lists &lists, bool byColumns);

  /// Whether matrices are parts of larger ones.
  bool spreads = false;
  /// Whether some matrix is too wide for the panels of these tests.
  bool isWide = false;
};

/// The entries of a matrix of `columns` columns, column after column.
Vector transposed(const Vector &entries, int64_t columns) {
  Vector result;
  for (int64_t j = 0; j < columns; ++j)
    for (size_t k = j; k < entries.size(); k += columns)
      result.push_back(entries[k]);
  return result;
}

Inputs Sinkhorn::inputsFor(Program &program,
                           const std::vector<Problem> &problems,
                           const Scalars &scalars, Lists &lists,
                           bool byColumns) {
  for (const Problem &p : problems) {
    lists["C"].push_back(p.cost);
    if (lists["a"].size() < problems.size())
      lists["a"].push_back(p.a);
    if (lists["b"].size() < problems.size())
      lists["b"].push_back(p.b);
  }
  Inputs inputs;
  for (mlir::BlockArgument argument : program.function().getArguments()) {
    std::string name = nameOf(argument).str();
    mlir::Type type = argument.getType();
    if (!foreach::isList(type)) {
      if (auto given = scalars.find(name); given != scalars.end())
        inputs.scalars[name] = given->second;
      else if (name == "limit")
        inputs.scalars[name] = 1000;
      continue;
    }
    ListInput &list = inputs.lists[name];
    const std::vector<Vector> &members = lists[name];
    EXPECT_EQ(members.size(), problems.size()) << name;
    if (members.size() != problems.size())
      continue;
    for (size_t m = 0; m < problems.size(); ++m) {
      std::vector<int64_t> extents;
      Vector entries = members[m];
      if (foreach::rankOf(type) == 2) {
        extents = {problems[m].rows, problems[m].columns};
        if (byColumns) {
          std::swap(extents[0], extents[1]);
          entries = transposed(entries, problems[m].columns);
        }
      } else if (foreach::rankOf(type) == 1) {
        extents = {static_cast<int64_t>(entries.size())};
      }
      list.members.push_back({extents, entries, 0});
    }
  }
  return inputs;
}

Results Sinkhorn::solve(const std::string &options,
                        const std::vector<Problem> &problems,
                        const Scalars &scalars, Lists lists) {
  std::string text = "sinkhorn" + (options.empty() ? "" : ":" + options);
  // Most are solved more than once, and compiling takes longest.
  static std::map<std::string, Program> programs;
  Program &program = programs.try_emplace(text, text).first->second;
  if (!program.isGood())
    return {};
  bool byColumns = llvm::StringRef(options).contains("layout=column");
  Inputs inputs = inputsFor(program, problems, scalars, lists, byColumns);
  if (spreads)
    spreadRows(inputs);
  std::unique_ptr<Runnable> run;
  switch (GetParam()) {
  case Executor::interpreter:
    run = program.reference(inputs, Arithmetic::asWritten);
    break;
  case Executor::cpu:
    run = program.cpu(inputs);
    break;
  case Executor::panels:
    run = program.cuda(inputs, "_panels", 2);
    break;
  }
  if (!run)
    return {};
  if (llvm::Error error = run->step()) {
    ADD_FAILURE() << text << ": " << takeError(std::move(error)).second;
    return {};
  }
  if (GetParam() == Executor::panels) {
    auto &graph =
        static_cast<CudaOnCpuGraph &>(static_cast<GraphRun &>(*run).graph());
    EXPECT_NE(llvm::is_contained(graph.ran, "sinkhorn_loop_panels"), isWide)
        << text;
  }
  Results results;
  for (auto [k, members] : llvm::enumerate(run->results()))
    results.lists[library::resultName(program.function(), k).str()] = members;
  if (auto plans = results.lists.find("plan");
      byColumns && plans != results.lists.end())
    for (auto [m, plan] : llvm::enumerate(plans->second))
      plan = transposed(plan, problems[m].rows);
  return results;
}

void expectNear(const Vector &found, const Vector &expected, double tolerance,
                const std::string &what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t k = 0; k < expected.size(); ++k) {
    if (found[k] == expected[k]) // infinities
      continue;
    ASSERT_LE(std::fabs(found[k] - expected[k]),
              tolerance * (1 + std::fabs(expected[k])))
        << what << ", element " << k << ": expected " << expected[k]
        << ", found " << found[k];
  }
}

/// Products of weights: the plan where costs do not matter.
Vector productOf(const Problem &p) {
  Vector plan;
  for (double a : p.a)
    for (double b : p.b)
      plan.push_back(a * b);
  return plan;
}

//===----------------------------------------------------------------------===//
// Closed forms
//===----------------------------------------------------------------------===//

TEST_P(Sinkhorn, CostsOfRowsAndColumnsAloneDoNotMatter) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(4, 7), {1, 5}, {6, 1}, {1, 1}, {40, 33}}) {
    Problem p = oracle::randomProblem(n, m, n * 100 + m);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j)
        p.at(i, j) = 0.1 * i - 0.2 * j + 3;
    problems.push_back(p);
  }
  for (double eps : {1e-4, 1e-2, 1.0, 1e4}) {
    Results r =
        solve("dtype=f64,outputs=plan", problems, {{"eps", eps}, {"limit", 1}});
    for (size_t k = 0; k < problems.size(); ++k)
      expectNear(r["plan"][k], productOf(problems[k]), 1e-10, "plan");
  }
}

TEST_P(Sinkhorn, TwoByTwo) {
  for (double eps : {0.1, 1.0, 50.0}) {
    double c = 0.7, off = 1 / (2 * (1 + std::exp(c / eps)));
    Problem p{2, 2, {0, c, c, 0}, {0.5, 0.5}, {0.5, 0.5}};
    Results r = solve("dtype=f64,outputs=potentials/plan/cost", {p},
                      {{"eps", eps}, {"tol", 1e-14}});
    expectNear(r["plan"][0], {0.5 - off, off, off, 0.5 - off}, 1e-13, "plan");
    expectNear(r["cost"][0], {c / (1 + std::exp(c / eps))}, 1e-13, "cost");
    EXPECT_EQ(r["converged"][0], Vector{1});
    EXPECT_EQ(r["status"][0], Vector{0});
  }
}

TEST_P(Sinkhorn, OneSource) {
  Problem p = oracle::randomProblem(1, 9, 3);
  double cost = 0;
  for (int j = 0; j < 9; ++j)
    cost += p.b[j] * p.cost[j];
  Results r = solve("dtype=f64,outputs=plan/cost", {p}, {{"tol", 1e-12}});
  expectNear(r["plan"][0], p.b, 1e-14, "plan");
  expectNear(r["cost"][0], {cost}, 1e-14, "cost");
}

/// 1 x 1, both sides relaxed: two linear equations for the potentials.
TEST_P(Sinkhorn, UnbalancedPoint) {
  double c = 0.3, eps = 0.2, rhoA = 0.5, rhoB = 2, la = std::log(1.5),
         lb = std::log(0.4), l = -c / eps;
  double ta = rhoA / (rhoA + eps), tb = rhoB / (rhoB + eps);
  Problem p{1, 1, {c}, {1.5}, {0.4}};
  for (bool entropy : {false, true}) {
    // u = alpha - ta v, v = beta - tb u
    double alpha = entropy ? ta * (la - l) : la - ta * l;
    double beta = entropy ? tb * (lb - l) : lb - tb * l;
    double u = (alpha - ta * beta) / (1 - ta * tb);
    double v = beta - tb * u;
    std::string regularizer = entropy ? "entropy" : "kl";
    Results r = solve("dtype=f64,rho_a=0.5,rho_b=2,regularizer=" + regularizer,
                      {p}, {{"eps", eps}, {"tol", 1e-15}});
    expectNear(r["u"][0], {u}, 1e-13, "u");
    expectNear(r["v"][0], {v}, 1e-13, "v");
    EXPECT_EQ(r["converged"][0], Vector{1});
  }
}

/// A side that costs nothing to miss takes what comes.
TEST_P(Sinkhorn, FreeSide) {
  Problem p = oracle::randomProblem(6, 5, 8);
  double eps = 0.3;
  for (bool entropy : {false, true}) {
    Vector plan;
    for (int i = 0; i < 6; ++i) {
      Vector row;
      double sum = 0;
      for (int j = 0; j < 5; ++j) {
        row.push_back(std::exp(-p.at(i, j) / eps) * (entropy ? 1 : p.b[j]));
        sum += row.back();
      }
      for (double k : row)
        plan.push_back(p.a[i] * k / sum);
    }
    Results r = solve(std::string("dtype=f64,rho_b=1e-14,outputs=plan,") +
                          "regularizer=" + (entropy ? "entropy" : "kl"),
                      {p}, {{"eps", eps}, {"tol", 1e-13}});
    expectNear(r["plan"][0], plan, 1e-12, "plan");
  }
}

/// Towards no entropy at all: sorted points on a line are matched in order.
TEST_P(Sinkhorn, MatchesSortedPoints) {
  int n = 12;
  Problem p{n, n, Vector(n * n), Vector(n, 1.0 / n), Vector(n, 1.0 / n)};
  double cost = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      p.at(i, j) = std::pow(i - (j + 0.1 * std::sin(j)), 2) / (n * n);
    cost += p.at(i, i) / n;
  }
  Results r = solve("dtype=f64,anneal=geometric,outputs=argmax/cost/projection,"
                    "points=1",
                    {p}, {{"eps", 3e-4}, {"tol", 1e-6}, {"limit", 3000}},
                    {{"x1", {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}});
  Vector order;
  for (int i = 0; i < n; ++i)
    order.push_back(i);
  EXPECT_EQ(r["argmax"][0], order);
  expectNear(r["y1"][0], order, 1e-4, "projection");
  expectNear(r["cost"][0], {cost}, 1e-6, "cost");
}

//===----------------------------------------------------------------------===//
// Two passes per trip in plain loops
//===----------------------------------------------------------------------===//

/// One setting of all options that change what is computed, and how to say it.
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
  number("tol", -1, 1); // which no error reaches
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
    s.epsOf = v.list ? std::function<double(int)>([eps](int trip) {
      const double list[] = {3, 1, 0.9, 0.01};
      return std::fmax(eps, list[std::min(trip, 3)]);
    })
                     : [eps](int trip) {
                         return std::fmax(eps, 2 * std::pow(0.6, trip));
                       };
  }
  v.options += ",outputs=potentials/plan/cost/dual/marginals/argmax/product/"
               "projection/history,points=2";
  v.scalars["limit"] = s.limit;
  s.tol = -1;
  return v;
}

/// From the log scalings of the oracle to those of a convention.
Vector convened(const Variant &variant, const Vector &potentials,
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

TEST_P(Sinkhorn, EveryOption) {
  std::mt19937_64 random(17);
  // Of CUDA text every one is compiled.
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
      // Potentials of the convention, given or 0.
      Vector f(p.rows), g(p.columns);
      if (v.given)
        for (Vector *x : {&f, &g})
          for (double &w : *x)
            w = number();
      bool scaling = v.convention == "scaling";
      lists[scaling ? "u" : "f"].push_back(f);
      lists[scaling ? "v" : "g"].push_back(g);
      starts[m].u = convened(v, f, p.a, true);
      starts[m].v = convened(v, g, p.b, true);
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
      ASSERT_EQ(r["trips"][m][0], v.settings.limit);
      ASSERT_EQ(r["status"][m], Vector{0});
      bool scaling = v.convention == "scaling";
      const Vector &f = r[scaling ? "u" : "f"][m],
                   &g = r[scaling ? "v" : "g"][m];
      expectNear(f, convened(v, s.u, p.a), 1e-12, "potentials of rows");
      expectNear(g, convened(v, s.v, p.b), 1e-12, "potentials of columns");
      expectNear(r["error"][m], {s.error}, 1e-11, "error");
      for (int t = 0; t < 10 && t < s.trips; ++t)
        EXPECT_NEAR(r["errors"][m][t], s.errors[t], 1e-11 * (1 + s.errors[t]));
      for (int t = v.settings.limit; t < 10; ++t)
        EXPECT_EQ(r["errors"][m][t], -1);
      oracle::Outputs o = oracle::outputsOf(p, v.settings, s.u, s.v);
      expectNear(r["plan"][m], o.plan, 1e-11, "plan");
      expectNear(r["marginal_a"][m], o.rowSums, 1e-11, "marginal_a");
      expectNear(r["marginal_b"][m], o.columnSums, 1e-11, "marginal_b");
      expectNear(r["cost"][m], {o.cost}, 1e-11, "cost");
      expectNear(r["dual"][m], {o.dual}, 1e-10, "dual");
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

/// Where eps changes from trip to trip, whichever side comes first in whichever
/// layout: the same trips, none at all, and an end that is not reached before
/// the last eps.
TEST_P(Sinkhorn, AnnealsInEveryOrder) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(40, 37), {150, 9}, {1, 6}, {300, 1}})
    problems.push_back(oracle::randomProblem(n, m, n + m));
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
        isWide = byColumns; // 1 x 300: by rows, a launch for each trip
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
        s.epsOf = [&](int trip) {
          return std::fmax(s.eps, isList ? list[std::min(trip, 4)]
                                         : 2 * std::pow(0.6, trip));
        };
        // 2 0.6^4 is the first below 0.3; of the list the last.
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
            EXPECT_EQ(r["trips"][m][0], tol > 0 ? 5 : limit);
            EXPECT_EQ(r["converged"][m][0], tol > 0);
            double allowed = sides.type == std::string("f64") ? 1e-12 : 2e-5;
            expectNear(r["u"][m], o.u, allowed, "u");
            expectNear(r["v"][m], o.v, allowed, "v");
            for (int t = 0; t < 13; ++t) {
              double error = t < o.trips ? o.errors[t] : -1;
              EXPECT_NEAR(r["errors"][m][t], error, 10 * allowed * (1 + error));
            }
          }
        }
      }
}

/// At the solution both values agree, the plan satisfies the equations that
/// define it, and until then the dual value is below.
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

TEST_P(Sinkhorn, ColumnSumsAreMetAfterATrip) {
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
        // In f32 L is known to an ulp, and so are sums of its exponentials.
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

/// Every problem of a list stops at its own trip, with the values of that trip.
TEST_P(Sinkhorn, ProblemsStopAlone) {
  std::vector<Problem> problems;
  std::vector<Vector> eps;
  for (int k = 0; k < 6; ++k) {
    problems.push_back(oracle::randomProblem(5 + 3 * k, 20 - 2 * k, k));
    eps.push_back({0.02 * (1 << k)});
  }
  Results r = solve("dtype=f64,groups=true", problems, {{"limit", 400}},
                    {{"eps", eps}, {"tol", std::vector<Vector>(6, {1e-7})}});
  std::set<double> trips;
  for (size_t m = 0; m < problems.size(); ++m) {
    Settings s;
    s.eps = eps[m][0];
    s.tol = 1e-7;
    s.limit = 400;
    Solution o = oracle::solve(problems[m], s);
    trips.insert(o.trips);
    EXPECT_EQ(r["trips"][m][0], o.trips);
    EXPECT_EQ(r["converged"][m][0], o.error <= 1e-7);
    expectNear(r["u"][m], o.u, 1e-12, "u");
  }
  EXPECT_GE(trips.size(), 5u);
}

TEST_P(Sinkhorn, WithoutATrip) {
  Problem p = oracle::randomProblem(3, 4, 1);
  Results r = solve("dtype=f64,init=given", {p}, {{"limit", 0}},
                    {{"u", {{1, 2, 3}}}, {"v", {{4, 5, 6, 7}}}});
  EXPECT_EQ(r["u"][0], (Vector{1, 2, 3}));
  EXPECT_EQ(r["v"][0], (Vector{4, 5, 6, 7}));
  EXPECT_EQ(r["error"][0], Vector{kInf});
  EXPECT_EQ(r["trips"][0], Vector{0});
  EXPECT_EQ(r["converged"][0], Vector{0});
  EXPECT_EQ(r["status"][0], Vector{0});
}

/// A solution is a start after which there is nothing to do.
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
        EXPECT_GT(cold["trips"][0][0], 3);
        Results warm =
            solve(options, {p}, scalars, {{f, cold[f]}, {g, cold[g]}});
        EXPECT_EQ(warm["trips"][0], Vector{1});
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
      // Multiples of 1/8, and weights of 2^-k: every type holds them.
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

//===----------------------------------------------------------------------===//
// At the border
//===----------------------------------------------------------------------===//

/// Points without weight change nothing for the others.
TEST_P(Sinkhorn, ZeroWeights) {
  Problem p = oracle::randomProblem(6, 7, 4);
  p.a[2] = p.b[0] = p.b[5] = 0;
  for (Vector *w : {&p.a, &p.b}) {
    double sum = 0;
    for (double x : *w)
      sum += x;
    for (double &x : *w)
      x /= sum;
  }
  for (std::string sides : {"", ",rho_a=1,rho_b=2,omega=1.3"})
    for (std::string convention : {"scaling", "ott", "geomloss"})
      for (std::string regularizer : {"kl", "entropy"}) {
        std::string options =
            "dtype=f64,convention=" + convention +
            ",regularizer=" + regularizer + sides +
            ",outputs=potentials/plan/cost/dual/marginals/projection,points=1";
        SCOPED_TRACE(options);
        Settings s;
        s.eps = 0.1;
        s.entropy = regularizer == "entropy";
        if (!sides.empty())
          s.rhoA = 1, s.rhoB = 2, s.omega = 1.3;
        s.tol = 1e-12;
        s.limit = 2000;
        Results r =
            solve(options, {p}, {{"eps", 0.1}, {"tol", 1e-12}, {"limit", 2000}},
                  {{"x1", {Vector(7, 2.0)}}});
        Solution o = oracle::solve(p, s);
        auto out = oracle::outputsOf(p, s, o.u, o.v);
        EXPECT_EQ(r["converged"][0], Vector{1});
        EXPECT_EQ(r["status"][0], Vector{0});
        expectNear(r["plan"][0], out.plan, 1e-9, "plan");
        expectNear(r["cost"][0], {out.cost}, 1e-9, "cost");
        expectNear(r["dual"][0], {out.dual}, 1e-9, "dual");
        for (auto &[name, members] : r.lists)
          for (double x : members[0])
            EXPECT_FALSE(std::isnan(x)) << name;
        EXPECT_EQ(r["y1"][0][2], 0);
      }
}

/// Pairs that are forbidden get no mass, and cost nothing.
TEST_P(Sinkhorn, InfiniteCosts) {
  Problem p = oracle::randomProblem(6, 6, 4);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      if ((i + 2 * j) % 4 == 1)
        p.at(i, j) = kInf;
  Settings s;
  s.eps = 0.2;
  s.tol = 1e-12;
  s.limit = 5000;
  Results r = solve("dtype=f64,outputs=potentials/plan/cost/dual/argmax", {p},
                    {{"eps", s.eps}, {"tol", s.tol}, {"limit", 5000}});
  Solution o = oracle::solve(p, s);
  auto out = oracle::outputsOf(p, s, o.u, o.v);
  EXPECT_EQ(r["converged"][0], Vector{1});
  EXPECT_EQ(r["status"][0], Vector{0});
  expectNear(r["plan"][0], out.plan, 1e-9, "plan");
  expectNear(r["cost"][0], {out.cost}, 1e-9, "cost");
  expectNear(r["dual"][0], {out.dual}, 1e-9, "dual");
  for (int k = 0; k < 36; ++k)
    if (p.cost[k] == kInf) {
      EXPECT_EQ(r["plan"][0][k], 0);
    }
}

Problem without(Problem p, int64_t row, int64_t column) {
  for (int64_t i = 0; i < p.rows; ++i)
    for (int64_t j = 0; j < p.columns; ++j)
      if (i == row || j == column)
        p.at(i, j) = kInf;
  return p;
}

/// A row or a column without an allowed entry: status 128, and no NaN but the
/// error.
TEST_P(Sinkhorn, InfeasibleMasks) {
  Problem p = oracle::randomProblem(5, 6, 4);
  Problem weightless = without(p, 2, -1);
  for (double &b : weightless.b)
    b *= 1 - weightless.a[2];
  weightless.a[2] = 0;
  std::vector<Problem> problems{without(p, 3, -1), p, without(p, -1, 2),
                                without(p, 1, 4), weightless};
  for (std::string order : {"u", "v"}) {
    Results r = solve("dtype=f64,outputs=potentials/plan/marginals/argmax,"
                      "order=" +
                          order,
                      problems, {{"eps", 0.3}, {"tol", 1e-9}, {"limit", 300}});
    for (size_t m = 0; m < problems.size(); ++m) {
      SCOPED_TRACE(m);
      bool feasible = m == 1 || m == 4;
      EXPECT_EQ(r["status"][m][0], feasible ? 0 : 128);
      EXPECT_EQ(r["converged"][m][0], feasible);
      for (const char *name : {"u", "v", "plan", "marginal_a", "marginal_b"})
        for (double x : r[name][m])
          EXPECT_FALSE(std::isnan(x)) << name;
    }
    // It is seen in the first trip where its side is updated first.
    EXPECT_EQ(r["trips"][order == "u" ? 0 : 2][0], 1);
    EXPECT_TRUE(std::isnan(r["error"][order == "u" ? 0 : 2][0]));
    EXPECT_EQ(r["argmax"][0][3], r["argmax"][3][1]);
  }
  // Where sums may be missed, nothing is wrong with it.
  Results r = solve("dtype=f64,rho_a=1,rho_b=1,outputs=potentials/plan/dual",
                    problems, {{"eps", 0.3}, {"tol", 1e-10}});
  for (size_t m = 0; m < problems.size(); ++m) {
    Settings s;
    s.eps = 0.3;
    s.rhoA = s.rhoB = 1;
    s.limit = 1000;
    s.tol = 1e-10;
    auto o = oracle::solve(problems[m], s);
    auto out = oracle::outputsOf(problems[m], s, o.u, o.v);
    EXPECT_EQ(r["status"][m], Vector{0});
    EXPECT_EQ(r["converged"][m], Vector{1});
    expectNear(r["plan"][m], out.plan, 1e-8, "plan");
    expectNear(r["dual"][m], {out.dual}, 1e-8, "dual");
    EXPECT_NEAR(out.primal, out.dual, 1e-8);
  }
}

TEST_P(Sinkhorn, EmptyProblems) {
  std::vector<Problem> problems{{0, 0, {}, {}, {}},
                                oracle::randomProblem(3, 2, 1),
                                {0, 2, {}, {}, {0.5, 0.5}},
                                {2, 0, {}, {0.5, 0.5}, {}}};
  for (const char *norm : {"l1", "l2", "max"}) {
    Results r = solve(std::string("dtype=f64,outputs=potentials/plan/cost/dual,"
                                  "norm=") +
                          norm,
                      problems);
    EXPECT_EQ(r["status"], (std::vector<Vector>{{0}, {0}, {4}, {4}}));
    EXPECT_EQ(r["converged"], (std::vector<Vector>{{1}, {1}, {0}, {0}}));
    EXPECT_EQ(r["error"][0], Vector{0});
    EXPECT_EQ(r["cost"][0], Vector{0});
    EXPECT_EQ(r["dual"][0], Vector{0});
  }
}

/// An entry that is no number counts also where neither point weighs.
TEST_P(Sinkhorn, NotANumberWhereNothingWeighs) {
  std::vector<Problem> problems;
  for (double bad : {double(NAN), -kInf}) {
    problems.push_back(oracle::randomProblem(3, 3, 2));
    problems.back().a[1] = problems.back().b[1] = 0;
    problems.back().cost[4] = bad;
  }
  for (const char *sides : {"", ",rho_a=1,rho_b=1"}) {
    SCOPED_TRACE(sides);
    Results r = solve(std::string("dtype=f64,normalize=true") + sides, problems,
                      {{"eps", 0.3}, {"tol", 1e-4}});
    for (size_t m = 0; m < problems.size(); ++m) {
      EXPECT_EQ(r["status"][m][0], 64);
      EXPECT_EQ(r["converged"][m][0], 0);
    }
  }
}

/// Bad input is named by the status, stops its problem alone and leaves no
/// number that looks like a result.
TEST_P(Sinkhorn, BadInput) {
  Problem good = oracle::randomProblem(4, 5, 1);
  std::vector<Problem> problems(10, good);
  problems[1].a[2] = -0.1;
  problems[2].a[0] = NAN;
  problems[3].b[4] = kInf;
  problems[4].b[1] += 0.01; // masses
  problems[5].cost[7] = NAN;
  problems[6].cost[7] = -kInf;
  problems[7].b[4] = problems[7].a[0] = -1;
  problems[8].a[1] += 1e-6; // rounding
  std::vector<double> expected{0, 1, 1, 2, 4, 64, 64, 1 + 2, 0, 0};
  Results r = solve("dtype=f64,outputs=potentials/cost", problems,
                    {{"eps", 0.3}, {"tol", 1e-4}});
  for (size_t m = 0; m < problems.size(); ++m) {
    SCOPED_TRACE(m);
    EXPECT_EQ(r["status"][m][0], expected[m]);
    EXPECT_EQ(r["converged"][m][0], expected[m] == 0);
    if (expected[m] == 0) {
      EXPECT_EQ(r["trips"][m][0], r["trips"][9][0]);
      continue;
    }
    EXPECT_LE(r["trips"][m][0], 2);
    EXPECT_TRUE(std::isnan(r["error"][m][0]));
    EXPECT_TRUE(std::isnan(r["cost"][m][0]));
    for (double v : r["v"][m])
      EXPECT_TRUE(std::isnan(v));
  }
}

TEST_P(Sinkhorn, BadScalars) {
  std::vector<Problem> problems(3, oracle::randomProblem(4, 5, 1));
  auto statusOf = [&](const std::string &options, const std::string &name,
                      double value) {
    Results r =
        solve("dtype=f64" + options, problems, {{name, value}, {"limit", 5}},
              {{"epsilons", std::vector<Vector>(3, {1, 0.1})}});
    EXPECT_EQ(r["converged"][0][0], 0);
    EXPECT_LE(r["trips"][2][0], 5);
    return r["status"][2][0];
  };
  for (double bad : {0.0, -1.0, double(NAN)}) {
    SCOPED_TRACE(bad);
    EXPECT_EQ(statusOf("", "eps", bad), 8);
    EXPECT_EQ(statusOf(",rho_a=1", "rho_a", bad), 16);
    EXPECT_EQ(statusOf(",rho_b=1", "rho_b", bad), 16);
    EXPECT_EQ(statusOf(",omega=1.1", "omega", bad), 32);
    EXPECT_EQ(statusOf(",anneal=geometric", "eps0", bad), 8);
    EXPECT_EQ(statusOf(",anneal=geometric", "decay", bad), 8);
  }
  EXPECT_EQ(statusOf("", "eps", kInf), 8);
  EXPECT_EQ(statusOf(",omega=1.1", "omega", 2), 32);
  EXPECT_EQ(statusOf(",anneal=geometric", "decay", 1), 8);
  EXPECT_EQ(statusOf("", "tol", NAN), 0);
}

/// An infinite rho is a side that is met exactly.
TEST_P(Sinkhorn, InfiniteRho) {
  Problem p = oracle::randomProblem(8, 5, 1);
  Scalars scalars{{"eps", 0.2}, {"limit", 20}, {"tol", -1}};
  Results balanced = solve("dtype=f64", {p}, scalars);
  scalars["rho_a"] = scalars["rho_b"] = kInf;
  Results relaxed = solve("dtype=f64,rho_a=1,rho_b=1", {p}, scalars);
  expectNear(relaxed["u"][0], balanced["u"][0], 1e-14, "u");
  EXPECT_EQ(relaxed["status"][0], Vector{0});
}

/// What is stored by columns, or begins with the columns in memory, is solved
/// in another order of work, and ends the same.
TEST_P(Sinkhorn, LayoutsAgree) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(6, 9), {9, 6}, {1, 4}, {4, 1}, {1, 1}, {5, 5}})
    problems.push_back(oracle::randomProblem(n, m, 10 * n + m));
  Problem masked = problems[0], stuckRow = masked, stuckColumn = masked,
          nothing = masked, lost = masked;
  for (int j = 0; j < 9; ++j) {
    masked.at(j % 6, j) = kInf;
    stuckRow.at(2, j) = kInf;
  }
  for (int i = 0; i < 6; ++i)
    stuckColumn.at(i, 3) = kInf;
  masked.b[8] += masked.b[1];
  masked.b[1] = 0;
  masked.a[0] += masked.a[4];
  masked.a[4] = 0;
  nothing.cost[7] = NAN;
  lost.b[0] = 2;
  for (const Problem &p : {masked, stuckRow, stuckColumn, nothing, lost})
    problems.push_back(p);
  for (auto [n, m] : {std::pair(0, 3), {3, 0}, {0, 0}})
    problems.push_back(oracle::randomProblem(n, m, 1));
  for (std::string sides :
       {",norm=l1", ",norm=l2,rho_a=1,rho_b=2", ",norm=max,rho_b=1,omega=1.2"})
    for (std::string order : {"u", "v"})
      for (double limit :
           {0.0, 2.0, GetParam() == Executor::panels ? 20.0 : 300.0}) {
        std::string options = "dtype=f64,order=" + order + sides +
                              ",outputs=potentials/plan/argmax/marginals/cost/"
                              "dual/history";
        SCOPED_TRACE(options);
        Lists lists{
            {"errors", std::vector<Vector>(problems.size(), Vector(4, -1))}};
        Scalars scalars{{"eps", 0.2}, {"tol", 1e-7}, {"limit", limit}};
        spreads = false;
        Results byRows = solve(options, problems, scalars, lists);
        spreads = true;
        Results byColumns =
            solve(options + ",layout=column", problems, scalars, lists);
        ASSERT_EQ(byRows.lists.size(), byColumns.lists.size());
        for (auto &[name, members] : byRows.lists)
          for (size_t m = 0; m < problems.size(); ++m) {
            SCOPED_TRACE(m);
            const Vector &other = byColumns[name][m];
            ASSERT_EQ(members[m].size(), other.size()) << name;
            for (size_t k = 0; k < other.size(); ++k)
              if (std::isnan(members[m][k]))
                ASSERT_TRUE(std::isnan(other[k])) << name;
              else
                expectNear({other[k]}, {members[m][k]}, 1e-10, name);
          }
      }
}

//===----------------------------------------------------------------------===//
// A peer
//===----------------------------------------------------------------------===//

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

INSTANTIATE_TEST_SUITE_P(Executors, Sinkhorn,
                         testing::Values(Executor::interpreter, Executor::cpu,
                                         Executor::panels),
                         testing::PrintToStringParamName());

} // namespace
} // namespace heddle::test
