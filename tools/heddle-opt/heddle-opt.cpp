//===- heddle-opt.cpp - run passes over heddle's IR -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's optimizer driver with heddle's dialects and passes: parses and
// verifies a module, runs the passes of the command line and prints the result.
// For tests of the dialects and passes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Register.h"
#include "passes/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  heddle::registerAll(registry);
  heddle::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "heddle optimizer driver\n", registry));
}
