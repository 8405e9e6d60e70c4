//===- CudaCorpusPrograms.cpp - programs that move few bytes -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

#include "llvm/Support/MemoryBuffer.h"

namespace heddle::test {

/// Programs of which a sweep computes lists again, or replaces a matrix that it
/// reads more than once. test/cli/program-bytes.test has their bytes.
static constexpr const char *kNames[] = {"adafactor", "adam_mini",
                                         "cautious_lion", "mars", "sign_lars"};

/// Whether there are only operations that every target rounds alike.
static bool isExact(llvm::StringRef text) {
  for (size_t at = 0; (at = text.find("math.", at)) != text.npos; ++at)
    if (llvm::StringRef op = text.substr(at);
        !op.starts_with("math.sqrt") && !op.starts_with("math.absf"))
      return false;
  return true;
}

/// Whether fusion keeps the order of reductions: no matrix is reduced to its
/// member or the list.
static bool keepsOrder(llvm::StringRef text) {
  return !text.contains("<?x?x") ||
         (!text.contains("along member") && !text.contains("along list"));
}

void addCorpus(WrittenPrograms &programs) {
  for (const char *name : kNames) {
    std::string path =
        std::string(HEDDLE_TEST_SOURCE "/test/cli/Inputs/bytes/") + name +
        ".mlir";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    std::string text =
        buffer ? (*buffer)->getBuffer().str() : "missing " + path;
    programs.programs.push_back({name, text, isExact(text), keepsOrder(text)});
  }
}

} // namespace heddle::test
