//===- CApiFuzzer.cpp - The C interface as a sequence of calls ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes choose calls in any order, with valid handles and odd arguments:
// wrong names, types, counts, ranks, extents and masks. All memory that heddle
// may access exists; a caller need not guarantee more.
//
//===----------------------------------------------------------------------===//

#include "Bytes.h"
#include "Fuzzer.h"

#include "runtime/heddle.h"

#include <algorithm>
#include <string>
#include <vector>

namespace heddle {
void installCompiler(); // of codegen/compiler, which is an archive here
}

using namespace heddle::fuzz;

namespace {

constexpr size_t slots = 32, slotBytes = 2048;

struct Program {
  heddle_executable *executable = nullptr;
  std::vector<std::string> names;
  /// Memory for the tensors of every graph.
  heddle_memory *memory = nullptr;
  /// The plan's text, and how often it was printed.
  std::string plan;
  size_t prints = 0;
};

std::vector<Program> *programs;

Program describe(heddle_executable *executable) {
  Program program;
  program.executable = executable;
  if (heddle_memory_create(executable, slots * slotBytes, &program.memory))
    finding(heddle_last_error());
  heddle_buffer_info info;
  for (size_t k = 0; k < heddle_argument_count(executable); ++k)
    if (!heddle_argument(executable, k, &info))
      program.names.push_back(info.name);
  for (size_t k = 0; k < heddle_result_count(executable); ++k)
    if (!heddle_result(executable, k, &info))
      program.names.push_back(info.name);
  return program;
}

void compileAll() {
  programs = new std::vector<Program>;
  for (const char *target : {"cpu", "cuda"})
    for (const char *name :
         {"sgd:momentum=0.9", "global_norm", "sinkhorn", "adamw:dtype=bf16"}) {
      heddle_options options = {sizeof(options), target,
                                *target == 'c' && target[1] == 'u' ? "sm_90"
                                                                   : nullptr};
      heddle_executable *executable = nullptr;
      if (heddle_compile(name, &options, &executable))
        finding(heddle_last_error());
      programs->push_back(describe(executable));
    }
}

/// A graph with the memory that its calls may use.
class Session {
public:
  explicit Session(Bytes &bytes) : bytes(bytes) {
    static const std::vector<char> ones(slots * slotBytes, 1);
    program = &(*programs)[bytes.below(programs->size())];
    memory = program->memory;
    base = static_cast<char *>(heddle_memory_address(memory));
    heddle_memory_write(memory, 0, ones.data(), ones.size());
    if (heddle_graph_create(program->executable, &graph))
      finding(heddle_last_error());
  }
  ~Session() { heddle_graph_free(graph); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  void call() {
    switch (bytes.below(16)) {
    case 0:
      return bindAll();
    case 1:
    case 2:
      return bind(/*result=*/false);
    case 3:
      return bind(/*result=*/true);
    case 4:
      heddle_bind_scalar(graph, name(), dtype(), address());
      return;
    case 5:
      return setScalar();
    case 6:
      return setInactive();
    case 7:
      heddle_prepare(graph, nullptr);
      return;
    case 8:
    case 9:
      heddle_replay(graph, nullptr);
      return;
    case 10:
      heddle_synchronize(graph, nullptr);
      return;
    case 11:
      return readResults();
    case 12:
      return useMemory();
    case 13:
      return inspect();
    case 14:
      return measure();
    default:
      return renewGraph();
    }
  }

private:
  const char *name() {
    static const char *const odd[] = {nullptr, "", "nothing", "\xff\xfe",
                                      "a name with a % and a \" in it"};
    if (bytes.oneIn(8))
      return bytes.oneOf(odd);
    return program->names[bytes.below(program->names.size())].c_str();
  }
  /// An element type, or a number of the enumeration's range without one.
  heddle_dtype dtype() {
    return static_cast<heddle_dtype>(bytes.oneIn(4) ? bytes.below(16)
                                                    : HEDDLE_F32);
  }
  void *address() {
    if (bytes.oneIn(8))
      return nullptr;
    size_t offset = bytes.oneIn(8) ? bytes.below(16) : 0;
    return base + bytes.below(slots - 1) * slotBytes + offset;
  }

  /// Binds every list to tensors that match, so that replays happen.
  void bindAll() {
    size_t members = bytes.below(4);
    int64_t rows = bytes.below(8), columns = bytes.below(8);
    size_t slot = 0;
    for (size_t k = 0; k < heddle_argument_count(program->executable); ++k) {
      heddle_buffer_info info;
      if (heddle_argument(program->executable, k, &info) || !info.is_list)
        continue;
      std::vector<void *> pointers;
      std::vector<int> ranks(members, info.rank);
      std::vector<int64_t> extents;
      for (size_t m = 0; m < members; ++m) {
        pointers.push_back(base + slot++ % slots * slotBytes);
        // In a transport problem, the vectors have the rows and the columns.
        bool isRows = k % 2 == 1;
        if (info.rank == 2)
          extents.push_back(rows);
        if (info.rank >= 1)
          extents.push_back(info.rank == 1 && isRows ? rows : columns);
      }
      heddle_bind_list(graph, info.name, info.dtype, members, pointers.data(),
                       ranks.data(), extents.data());
    }
  }

  /// Binds a list to tensors of odd shapes. Those that heddle may accept fit
  /// into a slot.
  void bind(bool result) {
    static const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, int64_t(1) << 32,
                                  0};
    size_t members = bytes.below(5);
    std::vector<void *> pointers;
    std::vector<int> ranks;
    std::vector<int64_t> extents, strides;
    for (size_t m = 0; m < members; ++m) {
      pointers.push_back(address());
      int rank = static_cast<int>(bytes.below(4));
      for (int d = 0; d < rank; ++d) {
        int64_t extent = bytes.below(6);
        // Null memory with elements is an error.
        if (bytes.oneIn(16)) {
          extent = bytes.oneOf(odd);
          pointers.back() = nullptr;
        }
        extents.push_back(extent);
      }
      if (bytes.oneIn(16))
        rank = bytes.oneIn(2) ? -1 : 65;
      ranks.push_back(rank);
      strides.push_back(bytes.oneIn(4) ? bytes.oneOf(odd) : bytes.below(8));
      if (strides.back() > 8)
        pointers.back() = nullptr;
    }
    // heddle refuses a rank of 65 before it reads that many extents.
    size_t count = bytes.oneIn(16) ? 0 : members;
    bool strided = bytes.oneIn(3), nothing = bytes.oneIn(32);
    (result ? heddle_bind_result_strided : heddle_bind_list_strided)(
        graph, name(), dtype(), count, nothing ? nullptr : pointers.data(),
        ranks.data(), extents.data(), strided ? strides.data() : nullptr);
  }

