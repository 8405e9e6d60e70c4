//===- NpyArray.h - an array in the format of NumPy -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_DATA_NPYARRAY_H
#define HEDDLE_TOOLS_HEDDLE_DATA_NPYARRAY_H

#include "codegen/plan/PlanShapes.h"
#include "runtime/plan/Plan.h"

namespace heddle::cli {

/// An array whose elements are in memory of the file.
struct NpyArray {
  std::string name;
  /// Empty for two bytes without a type, as which NumPy stores bfloat16.
  std::optional<runtime::DType> dtype;
  Extents extents;
  llvm::StringRef elements; ///< in row-major order, little-endian
};

/// Reads the contents of a .npy file. Refuses Python objects, types without an
/// element type of heddle, other byte orders, and arrays in column-major order.
/// Errors begin with `where`, which names the array.
llvm::Expected<NpyArray> readNpy(llvm::StringRef contents,
                                 llvm::StringRef where);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_DATA_NPYARRAY_H
