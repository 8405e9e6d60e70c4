// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's header Statistic.h, as LLVM's archives were compiled with it.
//
// NDEBUG decides there how large a statistic is. The archives of a release of
// LLVM have NDEBUG, and the constructor of MLIR's pass statistics is in them.
// Code with assertions would read fields of a statistic that nothing has set.
// So this header comes before every header of LLVM that includes
// Statistic.h.
#ifndef HEDDLE_CMAKE_LLVMSTATISTICS_H
#define HEDDLE_CMAKE_LLVMSTATISTICS_H

// The headers that Statistic.h includes, with assertions.
#include "llvm-c/DataTypes.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Compiler.h"

#include <atomic>
#include <memory>
#include <vector>

#if defined(HEDDLE_LLVM_HAS_NO_ASSERTIONS) && !defined(NDEBUG)
#define NDEBUG
#include "llvm/ADT/Statistic.h" // IWYU pragma: keep
#undef NDEBUG
#if LLVM_ENABLE_STATS && !LLVM_FORCE_ENABLE_STATS
#error "cmake/LlvmStatistics.h must come before llvm/ADT/Statistic.h"
#endif
#endif

#endif // HEDDLE_CMAKE_LLVMSTATISTICS_H
