//===- RunReport.h - the report of heddle run -------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The request and the outcome of a run, and their text and JSON forms.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNREPORT_H
#define HEDDLE_TOOLS_HEDDLE_RUNREPORT_H

#include "RunCheck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

namespace heddle::cli {

struct RunRequest {
  RunSession::Settings settings;
  std::string model;
  int64_t steps = 0, elements = 0;
  bool check = false, allowUnchecked = false;
};

/// One result after the last step.
struct ResultSummary {
  std::string name, dtype;
  int64_t members = 0, elements = 0;
  std::string checksum;
  std::optional<double> value; ///< of a scalar
  /// The first elements of a list, at most kShown.
  std::vector<double> first;
  int64_t notNumbers = 0; ///< NaN elements of a list

  /// The text form shows the elements of a list of at most this many elements,
  /// instead of a checksum.
  static constexpr size_t kShown = 4;
  std::string shown() const;
};

struct RunReport {
  std::string arch;
  double compileSeconds = 0, stepSeconds = 0;
  /// The output of `heddle explain --json` for the program.
  llvm::json::Object explained;
  std::vector<ResultSummary> results;
  std::vector<ResultCheck> checks;
  /// The scalar arguments that are NaN, from which results are NaN.
  std::vector<std::string> nanScalars;

  bool passed(const RunRequest &request) const {
    if (request.check && !request.allowUnchecked && compareNothing(checks))
      return false;
    return llvm::all_of(checks, [&](const ResultCheck &check) {
      return check.holds(request.allowUnchecked);
    });
  }
};

llvm::json::Value toJSON(const RunRequest &request, const RunReport &report);
void print(const RunRequest &request, const RunReport &report);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_RUNREPORT_H
