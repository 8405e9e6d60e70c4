//===- CudaPanelTest.cpp - hard cases of the panel schedule, executed -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wrong shifts, weights of zero, entries of -inf, +inf and NaN, matrices of
// every narrow shape and alignment, in every type, and in size classes that
// cover every form of the source.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "gtest/gtest.h"

using namespace heddle::runtime;
using heddle::reference::Arithmetic;

namespace heddle::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct Types {
  const char *stored, *computed;
  /// The relative spacing of the compute type, and log(2) times half the range
  /// of its exponents.
  double unit, range;
};
constexpr Types kTypes[] = {{"f32", "f32", 1.2e-7, 60},
                            {"f64", "f64", 2.3e-16, 500},
                            {"bf16", "f32", 1.2e-7, 60},
                            {"f16", "f32", 1.2e-7, 60}};

/// Replaces each $S, $T and $N by the storage type, the compute type and a
/// unique name.
std::string instantiate(llvm::StringRef text, const Types &types) {
  std::string result;
  for (size_t k = 0; k < text.size(); ++k)
    if (text[k] != '$')
      result += text[k];
    else
      switch (text[++k]) {
      case 'S':
        result += types.stored;
        break;
      case 'T':
        result += types.computed;
        break;
      default:
        result += std::string("of_") + types.stored;
        break;
      }
  return result;
}

