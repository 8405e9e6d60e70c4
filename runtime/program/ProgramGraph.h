//===- ProgramGraph.h - A plan bound to buffers ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts that the cuda and cpu targets share: bindings, layouts, results and
// scalars. A graph belongs to one thread at a time. The caller must order its
// replays: by one stream, or by events between streams.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_PROGRAMGRAPH_H
#define HEDDLE_RUNTIME_PROGRAM_PROGRAMGRAPH_H

#include "runtime/binding/Rebinding.h"
#include "runtime/plan/Scalar.h"
#include "runtime/program/Executable.h"

namespace heddle::runtime {

/// One member of a result.
struct ResultMember {
  void *address = nullptr; ///< null if the member is inactive or empty
  int64_t extents[2] = {1, 1};
  int64_t rowStride = 1; ///< elements from one row to the next
  int rank = 0;
};

class ProgramGraph {
public:
  virtual ~ProgramGraph() = default;

  const std::shared_ptr<Executable> &executable() const { return program; }
  const Plan &plan() const { return *program->plan(); }

  // See Binding.h. A change takes effect at the next prepare() or replay().
  llvm::Error bindList(llvm::StringRef name, DType dtype,
                       const TensorArrays &members);
  llvm::Error bindList(llvm::StringRef name, DType dtype,
                       llvm::ArrayRef<ListMember> members) {
    return bindList(name, dtype, TensorList(members).arrays());
  }
  llvm::Error bindScalar(llvm::StringRef name, DType dtype, void *address);
  llvm::Error bindResult(llvm::StringRef name, DType dtype,
                         const TensorArrays &members);
  llvm::Error bindResult(llvm::StringRef name, DType dtype,
                         llvm::ArrayRef<ListMember> members) {
    return bindResult(name, dtype, TensorList(members).arrays());
  }
  llvm::Error setInactive(llvm::StringRef name, llvm::ArrayRef<bool> mask);

  /// Sets a scalar argument for all later replays and for no submitted one,
  /// ordered on `stream` (a CUstream; the cpu target ignores it). Never
  /// compiles, prepares or instantiates.
  llvm::Error setScalar(llvm::StringRef name, double value, void *stream);

  /// Checks the bound buffers, allocates memory, and updates the tables and the
  /// graph, ordered on `stream`. Writes only the addresses if nothing else
  /// changed (Rebinding.h), and does nothing if no binding changed. If it fails
  /// with BadInput, nothing has been written.
  llvm::Error prepare(void *stream);

  /// Submits one step to `stream` (the cpu target runs it). Calls prepare()
  /// before if a binding changed.
  virtual llvm::Error replay(void *stream) = 0;

  /// Waits for `stream`.
  virtual llvm::Error synchronize(void *stream) = 0;

  /// The members of a result, after prepare(). Addresses in the graph's own
  /// memory are valid until the next prepare() after a change of a binding.
  llvm::Expected<std::vector<ResultMember>> result(llvm::StringRef name) const;

  /// The value of a scalar argument or result, after waiting for `stream`. (The
  /// graph's own value of a by-value scalar needs no wait.)
  llvm::Expected<double> readScalar(llvm::StringRef name, void *stream);

protected:
  explicit ProgramGraph(std::shared_ptr<Executable> executable);

  /// Updates memory, tables and graph to `next`. If this fails, the previous
  /// layout is kept.
  virtual llvm::Error update(Layout &next, void *stream) = 0;
  /// Passes the addresses of moved members to later replays, ordered on
  /// `stream`.
  /// If this fails, update() follows before the next replay.
  virtual llvm::Error move(const Rebinding &rebinding,
                           llvm::ArrayRef<MovedMember> moved, void *stream) = 0;
  virtual AddressSpace &addressSpace() = 0;
  /// Whether this process can use the graph: a CUDA graph does not survive
  /// fork().
  virtual llvm::Error checkProcess() { return llvm::Error::success(); }
  /// Fails if scalars cannot be set on `stream` now.
  virtual llvm::Error acceptScalar(void *) { return llvm::Error::success(); }
  /// Stores the graph's own value of a scalar argument where later replays read
  /// it. Called only after update() set `slots`.
  virtual llvm::Error scalarChanged(int buffer, const ScalarBytes &bytes,
                                    void *stream) = 0;
  virtual llvm::Error read(void *to, const void *from, size_t bytes,
                           void *stream) = 0;

  bool needsPrepare() const { return binding.changed(); }
  /// The values of all scalar slots: the graph's own values of scalar
  /// arguments.
  std::vector<char> slotValues() const;

  std::shared_ptr<Executable> program;
  Binding binding;
  std::optional<Layout> layout;
  char *slots = nullptr; ///< scalar slots; the first update() sets it

private:
  /// Whether the buffer is a by-value scalar of a node in `graph`.
  bool isByValueScalar(int buffer, const PlanGraph &graph) const;

  /// Adopts new addresses. Returns false if a new layout is needed.
  llvm::Expected<bool> rebind(void *stream);

  std::optional<Rebinding> rebinding; ///< of `layout`
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_PROGRAMGRAPH_H
