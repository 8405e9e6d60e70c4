//===- InspectApi.cpp - Stages and counters through the C interface -------===//

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
  if (Error error = requireAll("heddle_emit", program, stage, text))
    return finishCall(std::move(error));
  Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return finishCall(compiler.takeError());
  Expected<CompileRequest> request =
      makeRequest(program, options, /*inspect=*/true);
  if (!request)
    return finishCall(request.takeError());
  StringRef name = stage;
  if (name != "ptx" && name != "cubin") {
    Expected<std::string> emitted = (*compiler)->emit(*request, name);
    if (!emitted)
      return finishCall(emitted.takeError());
    return finishCall(returnText(*emitted, text, size));
  }
  if (request->target == Target::Cpu)
    return finishCall(badInput(Twine("stage '") + name +
                               "': expected the cuda target, found cpu"));
  Expected<CompiledProgram> compiled = (*compiler)->compile(*request);
  if (!compiled)
    return finishCall(compiled.takeError());
  const Plan &plan = compiled->plan;
  Expected<CompiledImage> image = compileSource(
      {plan.name, plan.source.text(), plan.headers, plan.options},
      request->arch, name == "ptx" ? ImageKind::Ptx : ImageKind::Cubin);
  if (!image)
    return finishCall(image.takeError());
  return finishCall(returnText(image->image, text, size));
}

heddle_status heddle_explain(const char *program, const char *shapes, int json,
                             const heddle_options *options, char **text) {
  if (Error error = requireAll("heddle_explain", program, text))
    return finishCall(std::move(error));
  Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return finishCall(compiler.takeError());
  Expected<CompileRequest> request =
      makeRequest(program, options, /*inspect=*/true);
  if (!request)
    return finishCall(request.takeError());
  Expected<std::string> explained =
      (*compiler)->explain(*request, shapes ? shapes : "", json != 0);
  if (!explained)
    return finishCall(explained.takeError());
  return finishCall(returnText(*explained, text));
}

heddle_status heddle_doctor(char **text) {
  if (Error error = requireAll("heddle_doctor", text))
    return finishCall(std::move(error));
  return finishCall(
      returnText(formatv("{0:2}", json::Value(inspectMachine())).str(), text));
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
  if (Error error = requireAll("heddle_statistic", name, value))
    return finishCall(std::move(error));
  for (const auto &counter : counters)
    if (StringRef(name) == counter.name) {
      *value = (statistics().*counter.counter).load(std::memory_order_relaxed);
      return HEDDLE_OK;
    }
  return finishCall(
      badInput(Twine("statistic '") + name + "': there is no such counter"));
}

} // extern "C"
