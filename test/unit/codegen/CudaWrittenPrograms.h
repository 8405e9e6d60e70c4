//===- CudaWrittenPrograms.h - parts of writtenPrograms() -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_CUDAWRITTENPROGRAMS_H
#define HEDDLE_TEST_UNIT_CODEGEN_CUDAWRITTENPROGRAMS_H

#include "CudaPrograms.h"

namespace heddle::test {

/// The types that the programs use.
extern const char *const kTypes;

class WrittenPrograms {
public:
  /// Adds the program `text`, without its types.
  void add(const std::string &name, const std::string &text,
           bool isExact = true) {
    programs.push_back({name, kTypes + text, isExact});
  }
  NamedProgram &last() { return programs.back(); }

  std::vector<NamedProgram> programs;
};

void addReductions(WrittenPrograms &programs);
void addSweeps(WrittenPrograms &programs);
void addLoops(WrittenPrograms &programs);
void addPanelLoops(WrittenPrograms &programs);
void addCorpus(WrittenPrograms &programs);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAWRITTENPROGRAMS_H
