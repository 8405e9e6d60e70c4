//===- Programs.h - the entries of the standard programs --------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry has the name of a program, its summary, its options and the function
// that builds it. Programs.def lists the files that define entries.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_PROGRAMS_H
#define HEDDLE_DIALECT_LIBRARY_PROGRAMS_H

#include "dialect/library/Compose.h"
#include "dialect/library/RuleProgram.h"

#include <functional>
#include <memory>

namespace heddle::library {

/// The options of one program, and the functions that check them and build it.
struct Request {
  OptionList options;
  /// The names and element types of its lists; null: it has other options.
  std::shared_ptr<ListOptions> lists;
  /// The error if options contradict each other, or an empty string.
  std::function<std::string()> check;
  std::function<void(ProgramBuilder &)> build;
  GradientUse use = GradientUse::other;
  bool isOptimizer = false;
};

struct Entry {
  llvm::StringRef name, summary;
  std::function<Request()> request;
  GradientUse use = GradientUse::other;
};

/// The entry of a program that gives gradients their true size, or one that
/// limits it.
inline Entry sizing(Entry entry) {
  entry.use = GradientUse::sizes;
  return entry;
}
inline Entry limiting(Entry entry) {
  entry.use = GradientUse::limits;
  return entry;
}

/// An entry with any function of options that builds a program. Options have
/// the functions `describe` and `check`.
template <typename Options, typename Build>
Entry entryOf(llvm::StringRef name, llvm::StringRef summary, Options defaults,
              Build build) {
  return {name, summary, [=] {
            auto options = std::make_shared<Options>(defaults);
            Request request;
            options->describe(request.options);
            if constexpr (std::is_base_of_v<ListOptions, Options>)
              request.lists = options;
            request.isOptimizer = std::is_base_of_v<OptimizerOptions, Options>;
            request.check = [=]() -> std::string {
              if constexpr (std::is_base_of_v<OptimizerOptions, Options>)
                for (std::string error :
                     {options->checkTypes(), options->checkTail()})
                  if (!error.empty())
                    return error;
              return options->check();
            };
            request.build = [=](ProgramBuilder &program) {
              build(program, *options);
            };
            return request;
          }};
}

/// A program that `build` builds.
template <typename Options>
Entry program(llvm::StringRef name, llvm::StringRef summary,
              void (*build)(ProgramBuilder &, const Options &),
              Options defaults = {}) {
  return entryOf(name, summary, defaults, build);
}

/// An optimizer with the update rule `formula`.
template <typename Options>
Entry optimizer(llvm::StringRef name, llvm::StringRef summary,
                void (*formula)(Rule &, const Options &),
                Options defaults = {}) {
  auto build = [=](ProgramBuilder &program, const Options &options) {
    buildRule(program, options, [&](Rule &rule) { formula(rule, options); });
  };
  return entryOf(name, summary, defaults, build);
}

/// Declares the gradients of every family, in their order.
llvm::SmallVector<mlir::Value> gradients(ProgramBuilder &program,
                                         llvm::ArrayRef<Family> families);

#define HEDDLE_PROGRAMS(FILE) std::vector<Entry> FILE##Programs();
#include "dialect/library/Programs.def"

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_PROGRAMS_H