  void setScalar() {
    static const double values[] = {0,     1,    -1,   0.5,  3,        1e-30,
                                    1e300, -0.0, 1e39, 65.0, 0.0 / 0.0};
    double value = bytes.oneOf(values);
    heddle_set_scalar(graph, name(), value, nullptr);
  }

  void setInactive() {
    unsigned char mask[4];
    for (unsigned char &entry : mask)
      entry = bytes.next();
    heddle_set_inactive(graph, name(), bytes.below(5),
                        bytes.oneIn(16) ? nullptr : mask);
  }

  void readResults() {
    size_t members = 0;
    const char *result = name();
    heddle_result_members(graph, result, &members);
    void *pointer = nullptr;
    int rank = 0;
    int64_t extents[2], stride = 0;
    heddle_result_member(graph, result, bytes.below(6), &pointer, &rank,
                         extents, &stride);
    double value = 0;
    heddle_read_scalar(graph, name(), &value, nullptr);
  }

  void useMemory() {
    static const size_t sizes[] = {0,         1,        64,
                                   slotBytes, SIZE_MAX, size_t(1) << 47};
    char buffer[slotBytes] = {};
    size_t offset = bytes.oneOf(sizes), count = bytes.oneOf(sizes);
    heddle_memory_read(memory, offset, buffer, count);
    heddle_memory_write(memory, offset, buffer, count);
    heddle_memory *other = nullptr;
    if (!heddle_memory_create(program->executable, bytes.oneOf(sizes), &other))
      heddle_memory_free(other);
  }

