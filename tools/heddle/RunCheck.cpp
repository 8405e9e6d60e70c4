//===- RunCheck.cpp - check against the reference interpreter -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluations share no data and run at the same time.
//
//===----------------------------------------------------------------------===//

#include "RunCheck.h"

#include "runtime/support/Parallel.h"
#include "runtime/support/Text.h"

#include <cmath>
#include <mutex>
#include <set>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

//===----------------------------------------------------------------------===//
// Evaluations
//===----------------------------------------------------------------------===//

namespace {
/// The number of perturbed evaluations of a program, and by how many units in
/// the last place their operations are off. An operation of a target is off by
/// a quarter of a unit on average, so an error exceeds those of all perturbed
/// evaluations with a probability of about (0.2 / ulps)^count. An evaluation
/// holds a copy of all lists, so long lists have fewer. Larger errors would
/// keep loops from stopping.
struct Perturbations {
  int count;
  double ulps;

  static Perturbations of(int64_t longestList) {
    if (longestList < 1 << 16)
      return {16, 1};
    if (longestList < 1 << 20)
      return {8, 2};
    if (longestList < 1 << 23)
      return {4, 4};
    return {2, 8};
  }
};

/// One evaluation. The library keeps errors per thread, so run() stores the
/// error.
class Evaluation {
public:
  explicit Evaluation(std::optional<int> seed = std::nullopt, double ulps = 0)
      : seed(seed), ulps(ulps) {}

  /// Calls `beginStep` before each step.
  void run(const RunSession &session, const std::string &program, int64_t steps,
           function_ref<void()> beginStep) {
    if (Error error = evaluate(session, program, steps, beginStep))
      failure = takeError(std::move(error));
  }

  Expected<heddle_reference_elements> result(size_t index,
                                             size_t member) const {
    heddle_reference_elements elements;
    if (Error error = toError(
            heddle_reference_result(reference.get(), index, member, &elements)))
      return std::move(error);
    return elements;
  }

  std::optional<std::pair<StatusCode, std::string>> failure;

private:
  Error evaluate(const RunSession &session, const std::string &program,
                 int64_t steps, function_ref<void()> beginStep) {
    auto made = makeReference(program);
    if (!made)
      return made.takeError();
    reference = std::move(*made);
    for (int64_t step = 0; step < steps; ++step) {
      beginStep();
      if (Error error = session.fill(reference.get(), step))
        return error;
      if (Error error = toError(seed ? heddle_reference_perturbed_step(
                                           reference.get(), *seed, ulps)
                                     : heddle_reference_step(reference.get())))
        return error;
    }
    return Error::success();
  }

  /// Selects a perturbation; empty for the exact evaluation.
  std::optional<int> seed;
  double ulps;
  ReferencePtr reference;
};

/// All evaluations of a check; the first one has the exact results.
using Evaluations = std::vector<std::unique_ptr<Evaluation>>;
} // namespace

static Evaluations makeEvaluations(const RunSession &session, bool inPanels) {
  Evaluations evaluations;
  evaluations.push_back(std::make_unique<Evaluation>());
  const Plan &plan = session.getPlan();
  if (none_of(plan.graph.nodes, [](const PlanNode &node) {
        return node.kind == NodeKind::While;
      }))
    return evaluations;
  int64_t longest = 0;
  for (auto [number, buffer] : enumerate(plan.buffers))
    if (buffer.role == BufferRole::Argument && buffer.kind == BufferKind::List)
      longest = std::max(longest, session.getShapes().elementsOf(number));
  auto perturbations = Perturbations::of(longest);
  for (int seed = 0; seed < perturbations.count; ++seed)
    evaluations.push_back(std::make_unique<Evaluation>(
        seed, perturbations.ulps * (inPanels ? 4 : 1)));
  return evaluations;
}

