//===- InspectApi.cpp - Stages and counters through the C interface -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"
#include "runtime/capi/Doctor.h"
#include "runtime/support/Statistics.h"

#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace heddle::runtime;

extern "C" {

heddle_status heddle_emit(const char *program, const char *stage,
                          const heddle_options *options, char **text,
                          size_t *size) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error = HEDDLE_REQUIRE("heddle_emit", program, stage, text))
      return error;
    Expected<CompileRequest> request =
        makeRequest(program, options, /*inspect=*/true);
    if (!request)
      return request.takeError();
    StringRef name = stage;
    if (name != "ptx" && name != "cubin") {
      Expected<std::string> emitted = useCompiler(
          [&](Compiler &compiler) { return compiler.emit(*request, name); });
      if (!emitted)
        return emitted.takeError();
      return returnText(*emitted, text, size);
    }
    if (request->target == Target::Cpu)
      return badInput(Twine("stage '") + name +
                      "': expected the cuda target, found cpu");
    Expected<CompiledProgram> compiled = useCompiler(
        [&](Compiler &compiler) { return compiler.compile(*request); });
    if (!compiled)
      return compiled.takeError();
    const Plan &plan = compiled->plan;
    Expected<CompiledImage> image = compileSource(
        {plan.name, plan.source.text(), plan.headers, plan.options},
        request->arch, name == "ptx" ? ImageKind::Ptx : ImageKind::Cubin);
    if (!image)
      return image.takeError();
    return returnText(image->image, text, size);
  });
}

heddle_status heddle_explain(const char *program, const char *shapes, int json,
                             const heddle_options *options, char **text) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error = HEDDLE_REQUIRE("heddle_explain", program, text))
      return error;
    Expected<CompileRequest> request =
        makeRequest(program, options, /*inspect=*/true);
    if (!request)
      return request.takeError();
    Expected<std::string> explained = useCompiler([&](Compiler &compiler) {
      return compiler.explain(*request, shapes ? shapes : "", json != 0);
    });
    if (!explained)
      return explained.takeError();
    return returnText(*explained, text);
  });
}

heddle_status heddle_doctor(char **text) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error = HEDDLE_REQUIRE("heddle_doctor", text))
      return error;
    return returnText(formatv("{0:2}", json::Value(inspectMachine())).str(),
                      text);
  });
}

static const struct {
  const char *name;
  std::atomic<uint64_t> Statistics::*counter;
} counters[] = {
#define HEDDLE_LIST_COUNTER(name, meaning) {#name, &Statistics::name},
    HEDDLE_STATISTICS(HEDDLE_LIST_COUNTER)
#undef HEDDLE_LIST_COUNTER
};

const char *heddle_statistic_name(size_t index) {
  return index < std::size(counters) ? counters[index].name : nullptr;
}

heddle_status heddle_statistic(const char *name, uint64_t *value) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_statistic", name, value))
      return error;
    for (const auto &counter : counters)
      if (StringRef(name) == counter.name) {
        *value =
            (statistics().*counter.counter).load(std::memory_order_relaxed);
        return Error::success();
      }
    return badInput(Twine("statistic '") + name +
                    "': there is no such counter; heddle_statistic_name lists "
                    "them");
  });
}

} // extern "C"