  void inspect() {
    heddle_buffer_info info;
    heddle_argument(program->executable, bytes.next(), &info);
    heddle_result(program->executable, bytes.next(), &info);
    uint64_t value = 0;
    const char *counter = heddle_statistic_name(bytes.next());
    heddle_statistic(counter, &value);
    (void)heddle_executable_arch(program->executable);
    (void)heddle_executable_log(program->executable);
    if (bytes.oneIn(128))
      printPlan();
  }

  /// Printing a plan is slow, and its text is always the same. libFuzzer keeps
  /// inputs that print, so that soon most inputs would.
  void printPlan() {
    char *text = nullptr;
    if (program->prints == 64)
      return;
    if (heddle_executable_plan(program->executable, &text))
      finding(heddle_last_error());
    if (program->prints++ == 0)
      program->plan = text;
    else if (program->plan != text)
      finding("a plan has another text than before");
    heddle_free(text);
  }

  void measure() {
    double seconds = 0;
    heddle_measure(graph, static_cast<int>(bytes.below(4)) - 1,
                   static_cast<int>(bytes.below(4)) - 1, &seconds);
  }

  void renewGraph() {
    heddle_graph_free(graph);
    graph = nullptr;
    if (heddle_graph_create(program->executable, &graph))
      finding(heddle_last_error());
  }

  Bytes &bytes;
  Program *program;
  heddle_graph *graph = nullptr;
  heddle_memory *memory = nullptr;
  char *base = nullptr;
};

/// Compiles a small or invalid program that the input chooses.
void compileOdd(Bytes &bytes) {
  static const char *const words[] = {"",
                                      "sgd",
                                      "sgd:lr=",
                                      "sgd:lr=nan",
                                      "nothing",
                                      "sgd+",
                                      "a/b.mlir",
                                      "sgd:dtype=f32/",
                                      "{",
                                      "\n",
                                      nullptr,
                                      "sgd:lr=1,lr=2",
                                      "global_norm:dtype=i8"};
  static const char *const stages[] = {"foreach", "fused", "cuda", "plan",
                                       "ptx",     "cubin", "",     nullptr};
  static const char *const targets[] = {"cpu", "cuda", "", nullptr, "gpu"};
  static const char *const archs[] = {"sm_90", nullptr, "", "sm_", "sm_1"};
  heddle_options options = {bytes.oneIn(4) ? bytes.below(24) : sizeof(options),
                            bytes.oneOf(targets), bytes.oneOf(archs)};
  const heddle_options *chosen = bytes.oneIn(8) ? nullptr : &options;
  const char *program = bytes.oneOf(words);
  char *text = nullptr;
  heddle_executable *executable = nullptr;
  switch (bytes.below(4)) {
  case 0:
    heddle_emit(program, bytes.oneOf(stages), chosen, &text, nullptr);
    break;
  case 1:
    heddle_explain(program, bytes.oneIn(2) ? "[[1]]" : words[bytes.below(10)],
                   bytes.next(), chosen, &text);
    break;
  case 2:
    heddle_load_plan(program, chosen, &executable);
    break;
  default:
    heddle_doctor(&text);
  }
  heddle_free(text);
  heddle_executable_free(executable);
}

} // namespace

static void initialize() {
  // One helper is enough to run jobs on several threads. More would wait for
  // a processor if other processes fuzz, too.
  setenv("HEDDLE_THREADS", "2", /*overwrite=*/0);
  // The GPU's bandwidth is measured by copies of a third of its memory.
  setenv("HEDDLE_STAND_IN_MEMORY", "1048576", 1);
  heddle::installCompiler();
  compileAll();
}

static void run(const uint8_t *data, size_t size) {
  Bytes bytes(data, std::min<size_t>(size, 512));
  if (bytes.oneIn(32)) {
    compileOdd(bytes);
    return;
  }
  Session session(bytes);
  while (!bytes.empty())
    session.call();
}

const heddle::fuzz::Target heddle::fuzz::capiTarget = {"capi", initialize, run,
                                                       mutateBytes};
