//===- CApi.cpp - The C interface of heddle -------------------------------===//
//
// Translates between heddle.h and the runtime: arguments are checked for null,
// errors become a status and a text of the thread. Nothing here throws; the
// runtime is compiled without exceptions.
//
//===----------------------------------------------------------------------===//

#include "runtime/heddle.h"

#include "runtime/capi/CApi.h"
#include "runtime/capi/Doctor.h"
#include "runtime/cuda/Graph.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/support/Statistics.h"

#include "heddle-version.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

struct heddle_executable {
  std::shared_ptr<Executable> executable;
  std::vector<int> arguments; ///< buffers of the arguments, in plan order
};

struct heddle_graph {
  std::unique_ptr<ProgramGraph> graph;
};

struct heddle_memory {
  ContextPtr context; ///< null: host memory
  DeviceMemory device;
  char *host = nullptr;
  size_t bytes = 0;
};

namespace {

thread_local std::string lastError;

heddle_status finish(Error error) {
  if (!error)
    return HEDDLE_OK;
  auto [code, text] = takeError(std::move(error));
  lastError = std::move(text);
  return static_cast<heddle_status>(code);
}

Error badInput(const Twine &text) {
  return make_error<StatusError>(StatusCode::BadInput, text.str());
}

/// BadInput if any of the pointers is null.
template <typename... Pointers>
Error requireAll(const char *function, Pointers *...pointers) {
  if (((pointers == nullptr) || ...))
    return badInput(Twine(function) + ": expected no null pointer, found one");
  return Error::success();
}

char *copyText(StringRef text) {
  char *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy) {
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
  }
  return copy;
}

Error giveText(StringRef text, char **out, size_t *size = nullptr) {
  *out = copyText(text);
  if (!*out)
    return makeError(StatusCode::Failed,
                     "allocating {0} bytes for a text failed", text.size());
  if (size)
    *size = text.size();
  return Error::success();
}

struct Options {
  StringRef target, arch;
};

/// An older caller's struct is shorter: what it lacks is left at its default.
Options readOptions(const heddle_options *options) {
  heddle_options known = {};
  if (options)
    std::memcpy(&known, options, std::min(sizeof(known), options->struct_size));
  return {known.target ? known.target : "", known.arch ? known.arch : ""};
}

/// Looking at a program needs no GPU: without one, and without a name, the
/// architecture is sm_90.
Expected<CompileRequest> makeEmitRequest(const char *program,
                                         const heddle_options *options) {
  Options known = readOptions(options);
  std::string arch = known.arch.str();
  if (known.target != "cpu" && arch.empty()) {
    Expected<ContextPtr> context = Context::current();
    arch = context ? (*context)->arch() : "sm_90";
    if (!context)
      consumeError(context.takeError());
  }
  Expected<std::pair<Target, std::string>> target =
      chooseTarget(known.target, arch);
  if (!target)
    return target.takeError();
  return CompileRequest{program, target->first, target->second};
}

Expected<CompileRequest> makeRequest(const char *program,
                                     const heddle_options *options) {
  Options known = readOptions(options);
  Expected<std::pair<Target, std::string>> target =
      chooseTarget(known.target, known.arch);
  if (!target)
    return target.takeError();
  return CompileRequest{program, target->first, target->second};
}

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

Expected<DType> readDType(heddle_dtype dtype) {
  if (dtype < HEDDLE_F64 || dtype > HEDDLE_I64)
    return badInput("dtype: expected a heddle_dtype, found " +
                    Twine(static_cast<int>(dtype)));
  return static_cast<DType>(dtype);
}

/// More members than memory can describe: a count above it is a mistake.
constexpr size_t mostMembers = size_t(1) << 31;

Error checkCount(const char *name, size_t members) {
  if (members <= mostMembers)
    return Error::success();
  return badInput(Twine("'") + name +
                  "': expected at most 2^31 members, found " + Twine(members));
}

