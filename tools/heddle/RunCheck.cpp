//===- RunCheck.cpp - results against the reference interpreter -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluations share no data and run at the same time.
//
//===----------------------------------------------------------------------===//

#include "RunCheck.h"

#include <atomic>
#include <cmath>
#include <system_error>
#include <thread>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

double ResultCheck::inUnits(double error) const {
  if (error == 0)
    return 0;
  return unit > 0 ? error / unit : HUGE_VAL;
}

/// Returns the error of `found`; NaN equals only NaN.
static double errorOf(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected)))
    return 0;
  double error = std::fabs(found - expected);
  return std::isnan(error) ? HUGE_VAL : error;
}

namespace {
/// Number of perturbed evaluations (draws). With few elements, the estimate of
/// one draw is noisy. Long lists need only one draw; this saves memory, because
/// each draw holds a copy of all lists.
constexpr int kDraws = 4;
constexpr int64_t kLong = 1 << 20;

/// Accumulates the errors of one result.
class Comparison {
public:
  explicit Comparison(ResultCheck &check) : check(check) {}

  /// Adds an element; `perturbed` holds its value in each draw, if there are
  /// any.
  void add(double found, double exact, double plain,
           ArrayRef<double> perturbed) {
    double error = errorOf(found, exact), plainError = errorOf(plain, exact);
    bool changes = false;
    for (double draw : perturbed) {
      double perturbedError = errorOf(draw, exact);
      changes |= perturbedError != 0;
      if (std::isfinite(perturbedError))
        perturbedSquares += perturbedError * perturbedError;
    }
    perturbations += perturbed.size();
    changed += changes;
    check.different += errorOf(found, plain) != 0;
    check.notNumbers += std::isnan(found);
    // If the plain evaluation overflows, it is no measure of the error.
    if (std::isinf(plainError))
      error = plainError = 0;
    check.largestError = std::max(check.largestError, error);
    squares += error * error;
    plainSquares += plainError * plainError;
    if (std::isfinite(exact))
      values += exact * exact;
    ++check.elements;
  }

  /// Computes the errors, their unit and the bound. By chance, the plain
  /// evaluation can be exact, or off in a few elements only. The unit is
  /// therefore at least the RMS error of 16 elements that are off by one unit
  /// in the last place. In f64, the exact evaluation is no more precise than
  /// the plain one, so every element may be off by four units in the last
  /// place.
  void computeErrors(DType dtype) {
    double count = std::max<double>(1, check.elements);
    check.rmsError = std::sqrt(squares / count);
    check.plainRmsError = std::sqrt(plainSquares / count);
    double place = unitInLastPlace(dtype) * std::sqrt(values / count);
    double floor = 4 * place / (dtype == DType::F64 ? 1 : std::sqrt(count));
    check.unit = std::max({
        check.plainRmsError,
        floor,
        std::sqrt(perturbedSquares / std::max<double>(1, perturbations)),
    });
    if (changed > 0)
      check.bound += ResultCheck::kSpread / std::sqrt(changed);
  }

private:
  ResultCheck &check;
  double squares = 0, plainSquares = 0, perturbedSquares = 0, values = 0;
  /// Perturbed elements, over all draws; elements that any draw changes.
  double perturbations = 0, changed = 0;
};

/// One evaluation, which runs on a thread of its own. The library keeps errors
/// per thread, so run() stores the error.
struct Evaluation {
  explicit Evaluation(int arithmetic)
      : arithmetic(static_cast<heddle_arithmetic>(arithmetic)) {}

  heddle_arithmetic arithmetic;
  ReferencePtr reference;
  std::atomic<int64_t> done{0};
  std::atomic<bool> finished{false};
  std::optional<std::pair<StatusCode, std::string>> failure;

  void run(const RunSession &session, const std::string &program,
           int64_t steps) {
    Error error = evaluate(session, program, steps);
    if (error)
      failure = takeError(std::move(error));
    finished = true;
  }

private:
  Error evaluate(const RunSession &session, const std::string &program,
                 int64_t steps) {
    auto made = makeReference(program);
    if (!made)
      return made.takeError();
    reference = std::move(*made);
    if (Error error = session.fill(reference.get()))
      return error;
    for (; done < steps; ++done)
      if (Error error =
              toError(heddle_reference_step(reference.get(), arithmetic)))
        return error;
    return Error::success();
  }
};
} // namespace