static Error evaluateAll(Evaluations &evaluations, const RunSession &session,
                         const std::string &program, int64_t steps,
                         Progress &progress) {
  auto total = static_cast<int64_t>(evaluations.size()) * steps;
  int64_t begun = 0;
  std::mutex mutex;
  auto beginStep = [&] {
    std::lock_guard lock(mutex);
    progress.show("reference interpreter: step " + Twine(++begun) + " of " +
                  Twine(total) + " ...");
  };
  runInParallel(evaluations.size(), [&](size_t k) {
    evaluations[k]->run(session, program, steps, beginStep);
  });
  for (auto &evaluation : evaluations)
    if (evaluation->failure)
      return make_error<StatusError>(evaluation->failure->first,
                                     evaluation->failure->second);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
/// The values that the elements of one member may have.
class Allowance {
public:
  static Expected<Allowance> of(const Evaluations &evaluations, size_t index,
                                size_t member, DType dtype, bool inPanels) {
    Allowance allowance(dtype, inPanels);
    auto exact = evaluations.front()->result(index, member);
    if (!exact)
      return exact.takeError();
    allowance.exact = *exact;
    if (evaluations.size() == 1)
      return allowance;
    allowance.findScale();
    allowance.spread.resize(exact->count);
    for (const auto &evaluation : drop_begin(evaluations)) {
      auto perturbed = evaluation->result(index, member);
      if (!perturbed)
        return perturbed.takeError();
      if (perturbed->count == exact->count)
        allowance.include(perturbed->elements);
    }
    allowance.smooth();
    return allowance;
  }

  size_t count() const { return exact.count; }
  double exactly(size_t k) const { return exact.elements[k]; }
  double ulp(size_t k) const {
    return unitInLastPlace(dtype) *
           std::max(std::fabs(exactly(k)), smallestNormal(dtype));
  }

  /// The values that element `k` may have; -inf to +inf if it may be anything,
  /// NaN too.
  std::pair<double, double> range(size_t k) const {
    double value = exactly(k);
    auto [low, high] = rangeOfFaithful(k);
    bool isTight = std::max(value - low, high - value) <= kTight * ulp(k);
    if (spread.empty() || isTight || low == high)
      return {low, high};
    double distance = spread[k] + ulp(k);
    if (std::isnan(value))
      return {distance == 0 ? value : low, distance == 0 ? value : high};
    return {std::fmax(low, value - distance),
            std::fmin(high, value + distance)};
  }

  /// Whether rounding decides whether element `k` is `found`: the errors of
  /// perturbed evaluations are so large that they do not bound other errors. In
  /// a chaotic loop, a correct run has the largest error of all evaluations for
  /// one of 17 elements. If a divisor may be near 0 there, any value may
  /// overflow. `memberIsChaotic` says so for the elements of all results: then
  /// the run may also stop in another iteration than all evaluations.
  bool mayBe(size_t k, double found, bool memberIsChaotic) const {
    if (spread.empty() || !isFaithful(k, found))
      return false;
    bool isOther = unitInLastPlace(dtype) == 0 || !std::isfinite(found);
    return isChaotic(k) || (memberIsChaotic && isOther);
  }

  /// Whether errors of some element grew until they do not bound others.
  bool isChaotic() const {
    for (size_t k = 0; k < spread.size(); ++k)
      if (isChaotic(k))
        return true;
    return false;
  }

private:
  Allowance(DType dtype, bool inPanels) : dtype(dtype), inPanels(inPanels) {}

  bool isChaotic(size_t k) const {
    double size = std::fabs(exactly(k));
    return unitInLastPlace(dtype) > 0
               ? spread[k] > kLinear * std::max(size, scale)
               : spread[k] > std::max(2.0, kManyIterations * size);
  }

  /// Whether a faithful evaluation may give `found`.
  bool isFaithful(size_t k, double found) const {
    auto [low, high] = rangeOfFaithful(k);
    bool isAnything = std::isinf(low) && std::isinf(high) && low < high;
    return isAnything || (low <= found && found <= high);
  }

  /// The values of all faithful evaluations.
  std::pair<double, double> rangeOfFaithful(size_t k) const {
    double value = exactly(k), low = exact.low[k], high = exact.high[k];
    if (inPanels) {
      low = value - kPanelFactor * (value - low);
      high = value + kPanelFactor * (high - value);
    }
    return {low, high};
  }

  void findScale() {
    double squares = 0;
    size_t finite = 0;
    for (size_t k = 0; k < count(); ++k)
      if (std::isfinite(exactly(k))) {
        squares += exactly(k) * exactly(k);
        ++finite;
      }
    scale = finite ? std::sqrt(squares / finite) : 0;
  }

  void include(const double *perturbed) {
    for (size_t k = 0; k < count(); ++k) {
      double error = std::fabs(perturbed[k] - exactly(k));
      bool same = perturbed[k] == exactly(k) ||
                  (std::isnan(perturbed[k]) && std::isnan(exactly(k)));
      if (!same)
        spread[k] = std::isnan(error) ? HUGE_VAL : std::max(spread[k], error);
    }
  }

  /// The largest error of one element in a few evaluations is random. Adds the
  /// RMS over all elements, which doubles the error of a single element.
  void smooth() {
    double squares = 0;
    for (double error : spread)
      if (std::isfinite(error))
        squares += error * error;
    double rms = std::sqrt(squares / std::max<double>(1, count()));
    for (double &error : spread)
      error += rms;
  }

  /// If both ends of a range are at most so many units in the last place from
  /// the exact value, the range suffices.
  static constexpr double kTight = 256;
  /// Errors below this share of the values grow in proportion to the errors of
  /// operations, so those of perturbed evaluations bound others.
  static constexpr double kLinear = 1.0 / 64;
  /// Numbers of iterations that differ by more than this share, and by more
  /// than 2, say nothing about other runs.
  static constexpr double kManyIterations = 1.0 / 8;
  /// A panel loop on a GPU uses the hardware's base-2 exponential and sums
  /// about shifts, which costs a few units in the last place per operation.
  static constexpr double kPanelFactor = 8;

  DType dtype;
  bool inPanels;
  heddle_reference_elements exact = {};
  /// The largest error of the perturbed evaluations, for each element.
  std::vector<double> spread;
  double scale = 0; ///< the RMS of the exact values
};
} // namespace

