//===- OutputFile.h - files written whole or not at all ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents go to a temporary file beside the target, which takes its name
// once they are complete. Opening it early says before long work that the
// target cannot be written.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H
#define HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <optional>
#include <string>

namespace heddle::cli {

class OutputFile {
public:
  /// `path` "" or "-" is standard output.
  static llvm::Expected<OutputFile> open(llvm::StringRef path);
  OutputFile(OutputFile &&) = default;
  ~OutputFile();

  llvm::Error write(llvm::StringRef contents);
  bool isStandardOutput() const { return path.empty(); }

private:
  OutputFile() = default;

  std::string path;                            // empty: standard output
  std::optional<llvm::sys::fs::TempFile> file; // none: written directly
};

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H
