//===- Binding.h - The caller's buffers and scalars -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the lists, scalars, results and inactive members that the caller gave.
// Checks names, dtypes and roles immediately. Layout.h checks everything that
// depends on several buffers, before anything is written. Notes what changed: a
// list with the same addresses and shapes changes nothing, and one with other
// addresses needs less work than a new layout (Rebinding.h).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_BINDING_H
#define HEDDLE_RUNTIME_BINDING_BINDING_H

#include "runtime/binding/TensorList.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <optional>
#include <vector>

namespace heddle::runtime {

/// The binding of one buffer of the plan.
struct BufferBinding {
  bool bound = false;
  TensorList members;          ///< lists
  std::vector<bool> inactive;  ///< lists; empty: all active
  void *address = nullptr;     ///< scalars; null: the scalar slot
  std::optional<double> value; ///< scalars: the graph's own value
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
                       const TensorArrays &members);
  llvm::Error bindList(llvm::StringRef name, DType dtype,
                       llvm::ArrayRef<ListMember> members) {
    return bindList(name, dtype, TensorList(members).arrays());
  }

  /// Binds a scalar argument to the caller's memory, which every replay reads.
  /// Null: the graph's own value is used again.
  llvm::Error bindScalar(llvm::StringRef name, DType dtype, void *address);

  /// Binds a result to the caller's memory. No members: the graph's own memory
  /// is used again. BadInput: the result replaces a donated argument.
  llvm::Error bindResult(llvm::StringRef name, DType dtype,
                         const TensorArrays &members);
  llvm::Error bindResult(llvm::StringRef name, DType dtype,
                         llvm::ArrayRef<ListMember> members) {
    return bindResult(name, dtype, TensorList(members).arrays());
  }

  /// Marks members of a list argument as inactive. A step skips them, and the
  /// members at the same positions in every list of the same family. An empty
  /// mask: all are active.
  llvm::Error setInactive(llvm::StringRef name, llvm::ArrayRef<bool> mask);

  /// Sets the graph's own value of a scalar argument, and returns the buffer.
  /// BadInput: no such scalar, it is bound to the caller's memory, or the value
  /// does not fit its dtype.
  llvm::Expected<int> setScalar(llvm::StringRef name, double value);

  const BufferBinding &operator[](int buffer) const { return buffers[buffer]; }

  /// What changed since the last accept().
  bool changed() const { return changedLayout || !movedLists.empty(); }
  /// Whether more changed than addresses of lists.
  bool needsLayout() const { return changedLayout; }
  /// The list arguments with other addresses, and nothing else, than before.
  llvm::ArrayRef<int> moved() const { return movedLists; }

  /// The present state has been adopted.
  void accept() {
    changedLayout = false;
    movedLists.clear();
  }
  /// Nothing of the present state has been adopted.
  void requireLayout() { changedLayout = true; }

private:
  llvm::Expected<int> findArgument(llvm::StringRef name, BufferKind kind) const;
  /// Replaces the members of a list, and notes the difference.
  void setMembers(int index, const TensorArrays &members, bool bound);
  void setAddress(int index, void *address);

  std::shared_ptr<const Plan> program;
  std::vector<BufferBinding> buffers;
  bool changedLayout = true;
  std::vector<int> movedLists;
};

/// The name of a buffer in messages: "argument 'grad'", "result 'norm'",
/// "temporary 'u1'".
std::string describeBuffer(const PlanBuffer &buffer);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_BINDING_H