static Expected<ArrayRef<double>> resultOf(const Evaluation &evaluation,
                                           size_t index, size_t member) {
  const double *elements = nullptr;
  size_t count = 0;
  if (Error error = toError(heddle_reference_result(
          evaluation.reference.get(), index, member, &elements, &count)))
    return std::move(error);
  return ArrayRef<double>(elements, count);
}

static Error compareMember(RunSession &session, size_t index, size_t member,
                           const Evaluation &exact, const Evaluation &plain,
                           ArrayRef<const Evaluation *> perturbed,
                           Comparison &comparison) {
  auto exactElements = resultOf(exact, index, member);
  if (!exactElements)
    return exactElements.takeError();
  auto plainElements = resultOf(plain, index, member);
  if (!plainElements)
    return plainElements.takeError();
  SmallVector<ArrayRef<double>, kDraws> drawn;
  for (const Evaluation *draw : perturbed) {
    auto elements = resultOf(*draw, index, member);
    if (!elements)
      return elements.takeError();
    drawn.push_back(*elements);
  }
  auto drawsOf = [&](size_t position) {
    SmallVector<double, kDraws> draws;
    for (ArrayRef<double> elements : drawn)
      draws.push_back(elements[position]);
    return draws;
  };
  const Plan &plan = session.getPlan();
  int buffer = plan.results[index].buffer;
  DType dtype = plan.buffers[buffer].dtype;
  int64_t expected = 1;
  if (plan.buffers[buffer].kind == BufferKind::List)
    expected = elementCount(session.getShapes().of(buffer)[member]);
  if (static_cast<int64_t>(exactElements->size()) != expected ||
      exactElements->size() != plainElements->size())
    return makeError(StatusCode::Failed,
                     "result '{0}', member {1}: expected {2} elements, found "
                     "{3} in the reference interpreter",
                     plan.results[index].name, member, expected,
                     exactElements->size());
  if (plan.buffers[buffer].kind == BufferKind::Scalar) {
    auto value = session.readScalar(index);
    if (!value)
      return value.takeError();
    comparison.add(*value, exactElements->front(), plainElements->front(),
                   drawsOf(0));
    return Error::success();
  }
  size_t position = 0;
  std::vector<double> found;
  return session.readResult(index, member, [&](ArrayRef<char> piece) {
    found.resize(piece.size() / dtypeSize(dtype));
    loadElements(dtype, piece.data(), found.size(), found.data());
    for (double element : found) {
      comparison.add(element, (*exactElements)[position],
                     (*plainElements)[position], drawsOf(position));
      ++position;
    }
  });
}

static bool isFloat(DType dtype) {
  return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::BF16 ||
         dtype == DType::F16;
}

/// Returns, for each member, whether its integer results, such as iteration
/// counts and flags, are equal in both evaluations; empty if there are no such
/// results. Ignores 64-bit results: they are positions, which differ if maxima
/// tie.
static Expected<std::vector<bool>> membersThatAgree(const RunSession &session,
                                                    const Evaluation &a,
                                                    const Evaluation &b) {
  const Plan &plan = session.getPlan();
  std::vector<bool> agree;
  for (size_t index = 0; index < plan.results.size(); ++index) {
    int buffer = plan.results[index].buffer;
    const PlanBuffer &result = plan.buffers[buffer];
    if (isFloat(result.dtype) || result.dtype == DType::I64 ||
        result.kind == BufferKind::Scalar)
      continue;
    size_t members = session.getShapes().of(buffer).size();
    agree.resize(std::max(agree.size(), members), true);
    for (size_t member = 0; member < members; ++member) {
      auto first = resultOf(a, index, member),
           second = resultOf(b, index, member);
      if (!first || !second)
        return joinErrors(first.takeError(), second.takeError());
      agree[member] = agree[member] && *first == *second;
    }
  }
  return agree;
}

