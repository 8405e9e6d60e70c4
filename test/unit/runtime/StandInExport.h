//===- StandInExport.h - Functions of the stand-in driver -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks the functions that the library exports.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_STANDINEXPORT_H
#define HEDDLE_TEST_UNIT_RUNTIME_STANDINEXPORT_H

#define EXPORT extern "C" __attribute__((visibility("default")))

#endif // HEDDLE_TEST_UNIT_RUNTIME_STANDINEXPORT_H
