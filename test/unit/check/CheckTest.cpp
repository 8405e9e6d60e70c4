//===- CheckTest.cpp - is `heddle run --check` to be trusted? -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Correct runs must pass, and code with an error in it must fail.
//
// HEDDLE_CHECK_RUNS is the number of correct runs, HEDDLE_CHECK_MUTANTS the
// number of errors that must be found, HEDDLE_CHECK_SEED the first seed. On
// another machine than that of the build, HEDDLE_CHECK_SOURCE is the folder of
// the repository. HEDDLE_CHECK_PRINT prints every mutant.
//
//===----------------------------------------------------------------------===//

#include "Mutation.h"
#include "Subject.h"
#include "gtest/gtest.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::test {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

uint64_t firstSeed() { return fromEnvironment("HEDDLE_CHECK_SEED", 1); }

/// The first result whose elements are outside of their ranges, in words; empty
/// if there is none.
std::string failureOf(const Outcome &outcome) {
  for (const cli::ResultCheck &check : outcome.checks)
    if (check.outside)
      return llvm::formatv("'{0}': {1} of {2} elements, share {3}; member {4}, "
                           "element {5}: {6:e17}, expected {7:e17} ({8:e17} to "
                           "{9:e17})",
                           check.name, check.outside, check.elements,
                           check.largestShare, check.wrong.member,
                           check.wrong.position, check.wrong.found,
                           check.wrong.exact, check.wrong.low, check.wrong.high)
          .str();
  return {};
}

std::string describe(const Subject &subject) {
  return subject.program + "\nshapes " + cli::shapesToJSON(subject.shapes) +
         ", seed " + std::to_string(subject.seed);
}

/// The number of runs of one program, each with other shapes and data.
constexpr uint64_t kRunsOfProgram = 10;

TEST(Check, PassesCorrectRuns) {
  installTestCompiler();
  uint64_t runs = fromEnvironment("HEDDLE_CHECK_RUNS", 40);
  int64_t elements = 0, unknown = 0, failures = 0, done = 0;
  double largest = 0;
  for (uint64_t seed = firstSeed(); seed < firstSeed() + runs; ++seed) {
    Subject subject{drawSubjectProgram(seed / kRunsOfProgram), drawShapes(seed),
                    seed, 1 + static_cast<int64_t>(seed % 3)};
    Outcome outcome = run(subject);
    EXPECT_EQ(outcome.error, "") << describe(subject);
    done += outcome.error.empty();
    for (const cli::ResultCheck &check : outcome.checks) {
      elements += check.elements;
      unknown += check.unknown;
      if (!check.outside)
        largest = std::max(largest, check.largestShare);
    }
    std::string failure = failureOf(outcome);
    failures += !failure.empty();
    EXPECT_EQ(failure, "") << describe(subject);
  }
  std::cout << done << " runs, " << elements << " elements, " << unknown
            << " of which may be anything: " << failures << " false alarms\n";
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// The end of a mutant.
enum class MutantResult : int {
  noPlace,    ///< the program has no place for the error
  equal,      ///< the same bits
  asRounding, ///< as far from the original as rounding could put it
  found,      ///< the check fails
  missed,     ///< the check passes
  crashed,    ///< the process ends, or does not end
  refused,    ///< the run reports an error
};

constexpr const char *kFates[] = {
    "no place", "equal",   "as rounding", "found by the check",
    "missed",   "crashed", "refused"};

/// The largest distance of an element of `mutant` from the same element of
/// `original`. The unit is the RMS error of the original's result or, if that
/// is larger, one unit in the last place of the element.
double distanceOf(const Outcome &original, const Outcome &mutant) {
  double largest = 0;
  for (size_t r = 0; r < original.elements.size(); ++r) {
    const auto &a = original.elements[r], &b = mutant.elements[r];
    const cli::ResultCheck &check = original.checks[r];
    double rms =
        std::sqrt(check.errorSquares / std::max<double>(1, check.elements));
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])))
        continue;
      double unit = std::max(check.unit * std::fabs(a[k]), rms);
      double distance = std::fabs(a[k] - b[k]);
      distance = unit > 0 ? distance / unit : HUGE_VAL;
      largest = std::max(largest, std::isnan(distance) ? HUGE_VAL : distance);
    }
  }
  return largest;
}

/// Runs `subject` as it is and with the error of `seed`. `text` receives the
/// description of the error.
MutantResult runMutant(const Subject &subject, uint64_t seed,
                       std::string &text) {
  Outcome original = run(subject);
  if (!original.error.empty() || !failureOf(original).empty()) {
    text = original.error + failureOf(original);
    return MutantResult::refused;
  }
  auto change = [&](llvm::Module &module) { text = mutate(module, seed); };
  changeModules(change);
  Outcome mutant = run(subject);
  if (text.empty())
    return MutantResult::noPlace;
  if (!mutant.error.empty())
    return MutantResult::refused;
  double distance = distanceOf(original, mutant);
  text += llvm::formatv(" (distance {0})", distance).str();
  if (distance == 0)
    return MutantResult::equal;
  if (!failureOf(mutant).empty())
    return MutantResult::found;
  return distance > fromEnvironment("HEDDLE_CHECK_DISTANCE", 64)
             ? MutantResult::missed
             : MutantResult::asRounding;
}

/// Runs runMutant() in a child process, because a mutant may end its process.
MutantResult fateInChild(const Subject &subject, uint64_t seed,
                         std::string &text) {
  int ends[2];
  if (pipe(ends))
    return MutantResult::refused;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    close(ends[0]);
    std::string message;
    MutantResult fate = runMutant(subject, seed, message);
    message = char('0' + int(fate)) + message;
    message.resize(std::min<size_t>(message.size(), 60000));
    if (write(ends[1], message.data(), message.size()) < 0)
      _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string message;
  char piece[4096];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;)
    message.append(piece, n);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (message.empty())
    return MutantResult::crashed;
  text = message.substr(1);
  return MutantResult(message[0] - '0');
}

TEST(Check, FailsWrongCode) {
  installTestCompiler();
  setenv("HEDDLE_THREADS", "1", 1); // a child has no other threads
  uint64_t wanted = fromEnvironment("HEDDLE_CHECK_MUTANTS", 8);
  bool prints = std::getenv("HEDDLE_CHECK_PRINT");
  std::map<MutantResult, uint64_t> fates;
  for (uint64_t seed = firstSeed();
       fates[MutantResult::found] + fates[MutantResult::missed] < wanted;
       ++seed) {
    Subject subject{drawSubjectProgram(seed), drawShapes(seed), seed, 2};
    std::string text;
    MutantResult fate = fateInChild(subject, seed, text);
    ++fates[fate];
    if (prints)
      std::cout << "seed " << seed << ": " << kFates[int(fate)] << ": " << text
                << std::endl;
    EXPECT_NE(fate, MutantResult::missed)
        << "seed " << seed << ": " << text << "\n"
        << describe(subject);
  }
  for (auto [fate, count] : fates)
    std::cout << kFates[int(fate)] << ": " << count << "\n";
}

} // namespace
} // namespace heddle::test
