//===- Buffers.h - the buffers of a program's values ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The buffer assignment of a fused program: the buffer of every list and device
// scalar, by its number.
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
  bool positive = false; ///< foreach.positive
  /// For a result or temporary: per dimension, the buffer and dimension with
  /// the same extent, and the list with the same members (-1 for scalars).
  llvm::SmallVector<std::pair<int, int>> extents;
  int members = -1;
};

class Buffers {
public:
  /// Reads the buffers of `program`; emits an error if a value has none.
  static mlir::FailureOr<Buffers> read(fused::ProgramOp program);

  llvm::ArrayRef<Buffer> all() const { return buffers; }
  const Buffer &operator[](int number) const { return buffers[number]; }

  /// The buffer of an argument or result of the program, a sweep or a loop; -1
  /// for a result that is never read.
  int of(mlir::Value value) const;

private:
  mlir::LogicalResult read(mlir::Block &block);

  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, int> numbers;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_BUFFERS_H
