//===- ElementTypes.h - element types of a benchmark ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimizer's parameters and gradients have one type, and its state has the
// same or another one: "bf16", or "bf16/f32".
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_ELEMENTTYPES_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_ELEMENTTYPES_H

#include "runtime/plan/Plan.h"

namespace heddle::bench {

struct ElementTypes {
  runtime::DType param = runtime::DType::F32; ///< also of gradients
  runtime::DType state = runtime::DType::F32;

  bool operator==(const ElementTypes &other) const {
    return param == other.param && state == other.state;
  }
  /// For example "bf16" or "bf16/f32".
  std::string name() const;
};

/// The floating-point types, in the order of messages.
llvm::ArrayRef<runtime::DType> elementTypes();

/// Returns the floating-point type that `word` names, if any.
std::optional<runtime::DType> parseElementType(llvm::StringRef word);
/// Reads "TYPE" or "PARAMETERS/STATE".
std::optional<ElementTypes> parseElementTypes(llvm::StringRef word);

/// Returns the value of the macros that give hand-written kernels their element
/// types: 0 f32, 1 f64, 2 bf16, 3 f16.
int elementCode(runtime::DType dtype);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_ELEMENTTYPES_H
