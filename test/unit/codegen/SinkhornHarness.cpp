//===- SinkhornHarness.cpp - runs `sinkhorn` in all executors -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs are compiled once for all tests of a run.
//
//===----------------------------------------------------------------------===//

#include "SinkhornHarness.h"
#include "dialect/Names.h"
#include "dialect/library/Compose.h"

#include <numeric>

using heddle::reference::Arithmetic;
using heddle::runtime::takeError;

namespace heddle::test {

void PrintTo(Executor executor, std::ostream *os) {
  const char *const names[] = {"interpreter", "cpu", "panels"};
  *os << names[static_cast<int>(executor)];
}

/// The entries of a matrix of `columns` columns, column after column.
static Vector transposed(const Vector &entries, int64_t columns) {
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
  // Most programs are used more than once, and compiling takes longest.
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
    run = program.reference(inputs, Arithmetic::plain);
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

void removeWeights(Problem &p, std::initializer_list<int> rows,
                   std::initializer_list<int> columns) {
  for (int i : rows)
    p.a[i] = 0;
  for (int j : columns)
    p.b[j] = 0;
  for (Vector *w : {&p.a, &p.b}) {
    double sum = std::accumulate(w->begin(), w->end(), 0.0);
    for (double &x : *w)
      x /= sum;
  }
}

INSTANTIATE_TEST_SUITE_P(Executors, Sinkhorn,
                         testing::Values(Executor::interpreter, Executor::cpu,
                                         Executor::panels),
                         testing::PrintToStringParamName());

} // namespace heddle::test
