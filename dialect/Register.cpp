//===- Register.cpp - every dialect a heddle program may use --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// foreach and fused, and the upstream dialects that their programs use.
//
//===----------------------------------------------------------------------===//

#include "dialect/Register.h"
#include "dialect/Foreach.h"
#include "dialect/Fused.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"

void heddle::registerAll(mlir::DialectRegistry &registry) {
  registry.insert<foreach::ForeachDialect, fused::FusedDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect>();
}
