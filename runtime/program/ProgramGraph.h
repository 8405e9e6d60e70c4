//===- ProgramGraph.h - A plan bound to buffers ---------------------------===//
//
// The part common to the cuda and the cpu target: binding, resolving, results,
// scalars.
// One graph belongs to one thread at a time, and its replays must be ordered by
// the caller (one stream, or events between streams).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_PROGRAMGRAPH_H
#define HEDDLE_RUNTIME_PROGRAM_PROGRAMGRAPH_H

#include "runtime/binding/Layout.h"
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
  /// A graph of the executable's target, on the device whose context is current
  /// (or device 0).
  static llvm::Expected<std::unique_ptr<ProgramGraph>>
  create(std::shared_ptr<Executable> executable);

  virtual ~ProgramGraph() = default;

  const std::shared_ptr<Executable> &executable() const { return program; }
  const Plan &plan() const { return *program->plan(); }

  // See Binding.h. A change takes effect at the next prepare() or replay().
  llvm::Error bindList(llvm::StringRef name, DType dtype,
                       llvm::ArrayRef<ListMember> members);
  llvm::Error bindScalar(llvm::StringRef name, DType dtype, void *address);
  llvm::Error bindResult(llvm::StringRef name, DType dtype,
                         llvm::ArrayRef<ListMember> members);
  llvm::Error setInactive(llvm::StringRef name, llvm::ArrayRef<bool> mask);

  /// Sets a scalar argument for all later replays, and for none submitted
  /// before: ordered on `stream` (a CUstream; ignored by the cpu target). Never
  /// compiles, prepares or instantiates.
  llvm::Error setScalar(llvm::StringRef name, double value, void *stream);

  /// Checks the bound buffers, allocates what is missing and brings tables and
  /// graph up to date, ordered on `stream`. Does nothing if no binding changed.
  /// Nothing has been written if it fails with BadInput.
  llvm::Error prepare(void *stream);

  /// Submits one step to `stream` (runs it, on the cpu target), after prepare()
  /// if a binding changed.
  virtual llvm::Error replay(void *stream) = 0;

  /// Waits for `stream`.
  virtual llvm::Error synchronize(void *stream) = 0;

  /// Where a result is, after prepare(). Memory of the runtime's stays at its
  /// address until the next prepare() that follows a change of a binding, and
  /// lives as long as the graph.
  llvm::Expected<std::vector<ResultMember>> result(llvm::StringRef name) const;

  /// The value of a scalar argument or result, after waiting for `stream`
  /// (the graph's own value of a by-value scalar needs no wait).
  llvm::Expected<double> readScalar(llvm::StringRef name, void *stream);

protected:
  explicit ProgramGraph(std::shared_ptr<Executable> executable);

  /// Brings memory, tables and graph up to date with `next`; the layout of
  /// before is kept if it fails.
  virtual llvm::Error update(Layout &next, void *stream) = 0;
  virtual AddressSpace &addressSpace() = 0;
  /// Whether scalars can be set now, in the order of `stream`.
  virtual llvm::Error acceptScalar(void *) { return llvm::Error::success(); }
  /// Brings the own value of a scalar argument to where later replays read it.
  /// Not called before slots exist.
  virtual llvm::Error scalarChanged(int buffer, const ScalarBytes &bytes,
                                    void *stream) = 0;
  virtual llvm::Error read(void *to, const void *from, size_t bytes,
                           void *stream) = 0;

  bool needsPrepare() const { return changed; }
  /// The values of the slots of all scalar arguments.
  std::vector<char> slotValues() const;

  std::shared_ptr<Executable> program;
  Binding binding;
  std::optional<Layout> layout;
  char *slots = nullptr; ///< set by update() when first allocated

private:
  /// Whether the buffer is a by-value scalar of a node.
  bool isByValueScalar(int buffer, const PlanGraph &graph) const;

  bool changed = true;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_PROGRAMGRAPH_H
