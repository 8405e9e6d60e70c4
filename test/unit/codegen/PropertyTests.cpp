//===- PropertyTests.cpp - random programs in all executors ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter, the cpu target with and without fusion, and the executed
// CUDA source must agree on every random program. A failure prints the smallest
// beginning of the program that still fails, and its seed.
//
// HEDDLE_PROPERTY_PROGRAMS (200) programs are drawn, with seeds from
// HEDDLE_PROPERTY_SEED (1) on: the same programs on every machine.
//
//===----------------------------------------------------------------------===//

#include "PropertyGenerator.h"
#include "dialect/reference/Ranges.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

#include <iostream>

using namespace heddle::runtime;
using heddle::reference::Arithmetic;

namespace heddle::test {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Case {
  uint64_t seed;
  RandomProgram drawn;
  std::unique_ptr<Program> program;
};

/// The runs of a program: the interpreter, the cpu target, and the entries of
/// the CUDA source.
enum { kFused = 1, kUnfused = 2, kCuda = 3 };

/// As in `heddle run --check`: a panel loop sums about shifts.
constexpr double kPanelFactor = 8;

/// Counts of compared programs, runs and elements, for the report at the end.
struct Totals {
  int64_t programs = 0, runs = 0, panelRuns = 0, elements = 0, unknown = 0;
} totals;

void count(const std::vector<std::unique_ptr<Runnable>> &runs,
           const std::pair<Numbers, Numbers> &ranges) {
  ++totals.programs;
  totals.runs += runs.size();
  totals.panelRuns += llvm::count_if(runs, [](const auto &run) {
    return llvm::StringRef(run->name).contains("_panels");
  });
  for (auto [low, high] : llvm::zip(ranges.first, ranges.second))
    for (auto [lows, highs] : llvm::zip(low, high))
      for (auto [from, to] : llvm::zip(lows, highs)) {
        ++totals.elements;
        totals.unknown += reference::Range{from, to}.isAnything();
      }
}

/// Empty, or a message if the executors disagree.
std::string problemOf(Case &drawn, uint64_t seed) {
  Program &program = *drawn.program;
  if (!program.isGood() || !program.hostSource())
    return "it does not compile";
  const Inputs &inputs = drawn.drawn.inputs;
  std::vector<std::unique_ptr<Runnable>> runs;
  runs.push_back(program.reference(inputs, Arithmetic::bounded));
  for (bool fuse : {true, false}) {
    auto run = program.cpu(inputs, fuse);
    if (!run)
      return "it does not compile for the cpu target";
    runs.push_back(std::move(run));
  }
  for (llvm::StringRef suffix : entrySuffixes())
    if (llvm::any_of(program.hostSource()->entries(),
                     [&](const heddle_entry &entry) {
                       return llvm::StringRef(entry.name)
                                  .starts_with(program.plan().name) &&
                              llvm::StringRef(entry.name).ends_with(suffix);
                     }))
      runs.push_back(program.cuda(inputs, suffix, seed++));
  for (int step = 0; step < 2; ++step) {
    std::vector<Numbers> results;
    for (auto &run : runs) {
      if (llvm::Error error = run->step())
        return run->name + ": " + takeError(std::move(error)).second;
      results.push_back(run->results());
    }
    auto ranges = runs[0]->ranges();
    for (size_t k = 1; k < runs.size(); ++k) {
      bool inPanels = llvm::StringRef(runs[k]->name).contains("_panels");
      std::string problem = differenceFromRanges(results[0], ranges, results[k],
                                                 inPanels ? kPanelFactor : 1);
      // Not fused, or the first entry of CUDA: equal under a condition.
      bool bits = k == kUnfused ? drawn.drawn.keepsOrder
                  : k == kCuda  ? drawn.drawn.isExact
                                : k > kCuda;
      if (problem.empty() && bits && !inPanels)
        problem = differenceInBits(
            results[k <= kCuda || drawn.drawn.isExact ? kFused : kCuda],
            results[k]);
      if (!problem.empty())
        return "step " + std::to_string(step) + ", " + runs[k]->name + ": " +
               problem;
    }
    if (step == 1)
      count(runs, ranges);
  }
  return {};
}

std::string nameOfSeed(uint64_t seed) {
  std::string digits = std::to_string(seed);
  return "p" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') +
         digits + "x";
}

/// Reports the fewest statements with which a seed still fails.
void reportSmallest(const Case &failed, const std::string &problem) {
  for (int statements = 1; statements <= failed.drawn.statements;
       ++statements) {
    Case smaller{failed.seed,
                 drawProgram(failed.seed, nameOfSeed(failed.seed), statements),
                 nullptr};
    testing::TestPartResultArray ignored;
    std::string found;
    {
      testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::
              INTERCEPT_ONLY_CURRENT_THREAD,
          &ignored);
      smaller.program = std::make_unique<Program>(smaller.drawn.text);
      found = problemOf(smaller, failed.seed);
    }
    if (found.empty() && ignored.size() == 0)
      continue;
    if (ignored.size())
      found += std::string("\n") + ignored.GetTestPartResult(0).message();
    ADD_FAILURE() << "seed " << failed.seed << " with " << statements
                  << " of its statements: " << found << "\n"
                  << smaller.drawn.text;
    return;
  }
  ADD_FAILURE() << "seed " << failed.seed << ": " << problem << "\n"
                << failed.drawn.text;
}

