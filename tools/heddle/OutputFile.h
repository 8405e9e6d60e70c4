//===- OutputFile.h - files written whole or not at all ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents go to a temporary file in the same folder, which is renamed once
// it is complete. Commands open the file before long work, so that they fail
// early if it cannot be written.
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
  /// A `path` of "" or "-" means standard output.
  static llvm::Expected<OutputFile> open(llvm::StringRef path);
  OutputFile(OutputFile &&) = default;
  ~OutputFile();

  llvm::Error write(llvm::StringRef contents);
  bool isStandardOutput() const { return path.empty(); }

private:
  OutputFile() = default;

  std::string path;                            // empty: standard output
  std::optional<llvm::sys::fs::TempFile> file; // none: write directly
};

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H
