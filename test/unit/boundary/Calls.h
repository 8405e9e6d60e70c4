//===- Calls.h - Calls of a sequence, and its handles ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_BOUNDARY_CALLS_H
#define HEDDLE_TEST_UNIT_BOUNDARY_CALLS_H

#include "Sequences.h"

#include <cstdio>

namespace heddle::test {

/// Records the first call that fails. A function returns false if the sequence
/// must end.
class Calls {
public:
  Outcome outcome;

  bool operator()(const char *name, heddle_status status) {
    if (status == HEDDLE_OK)
      return true;
    outcome.status = status;
    outcome.call = name;
    std::snprintf(outcome.error, sizeof(outcome.error), "%s",
                  heddle_last_error());
    return false;
  }
  bool expect(bool right) {
    outcome.wrongResult |= !right;
    return right;
  }
};

struct Executable {
  heddle_executable *handle = nullptr;
  ~Executable() { heddle_executable_free(handle); }
};
struct Graph {
  heddle_graph *handle = nullptr;
  ~Graph() { heddle_graph_free(handle); }
};
struct Memory {
  heddle_memory *handle = nullptr;
  ~Memory() { heddle_memory_free(handle); }
};
struct Text {
  char *text = nullptr;
  ~Text() { heddle_free(text); }
};

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_BOUNDARY_CALLS_H