/// Log-domain balancing with one exponential for rows and columns, for any
/// input. Rows and columns without an entry are skipped, as are rows of weight
/// 0, and columns of weight 0 unless their sum is infinite or NaN.
constexpr const char *kBalances = R"mlir(
!mats = !foreach.list<tensor<?x?x$S>>
!list = !foreach.list<tensor<?x$T>>
!each = !foreach.list<tensor<$T>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
func.func @balances_$N(%x: !mats, %row: !list, %col: !list, %row_u: !list {foreach.donate = 0 : i64},
                       %col_v: !list {foreach.donate = 1 : i64}, %limit: tensor<i32>, %sharp: !each)
    -> (!list, !list, !each, !iteration) {
  %u, %v, %error, %iterations = foreach.while (%u = %row_u, %v = %col_v : !list) upto %limit -> (!list, !list, !each, !iteration) {
    %r = foreach.reduce logsumexp along j (%x = %x[i, j] as $T : !mats, %v = %v[j] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : $T
      %y = arith.addf %sx, %v : $T
      foreach.yield %y : $T
    }
    %u1 = foreach.map (%a = %row, %r = %r : !list) -> !list {
      %never = arith.constant 0xW : $T
      %y = arith.subf %a, %r : $T
      %none = arith.cmpf oeq, %r, %never : $T
      %z = arith.select %none, %never, %y : $T
      %nothing = arith.cmpf oeq, %a, %never : $T
      %w = arith.select %nothing, %never, %z : $T
      foreach.yield %w : $T
    }
    %c = foreach.reduce logsumexp along i (%x = %x[i, j] as $T : !mats, %u = %u1[i] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : $T
      %y = arith.addf %sx, %u : $T
      foreach.yield %y : $T
    }
    %v1 = foreach.map (%b = %col, %c = %c : !list) -> !list {
      %never = arith.constant 0xW : $T
      %y = arith.subf %b, %c : $T
      %none = arith.cmpf oeq, %c, %never : $T
      %z = arith.select %none, %never, %y : $T
      %nothing = arith.cmpf oeq, %b, %never : $T
      %most = arith.constant 0xM : $T
      %bounded = arith.cmpf olt, %c, %most : $T
      %inactive = arith.andi %nothing, %bounded : i1
      %w = arith.select %inactive, %never, %z : $T
      foreach.yield %w : $T
    }
    %error = foreach.reduce max along i (%u1 = %u1 : !list) -> !each {
      foreach.yield %u1 : $T
    }
    %more = foreach.map (%error = %error : !each) -> !flag {
      %most = arith.constant 1.0e30 : $T
      %more = arith.cmpf ult, %error, %most : $T
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %u, %v, %error, %iterations : !list, !list, !each, !iteration
})mlir";

/// Sums without exponentials, of two matrices, and a maximum whose values the
/// accumulate phase recomputes. The changes of columns are reduced, too.
constexpr const char *kGrams = R"mlir(
!position = !foreach.list<tensor<i64>>
!mats = !foreach.list<tensor<?x?x$S>>
!wide = !foreach.list<tensor<?x?x$T>>
!list = !foreach.list<tensor<?x$T>>
!each = !foreach.list<tensor<$T>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
func.func @grams_$N(%x: !mats, %w: !wide, %row: !list, %col: !list, %limit: tensor<i32>, %sharp: !each)
    -> (!list, !list, !each, !each, !each, !position, !iteration) {
  %q, %p, %most, %moved, %top, %where, %iterations = foreach.while (%q = %row, %p = %col : !list) upto %limit
      -> (!list, !list, !each, !each, !each, !position, !iteration) {
    %t = foreach.reduce add along j (%x = %x[i, j] as $T : !mats, %w = %w[i, j] : !wide, %p = %p[j] : !list) -> !list {
      %m = arith.mulf %x, %w : $T
      %y = arith.mulf %m, %p : $T
      foreach.yield %y : $T
    }
    %c = foreach.reduce add along i (%x = %x[i, j] as $T : !mats, %t = %t[i] : !list) -> !list {
      %y = arith.mulf %x, %t : $T
      foreach.yield %y : $T
    }
    %largest = foreach.reduce max along i (%x = %x[i, j] as $T : !mats, %q = %q[i] : !list) -> !list {
      %y = arith.subf %x, %q : $T
      foreach.yield %y : $T
    }
    %p1 = foreach.map (%c = %c, %largest = %largest : !list) -> !list {
      %a = math.absf %c : $T
      %one = arith.constant 1.0 : $T
      %b = arith.addf %a, %one : $T
      %n = arith.divf %c, %b : $T
      %d = math.absf %largest : $T
      %e = arith.addf %d, %one : $T
      %f = arith.divf %largest, %e : $T
      %y = arith.addf %n, %f : $T
      foreach.yield %y : $T
    }
    %most = foreach.reduce add along i (%t = %t : !list) -> !each {
      %y = arith.mulf %t, %t : $T
      foreach.yield %y : $T
    }
    %moved = foreach.reduce add along member (%p = %p, %p1 = %p1 : !list) -> !each {
      %d = arith.subf %p, %p1 : $T
      %y = math.absf %d : $T
      foreach.yield %y : $T
    }
    %top, %where = foreach.reduce argmax along member (%p1 = %p1 : !list) -> (!each, !position) {
      foreach.yield %p1 : $T
    }
    %more = foreach.map (%most = %most, %moved = %moved, %s = %sharp : !each) -> !flag {
      %sum = arith.addf %most, %moved : $T
      %more = arith.cmpf ugt, %sum, %s : $T
      foreach.yield %more : i1
    }
    foreach.yield %t, %p1, %most, %moved, %top, %where while %more
        : !list, !list, !each, !each, !each, !position while !flag
  }
  return %q, %p, %most, %moved, %top, %where, %iterations : !list, !list, !each, !each, !each, !position, !iteration
})mlir";

