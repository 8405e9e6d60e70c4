//===- LayoutResolver.h - The steps from bindings to a layout ---*- C++ -*-===//
//
// Resolves a layout. Private to binding/.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_LAYOUTRESOLVER_H
#define HEDDLE_RUNTIME_BINDING_LAYOUTRESOLVER_H

#include "runtime/binding/Layout.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::runtime {

/// The steps of Layout::resolve, in the order in which they run.
class Layout::Resolver {
public:
  Resolver(Layout &layout, const Binding &binding, AddressSpace &space)
      : layout(layout), plan(binding.plan()), binding(binding), space(space) {}

  llvm::Error run();

private:
  bool isList(int buffer) const {
    return plan.buffers[buffer].kind == BufferKind::List;
  }
  std::vector<MemberView> &members(int buffer) {
    return layout.bufferViews[buffer].members;
  }

  // Members (LayoutMembers.cpp).
  /// Lists that share a segment, a copy or a member count form a
  /// family: one member count, one set of inactive members.
  void joinFamilies();
  /// The domain of a member from the caller's extents.
  llvm::Error readExtents(const PlanBuffer &buffer, size_t index,
                          llvm::ArrayRef<int64_t> extents, MemberView &member);
  /// After readExtents().
  llvm::Error readStride(const PlanBuffer &buffer, size_t index, int64_t stride,
                         MemberView &member);
  llvm::Error readMembers(int index);
  llvm::Error readArguments();
  /// One member count and one set of inactive members per family.
  llvm::Error checkFamilies();
  /// Members of a result or temporary list, from the buffers that it follows.
  llvm::Error resolveOwn(int index, unsigned depth);
  static std::string domainText(const PlanBuffer &buffer,
                                const MemberView &member);

  // Checks (LayoutChecks.cpp).
  /// Checks a member against the operand's index: its number of elements.
  ExtentRef sourceOf(ExtentRef extent) const;
  llvm::Error checkOperand(const PlanTable &table, const PlanSegment &segment,
                           const PlanOperand &operand, size_t position);
  llvm::Error checkSegments();
  llvm::Error checkCopies();
  /// Null, alignment and address space of everything that the caller bound and
  /// that is not skipped.
  llvm::Error checkAddresses();
  /// No written member may share a byte with anything else that is bound; what
  /// lies between the rows of one counts as its own.
  llvm::Error checkOverlap();

  // Sizes (Layout.cpp).
  int64_t countOf(const PlanTable &table, const PlanSegment &segment,
                  size_t position);
  int64_t columnsOf(const PlanSegment &segment, size_t position);
  /// The list that a segment takes its members from; -1 for scalars alone,
  /// which are one member.
  int modelOf(const PlanSegment &segment) const;
  llvm::Error sizeTables();
  static int64_t numberOf(ScratchPer per, const TableView &view);
  std::vector<void *> operandsOf(const PlanSegment &segment, size_t position);
  /// The bytes that the tiles of a table cover, each buffer once.
  int64_t elementBytes(const PlanTable &table);

  friend class Layout;

  Layout &layout;
  const Plan &plan;
  const Binding &binding;
  AddressSpace &space;
  llvm::EquivalenceClasses<int> families;
};

/// The member of a buffer, as errors name it.
std::string memberName(const PlanBuffer &buffer, size_t member);

/// `[rows, columns]`.
std::string extentsText(llvm::ArrayRef<int64_t> extents);

/// Calls `visit` on every node, bodies of loops included.
void forEachNode(const PlanGraph &graph,
                 llvm::function_ref<void(const PlanNode &)> visit);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_LAYOUTRESOLVER_H
