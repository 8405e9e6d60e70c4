//===- Buffers.h - the buffers of a program's values ------------*- C++ -*-===//
//
// The decisions of `fused-assign-buffers` as a table: every list and device
// scalar of a program by its number.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_BUFFERS_H
#define HEDDLE_CODEGEN_LAYOUT_BUFFERS_H

#include "dialect/Fused.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle {

using fused::BufferRole;

struct Buffer {
  std::string name;
  mlir::Type type; // a list or a device scalar
  BufferRole role;
  bool donated = false;
  std::optional<double> defaultValue;
  /// Of a result or temporary: for each dimension the buffer and dimension that
  /// it equals, and the list whose member count it shares (-1 for scalars).
  llvm::SmallVector<std::pair<int, int>> extents;
  int members = -1;
};

class Buffers {
public:
  /// Reads the buffers of `program`; emits an error if a value has none.
  static mlir::FailureOr<Buffers> read(fused::ProgramOp program);

  llvm::ArrayRef<Buffer> all() const { return buffers; }
  const Buffer &operator[](int number) const { return buffers[number]; }

  /// The buffer of an argument of the program or a loop, or of a result; -1 for
  /// a result that is never read.
  int of(mlir::Value value) const;

private:
  mlir::LogicalResult read(mlir::Block &block);

  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, int> numbers;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_BUFFERS_H