Expected<std::vector<ListMember>>
readMembers(const char *name, size_t members, void *const *pointers,
            const int *ranks, const int64_t *extents, const int64_t *strides) {
  if (members && (!pointers || !ranks))
    return badInput(Twine("'") + name +
                    "': expected pointers and ranks, found null");
  if (Error error = checkCount(name, members))
    return error;
  std::vector<ListMember> list(members);
  for (size_t member = 0; member < members; ++member) {
    if (ranks[member] < 0 || ranks[member] > 64)
      return badInput(Twine("'") + name + "', member " + Twine(member) +
                      ": expected 0..64 dimensions, found " +
                      Twine(ranks[member]));
    if (ranks[member] > 0 && !extents)
      return badInput(Twine("'") + name + "', member " + Twine(member) +
                      ": expected extents, found null");
    list[member].data = pointers[member];
    list[member].extents.assign(extents, extents + ranks[member]);
    extents += ranks[member];
    if (strides)
      list[member].rowStride = strides[member];
  }
  return list;
}

/// Device time between two events around `replays` replays.
Expected<double> timeOnDevice(Graph &graph, int replays) {
  const ContextPtr &context = graph.context();
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  Expected<StreamHandle> stream = createStream(context);
  if (!stream)
    return stream.takeError();
  Expected<EventHandle> begin = createEvent(context),
                        end = createEvent(context);
  if (!begin || !end)
    return joinErrors(begin.takeError(), end.takeError());
  HEDDLE_DRIVER_CALL(driver, cuEventRecord, begin->get(), stream->get());
  for (int i = 0; i < replays; ++i)
    if (Error error = graph.replay(stream->get()))
      return std::move(error);
  HEDDLE_DRIVER_CALL(driver, cuEventRecord, end->get(), stream->get());
  HEDDLE_DRIVER_CALL(driver, cuEventSynchronize, end->get());
  float milliseconds = 0;
  HEDDLE_DRIVER_CALL(driver, cuEventElapsedTime, &milliseconds, begin->get(),
                     end->get());
  return milliseconds * 1e-3;
}

Expected<double> timeOnHost(ProgramGraph &graph, int replays) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < replays; ++i)
    if (Error error = graph.replay(nullptr))
      return std::move(error);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

Error measure(ProgramGraph &graph, int replays, int samples, double *seconds) {
  if (replays < 1 || samples < 1)
    return badInput(
        "heddle_measure: expected at least one replay and one sample");
  if (Error error = graph.prepare(nullptr))
    return error;
  if (Error error = graph.synchronize(nullptr))
    return error;
  bool onDevice = graph.executable()->target() == Target::Cuda;
  std::vector<double> times;
  for (int sample = 0; sample <= samples; ++sample) {
    Expected<double> time =
        onDevice ? timeOnDevice(static_cast<Graph &>(graph), replays)
                 : timeOnHost(graph, replays);
    if (!time)
      return time.takeError();
    if (sample > 0)
      times.push_back(*time / replays);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  *seconds = times[times.size() / 2];
  return Error::success();
}

/// Runs `body` with a memory's range checked.
template <typename Body>
Error withRange(const char *function, const heddle_memory *memory,
                size_t offset, size_t bytes, Body body) {
  if (offset > memory->bytes || bytes > memory->bytes - offset)
    return badInput(Twine(function) + ": expected a range within " +
                    Twine(memory->bytes) + " bytes, found " + Twine(offset) +
                    " + " + Twine(bytes));
  return bytes ? body() : Error::success();
}

} // namespace

heddle_status heddle::runtime::finishCall(Error error) {
  return finish(std::move(error));
}