static void compare(const Allowance &allowance, bool memberIsChaotic,
                    size_t member, size_t position, double found,
                    ResultCheck &check) {
  double exact = allowance.exactly(position);
  auto [low, high] = allowance.range(position);
  ++check.elements;
  if (std::isnan(check.firstExact))
    check.firstExact = exact;
  check.varies |= exact != check.firstExact && !std::isnan(exact);
  if (std::isnan(found) && std::isnan(exact)) {
    ++check.notNumbers;
    return;
  }
  if (std::isinf(low) && std::isinf(high) && low < high) {
    ++check.unknown;
    return;
  }
  if (std::isfinite(exact) && std::isfinite(found)) {
    check.errorSquares += (found - exact) * (found - exact);
    check.valueSquares += exact * exact;
  }
  if (found == exact)
    return;
  if (!(low <= found && found <= high) &&
      allowance.mayBe(position, found, memberIsChaotic)) {
    ++check.unknown;
    return;
  }
  double error = std::fabs(found - exact);
  double end = found < exact ? exact - low : high - exact;
  double share = end > 0 ? error / end : HUGE_VAL;
  if (std::isnan(share) || !(low <= found && found <= high))
    share = std::fmax(std::isnan(share) ? HUGE_VAL : share, 1.001);
  check.largestShare = std::max(check.largestShare, share);
  if (share <= 1)
    return;
  if (check.outside++ == 0)
    check.wrong = {member, static_cast<int64_t>(position), found, exact, low,
                   high};
}

static Error compareMember(RunSession &session, size_t index, size_t member,
                           const Allowance &allowance, bool memberIsChaotic,
                           ResultCheck &check) {
  const Plan &plan = session.getPlan();
  int buffer = plan.results[index].buffer;
  DType dtype = plan.buffers[buffer].dtype;
  bool isScalar = plan.buffers[buffer].kind == BufferKind::Scalar;
  int64_t expected =
      isScalar ? 1 : elementCount(session.getShapes().of(buffer)[member]);
  if (static_cast<int64_t>(allowance.count()) != expected)
    return makeError(StatusCode::Failed,
                     "result '{0}', member {1}: expected {2}, found "
                     "{3} in the reference interpreter",
                     check.name, member, counted(expected, "element"),
                     allowance.count());
  if (isScalar) {
    auto value = session.readScalar(index);
    if (!value)
      return value.takeError();
    compare(allowance, memberIsChaotic, member, 0, *value, check);
    return Error::success();
  }
  size_t position = 0;
  std::vector<double> found;
  return session.readResult(index, member, [&](ArrayRef<char> piece) {
    found.resize(piece.size() / dtypeSize(dtype));
    loadElements(dtype, piece.data(), found.size(), found.data());
    for (double element : found)
      compare(allowance, memberIsChaotic, member, position++, element, check);
  });
}

