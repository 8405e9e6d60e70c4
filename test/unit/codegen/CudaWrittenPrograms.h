//===- CudaWrittenPrograms.h - parts of writtenPrograms() -----------------===//

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

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAWRITTENPROGRAMS_H
