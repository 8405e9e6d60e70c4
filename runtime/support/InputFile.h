//===- InputFile.h - Input files of a bounded size --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program or a shapes file is read whole. The bound turns an endless file,
// such as /dev/zero, into an error.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_INPUTFILE_H
#define HEDDLE_RUNTIME_SUPPORT_INPUTFILE_H

#include "runtime/support/Status.h"

#include "llvm/Support/MemoryBuffer.h"

namespace heddle::runtime {

inline constexpr size_t kMaxInputBytes = size_t(256) << 20;

/// The contents of `path`, or of standard input for "-". BadInput if the file
/// cannot be read, or is larger than kMaxInputBytes. `what` is a word for the
/// file in errors, such as "program".
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInput(llvm::StringRef path, llvm::StringRef what);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_INPUTFILE_H
