//===- ExecutableApi.cpp - Executables through the C interface ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"

#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace heddle::runtime;

namespace {

/// Reads a plan with a reserve of memory, because LLVM's JSON parser runs no
/// destructors after an exception.
Expected<Plan> readPlan(const char *text) {
  MemoryReserve reserve;
  Expected<Plan> plan = parsePlan(text);
  if (Error error = MemoryReserve::check()) {
    consumeError(plan.takeError());
    return std::move(error);
  }
  return plan;
}

Error wrap(Expected<std::shared_ptr<Executable>> executable,
           heddle_executable **out) {
  if (!executable)
    return executable.takeError();
  std::unique_ptr<heddle_executable> handle(
      new heddle_executable{std::move(*executable), {}});
  for (size_t buffer = 0; buffer < handle->executable->plan()->buffers.size();
       ++buffer)
    if (handle->executable->plan()->buffers[buffer].role ==
        BufferRole::Argument)
      handle->arguments.push_back(static_cast<int>(buffer));
  *out = handle.release();
  return Error::success();
}

void fillInfo(const PlanBuffer &buffer, const std::string &name,
              heddle_buffer_info *info) {
  *info = {};
  info->name = name.c_str();
  info->dtype = static_cast<heddle_dtype>(buffer.dtype);
  info->is_list = buffer.kind == BufferKind::List;
  info->rank = buffer.rank;
  info->donated = buffer.donated;
  info->has_default = buffer.defaultValue.has_value();
  info->default_value = buffer.defaultValue.value_or(0);
}

} // namespace

extern "C" {

heddle_status heddle_compile(const char *program, const heddle_options *options,
                             heddle_executable **executable) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error = HEDDLE_REQUIRE("heddle_compile", program, executable))
      return error;
    Expected<CompileRequest> request = makeRequest(program, options);
    if (!request)
      return request.takeError();
    Expected<CompiledProgram> compiled = useCompiler(
        [&](Compiler &compiler) { return compiler.compile(*request); });
    if (!compiled)
      return compiled.takeError();
    return wrap(Executable::create(std::move(*compiled), request->target,
                                   request->arch, compileWhen(options)),
                executable);
  });
}

heddle_status heddle_load_plan(const char *plan, const heddle_options *options,
                               heddle_executable **executable) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error = HEDDLE_REQUIRE("heddle_load_plan", plan, executable))
      return error;
    if (Error error = checkOptions(options))
      return error;
    Expected<Plan> read = readPlan(plan);
    if (!read)
      return read.takeError();
    Expected<std::pair<Target, std::string>> target =
        readTarget(options, "cuda");
    if (!target)
      return target.takeError();
    return wrap(Executable::create({std::move(*read), nullptr}, target->first,
                                   target->second, compileWhen(options)),
                executable);
  });
}

void heddle_executable_free(heddle_executable *executable) {
  freeGuarded([&] { delete executable; });
}

const char *heddle_executable_arch(const heddle_executable *executable) {
  return executable ? executable->executable->arch().c_str() : "";
}

const char *heddle_executable_log(const heddle_executable *executable) {
  return executable ? executable->executable->log().data() : "";
}

heddle_status heddle_executable_plan(const heddle_executable *executable,
                                     char **text) {
  return callGuarded([&]() -> Error {
    if (Error error =
            HEDDLE_REQUIRE("heddle_executable_plan", executable, text))
      return error;
    return returnText(
        formatv("{0:2}", planToJSON(*executable->executable->plan())).str(),
        text);
  });
}

size_t heddle_argument_count(const heddle_executable *executable) {
  return executable ? executable->arguments.size() : 0;
}

heddle_status heddle_argument(const heddle_executable *executable, size_t index,
                              heddle_buffer_info *info) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_argument", executable, info))
      return error;
    if (index >= executable->arguments.size())
      return badInput("heddle_argument: expected an index below " +
                      Twine(executable->arguments.size()) + ", found " +
                      Twine(index));
    const PlanBuffer &buffer =
        executable->executable->plan()->buffers[executable->arguments[index]];
    fillInfo(buffer, buffer.name, info);
    return Error::success();
  });
}

size_t heddle_result_count(const heddle_executable *executable) {
  return executable ? executable->executable->plan()->results.size() : 0;
}

heddle_status heddle_result(const heddle_executable *executable, size_t index,
                            heddle_buffer_info *info) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_result", executable, info))
      return error;
    const Plan &plan = *executable->executable->plan();
    if (index >= plan.results.size())
      return badInput("heddle_result: expected an index below " +
                      Twine(plan.results.size()) + ", found " + Twine(index));
    fillInfo(plan.buffers[plan.results[index].buffer], plan.results[index].name,
             info);
    return Error::success();
  });
}

} // extern "C"
