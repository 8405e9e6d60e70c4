//===- CompileTimes.cpp - cold and warm compilations ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cold compilation has an empty cache folder and a new function name, because
// NVRTC caches sources as well. The warm compilation that follows finds the
// entry of the cold one in the cache.
//
//===----------------------------------------------------------------------===//

#include "CompileTimes.h"
#include "../Support.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

using namespace llvm;
using heddle::cli::toError;

namespace heddle::bench {

namespace {
/// Redirects the disk cache to a new folder until destruction.
class TemporaryCache {
public:
  TemporaryCache() {
    if (const char *value = std::getenv("HEDDLE_CACHE_DIR"))
      before = value;
    if (!sys::fs::createUniqueDirectory("heddle-bench", folder))
      setenv("HEDDLE_CACHE_DIR", folder.c_str(), 1);
  }
  ~TemporaryCache() {
    if (before)
      setenv("HEDDLE_CACHE_DIR", before->c_str(), 1);
    else
      unsetenv("HEDDLE_CACHE_DIR");
    sys::fs::remove_directories(folder);
  }

private:
  std::optional<std::string> before;
  SmallString<128> folder;
};
} // namespace

static double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// Compiles a program and creates a graph, which loads the module.
static Expected<double> compileOnce(StringRef program) {
  auto begin = std::chrono::steady_clock::now();
  auto executable =
      cli::toExpected(heddle::Executable::compile(program.str(), {"cuda", ""}));
  if (!executable)
    return executable.takeError();
  auto graph = cli::toExpected(heddle::Graph::create(*executable));
  if (!graph)
    return graph.takeError();
  return secondsSince(begin);
}

/// Returns the source of `program` with a function name that was never
/// compiled.
static Expected<std::string> neverCompiled(StringRef program) {
  auto source = cli::toExpected(heddle::emit(program.str(), "foreach"));
  if (!source)
    return source.takeError();
  static unsigned count = 0;
  constexpr StringLiteral declaration = "func.func @";
  size_t at = source->find(declaration.str());
  if (at == std::string::npos)
    return createStringError(
        "expected a function in the source of the program");
  auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  source->insert(at + declaration.size(),
                 formatv("cold_{0}_{1}_", now, count++).str());
  return source;
}

static double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Expected<std::vector<CompileTime>>
measureCompileTimes(ArrayRef<StringRef> programs) {
  {
    TemporaryCache cache;
    if (auto first = compileOnce("global_norm"); !first)
      return first.takeError();
  }
  std::vector<CompileTime> result;
  for (StringRef program : programs) {
    std::vector<double> cold, warm;
    for (int sample = 0; sample < 5; ++sample) {
      TemporaryCache cache;
      auto source = neverCompiled(program);
      if (!source)
        return source.takeError();
      for (std::vector<double> *times : {&cold, &warm}) {
        auto time = compileOnce(*source);
        if (!time)
          return time.takeError();
        times->push_back(*time);
      }
    }
    result.push_back({program.str(), median(cold), median(warm)});
  }
  return result;
}

Expected<ColdBinding>
measureColdBinding(StringRef program,
                   function_ref<Error(heddle::Graph &)> bindAndPrepare) {
  TemporaryCache cache;
  auto source = neverCompiled(program);
  if (!source)
    return source.takeError();
  ColdBinding times;
  auto begin = std::chrono::steady_clock::now();
  auto executable =
      cli::toExpected(heddle::Executable::compile(*source, {"cuda", ""}));
  if (!executable)
    return executable.takeError();
  auto graph = cli::toExpected(heddle::Graph::create(*executable));
  if (!graph)
    return graph.takeError();
  times.program = secondsSince(begin);
  begin = std::chrono::steady_clock::now();
  if (Error error = bindAndPrepare(*graph))
    return std::move(error);
  times.binding = secondsSince(begin);
  return times;
}

} // namespace heddle::bench
