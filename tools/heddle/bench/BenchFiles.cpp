//===- BenchFiles.cpp - files embedded in the tool ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The build generates BenchFiles.inc.
//
//===----------------------------------------------------------------------===//

#include "BenchFiles.h"

namespace heddle::bench {

static const struct {
  llvm::StringLiteral name, contents;
} files[] = {
#include "BenchFiles.inc"
};

llvm::StringRef benchFile(llvm::StringRef name) {
  for (const auto &file : files)
    if (file.name == name)
      return file.contents;
  return {};
}

} // namespace heddle::bench
