//===- OldGlibc.cpp - Functions that old versions of glibc lack -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM and the C++ runtime of the machine that builds the wheel call
// arc4random, which glibc has since 2.36. With this definition, the wheel runs
// with glibc 2.34.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" uint32_t arc4random() {
  uint32_t number = 0;
  char *place = reinterpret_cast<char *>(&number);
  // A signal may interrupt the first call, before the kernel has random bytes.
  for (size_t done = 0; done < sizeof number;) {
    ssize_t got = getrandom(place + done, sizeof number - done, 0);
    if (got > 0)
      done += static_cast<size_t>(got);
    else if (errno != EINTR)
      std::abort(); // as glibc does
  }
  return number;
}
