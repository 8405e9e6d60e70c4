//===- CudaCorpusPrograms.cpp - the programs of test/programs -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaWrittenPrograms.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>

namespace heddle::test {

void addCorpus(WrittenPrograms &programs) {
  // In the order of their names.
  std::map<std::string, std::string> texts;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator
           file(HEDDLE_TEST_SOURCE "/test/programs", error),
       end;
       file != end && !error; file.increment(error)) {
    if (llvm::sys::path::extension(file->path()) != ".mlir")
      continue;
    if (auto buffer = llvm::MemoryBuffer::getFile(file->path()))
      texts[llvm::sys::path::stem(file->path()).str()] =
          (*buffer)->getBuffer().str();
  }
  // Only operations that every target rounds alike give the same bits.
  auto isExact = [](llvm::StringRef text) {
    return !text.contains("math.powf") && !text.contains("math.fpowi");
  };
  auto keepsOrder = [](llvm::StringRef text) {
    return !text.contains("<?x?x") ||
           (!text.contains("along member") && !text.contains("along list"));
  };
  for (auto &[name, text] : texts)
    programs.programs.push_back({name, text, isExact(text), keepsOrder(text)});
}

} // namespace heddle::test
