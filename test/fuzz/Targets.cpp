//===- Targets.cpp - Selects a fuzz target by the program's name ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "StandIns.h"

#include <filesystem>
#include <string>

using namespace heddle::fuzz;

static const Target *const targets[] = {
    &programTarget, &bytecodeTarget, &planTarget, &shapesTarget, &capiTarget};
static const Target *selected;

extern "C" int LLVMFuzzerInitialize(int *, char ***argv) {
  std::string program = std::filesystem::path(**argv).filename();
  for (const Target *target : targets)
    if (program == std::string("heddle_fuzz_") + target->name)
      selected = target;
  if (!selected) {
    std::fprintf(stderr,
                 "error: expected the name heddle_fuzz_TARGET, found %s; call "
                 "one of the links in bin\n",
                 program.c_str());
    std::exit(2);
  }
  useStandIns();
  selected->initialize();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  selected->run(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  return selected->mutate(data, size, maxSize, seed);
}