/// Balancing whose columns are reduced at another sharpness than its rows, so
/// that they need exponentials of their own; and columns that share the
/// exponentials of the rows, or that depend on no row.
std::string sharpens() {
  std::string text = llvm::StringRef(kBalances).trim().str();
  const std::string scaled = "%sx = arith.mulf %x, %s : $T";
  size_t ofColumns = text.rfind(scaled);
  text.insert(ofColumns + scaled.size(), R"mlir(
      %more = arith.constant 1.25 : $T
      %sx1 = arith.mulf %sx, %more : $T)mlir");
  const std::string summed = "%y = arith.addf %sx, %u : $T";
  text.replace(text.find(summed), summed.size(),
               "%y = arith.addf %sx1, %u : $T");
  text.replace(text.find("@balances"), 9, "@sharpens");
  auto replaceAll = [&](llvm::StringRef from, llvm::StringRef to) {
    for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to.str());
  };
  replaceAll("-> (!list, !list, !each, !iteration)",
             "-> (!list, !list, !each, !list, !list, !iteration)");
  replaceAll("%u, %v, %error, %iterations =",
             "%u, %v, %error, %shares, %free, %iterations =");
  replaceAll(
      "return %u, %v, %error, %iterations : !list, !list, !each, !iteration",
      "return %u, %v, %error, %shares, %free, %iterations : !list, !list, "
      "!each, !list, !list, !iteration");
  replaceAll(
      "foreach.yield %u1, %v1, %error while %more : !list, !list, !each "
      "while !flag",
      R"mlir(%shares = foreach.reduce logsumexp along i (%x = %x[i, j] as $T : !mats, %u = %u1[i] : !list, %s = %sharp : !each) -> !list {
      %sx = arith.mulf %x, %s : $T
      %y = arith.addf %sx, %u : $T
      foreach.yield %y : $T
    }
    %free = foreach.reduce logsumexp along i (%x = %x[i, j] as $T : !mats) -> !list {
      %shift = arith.constant -1.0 : $T
      foreach.yield %x, %shift : $T, $T
    }
    foreach.yield %u1, %v1, %error, %shares, %free while %more : !list, !list, !each, !list, !list while !flag)mlir");
  return text;
}
const std::string kSharpens = sharpens();

