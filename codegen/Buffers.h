//===- Buffers.h - the buffers that the values of a kernel live in -*- C++ -*-//
//
// What `fused-place-buffers` decided, as a table: every list and device scalar
// of a kernel by its number.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_BUFFERS_H
#define HEDDLE_CODEGEN_BUFFERS_H

#include "dialect/Fused.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle {

enum class BufferRole { argument, result, temporary };

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
  /// Reads what was placed; emits an error where a value has no place.
  static mlir::FailureOr<Buffers> read(fused::KernelOp kernel);

  llvm::ArrayRef<Buffer> all() const { return buffers; }
  const Buffer &operator[](int number) const { return buffers[number]; }

  /// The buffer of a kernel argument, a loop argument or a result; -1 for a
  /// result that nobody reads.
  int of(mlir::Value value) const;

private:
  mlir::LogicalResult place(mlir::Block &block);

  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, int> places;
};

/// Attributes that `fused-place-buffers` and `fused-prepare-cuda` leave.
inline constexpr llvm::StringLiteral kBuffersAttr = "fused.buffers";
inline constexpr llvm::StringLiteral kPlacesAttr = "fused.places";
inline constexpr llvm::StringLiteral kMoreAttr = "fused.more";
inline constexpr llvm::StringLiteral kNameAttr = "fused.name";

} // namespace heddle

#endif // HEDDLE_CODEGEN_BUFFERS_H