/// The number of programs that are compiled together, because a compiler takes
/// long to start.
constexpr uint64_t kBatch = 8;

/// Each instance is the seed of the first program of a batch.
class Property : public testing::TestWithParam<uint64_t> {
protected:
  static uint64_t firstSeed() {
    return fromEnvironment("HEDDLE_PROPERTY_SEED", 1);
  }
  static uint64_t endOfSeeds() {
    return firstSeed() + fromEnvironment("HEDDLE_PROPERTY_PROGRAMS", 200);
  }

public:
  static void TearDownTestSuite() {
    std::cout << totals.programs << " programs in " << totals.runs << " runs, "
              << totals.panelRuns << " of panel loops; " << totals.elements
              << " elements, of which " << totals.unknown
              << " may be anything\n";
  }

  static std::vector<uint64_t> batches() {
    std::vector<uint64_t> seeds;
    for (uint64_t seed = firstSeed(); seed < endOfSeeds(); seed += kBatch)
      seeds.push_back(seed);
    return seeds;
  }
};

TEST_P(Property, RandomProgramsAgreeEverywhere) {
  std::vector<Case> batch;
  std::vector<const Plan *> plans;
  std::vector<std::string> problems;
  {
    testing::TestPartResultArray ignored;
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &ignored);
    for (uint64_t seed = GetParam();
         seed < std::min(GetParam() + kBatch, endOfSeeds()); ++seed) {
      Case drawn{seed, drawProgram(seed, nameOfSeed(seed)), nullptr};
      drawn.program = std::make_unique<Program>(drawn.drawn.text);
      if (drawn.program->isGood())
        drawn.program->plan();
      batch.push_back(std::move(drawn));
    }
    for (Case &drawn : batch)
      if (drawn.program->isGood())
        plans.push_back(&drawn.program->plan());
    if (auto source = HostSource::compile(plans)) {
      for (Case &drawn : batch)
        drawn.program->setHostSource(*source);
    } else {
      llvm::consumeError(source.takeError()); // then each program alone
    }
    for (Case &drawn : batch)
      problems.push_back(problemOf(drawn, drawn.seed));
  }
  for (auto [drawn, problem] : llvm::zip(batch, problems))
    if (!problem.empty())
      reportSmallest(drawn, problem);
}

INSTANTIATE_TEST_SUITE_P(, Property, testing::ValuesIn(Property::batches()),
                         [](const auto &info) {
                           return "From" + std::to_string(info.param);
                         });

/// Random programs contain every construct that a program may contain.
TEST(PropertyGenerator, DrawsEveryFeature) {
  Features all;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Features drawn = drawProgram(seed, "program").features;
    all.loops += drawn.loops;
    all.nestedLoops += drawn.nestedLoops;
    all.branches += drawn.branches;
    all.balancing += drawn.balancing;
    all.records += drawn.records;
    all.matrices += drawn.matrices;
    all.rowsOrColumns += drawn.rowsOrColumns;
  }
  EXPECT_GE(all.loops, 100);
  EXPECT_GE(all.nestedLoops, 10);
  EXPECT_GE(all.branches, 50);
  EXPECT_GE(all.balancing, 10);
  EXPECT_GE(all.records, 20);
  EXPECT_GE(all.matrices, 100);
  EXPECT_GE(all.rowsOrColumns, 100);
}

} // namespace
} // namespace heddle::test