Expected<std::vector<ResultCheck>> checkResults(RunSession &session,
                                                const std::string &program,
                                                int64_t steps,
                                                Progress &progress) {
  const Plan &plan = session.getPlan();
  bool loops = any_of(plan.graph.nodes, [](const PlanNode &node) {
    return node.kind == NodeKind::While;
  });
  bool inPanels =
      !session.onCpu() && any_of(plan.graph.nodes, [](const PlanNode &node) {
        return node.panel.has_value();
      });
  Evaluation exact(HEDDLE_EXACT), plain(HEDDLE_AS_WRITTEN);
  std::vector<std::unique_ptr<Evaluation>> perturbed;
  SmallVector<Evaluation *> evaluations = {&exact, &plain};
  int64_t longest = 0;
  for (auto [number, buffer] : enumerate(plan.buffers))
    if (buffer.role == BufferRole::Argument && buffer.kind == BufferKind::List)
      longest = std::max(longest, session.getShapes().elementsOf(number));
  int draws = !loops ? 0 : longest < kLong ? kDraws : 1;
  for (int draw = 0; draw < draws; ++draw) {
    perturbed.push_back(std::make_unique<Evaluation>(HEDDLE_PERTURBED + draw));
    evaluations.push_back(perturbed.back().get());
  }
  {
    std::vector<std::thread> threads;
    threads.reserve(evaluations.size());
    for (Evaluation *evaluation : evaluations)
      try {
        threads.emplace_back(
            [&, evaluation] { evaluation->run(session, program, steps); });
      } catch (const std::system_error &) {
        // The system grants no more threads.
        evaluation->run(session, program, steps);
      }
    while (!all_of(evaluations, [](Evaluation *evaluation) {
      return evaluation->finished.load();
    })) {
      int64_t done = steps;
      for (Evaluation *evaluation : evaluations)
        done = std::min(done, evaluation->done.load());
      progress.show("reference interpreter: step " +
                    Twine(std::min(done + 1, steps)) + " of " + Twine(steps) +
                    " ...");
      std::this_thread::sleep_for(
          std::chrono::milliseconds(exact.done ? 50 : 2));
    }
    for (std::thread &thread : threads)
      thread.join();
  }
  for (Evaluation *evaluation : evaluations)
    if (evaluation->failure)
      return make_error<StatusError>(evaluation->failure->first,
                                     evaluation->failure->second);

  // If a perturbation changes the iteration count or a flag of a member, the
  // member's results belong to another solve and say nothing about rounding.
  std::vector<std::vector<bool>> agree;
  bool allAgree = loops;
  for (auto &draw : perturbed) {
    auto members = membersThatAgree(session, exact, *draw);
    if (!members)
      return members.takeError();
    allAgree &= !members->empty() && !is_contained(*members, false);
    agree.push_back(std::move(*members));
  }
  std::vector<ResultCheck> checks;
  for (size_t index = 0; index < plan.results.size(); ++index) {
    const PlanBuffer &buffer = plan.buffers[plan.results[index].buffer];
    ResultCheck &check = checks.emplace_back();
    check.name = plan.results[index].name;
    if (inPanels)
      check.bound = allAgree ? ResultCheck::kAgreeingPanelBound
                             : ResultCheck::kPanelBound;
    progress.show("comparing '" + check.name + "' ...");
    Comparison comparison(check);
    size_t members =
        buffer.kind == BufferKind::Scalar
            ? 1
            : session.getShapes().of(plan.results[index].buffer).size();
    for (size_t member = 0; member < members; ++member) {
      SmallVector<const Evaluation *, kDraws> draws;
      for (auto [draw, same] : zip(perturbed, agree))
        if (isFloat(buffer.dtype) && member < same.size() && same[member])
          draws.push_back(draw.get());
      if (Error error = compareMember(session, index, member, exact, plain,
                                      draws, comparison))
        return std::move(error);
    }
    comparison.computeErrors(buffer.dtype);
  }
  return checks;
}

} // namespace heddle::cli
