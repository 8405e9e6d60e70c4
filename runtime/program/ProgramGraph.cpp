//===- ProgramGraph.cpp - A plan bound to buffers -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramGraph.h"

#include "runtime/support/Fork.h"
#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace llvm;

namespace heddle::runtime {

ProgramGraph::ProgramGraph(std::shared_ptr<Executable> executable)
    : program(std::move(executable)), binding(program->plan()) {}

Error ProgramGraph::bindList(StringRef name, DType dtype,
                             const TensorArrays &members) {
  return binding.bindList(name, dtype, members);
}

Error ProgramGraph::bindScalar(StringRef name, DType dtype, void *address) {
  return binding.bindScalar(name, dtype, address);
}

Error ProgramGraph::bindResult(StringRef name, DType dtype,
                               const TensorArrays &members) {
  return binding.bindResult(name, dtype, members);
}

Error ProgramGraph::setInactive(StringRef name, ArrayRef<bool> mask) {
  return binding.setInactive(name, mask);
}

Error ProgramGraph::setScalar(StringRef name, double value, void *stream) {
  if (Error error = checkProcess())
    return error;
  // Check this first, so that a refused call changes nothing.
  if (slots)
    if (Error error = acceptScalar(stream))
      return error;
  Expected<int> buffer = binding.setScalar(name, value);
  if (!buffer)
    return buffer.takeError();
  if (!slots)
    return Error::success(); // the first prepare() writes all of them
  DType dtype = plan().buffers[*buffer].dtype;
  ScalarBytes bytes;
  cantFail(encodeScalar(dtype, value, bytes)); // checked by the binding
  count(statistics().scalar_writes);
  return scalarChanged(*buffer, bytes, stream);
}

Error ProgramGraph::prepare(void *stream) {
  if (Error error = checkProcess())
    return error;
  if (!binding.changed())
    return Error::success();
  ForkDelay delay;
  if (!binding.needsLayout()) {
    Expected<bool> done = rebind(stream);
    if (!done)
      return done.takeError();
    if (*done)
      return Error::success();
  }
  // A mistake that a rebinding found must be found again.
  binding.requireLayout();
  addressSpace().forget();
  Expected<Layout> next = Layout::resolve(binding, addressSpace());
  if (!next)
    return next.takeError();
  count(statistics().prepares);
  if (Error error = update(*next, stream))
    return error;
  layout = std::move(*next);
  rebinding.emplace(*layout);
  binding.accept();
  return Error::success();
}

Expected<bool> ProgramGraph::rebind(void *stream) {
  auto moved = rebinding->find(binding, *layout, addressSpace());
  if (!moved)
    return false;
  if (!moved->empty()) {
    // If this fails, it may have written a part.
    binding.requireLayout();
    if (Error error = move(*rebinding, *moved, stream))
      return std::move(error);
    for (const MovedMember &member : *moved)
      layout->move(member.buffer, member.member, member.address);
    count(statistics().rebindings);
  }
  binding.accept();
  return true;
}

std::vector<char> ProgramGraph::slotValues() const {
  std::vector<char> bytes(Layout::slotBytes(plan()));
  for (auto [index, buffer] : enumerate(plan().buffers)) {
    ScalarBytes value;
    if (buffer.kind != BufferKind::Scalar || !binding[index].value)
      continue;
    // If the dtype cannot hold the plan's default, the slot stays 0.
    if (Error error = encodeScalar(buffer.dtype, *binding[index].value, value))
      consumeError(std::move(error));
    else
      std::memcpy(bytes.data() + index * sizeof(double), value.data(),
                  dtypeSize(buffer.dtype));
  }
  return bytes;
}

Expected<std::vector<ResultMember>> ProgramGraph::result(StringRef name) const {
  int index = plan().findResult(name);
  if (index < 0)
    return makeError(StatusCode::BadInput,
                     "result '{0}': there is no such result", name);
  if (!layout)
    return makeError(StatusCode::BadInput,
                     "result '{0}': expected prepare() or replay() first",
                     name);
  const PlanBuffer &buffer = plan().buffers[index];
  std::vector<ResultMember> members;
  for (const MemberView &view : layout->buffers()[index].members) {
    ResultMember member;
    member.rank = buffer.rank;
    member.address =
        view.inactive || view.elements() <= 0 ? nullptr : view.address;
    member.extents[0] = std::max<int64_t>(view.extent[0], 0);
    member.extents[1] = std::max<int64_t>(view.extent[1], 0);
    member.rowStride = std::max<int64_t>(view.rowStride, 0);
    members.push_back(member);
  }
  return members;
}

bool ProgramGraph::isByValueScalar(int buffer, const PlanGraph &graph) const {
  return any_of(graph.nodes, [&](const PlanNode &node) {
    return any_of(node.arguments,
                  [&](const PlanArgument &argument) {
                    return argument.kind == ArgumentKind::Scalar &&
                           argument.index == buffer;
                  }) ||
           isByValueScalar(buffer, node.body);
  });
}

Expected<double> ProgramGraph::readScalar(StringRef name, void *stream) {
  if (Error error = checkProcess())
    return std::move(error);
  int index = plan().findResult(name);
  if (index < 0)
    index = plan().findArgument(name);
  if (index < 0 || plan().buffers[index].kind != BufferKind::Scalar)
    return makeError(StatusCode::BadInput,
                     "'{0}': expected a scalar argument or result", name);
  if (!layout)
    return makeError(StatusCode::BadInput,
                     "'{0}': expected prepare() or replay() first", name);
  ScalarBytes bytes = {};
  DType dtype = plan().buffers[index].dtype;
  // The scalar slot may be stale. Only setScalar() changes the value.
  if (layout->buffers()[index].owned && isByValueScalar(index, plan().graph))
    return decodeScalar(dtype, slotValues().data() + index * sizeof(double));
  if (Error error = read(bytes.data(), layout->scalarAddress(index),
                         dtypeSize(dtype), stream))
    return std::move(error);
  return decodeScalar(dtype, bytes.data());
}

} // namespace heddle::runtime
