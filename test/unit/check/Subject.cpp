//===- Subject.cpp - a program to check -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subject.h"
#include "codegen/compiler/ProgramCompiler.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/plan/PlanExtraction.h"
#include "dialect/library/Library.h"
#include "runtime/program/Compiler.h"
#include "test/unit/codegen/PropertyGenerator.h"

#include <map>
#include <random>

using namespace heddle::runtime;
using llvm::Error;
using llvm::Expected;

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Programs and shapes
//===----------------------------------------------------------------------===//

namespace {
/// The options of a standard program that change its results.
struct Standard {
  const char *name;
  std::vector<std::vector<const char *>> choices;
};
} // namespace

static std::string drawStandard(std::mt19937_64 &random) {
  static const std::vector<const char *> dtypes = {
      "", "", "dtype=f64", "dtype=bf16", "dtype=f16", "dtype=f32/bf16"};
  static const std::vector<Standard> standards = {
      {"sgd",
       {dtypes,
        {"", "momentum=0.9", "momentum=0.9,nesterov=true"},
        {"", "weight_decay=0.1"},
        {"", "maximize=true"}}},
      {"adam", {dtypes, {"", "amsgrad=true"}, {"", "weight_decay=0.1"}}},
      {"adamw", {dtypes, {"", "amsgrad=true"}, {"", "maximize=true"}}},
      {"clip_by_global_norm+adamw", {dtypes}},
      {"clip_by_global_norm+sgd", {dtypes, {"", "momentum=0.9"}}},
      {"sinkhorn",
       {{"normalize=true"},
        {"eps=0.5", "eps=1", "eps=2"},
        {"", "dtype=f64"},
        {"", "outputs=plan/cost", "outputs=potentials/history",
         "outputs=marginals"},
        {"", "", "omega=1.3", "anneal=geometric", "rho_a=1"}}},
  };
  const Standard &standard = standards[random() % standards.size()];
  std::string text = standard.name;
  bool first = true;
  for (const auto &choice : standard.choices) {
    std::string option = choice[random() % choice.size()];
    if (option.empty())
      continue;
    text += (first ? ":" : ",") + option;
    first = false;
  }
  return text;
}

std::string drawSubjectProgram(uint64_t seed) {
  std::mt19937_64 random(seed * 2 + 1);
  static const char *files[] = {"examples/custom_rule/lion.mlir",
                                "examples/adamw/adamw.mlir",
                                "examples/sinkhorn/sinkhorn.mlir",
                                "test/codegen/Inputs/balance.mlir",
                                "test/cli/Inputs/scaled_rows.mlir",
                                "test/cli/Inputs/check/segment_mean.mlir"};
  unsigned kind = random() % 8;
  if (kind == 0)
    return std::string(HEDDLE_TEST_SOURCE) + "/" +
           files[random() % std::size(files)];
  if (kind < 3)
    return drawStandard(random);
  return drawProgram(seed, "p" + std::to_string(seed)).text;
}

std::vector<Extents> drawShapes(uint64_t seed) {
  std::mt19937_64 random(seed * 2 + 1);
  std::vector<Extents> shapes(1 + random() % 5);
  static const int64_t extents[] = {0,  1,  1,  2,  3,  5,  7,   8,
                                    16, 17, 31, 33, 64, 65, 130, 257};
  int64_t room = 4096;
  auto extent = [&] {
    int64_t drawn = std::min(extents[random() % std::size(extents)], room);
    room /= std::max<int64_t>(1, drawn);
    return drawn;
  };
  for (Extents &shape : shapes) {
    room = 4096;
    shape.push_back(extent());
    if (random() % 4)
      shape.push_back(extent());
  }
  return shapes;
}

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

static llvm::function_ref<void(llvm::Module &)> moduleChange;

namespace {
class TestCompiler : public Compiler {
public:
  Expected<CompiledProgram> compile(const CompileRequest &request) override {
    if (known == request.program && !moduleChange)
      return last;
    known.clear();
    Compilation compilation;
    if (Error error = compilation.read(request.program))
      return error;
    if (Error error = compilation.lower())
      return error;
    auto plan = extractPlan(compilation.getProgram(), compilation.getBuffers());
    if (failed(plan))
      return compilation.failure("plan extraction failed");
    auto program = compileForCpu(compilation.getProgram(), moduleChange);
    if (!program)
      return program.takeError();
    last = {std::move(*plan), std::move(*program)};
    if (!moduleChange)
      known = request.program;
    return last;
  }

  Expected<std::string> emit(const CompileRequest &, llvm::StringRef) override {
    return makeError(StatusCode::Failed, "not used");
  }
  Expected<std::string> explain(const CompileRequest &, llvm::StringRef,
                                bool) override {
    return makeError(StatusCode::Failed, "not used");
  }

private:
  std::string known;
  CompiledProgram last;
};
} // namespace

void installTestCompiler() {
  Compiler::install(std::make_unique<TestCompiler>());
}

void changeModules(llvm::function_ref<void(llvm::Module &)> change) {
  moduleChange = change;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static Expected<std::vector<double>> elementsOf(cli::RunSession &session,
                                                size_t index) {
  int buffer = session.getPlan().results[index].buffer;
  const PlanBuffer &info = session.getPlan().buffers[buffer];
  if (info.kind == BufferKind::Scalar) {
    auto value = session.readScalar(index);
    if (!value)
      return value.takeError();
    return std::vector<double>{*value};
  }
  std::vector<double> elements;
  for (size_t member = 0; member < session.getShapes().of(buffer).size();
       ++member)
    if (Error error =
            session.readResult(index, member, [&](llvm::ArrayRef<char> piece) {
              size_t count = piece.size() / dtypeSize(info.dtype);
              elements.resize(elements.size() + count);
              cli::loadElements(info.dtype, piece.data(), count,
                                elements.data() + elements.size() - count);
            }))
      return std::move(error);
  return elements;
}

static Error runInto(const Subject &subject, bool check, Outcome &outcome) {
  cli::RunSession::Settings settings;
  settings.program = subject.program;
  settings.options.target = "cpu";
  settings.shapes = subject.shapes;
  settings.seed = subject.seed;
  cli::Progress progress;
  auto session = cli::RunSession::create(settings, progress);
  if (!session)
    return session.takeError();
  for (int64_t step = 0; step < subject.steps; ++step) {
    if (Error error = (*session)->beginStep(step))
      return error;
    if (Error error = cli::toError((*session)->getGraph().replay()))
      return error;
    if (Error error = cli::toError((*session)->getGraph().synchronize()))
      return error;
  }
  for (size_t k = 0; k < (*session)->getPlan().results.size(); ++k) {
    auto elements = elementsOf(**session, k);
    if (!elements)
      return elements.takeError();
    outcome.elements.push_back(std::move(*elements));
  }
  if (!check)
    return Error::success();
  auto checks =
      cli::checkResults(**session, subject.program, subject.steps, progress);
  if (!checks)
    return checks.takeError();
  outcome.checks = std::move(*checks);
  return Error::success();
}

Outcome run(const Subject &subject, bool check) {
  Outcome outcome;
  if (Error error = runInto(subject, check, outcome))
    outcome.error = takeError(std::move(error)).second;
  return outcome;
}

} // namespace heddle::test
