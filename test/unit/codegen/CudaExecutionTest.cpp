//===- CudaExecutionTest.cpp - the emitted CUDA source, executed ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every entry of every program runs on the host; its results are compared with
// the cpu target and the reference interpreter.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "CudaPrograms.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "gtest/gtest.h"

using namespace heddle::runtime;
using heddle::reference::Arithmetic;

namespace heddle::test {

using Shapes = std::vector<std::vector<int64_t>>;

static std::string messageOf(llvm::Error error) {
  return takeError(std::move(error)).second;
}

namespace {

/// Changes all runs alike before a step.
using Change = std::function<void(Runnable &, int step)>;

struct Check {
  int steps = 2;
  std::vector<uint64_t> seeds = {1, 2};
  Change change;
  /// Whether scalars are read from the memory of the caller.
  bool bindsScalars = false;
  double unit = 0;
};

/// The relative spacing of the coarsest type that a program stores.
double unitOf(const Plan &plan) {
  double unit = 0;
  for (const PlanBuffer &buffer : plan.buffers)
    unit = std::max(unit, buffer.dtype == DType::F32    ? 1.2e-7
                          : buffer.dtype == DType::BF16 ? 7.9e-3
                          : buffer.dtype == DType::F16  ? 9.8e-4
                          : buffer.dtype == DType::F64  ? 2.3e-16
                                                        : 0);
  return unit;
}

void runAndCompare(Program &program, const Inputs &inputs,
                   const NamedProgram &named, const Check &check = {}) {
  if (!program.isGood() || !program.hostSource())
    return;
  std::vector<std::unique_ptr<Runnable>> runs;
  runs.push_back(program.reference(inputs, Arithmetic::exact));
  runs.push_back(program.reference(inputs, Arithmetic::plain));
  for (bool fuse : {true, false}) {
    auto run = program.cpu(inputs, fuse);
    ASSERT_TRUE(run);
    runs.push_back(std::move(run));
  }
  for (llvm::StringRef suffix : entrySuffixes()) {
    bool isThere = llvm::any_of(
        program.hostSource()->entries(), [&](const heddle_entry &entry) {
          return llvm::StringRef(entry.name).ends_with(suffix);
        });
    if (!isThere)
      continue;
    llvm::ArrayRef<uint64_t> seeds = check.seeds;
    // The traversal is that of the entry for tiles, so one order suffices.
    if (suffix == "_distances")
      seeds = seeds.take_back();
    for (uint64_t seed : seeds) {
      auto run = program.cuda(inputs, suffix, seed);
      if (suffix == "_tiles_by_address" || check.bindsScalars)
        for (const PlanBuffer &buffer : program.plan().buffers)
          if (buffer.role == runtime::BufferRole::Argument &&
              buffer.kind == BufferKind::Scalar && buffer.dtype == DType::F64 &&
              !buffer.donated) {
            auto given = inputs.scalars.find(buffer.name);
            run->bindScalar(buffer.name, given != inputs.scalars.end()
                                             ? given->second
                                             : buffer.defaultValue.value_or(0));
          }
      runs.push_back(std::move(run));
    }
  }
  ASSERT_GT(runs.size(), 4u) << "the source has no entry";
  double unit = check.unit ? check.unit : unitOf(program.plan());
  for (int step = 0; step < check.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    std::vector<Numbers> results;
    for (auto &run : runs) {
      if (check.change)
        check.change(*run, step);
      if (llvm::Error error = run->step()) {
        ADD_FAILURE() << run->name << ": " << messageOf(std::move(error));
        return;
      }
      results.push_back(run->results());
    }
    std::optional<size_t> firstInPanels;
    for (size_t k = 2; k < runs.size(); ++k) {
      SCOPED_TRACE(runs[k]->name);
      ASSERT_EQ(differenceFrom(results[0], results[1], results[k], unit), "");
      // Panels have an order of their own, which is the same for every grid.
      if (llvm::StringRef(runs[k]->name).contains("_panels")) {
        if (firstInPanels)
          ASSERT_EQ(differenceInBits(results[*firstInPanels], results[k]), "");
        else
          firstInPanels = k;
        continue;
      }
      // Compares with the fused cpu target, or at least with the first run of
      // the source.
      if (k == 3 ? named.keepsOrder : k > 4 || named.isExact)
        ASSERT_EQ(differenceInBits(results[k == 3 || named.isExact ? 2 : 4],
                                   results[k]),
                  "");
    }
  }
}

/// Members of different sizes around the borders of tiles. Families with other
/// dtypes have other shapes.
Shapes raggedShapes(llvm::StringRef name, int64_t rank) {
  if (rank == 2)
    return {{3, 5}, {1, 1}, {0, 4}, {17, 300}, {4, 0}, {2, 3, 7}, {33, 256}};
  if (name.ends_with("_bf16"))
    return {{2049}, {3}, {0}, {2048}, {17}};
  if (name.ends_with("_f16"))
    return {{1}, {4097}};
  if (name.ends_with("_f64"))
    return {};
  return {{5}, {1024}, {0}, {1}, {3, 341}, {1025}, {4096}, {4097}, {16}};
}

//===----------------------------------------------------------------------===//
// Standard programs
//===----------------------------------------------------------------------===//

class CudaLibrary : public testing::TestWithParam<NamedProgram> {};

Change newGradients(Program &program, uint64_t seed) {
  // The learning rate, betas and counters change between steps, and back again,
  // to test that precomputed scalars are updated.
  return [&program, seed](Runnable &run, int step) {
    Inputs inputs = randomInputs(program, raggedShapes, seed + 10 * step, true);
    for (auto &[name, list] : inputs.lists)
      if (llvm::StringRef(name).starts_with("grad") ||
          (step == 3 && llvm::StringRef(name).starts_with("step")))
        run.setList(name, list);
    auto set = [&](llvm::StringRef name, double value) {
      for (mlir::BlockArgument argument : program.function().getArguments())
        if (nameOf(argument) == name && !foreach::isList(argument.getType()))
          run.setScalar(name, value);
    };
    if (step == 1)
      set("lr", 0.02);
    if (step == 2)
      set("beta1", 0.8);
    if (step == 4) {
      set("beta1", 0.9);
      set("beta2", 0.99);
      set("weight_decay", 0.3);
    }
  };
}

TEST_P(CudaLibrary, AgreesWithTheCpuBitForBit) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  // Members begin at any multiple of their element size, each operand at
  // another offset.
  Inputs inputs = randomInputs(program, raggedShapes, 7, true);
  Check check;
  check.steps = 6;
  check.seeds = {1, 6};
  check.change = newGradients(program, 7);
  runAndCompare(program, inputs, GetParam(), check);
}

INSTANTIATE_TEST_SUITE_P(, CudaLibrary, testing::ValuesIn(standardPrograms()),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

class CudaModule : public testing::TestWithParam<NamedProgram> {
protected:
  Inputs inputsOf(Program &program, uint64_t seed, bool misaligned,
                  int64_t widest = 300, const Shapes &wide = {}) {
    Inputs inputs = randomInputs(
        program,
        [&](llvm::StringRef name, int64_t rank) -> Shapes {
          auto narrowed = [&](Shapes shapes) {
            if (!wide.empty())
              return wide;
            for (auto &shape : shapes)
              shape.back() = std::min(shape.back(), widest);
            return shapes;
          };
          Shapes shapes = raggedShapes(name, rank);
          if (rank == 2)
            return narrowed(shapes);
          // The length of vectors beside matrices is the number of rows or
          // columns.
          if (rank != 2 && hasMatrices(program)) {
            Shapes matrices = narrowed(raggedShapes("", 2));
            for (auto &shape : matrices) {
              int64_t columns = shape.back(), rows = 1;
              for (int64_t extent : llvm::ArrayRef(shape).drop_back())
                rows *= extent;
              shape = {llvm::StringRef(name).starts_with("col") ? columns
                                                                : rows};
            }
            shapes = matrices;
          }
          // Vectors that are indexed by the iteration have a length of their
          // own, or 0.
          if (name == "schedule" || name == "history")
            for (auto [k, shape] : llvm::enumerate(shapes))
              shape = {static_cast<int64_t>(3 * k % 8)};
          return shapes;
        },
        seed, misaligned);
    for (auto [name, value] : {std::pair<const char *, double>{"limit", 7},
                               {"tol", 1e-3},
                               {"n0", 5}})
      if (inputs.scalars.count(name))
        inputs.scalars[name] = value;
    return inputs;
  }

private:
  static bool hasMatrices(Program &program) {
    return llvm::any_of(
        program.function().getArgumentTypes(),
        [](mlir::Type type) { return foreach::rankOf(type) == 2; });
  }
};

TEST_P(CudaModule, AgreesWithTheCpu) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  for (bool misaligned : {false, true}) {
    SCOPED_TRACE(misaligned ? "misaligned" : "aligned");
    Check check;
    check.seeds = {1, 2, 3};
    runAndCompare(program, inputsOf(program, 11, misaligned), GetParam(),
                  check);
  }
}

TEST_P(CudaModule, TakesMatricesWithAStride) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  // With 300 columns, and with few enough for the panels of a loop.
  for (int64_t widest : {300, 200}) {
    SCOPED_TRACE(widest);
    Inputs inputs = inputsOf(program, 15, true, widest);
    spreadRows(inputs);
    runAndCompare(program, inputs, GetParam());
  }
}

