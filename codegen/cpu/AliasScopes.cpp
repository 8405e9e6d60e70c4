//===- AliasScopes.cpp - memory that does not overlap ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/AliasScopes.h"

#include "llvm/IR/MDBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace heddle::cpu {

std::pair<llvm::MDNode *, llvm::MDNode *> AliasScopes::of(unsigned area) {
  if (bits.empty()) {
    llvm::MDBuilder metadata(context);
    for (unsigned bit = 0; bit <= llvm::Log2_64_Ceil(count); ++bit) {
      llvm::MDNode *domain = metadata.createAnonymousAliasScopeDomain();
      bits.push_back({metadata.createAnonymousAliasScope(domain),
                      metadata.createAnonymousAliasScope(domain)});
    }
  }
  auto [found, isNew] = known.try_emplace(area);
  if (isNew) {
    llvm::SmallVector<llvm::Metadata *> own, others;
    for (auto [bit, scopes] : llvm::enumerate(bits)) {
      bool value = area >> bit & 1;
      own.push_back(scopes[value]);
      others.push_back(scopes[!value]);
    }
    found->second = {llvm::MDNode::get(context, own),
                     llvm::MDNode::get(context, others)};
  }
  return found->second;
}

} // namespace heddle::cpu