/// Calls `visit` for each member of each result.
static Error forEachMember(const RunSession &session,
                           function_ref<Error(size_t, size_t)> visit) {
  const Plan &plan = session.getPlan();
  for (size_t index = 0; index < plan.results.size(); ++index) {
    int buffer = plan.results[index].buffer;
    size_t members = plan.buffers[buffer].kind == BufferKind::Scalar
                         ? 1
                         : session.getShapes().of(buffer).size();
    for (size_t member = 0; member < members; ++member)
      if (Error error = visit(index, member))
        return error;
  }
  return Error::success();
}

double ResultCheck::rmsError() const {
  double unit = this->unit > 0 ? this->unit * std::sqrt(valueSquares)
                               : std::sqrt(static_cast<double>(elements));
  return errorSquares > 0 ? std::sqrt(errorSquares) / unit : 0;
}

bool compareNothing(ArrayRef<ResultCheck> checks) {
  bool ofTensors = any_of(
      checks, [](const ResultCheck &check) { return check.isOfTensors; });
  return all_of(checks, [&](const ResultCheck &check) {
    return check.isEmpty() || check.isOfTensors != ofTensors;
  });
}

Expected<std::vector<ResultCheck>> checkResults(RunSession &session,
                                                const std::string &program,
                                                int64_t steps,
                                                Progress &progress) {
  const Plan &plan = session.getPlan();
  bool inPanels =
      !session.onCpu() && any_of(plan.graph.nodes, [](const PlanNode &node) {
        return node.panel.has_value();
      });
  Evaluations evaluations = makeEvaluations(session, inPanels);
  if (Error error = evaluateAll(evaluations, session, program, steps, progress))
    return std::move(error);
  auto allowanceOf = [&](size_t index, size_t member) {
    int buffer = plan.results[index].buffer;
    return Allowance::of(evaluations, index, member, plan.buffers[buffer].dtype,
                         inPanels);
  };
  // The members in whose loops errors grow; a scalar concerns all.
  std::set<size_t> chaotic;
  auto findChaos = [&](size_t index, size_t member) -> Error {
    auto allowance = allowanceOf(index, member);
    if (!allowance)
      return allowance.takeError();
    if (allowance->isChaotic())
      chaotic.insert(member);
    return Error::success();
  };
  if (evaluations.size() > 1)
    if (Error error = forEachMember(session, findChaos))
      return std::move(error);

  std::vector<ResultCheck> checks(plan.results.size());
  for (auto [check, result] : zip(checks, plan.results)) {
    const PlanBuffer &buffer = plan.buffers[result.buffer];
    check.name = result.name;
    check.unit = unitInLastPlace(buffer.dtype);
    check.isOfTensors = buffer.kind == BufferKind::List && buffer.rank > 0;
    check.isFill = session.isFill(result.buffer);
  }
  auto compareOne = [&](size_t index, size_t member) -> Error {
    progress.show("comparing '" + checks[index].name + "' ...");
    auto allowance = allowanceOf(index, member);
    if (!allowance)
      return allowance.takeError();
    bool isScalar =
        plan.buffers[plan.results[index].buffer].kind == BufferKind::Scalar;
    bool isChaotic = isScalar ? !chaotic.empty() : chaotic.count(member) > 0;
    return compareMember(session, index, member, *allowance, isChaotic,
                         checks[index]);
  };
  if (Error error = forEachMember(session, compareOne))
    return std::move(error);
  return checks;
}

} // namespace heddle::cli