TEST_P(CudaModule, TakesWideAndLongMatrices) {
  llvm::StringRef name = GetParam().name;
  if (!name.contains("Rows") && !name.contains("Columns"))
    GTEST_SKIP() << "nothing of this program depends on the width of rows";
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  // More columns than a block takes at a time, and exactly as many. For shared
  // rows: more rows than one block reduces, exactly as many, and tiles without
  // missing elements. For columns: tiles that are combined in groups of groups,
  // by one thread for each column and by several, and one tile more than a
  // group has.
  std::vector<std::vector<int64_t>> shapes = {
      {3, 4003}, {2, 2048}, {5, 1}, {1, 2049}, {2, 0}};
  if (name.contains("Columns"))
    llvm::append_values(
        shapes, std::vector<int64_t>{1040, 3}, std::vector<int64_t>{1024, 2},
        std::vector<int64_t>{650, 100}, std::vector<int64_t>{130, 2049},
        std::vector<int64_t>{128, 5}, std::vector<int64_t>{19, 4096});
  if (name.contains("Shared"))
    llvm::append_values(
        shapes, std::vector<int64_t>{1027, 3}, std::vector<int64_t>{1024, 2},
        std::vector<int64_t>{9, 3001}, std::vector<int64_t>{8, 2048});
  Inputs inputs = inputsOf(program, 16, true, 0, shapes);
  Check check;
  check.seeds = {1, 2, 3, 4};
  // Rounding at random turns the last bit of a sum into the last bit of an f16.
  if (name.contains("Random"))
    check.unit = 0x1p-11;
  runAndCompare(program, inputs, GetParam(), check);
  // The parts of wider rows follow from the words that a sweep holds, so fusion
  // may change the order of their sums.
  shapes = {{3, 5003}, {2, 4097}, {5, 1}, {1, 9000}, {2, 0}, {19, 4096}};
  inputs = inputsOf(program, 16, true, 0, shapes);
  auto named = GetParam();
  named.keepsOrder = false;
  runAndCompare(program, inputs, named, check);
}

