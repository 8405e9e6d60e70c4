//===- Binding.cpp - The caller's buffers and scalars ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/Binding.h"

#include "runtime/plan/Scalar.h"
#include "runtime/support/Text.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

std::string describeBuffer(const PlanBuffer &buffer) {
  StringRef role = buffer.role == BufferRole::Argument ? "argument"
                   : buffer.role == BufferRole::Result ? "result"
                                                       : "temporary";
  return (role + " '" + buffer.name + "'").str();
}

static StringRef kindName(BufferKind kind) {
  return kind == BufferKind::List ? "list" : "scalar";
}

Binding::Binding(std::shared_ptr<const Plan> plan) : program(std::move(plan)) {
  buffers.resize(program->buffers.size());
  for (auto [buffer, binding] : zip(program->buffers, buffers))
    binding.value = buffer.defaultValue;
  movedLists.reserve(buffers.size()); // so that noting a list cannot fail
}

Expected<int> Binding::findArgument(StringRef name, BufferKind kind) const {
  int index = program->findArgument(name);
  if (index < 0) {
    std::vector<StringRef> known;
    for (const PlanBuffer &buffer : program->buffers)
      if (buffer.role == BufferRole::Argument)
        known.push_back(buffer.name);
    return makeError(StatusCode::BadInput,
                     "argument '{0}': expected one of {1}", name,
                     listed(known));
  }
  if (program->buffers[index].kind != kind)
    return makeError(StatusCode::BadInput,
                     "argument '{0}': expected a {1}, found a {2}", name,
                     kindName(program->buffers[index].kind), kindName(kind));
  return index;
}

static Error checkDType(const PlanBuffer &buffer, DType found) {
  if (buffer.dtype == found)
    return Error::success();
  return makeError(StatusCode::BadInput, "{0}: expected dtype {1}, found {2}",
                   describeBuffer(buffer), dtypeName(buffer.dtype),
                   dtypeName(found));
}

void Binding::setMembers(int index, const TensorArrays &members, bool bound) {
  BufferBinding &binding = buffers[index];
  if (binding.bound != bound || !binding.members.hasShapesOf(members)) {
    binding.members = TensorList(members);
    binding.bound = bound;
    changedLayout = true;
  } else if (binding.members.takeAddresses(members) &&
             !is_contained(movedLists, index)) {
    movedLists.push_back(index);
  }
}

void Binding::setAddress(int index, void *address) {
  BufferBinding &binding = buffers[index];
  changedLayout |= binding.address != address;
  binding.address = address;
  binding.bound = address != nullptr;
}

Error Binding::bindList(StringRef name, DType dtype,
                        const TensorArrays &members) {
  Expected<int> index = findArgument(name, BufferKind::List);
  if (!index)
    return index.takeError();
  if (Error error = checkDType(program->buffers[*index], dtype))
    return error;
  setMembers(*index, members, /*bound=*/true);
  return Error::success();
}

Error Binding::bindScalar(StringRef name, DType dtype, void *address) {
  Expected<int> index = findArgument(name, BufferKind::Scalar);
  if (!index)
    return index.takeError();
  if (Error error = checkDType(program->buffers[*index], dtype))
    return error;
  setAddress(*index, address);
  return Error::success();
}

Error Binding::bindResult(StringRef name, DType dtype,
                          const TensorArrays &members) {
  int index = program->findResult(name);
  if (index < 0) {
    std::vector<StringRef> known;
    for (const PlanResult &result : program->results)
      known.push_back(result.name);
    return makeError(StatusCode::BadInput, "result '{0}': expected one of {1}",
                     name, listed(known));
  }
  const PlanBuffer &buffer = program->buffers[index];
  if (buffer.role == BufferRole::Argument)
    return makeError(
        StatusCode::BadInput,
        "result '{0}': expected a result that is not updated in place, "
        "found donated argument '{1}': bind the argument",
        name, buffer.name);
  if (Error error = checkDType(buffer, dtype))
    return error;
  if (buffer.kind == BufferKind::Scalar) {
    if (members.members > 1)
      return makeError(
          StatusCode::BadInput,
          "result '{0}': expected one address for a scalar, found {1} members",
          name, members.members);
    setAddress(index, members.members ? members.pointers[0] : nullptr);
    return Error::success();
  }
  setMembers(index, members, /*bound=*/members.members != 0);
  return Error::success();
}

Error Binding::setInactive(StringRef name, ArrayRef<bool> mask) {
  Expected<int> index = findArgument(name, BufferKind::List);
  if (!index)
    return index.takeError();
  const BufferBinding &binding = buffers[*index];
  if (binding.bound && !mask.empty() && mask.size() != binding.members.size())
    return makeError(StatusCode::BadInput,
                     "argument '{0}': expected a mask of {1}, as bound, found "
                     "{2}",
                     name, counted(binding.members.size(), "member"),
                     mask.size());
  std::vector<bool> &inactive = buffers[*index].inactive;
  if (inactive.size() == mask.size() &&
      std::equal(mask.begin(), mask.end(), inactive.begin()))
    return Error::success();
  inactive.assign(mask.begin(), mask.end());
  changedLayout = true;
  return Error::success();
}

Expected<int> Binding::setScalar(StringRef name, double value) {
  Expected<int> index = findArgument(name, BufferKind::Scalar);
  if (!index)
    return index.takeError();
  const PlanBuffer &buffer = program->buffers[*index];
  if (buffers[*index].bound)
    return makeError(
        StatusCode::BadInput,
        "argument '{0}': expected a scalar that is not bound, found one "
        "bound to the caller's memory: write there",
        name);
  ScalarBytes bytes;
  if (Error error = encodeScalar(buffer, value, bytes))
    return withContext(describeBuffer(buffer), std::move(error));
  buffers[*index].value = value;
  return *index;
}

} // namespace heddle::runtime
