//===- AliasScopes.h - memory that does not overlap -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Metadata of accesses to `count` memory areas that do not overlap. With a
// scope for each area, an access would list all other areas. Instead, there is
// one domain for each bit of an area's number, with one scope for each value of
// the bit. LLVM needs one domain in which two accesses differ, and the numbers
// of different areas differ in a bit.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_ALIASSCOPES_H
#define HEDDLE_CODEGEN_CPU_ALIASSCOPES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Metadata.h"

namespace heddle::cpu {

class AliasScopes {
public:
  AliasScopes(llvm::LLVMContext &context, size_t count)
      : context(context), count(count) {}

  /// The metadata `alias.scope` and `noalias` of an access to an area.
  std::pair<llvm::MDNode *, llvm::MDNode *> of(unsigned area);

private:
  llvm::LLVMContext &context;
  size_t count;
  /// For each bit, the scopes of 0 and 1.
  llvm::SmallVector<std::array<llvm::Metadata *, 2>> bits;
  llvm::DenseMap<unsigned, std::pair<llvm::MDNode *, llvm::MDNode *>> known;
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_ALIASSCOPES_H
