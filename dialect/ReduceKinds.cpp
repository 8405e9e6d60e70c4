//===- ReduceKinds.cpp - the properties of reduction kinds ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/ReduceKinds.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::foreach {

#define GET_ReduceKindTable_IMPL
#include "dialect/ReduceKinds.inc"

const ReduceKindInfo &infoOf(ReduceKind kind) {
  return *llvm::find_if(ReduceKindTable, [&](const ReduceKindInfo &info) {
    return info.kind == kind;
  });
}

bool hasPosition(ReduceKind kind) {
  return infoOf(kind).second.type == StateType::position;
}

bool isReducible(ReduceKind kind, Type type) {
  switch (infoOf(kind).elements) {
  case ReduceElements::flags:
    return type.isInteger(1);
  case ReduceElements::floats:
    return isa<FloatType>(type);
  case ReduceElements::numbers:
    return isa<FloatType>(type) || type.isInteger(32) || type.isInteger(64);
  }
  llvm_unreachable("all kinds of elements are handled");
}

StringRef reducibleTypes(ReduceKind kind) {
  switch (infoOf(kind).elements) {
  case ReduceElements::flags:
    return "i1";
  case ReduceElements::floats:
    return "f32 or f64";
  case ReduceElements::numbers:
    return "f32, f64, i32 or i64";
  }
  llvm_unreachable("all kinds of elements are handled");
}

std::string reduceKindNames(bool means) {
  std::string names;
  uint64_t last = getMaxEnumValForReduceKind();
  static_assert(static_cast<int>(ReduceKind::mean) ==
                getMaxEnumValForReduceKind());
  last -= means ? 0 : 1;
  for (uint64_t value = 0; value <= last; ++value) {
    names += value == 0 ? "" : value == last ? " or " : ", ";
    names += stringifyReduceKind(static_cast<ReduceKind>(value));
  }
  return names;
}

} // namespace heddle::foreach
