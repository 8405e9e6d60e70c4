//===- Choices.h - the words of 'heddle bench' ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the options that say which measurements a benchmark makes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_CHOICES_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_CHOICES_H

#include "../CommandLine.h"
#include "../ShapesFile.h"
#include "ElementTypes.h"

namespace heddle::bench {

/// Reads a comma-separated list of names, all of which must be in `known`;
/// empty if the option is absent.
llvm::Expected<std::vector<llvm::StringRef>>
readNames(const cli::Arguments &arguments, llvm::StringRef option,
          llvm::ArrayRef<llvm::StringRef> known);

/// The models of --shapes and --models, or all built-in models, in the order of
/// their numbers of elements.
llvm::Expected<std::vector<cli::Model>>
readChosenModels(const cli::Arguments &arguments);

/// The lists of --sizes; empty if the option is absent.
llvm::Expected<std::vector<cli::Model>>
readSizes(const cli::Arguments &arguments);

/// The element types of --dtype, f32 if the option is absent.
llvm::Expected<std::vector<ElementTypes>>
readElementTypes(const cli::Arguments &arguments);
/// The same for a benchmark of programs without state.
llvm::Expected<std::vector<runtime::DType>>
readDTypes(const cli::Arguments &arguments);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_CHOICES_H
