//===- ExecutableApi.cpp - Executables through the C interface ------------===//

#include "runtime/capi/CApi.h"

#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace heddle::runtime;

namespace {

Error wrap(Expected<std::shared_ptr<Executable>> executable,
           heddle_executable **out) {
  if (!executable)
    return executable.takeError();
  auto *handle = new heddle_executable{std::move(*executable), {}};
  for (size_t buffer = 0; buffer < handle->executable->plan()->buffers.size();
       ++buffer)
    if (handle->executable->plan()->buffers[buffer].role ==
        BufferRole::Argument)
      handle->arguments.push_back(static_cast<int>(buffer));
  *out = handle;
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
  if (Error error = requireAll("heddle_compile", program, executable))
    return finishCall(std::move(error));
  Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return finishCall(compiler.takeError());
  Expected<CompileRequest> request = makeRequest(program, options);
  if (!request)
    return finishCall(request.takeError());
  Expected<CompiledProgram> compiled = (*compiler)->compile(*request);
  if (!compiled)
    return finishCall(compiled.takeError());
  return finishCall(
      wrap(Executable::create(std::move(*compiled), request->target,
                              request->arch, compileWhen(options)),
           executable));
}

heddle_status heddle_load_plan(const char *text, const heddle_options *options,
                               heddle_executable **executable) {
  if (Error error = requireAll("heddle_load_plan", text, executable))
    return finishCall(std::move(error));
  Expected<Plan> plan = parsePlan(text);
  if (!plan)
    return finishCall(plan.takeError());
  Expected<std::pair<Target, std::string>> target = readTarget(options, "cuda");
  if (!target)
    return finishCall(target.takeError());
  return finishCall(
      wrap(Executable::create({std::move(*plan), nullptr}, target->first,
                              target->second, compileWhen(options)),
           executable));
}

void heddle_executable_free(heddle_executable *executable) {
  delete executable;
}

const char *heddle_executable_arch(const heddle_executable *executable) {
  return executable ? executable->executable->arch().c_str() : "";
}

const char *heddle_executable_log(const heddle_executable *executable) {
  return executable ? executable->executable->log().data() : "";
}

heddle_status heddle_executable_plan(const heddle_executable *executable,
                                     char **text) {
  if (Error error = requireAll("heddle_executable_plan", executable, text))
    return finishCall(std::move(error));
  return finishCall(returnText(
      formatv("{0:2}", planToJSON(*executable->executable->plan())).str(),
      text));
}

size_t heddle_argument_count(const heddle_executable *executable) {
  return executable ? executable->arguments.size() : 0;
}

heddle_status heddle_argument(const heddle_executable *executable, size_t index,
                              heddle_buffer_info *info) {
  if (Error error = requireAll("heddle_argument", executable, info))
    return finishCall(std::move(error));
  if (index >= executable->arguments.size())
    return finishCall(badInput("heddle_argument: expected an index below " +
                               Twine(executable->arguments.size()) +
                               ", found " + Twine(index)));
  const PlanBuffer &buffer =
      executable->executable->plan()->buffers[executable->arguments[index]];
  fillInfo(buffer, buffer.name, info);
  return HEDDLE_OK;
}

size_t heddle_result_count(const heddle_executable *executable) {
  return executable ? executable->executable->plan()->results.size() : 0;
}

heddle_status heddle_result(const heddle_executable *executable, size_t index,
                            heddle_buffer_info *info) {
  if (Error error = requireAll("heddle_result", executable, info))
    return finishCall(std::move(error));
  const Plan &plan = *executable->executable->plan();
  if (index >= plan.results.size())
    return finishCall(badInput("heddle_result: expected an index below " +
                               Twine(plan.results.size()) + ", found " +
                               Twine(index)));
  fillInfo(plan.buffers[plan.results[index].buffer], plan.results[index].name,
           info);
  return HEDDLE_OK;
}

} // extern "C"