extern "C" {

const char *heddle_version(void) { return HEDDLE_VERSION; }
const char *heddle_last_error(void) { return lastError.c_str(); }
void heddle_free(char *text) { std::free(text); }

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

heddle_status heddle_compile(const char *program, const heddle_options *options,
                             heddle_executable **executable) {
  if (Error error = requireAll("heddle_compile", program, executable))
    return finish(std::move(error));
  Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return finish(compiler.takeError());
  Expected<CompileRequest> request = makeRequest(program, options);
  if (!request)
    return finish(request.takeError());
  Expected<CompiledProgram> compiled = (*compiler)->compile(*request);
  if (!compiled)
    return finish(compiled.takeError());
  return finish(wrap(
      Executable::create(std::move(*compiled), request->target, request->arch),
      executable));
}

heddle_status heddle_load_plan(const char *text, const heddle_options *options,
                               heddle_executable **executable) {
  if (Error error = requireAll("heddle_load_plan", text, executable))
    return finish(std::move(error));
  Expected<Plan> plan = parsePlan(text);
  if (!plan)
    return finish(plan.takeError());
  Options known = readOptions(options);
  Expected<std::pair<Target, std::string>> target =
      chooseTarget(known.target.empty() ? "cuda" : known.target, known.arch);
  if (!target)
    return finish(target.takeError());
  return finish(wrap(Executable::create({std::move(*plan), nullptr},
                                        target->first, target->second),
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
    return finish(std::move(error));
  return finish(giveText(
      formatv("{0:2}", planToJSON(*executable->executable->plan())).str(),
      text));
}

size_t heddle_argument_count(const heddle_executable *executable) {
  return executable ? executable->arguments.size() : 0;
}

heddle_status heddle_argument(const heddle_executable *executable, size_t index,
                              heddle_buffer_info *info) {
  if (Error error = requireAll("heddle_argument", executable, info))
    return finish(std::move(error));
  if (index >= executable->arguments.size())
    return finish(badInput("heddle_argument: expected an index below " +
                           Twine(executable->arguments.size()) + ", found " +
                           Twine(index)));
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
    return finish(std::move(error));
  const Plan &plan = *executable->executable->plan();
  if (index >= plan.results.size())
    return finish(badInput("heddle_result: expected an index below " +
                           Twine(plan.results.size()) + ", found " +
                           Twine(index)));
  fillInfo(plan.buffers[plan.results[index].buffer], plan.results[index].name,
           info);
  return HEDDLE_OK;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

heddle_status heddle_graph_create(heddle_executable *executable,
                                  heddle_graph **graph) {
  if (Error error = requireAll("heddle_graph_create", executable, graph))
    return finish(std::move(error));
  Expected<std::unique_ptr<ProgramGraph>> created =
      ProgramGraph::create(executable->executable);
  if (!created)
    return finish(created.takeError());
  *graph = new heddle_graph{std::move(*created)};
  return HEDDLE_OK;
}

void heddle_graph_free(heddle_graph *graph) { delete graph; }

heddle_status heddle_bind_list(heddle_graph *graph, const char *name,
                               heddle_dtype dtype, size_t members,
                               void *const *pointers, const int *ranks,
                               const int64_t *extents) {
  return heddle_bind_list_strided(graph, name, dtype, members, pointers, ranks,
                                  extents, /*strides=*/nullptr);
}

heddle_status heddle_bind_list_strided(heddle_graph *graph, const char *name,
                                       heddle_dtype dtype, size_t members,
                                       void *const *pointers, const int *ranks,
                                       const int64_t *extents,
                                       const int64_t *strides) {
  if (Error error = requireAll("heddle_bind_list_strided", graph, name))
    return finish(std::move(error));
  Expected<DType> type = readDType(dtype);
  if (!type)
    return finish(type.takeError());
  Expected<std::vector<ListMember>> list =
      readMembers(name, members, pointers, ranks, extents, strides);
  if (!list)
    return finish(list.takeError());
  return finish(graph->graph->bindList(name, *type, *list));
}

heddle_status heddle_bind_scalar(heddle_graph *graph, const char *name,
                                 heddle_dtype dtype, void *address) {
  if (Error error = requireAll("heddle_bind_scalar", graph, name))
    return finish(std::move(error));
  Expected<DType> type = readDType(dtype);
  if (!type)
    return finish(type.takeError());
  return finish(graph->graph->bindScalar(name, *type, address));
}

heddle_status heddle_set_scalar(heddle_graph *graph, const char *name,
                                double value, void *stream) {
  if (Error error = requireAll("heddle_set_scalar", graph, name))
    return finish(std::move(error));
  return finish(graph->graph->setScalar(name, value, stream));
}

heddle_status heddle_bind_result(heddle_graph *graph, const char *name,
                                 heddle_dtype dtype, size_t members,
                                 void *const *pointers, const int *ranks,
                                 const int64_t *extents) {
  return heddle_bind_result_strided(graph, name, dtype, members, pointers,
                                    ranks, extents, /*strides=*/nullptr);
}

heddle_status heddle_bind_result_strided(heddle_graph *graph, const char *name,
                                         heddle_dtype dtype, size_t members,
                                         void *const *pointers,
                                         const int *ranks,
                                         const int64_t *extents,
                                         const int64_t *strides) {
  if (Error error = requireAll("heddle_bind_result_strided", graph, name))
    return finish(std::move(error));
  Expected<DType> type = readDType(dtype);
  if (!type)
    return finish(type.takeError());
  Expected<std::vector<ListMember>> list =
      readMembers(name, members, pointers, ranks, extents, strides);
  if (!list)
    return finish(list.takeError());
  return finish(graph->graph->bindResult(name, *type, *list));
}

heddle_status heddle_set_inactive(heddle_graph *graph, const char *name,
                                  size_t members, const unsigned char *mask) {
  if (Error error = requireAll("heddle_set_inactive", graph, name))
    return finish(std::move(error));
  if (members && !mask)
    return finish(
        badInput(Twine("'") + name + "': expected a mask, found null"));
  if (Error error = checkCount(name, members))
    return finish(std::move(error));
  SmallVector<bool> flags(members);
  for (size_t member = 0; member < members; ++member)
    flags[member] = mask[member] != 0;
  return finish(graph->graph->setInactive(name, flags));
}

heddle_status heddle_prepare(heddle_graph *graph, void *stream) {
  if (Error error = requireAll("heddle_prepare", graph))
    return finish(std::move(error));
  return finish(graph->graph->prepare(stream));
}

heddle_status heddle_replay(heddle_graph *graph, void *stream) {
  if (!graph)
    return finish(requireAll("heddle_replay", graph));
  return finish(graph->graph->replay(stream));
}

heddle_status heddle_synchronize(heddle_graph *graph, void *stream) {
  if (Error error = requireAll("heddle_synchronize", graph))
    return finish(std::move(error));
  return finish(graph->graph->synchronize(stream));
}

heddle_status heddle_result_members(heddle_graph *graph, const char *name,
                                    size_t *members) {
  if (Error error = requireAll("heddle_result_members", graph, name, members))
    return finish(std::move(error));
  Expected<std::vector<ResultMember>> result = graph->graph->result(name);
  if (!result)
    return finish(result.takeError());
  *members = result->size();
  return HEDDLE_OK;
}

heddle_status heddle_result_member(heddle_graph *graph, const char *name,
                                   size_t member, void **pointer, int *rank,
                                   int64_t *extents) {
  if (Error error = requireAll("heddle_result_member", graph, name, pointer,
                               rank, extents))
    return finish(std::move(error));
  Expected<std::vector<ResultMember>> result = graph->graph->result(name);
  if (!result)
    return finish(result.takeError());
  if (member >= result->size())
    return finish(badInput(Twine("result '") + name +
                           "': expected a member below " +
                           Twine(result->size()) + ", found " + Twine(member)));
  const ResultMember &found = (*result)[member];
  *pointer = found.address;
  *rank = found.rank;
  std::copy(found.extents, found.extents + found.rank, extents);
  return HEDDLE_OK;
}

heddle_status heddle_read_scalar(heddle_graph *graph, const char *name,
                                 double *value, void *stream) {
  if (Error error = requireAll("heddle_read_scalar", graph, name, value))
    return finish(std::move(error));
  Expected<double> read = graph->graph->readScalar(name, stream);
  if (!read)
    return finish(read.takeError());
  *value = *read;
  return HEDDLE_OK;
}

heddle_status heddle_measure(heddle_graph *graph, int replays, int samples,
                             double *seconds) {
  if (Error error = requireAll("heddle_measure", graph, seconds))
    return finish(std::move(error));
  return finish(measure(*graph->graph, replays, samples, seconds));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

heddle_status heddle_memory_create(heddle_executable *executable, size_t bytes,
                                   heddle_memory **memory) {
  if (Error error = requireAll("heddle_memory_create", executable, memory))
    return finish(std::move(error));
  // Beyond what any machine addresses, and safe to round up.
  constexpr size_t most = size_t(1) << 48;
  if (bytes > most)
    return finish(
        badInput("bytes: expected at most 2^48, found " + Twine(bytes)));
  auto created = std::make_unique<heddle_memory>();
  created->bytes = bytes;
  if (executable->executable->target() == Target::Cpu) {
    created->host = static_cast<char *>(std::aligned_alloc(
        Layout::alignment, alignUp(std::max<size_t>(bytes, 1))));
    if (!created->host)
      return finish(makeError(StatusCode::Failed,
                              "allocating {0} bytes of host memory failed",
                              bytes));
  } else {
    Expected<ContextPtr> context = Context::current();
    if (!context)
      return finish(context.takeError());
    Expected<DeviceMemory> device = DeviceMemory::allocate(*context, bytes);
    if (!device)
      return finish(device.takeError());
    created->context = *context;
    created->device = std::move(*device);
  }
  *memory = created.release();
  return HEDDLE_OK;
}

void heddle_memory_free(heddle_memory *memory) {
  if (memory)
    std::free(memory->host);
  delete memory;
}

void *heddle_memory_address(const heddle_memory *memory) {
  if (!memory)
    return nullptr;
  return memory->host ? memory->host : memory->device.address();
}

heddle_status heddle_memory_write(heddle_memory *memory, size_t offset,
                                  const void *from, size_t bytes) {
  if (Error error = requireAll("heddle_memory_write", memory, from))
    return finish(std::move(error));
  return finish(
      withRange("heddle_memory_write", memory, offset, bytes, [&]() -> Error {
        if (memory->host) {
          std::memcpy(memory->host + offset, from, bytes);
          return Error::success();
        }
        Context::Scope scope(*memory->context);
        HEDDLE_DRIVER_CALL(
            memory->context->driver(), cuMemcpyHtoD,
            reinterpret_cast<CUdeviceptr>(memory->device.address() + offset),
            from, bytes);
        return Error::success();
      }));
}

heddle_status heddle_memory_read(const heddle_memory *memory, size_t offset,
                                 void *to, size_t bytes) {
  if (Error error = requireAll("heddle_memory_read", memory, to))
    return finish(std::move(error));
  return finish(
      withRange("heddle_memory_read", memory, offset, bytes, [&]() -> Error {
        if (memory->host) {
          std::memcpy(to, memory->host + offset, bytes);
          return Error::success();
        }
        Context::Scope scope(*memory->context);
        HEDDLE_DRIVER_CALL(
            memory->context->driver(), cuMemcpyDtoH, to,
            reinterpret_cast<CUdeviceptr>(memory->device.address() + offset),
            bytes);
        return Error::success();
      }));
}

//===----------------------------------------------------------------------===//
// Looking inside
//===----------------------------------------------------------------------===//

heddle_status heddle_emit(const char *program, const char *stage,
                          const heddle_options *options, char **text,
                          size_t *size) {
  if (Error error = requireAll("heddle_emit", program, stage, text))
    return finish(std::move(error));
  Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return finish(compiler.takeError());
  Expected<CompileRequest> request = makeEmitRequest(program, options);
  if (!request)
    return finish(request.takeError());
  StringRef name = stage;
  if (name != "ptx" && name != "cubin") {
    Expected<std::string> emitted = (*compiler)->emit(*request, name);
    if (!emitted)
      return finish(emitted.takeError());
    return finish(giveText(*emitted, text, size));
  }
  if (request->target == Target::Cpu)
    return finish(badInput(Twine("stage '") + name +
                           "': expected the cuda target, found cpu"));
  Expected<CompiledProgram> compiled = (*compiler)->compile(*request);
  if (!compiled)
    return finish(compiled.takeError());
  const Plan &plan = compiled->plan;
  Expected<CompiledImage> image = compileSource(
      {plan.name, plan.source.text(), plan.headers, plan.options},
      request->arch, name == "ptx" ? ImageKind::Ptx : ImageKind::Cubin);
  if (!image)
    return finish(image.takeError());
  return finish(giveText(image->image, text, size));
}

heddle_status heddle_explain(const char *program, const char *shapes, int json,
                             const heddle_options *options, char **text) {
  if (Error error = requireAll("heddle_explain", program, text))
    return finish(std::move(error));
  Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return finish(compiler.takeError());
  Expected<CompileRequest> request = makeEmitRequest(program, options);
  if (!request)
    return finish(request.takeError());
  Expected<std::string> explained =
      (*compiler)->explain(*request, shapes ? shapes : "", json != 0);
  if (!explained)
    return finish(explained.takeError());
  return finish(giveText(*explained, text));
}

heddle_status heddle_doctor(char **text) {
  if (Error error = requireAll("heddle_doctor", text))
    return finish(std::move(error));
  return finish(
      giveText(formatv("{0:2}", json::Value(inspectMachine())).str(), text));
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
    return finish(std::move(error));
  for (const auto &counter : counters)
    if (StringRef(name) == counter.name) {
      *value = (statistics().*counter.counter).load(std::memory_order_relaxed);
      return HEDDLE_OK;
    }
  return finish(
      badInput(Twine("statistic '") + name + "': there is none of this name"));
}

} // extern "C"