std::string programOf(llvm::StringRef text, const Types &types) {
  std::string result = instantiate(text, types);
  bool isDouble = types.computed == std::string("f64");
  auto replace = [&](llvm::StringRef name, llvm::StringRef bits) {
    for (size_t at; (at = result.find(name)) != std::string::npos;)
      result.replace(at + 2, 1, bits);
  };
  replace("0xW", isDouble ? "FFF0000000000000" : "FF800000");
  replace("0xM", isDouble ? "7FF0000000000000" : "7F800000");
  return result;
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

struct NamedClass {
  const char *name;
  PanelClass shape;
  std::vector<std::string> options;
  /// The least width of the class; 0 if it has none.
  int64_t narrowest = 0;

  /// Whether many threads reduce each row: running them one after the other
  /// takes long, so that such a class has fewer rows and fewer inputs.
  bool isSlow() const {
    return shape.threads * std::max(shape.cluster, shape.clusterPerMember) >
           256;
  }

  friend void PrintTo(const NamedClass &named, std::ostream *os) {
    *os << named.name;
  }
};

PanelClass classOf(int threads, int groups, int items, int stages,
                   int cluster = 1, int clusterPerMember = 0,
                   bool ragged = true) {
  PanelClass shape;
  shape.threads = threads;
  shape.groups = groups;
  shape.itemsPerThread = items;
  shape.stages = stages;
  shape.cluster = cluster;
  shape.clusterPerMember = clusterPerMember;
  shape.memberRows = groups * stages;
  shape.memberColumns = threads / groups * items;
  shape.ragged = ragged;
  return shape;
}

PanelClass inPairs(PanelClass shape) {
  shape.rows = 2;
  return shape;
}

PanelClass inFours(PanelClass shape) {
  shape.rows = 4;
  return shape;
}

const std::vector<NamedClass> &classes() {
  // Few buffered rows, so that a panel has more rows.
  static const std::vector<std::string> few = {
      "-DHEDDLE_PANEL_BUFFERED_ROWS=2"};
  static const std::vector<NamedClass> all = {
      {"Smallest", PanelOptions::smallest(), {}},
      {"OneWarp", classOf(32, 1, 8, 2), few},
      {"ManyGroups", classOf(128, 4, 8, 3), {}},
      {"WideGroups", classOf(128, 2, 4, 2), few},
      {"RowsApart",
       classOf(192, 2, 4, 2),
       {"-DHEDDLE_PANEL_BUFFERED_ROWS=64"}}, // two of six warps store row
                                             // results
      {"ClustersApart",
       classOf(192, 2, 4, 2, 2),
       {"-DHEDDLE_PANEL_BUFFERED_ROWS=64"}},
      {"EvenWidths", classOf(64, 1, 3, 2, 1, 0, false), few, 129},
      {"Clusters", classOf(64, 2, 4, 3, 2), {}},
      {"ClustersOfFour", classOf(32, 1, 2, 4, 4), few},
      {"EvenClusters", classOf(32, 1, 3, 2, 2, 0, false), few, 131},
      // A lane that sums a row in double has several parts.
      {"ManyWarps", classOf(256, 1, 1, 3, 2), {}},
      {"ClusterPerMember", classOf(64, 2, 8, 4, 1, 4), {}},
      {"ClusterPerMemberOfOneGroup", classOf(128, 1, 2, 9, 1, 4), {}},
      {"ClusterPerMemberInPairs", inPairs(classOf(128, 2, 4, 5, 1, 4)), {}},
      // Different warps store row results and combine columns.
      {"ClusterPerMemberApart", classOf(384, 4, 7, 4, 1, 8), {}},
      {"TwoBlocksPerMember", classOf(64, 2, 8, 9, 1, 2), {}},
      {"BlockPerMember", classOf(128, 4, 8, 5, 1, 1), {}},
      // More rows than a group has barriers.
      {"BlockPerMemberOfOneGroup", classOf(128, 1, 2, 37, 1, 1), {}},
      {"BlockPerMemberInFours", inFours(classOf(64, 2, 8, 9, 1, 1)), {}},
      {"BlockPerMemberApart", inPairs(classOf(384, 12, 8, 3, 1, 1)), {}}};
  return all;
}

/// Whether programs of type `k` run in a class: one type in each class, doubles
/// in all clusters, every type in the smallest class.
bool isTested(const NamedClass &named, size_t k) {
  size_t turn = 0;
  while (classes()[turn].name != named.name)
    ++turn;
  return turn == 0 || (k + turn) % 4 == 0 ||
         (k == 1 && named.shape.cluster > 1);
}

/// The programs, in every type.
std::vector<std::unique_ptr<Program>> &programs() {
  static std::vector<std::unique_ptr<Program>> all = [] {
    std::vector<std::unique_ptr<Program>> all;
    for (llvm::StringRef text :
         {llvm::StringRef(kBalances), llvm::StringRef(kGrams),
          llvm::StringRef(kSharpens)})
      for (const Types &types : kTypes)
        all.push_back(std::make_unique<Program>(programOf(text, types)));
    return all;
  }();
  return all;
}

std::shared_ptr<HostSource> sourceIn(const NamedClass &named) {
  static std::map<std::string, std::shared_ptr<HostSource>> sources;
  auto &source = sources[named.name];
  if (source)
    return source;
  std::vector<const Plan *> plans;
  for (auto [k, program] : llvm::enumerate(programs()))
    if (isTested(named, k % std::size(kTypes)))
      plans.push_back(&program->plan());
  auto compiled = HostSource::compile(plans, {named.shape, named.options});
  if (compiled)
    source = std::move(*compiled);
  else
    ADD_FAILURE() << takeError(compiled.takeError()).second;
  return source;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

using Shapes = std::vector<std::vector<int64_t>>;
using Change = std::function<void(std::mt19937_64 &, const Types &, Inputs &)>;

Shapes shapesIn(const NamedClass &named) {
  if (named.narrowest)
    return {
        {1, 150}, {7, 192}, {0, named.narrowest + 1}, {270, named.narrowest}};
  // More than two rows for each panel; with a cluster per member, as many rows
  // as are resident.
  const PanelClass &shape = named.shape;
  int64_t most = shape.clusterPerMember
                     ? shape.clusterPerMember * shape.groups * shape.stages
                 : named.isSlow()    ? 80
                 : shape.cluster > 1 ? 150
                                     : 270;
  if (shape.clusterPerMember > 4)
    return {{1, 1}, {9, 1}, {0, 5}, {5, 0}, {most, 3}, {18, 61}, {20, 601}};
  return {{1, 1}, {1, 7},  {9, 1},    {0, 5},   {5, 0},
          {0, 0}, {17, 1}, {most, 5}, {13, 64}, {3, 256}};
}

Inputs inputsFor(Program &program, const NamedClass &named, uint64_t seed,
                 double sharp) {
  Inputs inputs = randomInputs(
      program,
      [&](llvm::StringRef name, int64_t rank) {
        Shapes shapes = shapesIn(named);
        if (rank == 1)
          for (auto &shape : shapes)
            shape = {shape[name.starts_with("col")]};
        return shapes;
      },
      seed);
  std::mt19937_64 random(seed + 1);
  for (auto &[name, list] : inputs.lists)
    for (ListInput::Member &member : list.members)
      member.offset = random() % 16;
  for (ListInput::Member &member : inputs.lists["sharp"].members)
    member.data = {sharp};
  inputs.scalars["limit"] = 3;
  return inputs;
}

/// Calls `change` for every element of a list.
void forAll(Inputs &inputs, llvm::StringRef list,
            llvm::function_ref<void(double &)> change) {
  for (ListInput::Member &member : inputs.lists[list.str()].members)
    for (double &number : member.data)
      change(number);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

class CudaPanels : public testing::TestWithParam<NamedClass> {
protected:
  /// Runs the programs of `text` in every type, on random inputs after
  /// `change`.
  void compare(llvm::StringRef text, double sharp, const Change &change);
  /// The same for both programs that balance.
  void compareBalances(double sharp, const Change &change) {
    for (llvm::StringRef text :
         {llvm::StringRef(kBalances), llvm::StringRef(kSharpens)}) {
      SCOPED_TRACE(text == kBalances ? "balances" : "sharpens");
      compare(text, sharp, change);
    }
  }
  void compareOn(Program &program, const Types &types, const Inputs &inputs);
};

void CudaPanels::compareOn(Program &program, const Types &types,
                           const Inputs &inputs) {
  program.setHostSource(sourceIn(GetParam()));
  std::vector<std::unique_ptr<Runnable>> runs;
  runs.push_back(program.reference(inputs, Arithmetic::exact));
  runs.push_back(program.reference(inputs, Arithmetic::plain));
  runs.push_back(program.cpu(inputs));
  for (uint64_t seed : {1, 4})
    runs.push_back(program.cuda(inputs, "_panels", seed));
  // The second step begins with the donated results of the first.
  for (int step = 0; step < 2; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    std::vector<Numbers> results;
    for (auto &run : runs) {
      ASSERT_TRUE(run);
      if (llvm::Error error = run->step()) {
        ADD_FAILURE() << run->name << ": "
                      << takeError(std::move(error)).second;
        return;
      }
      results.push_back(run->results());
      if (llvm::StringRef(run->name).starts_with("cuda")) {
        auto &graph = static_cast<CudaOnCpuGraph &>(
            static_cast<GraphRun &>(*run).graph());
        EXPECT_TRUE(llvm::any_of(graph.ran, [](llvm::StringRef entry) {
          return entry.ends_with("_panels");
        }));
      }
    }
    for (size_t k = 2; k < runs.size(); ++k)
      ASSERT_EQ(differenceFrom(results[0], results[1], results[k], types.unit),
                "")
          << runs[k]->name;
    // The same bits in every grid.
    ASSERT_EQ(differenceInBits(results[3], results[4]), "") << runs[4]->name;
  }
}

void CudaPanels::compare(llvm::StringRef text, double sharp,
                         const Change &change) {
  ASSERT_TRUE(sourceIn(GetParam()));
  size_t first = (text == kBalances ? 0
                  : text == kGrams  ? 1
                                    : 2) *
                 std::size(kTypes);
  for (auto [k, types] : llvm::enumerate(kTypes)) {
    if (!isTested(GetParam(), k))
      continue;
    SCOPED_TRACE(types.stored);
    Program &program = *programs()[first + k];
    Inputs inputs = inputsFor(program, GetParam(), 17 + k, sharp);
    std::mt19937_64 random(23 + k);
    change(random, types, inputs);
    compareOn(program, types, inputs);
  }
}

double uniform(std::mt19937_64 &random) { return (random() >> 11) * 0x1p-53; }

TEST_P(CudaPanels, MildSums) {
  compareBalances(1, [](auto &, auto &, Inputs &) {});
}

/// Nearly every sum is far from its shift, and from the sum of the previous
/// iteration.
TEST_P(CudaPanels, SharpSums) {
  for (double sharp : {30.0, 1e3, 1e5}) {
    if (GetParam().isSlow() && sharp != 1e3)
      continue;
    SCOPED_TRACE(sharp);
    compareBalances(sharp, [](auto &, auto &, Inputs &) {});
  }
}

/// The weights of rows and columns are tiny or huge.
TEST_P(CudaPanels, WeightsOfAllSizes) {
  compareBalances(3, [](auto &random, const Types &types, Inputs &inputs) {
    for (const char *name : {"row", "col"})
      forAll(inputs, name,
             [&](double &x) { x = types.range * (2 * uniform(random) - 1); });
  });
}

TEST_P(CudaPanels, StartsAnywhere) {
  compareBalances(1, [](auto &random, const Types &types, Inputs &inputs) {
    const double starts[] = {0,    1,     -1, 3 * types.range, -3 * types.range,
                             kInf, -kInf, NAN};
    for (const char *name : {"row_u", "col_v"}) {
      unsigned count = 4;
      for (ListInput::Member &member : inputs.lists[name].members) {
        for (double &x : member.data)
          x = starts[random() % count];
        // Start values of columns affect the result; those of rows are only
        // shifts.
        if (llvm::StringRef(name) == "col_v")
          count = 4;
        else
          count = 4 + random() % 5;
      }
    }
  });
}

TEST_P(CudaPanels, ZeroWeightsAndForbiddenEntries) {
  compareBalances(20, [](auto &random, const Types &, Inputs &inputs) {
    for (const char *name : {"row", "col"})
      forAll(inputs, name, [&](double &x) {
        if (random() % 4 == 0)
          x = -kInf;
      });
    forAll(inputs, "x", [&](double &x) {
      if (random() % 3 == 0)
        x = -kInf;
    });
    // Rows and columns without any entry.
    for (ListInput::Member &member : inputs.lists["x"].members)
      for (auto [k, x] : llvm::enumerate(member.data)) {
        int64_t row = k / member.extents[1], column = k % member.extents[1];
        if (row % 7 == 3 || column % 11 == 5)
          x = -kInf;
      }
  });
}

/// Infinity and NaN reach every result that depends on them, also if weights
/// are zero, and stop only their member.
TEST_P(CudaPanels, InfinityAndNaN) {
  for (double bad : {kInf, double(NAN)}) {
    if (GetParam().isSlow() && bad == kInf)
      continue;
    SCOPED_TRACE(bad);
    compareBalances(2, [&](auto &random, const Types &, Inputs &inputs) {
      for (auto [m, member] : llvm::enumerate(inputs.lists["x"].members))
        if (m % 2 == 0 && !member.data.empty())
          member.data[random() % member.data.size()] = bad;
      for (const char *name : {"row", "col"})
        forAll(inputs, name, [&](double &x) { x = random() % 2 ? x : -kInf; });
    });
  }
}

/// Rows of larger matrices, also when the fallback reads them again from
/// memory.
TEST_P(CudaPanels, RowsWithAStride) {
  for (double sharp : {1.0, 60.0}) {
    if (GetParam().isSlow() && sharp == 1)
      continue;
    compareBalances(sharp,
                    [](auto &, auto &, Inputs &inputs) { spreadRows(inputs); });
  }
}

TEST_P(CudaPanels, SumsOfTwoMatrices) {
  compare(kGrams, -1, [](auto &, auto &, Inputs &inputs) {
    inputs.scalars["limit"] = 2;
    forAll(inputs, "w", [](double &x) { x *= 0.1; });
  });
}

INSTANTIATE_TEST_SUITE_P(, CudaPanels, testing::ValuesIn(classes()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle::test
