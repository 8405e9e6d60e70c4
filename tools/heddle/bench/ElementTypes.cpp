//===- ElementTypes.cpp - element types of a benchmark --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

std::string ElementTypes::name() const {
  std::string text = dtypeName(param).str();
  return param == state ? text : text + "/" + dtypeName(state).str();
}

ArrayRef<DType> elementTypes() {
  static const DType types[] = {DType::F32, DType::F64, DType::BF16,
                                DType::F16};
  return types;
}

std::optional<DType> parseElementType(StringRef word) {
  std::optional<DType> dtype = parseDType(word);
  return dtype && is_contained(elementTypes(), *dtype) ? dtype : std::nullopt;
}

std::optional<ElementTypes> parseElementTypes(StringRef word) {
  auto [first, second] = word.split('/');
  auto param = parseElementType(first);
  auto state = word.contains('/') ? parseElementType(second) : param;
  if (!param || !state)
    return std::nullopt;
  return ElementTypes{*param, *state};
}

int elementCode(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 1;
  case DType::BF16:
    return 2;
  case DType::F16:
    return 3;
  default:
    return 0;
  }
}

} // namespace heddle::bench
