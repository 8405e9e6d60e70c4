//===- Main.cpp - The main function of these tests ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <cstdlib>

int main(int count, char **arguments) {
  if (count == 3 && std::string(arguments[1]) == "--first-compilation")
    return heddle::test::compileFirst(std::atol(arguments[2]));
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
