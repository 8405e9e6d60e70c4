//===- Binding.h - The caller's buffers and scalars -----------------------===//
//
// Holds lists, scalars, results and inactive members as the caller gave them,
// and checks on the spot what can be checked on the spot (names, dtypes,
// roles). What depends on several buffers is checked by Layout.h, before
// anything is written.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_BINDING_H
#define HEDDLE_RUNTIME_BINDING_BINDING_H

#include "runtime/plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>
#include <vector>

namespace heddle::runtime {

/// One member of a list as the caller has it: the address of a tensor and its
/// extents, in elements.
struct ListMember {
  void *data = nullptr;
  llvm::SmallVector<int64_t, 4> extents;
  /// Rank 2: elements from one row to the next; 0: dense.
  int64_t rowStride = 0;
};

/// The binding of one buffer of the plan.
struct BufferBinding {
  bool bound = false;
  std::vector<ListMember> members; ///< lists
  std::vector<bool> inactive;      ///< lists; empty: all active
  void *address = nullptr;         ///< scalars; null: the runtime's own slot
  std::optional<double>
      value; ///< scalars: the value that the own slot starts with
};

class Binding {
public:
  explicit Binding(std::shared_ptr<const Plan> plan);

  const Plan &plan() const { return *program; }
  const std::shared_ptr<const Plan> &planPointer() const { return program; }

  /// Binds a list argument. Every pointer must stay valid until the last replay
  /// that uses it has finished. BadInput: no list argument of this name, or
  /// another dtype.
  llvm::Error bindList(llvm::StringRef name, DType dtype,
                       llvm::ArrayRef<ListMember> members);

  /// Binds a scalar argument to memory of the caller's, which is read again by
  /// every replay; null: back to its own slot.
  llvm::Error bindScalar(llvm::StringRef name, DType dtype, void *address);

  /// Binds a result to memory of the caller's (not a donated argument, which is
  /// its own result). No members: back to memory of the runtime's.
  llvm::Error bindResult(llvm::StringRef name, DType dtype,
                         llvm::ArrayRef<ListMember> members);

  /// Marks members of a list argument as inactive: they are skipped, and so are
  /// the members at the same position of every list that shares a segment with
  /// it. An empty mask: all are active.
  llvm::Error setInactive(llvm::StringRef name, llvm::ArrayRef<bool> mask);

  /// Sets the value that a scalar argument's own slot starts with, and returns
  /// its buffer. BadInput: no such scalar, it is bound to memory of the
  /// caller's, or the value does not fit its dtype.
  llvm::Expected<int> setScalar(llvm::StringRef name, double value);

  const BufferBinding &operator[](int buffer) const { return buffers[buffer]; }

private:
  llvm::Expected<int> findArgument(llvm::StringRef name, BufferKind kind) const;

  std::shared_ptr<const Plan> program;
  std::vector<BufferBinding> buffers;
};

/// How messages name a buffer: "argument 'grad'", "result 'norm'", "temporary
/// 'u1'".
std::string describeBuffer(const PlanBuffer &buffer);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_BINDING_H
