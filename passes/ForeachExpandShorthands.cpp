//===- ForeachExpandShorthands.cpp - forms that only text has -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expansion is in dialect/Shorthands.cpp, which the reader of programs
// calls too.
//
//===----------------------------------------------------------------------===//

#include "dialect/Foreach.h"
#include "dialect/Shorthands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_FOREACHEXPANDSHORTHANDS
#include "passes/Passes.h.inc"
} // namespace heddle

namespace {
struct ForeachExpandShorthands
    : heddle::impl::ForeachExpandShorthandsBase<ForeachExpandShorthands> {
  void runOnOperation() override {
    if (mlir::failed(heddle::expandShorthands(getOperation())))
      signalPassFailure();
  }
};
} // namespace
