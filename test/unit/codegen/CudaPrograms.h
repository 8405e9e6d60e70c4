//===- CudaPrograms.h - the programs that CUDA text is tested with --------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_CUDAPROGRAMS_H
#define HEDDLE_TEST_UNIT_CODEGEN_CUDAPROGRAMS_H

#include <ostream>
#include <string>
#include <vector>

namespace heddle::test {

struct NamedProgram {
  std::string name;
  /// The text of a module, or the name of a library program with options.
  std::string text;
  /// Additions, multiplications, divisions and square roots alone: every
  /// target gives the same bits.
  bool isExact = true;
  /// Fusion leaves its reductions in their order: those of row values go down
  /// the rows where they were merged with what made them.
  bool keepsOrder = true;

  friend void PrintTo(const NamedProgram &program, std::ostream *os) {
    *os << program.name;
  }
};

/// Library programs with all their options, dtypes and compositions.
const std::vector<NamedProgram> &libraryPrograms();
/// Modules: what the library does not use.
const std::vector<NamedProgram> &writtenPrograms();

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAPROGRAMS_H
