//===- Helpers.h - Shared by the runtime's tests --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_HELPERS_H
#define HEDDLE_TEST_UNIT_RUNTIME_HELPERS_H

#include "runtime/plan/Plan.h"
#include "runtime/support/Status.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace heddle::runtime {

/// The message of `error`. The test fails if its code is not `expected`.
inline std::string failure(llvm::Error error, StatusCode expected) {
  auto [code, text] = takeError(std::move(error));
  EXPECT_EQ(static_cast<int>(code), static_cast<int>(expected)) << text;
  return text;
}

template <typename T>
std::string failure(llvm::Expected<T> value, StatusCode expected) {
  if (value) {
    ADD_FAILURE() << "expected an error";
    return "";
  }
  return failure(value.takeError(), expected);
}

/// Succeeds if there is no error, and shows its message otherwise.
inline testing::AssertionResult succeeded(llvm::Error error) {
  auto [code, text] = takeError(std::move(error));
  if (code == StatusCode::Ok)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << text;
}

#define EXPECT_CONTAINS(text, part)                                            \
  EXPECT_NE(std::string(text).find(part), std::string::npos)                   \
      << "the text is: " << (text)

/// Sets an environment variable for a scope; null unsets it.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value) : name(name) {
    if (const char *old = std::getenv(name)) {
      before = old;
      existed = true;
    }
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~ScopedVariable() {
    existed ? setenv(name, before.c_str(), 1) : unsetenv(name);
  }

private:
  const char *name;
  std::string before;
  bool existed = false;
};

/// A new folder, removed with its contents.
class TemporaryFolder {
public:
  TemporaryFolder() {
    if (std::error_code error =
            llvm::sys::fs::createUniqueDirectory("heddle-test", folder))
      ADD_FAILURE() << error.message();
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(folder); }
  std::string path(const std::string &name = "") const {
    return name.empty() ? folder.str().str() : folder.str().str() + "/" + name;
  }

private:
  llvm::SmallString<128> folder;
};

/// The plan of an optimizer: two segments, f32 and bf16, with member scalars, a
/// hyperparameter, a result and a reduction over the list.
inline const char *updatePlan() {
  return R"json({
  "name": "update",
  "buffers": [
    {"name": "param", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "grad", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "step", "kind": "list", "dtype": "f32", "rank": 0, "role": "argument", "donated": true},
    {"name": "param16", "kind": "list", "dtype": "bf16", "rank": 1, "role": "argument", "donated": true},
    {"name": "lr", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "argument", "default": 0.001},
    {"name": "old", "kind": "list", "dtype": "f32", "rank": 1, "role": "result", "extents": [[0, 0]], "members": 0},
    {"name": "norm", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "result"}],
  "results": [{"name": "param", "buffer": 0}, {"name": "step", "buffer": 2}, {"name": "param16", "buffer": 3},
              {"name": "old", "buffer": 5}, {"name": "norm", "buffer": 6}],
  "tables": [{"name": "update", "rank": 1, "pointers": 4, "tile_descriptors": true, "segments": [
    {"tile": 4, "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": "i"}, {"buffer": 2, "index": ""},
                             {"buffer": 5, "index": "i"}], "count": [0, 0], "columns": null},
    {"tile": 8, "operands": [{"buffer": 3, "index": "i"}], "count": [3, 0], "columns": null}]}],
  "scratch": [{"per": "tile", "table": 0, "bytes": 8, "zero": false}, {"per": "member", "table": 0, "bytes": 16, "zero": true},
              {"per": "once", "bytes": 24, "zero": true}],
  "nodes": [{"kind": "kernel", "name": "update", "sweeps": ["update"], "table": 0,
    "variants": [{"entry": "update_few", "block": 128, "grid": "tiles", "when": {"max_tiles": 100}},
                 {"entry": "update_many", "block": 256, "grid": "resident", "cooperative": true, "shared": 1024, "tile_descriptors": false}],
    "arguments": [{"table": 0}, {"buffer": 4}, {"buffer": 6}, {"scratch": 0}], "writes": [0, 2, 3, 5, 6], "always": true}],
  "edges": [],
  "source": "text", "headers": {"a.cuh": "header"}, "options": ["--std=c++17"]})json";
}

inline Plan parsed(const char *text) { return llvm::cantFail(parsePlan(text)); }

} // namespace heddle::runtime

#endif // HEDDLE_TEST_UNIT_RUNTIME_HELPERS_H
