//===- DeviceHeaders.cpp - the embedded headers of codegen/device ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The build embeds the headers that emitted sources include.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"

using llvm::StringRef;

namespace heddle::cuda {

namespace {
struct Header {
  StringRef name, text;
};
} // namespace

static const Header kHeaders[] = {
#include "codegen/DeviceHeaders.inc"
};

StringRef deviceHeader(StringRef name) {
  for (const Header &header : kHeaders)
    if (header.name == name)
      return header.text;
  return {};
}

llvm::ArrayRef<StringRef> deviceHeaderNames() {
  static const llvm::SmallVector<StringRef> names = [] {
    llvm::SmallVector<StringRef> result;
    for (const Header &header : kHeaders)
      result.push_back(header.name);
    return result;
  }();
  return names;
}

} // namespace heddle::cuda