TEST_P(CudaModule, SkipsInactiveMembers) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  Inputs inputs = inputsOf(program, 12, false);
  // A member in the middle and the last one, in one list.
  unsigned turn = 0;
  for (auto &[name, list] : inputs.lists) {
    list.inactive.assign(list.members.size(), false);
    if (turn++ == 0)
      list.inactive[1] = list.inactive.back() = true;
  }
  runAndCompare(program, inputs, GetParam());
}

TEST_P(CudaModule, TakesEmptyLists) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  Inputs inputs = inputsOf(program, 13, false);
  for (auto &[name, list] : inputs.lists)
    list = {};
  runAndCompare(program, inputs, GetParam());
}

class CudaLoop : public CudaModule {};

TEST_P(CudaLoop, TakesFewIterationsOrNone) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  for (double limit : {0.0, -1.0, 1.0, 2.0}) {
    SCOPED_TRACE(limit);
    Inputs inputs = inputsOf(program, 14, false);
    inputs.scalars["limit"] = limit;
    runAndCompare(program, inputs, GetParam());
  }
}

std::vector<NamedProgram> loops() {
  std::vector<NamedProgram> result;
  for (const NamedProgram &program : writtenPrograms())
    if (llvm::StringRef(program.name).starts_with("Loop"))
      result.push_back(program);
  return result;
}

INSTANTIATE_TEST_SUITE_P(, CudaLoop, testing::ValuesIn(loops()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(, CudaModule, testing::ValuesIn(writtenPrograms()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle::test
