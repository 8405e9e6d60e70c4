//===- PlanMutationTests.cpp - Plans with one thing changed ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each part of a plan is replaced in turn: a number by other numbers; a text,
// an array or an object by an empty one; each by a value of another type. A
// changed plan must be refused, or each call of its graph must return a status.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

using namespace heddle::test;

namespace {

constexpr heddle_options sm90 = {sizeof(heddle_options), "cuda", "sm_90"};

/// A part of a JSON text.
struct Part {
  size_t begin, end;
  char kind; ///< its first character; '0' for a number
};

/// All values and names of a JSON text, except for strings of 200 characters
/// and more, which are sources.
std::vector<Part> partsOf(const std::string &json) {
  std::vector<Part> parts;
  std::vector<size_t> open;
  for (size_t at = 0; at < json.size();) {
    char c = json[at];
    size_t begin = at;
    if (c == '"') {
      for (++at; json[at] != '"'; ++at)
        at += json[at] == '\\';
      ++at;
      if (at - begin < 200)
        parts.push_back({begin, at, '"'});
    } else if (std::isdigit(c) || c == '-') {
      at = json.find_first_not_of("0123456789.eE+-", at);
      parts.push_back({begin, at, '0'});
    } else if (std::isalpha(c)) {
      while (std::isalpha(json[at]))
        ++at;
      parts.push_back({begin, at, 't'});
    } else {
      if (c == '[' || c == '{')
        open.push_back(at);
      ++at;
      if (c == ']' || c == '}') {
        parts.push_back({open.back(), at, json[open.back()]});
        open.pop_back();
      }
    }
  }
  return parts;
}

std::vector<std::string> replacementsOf(char kind, size_t position) {
  if (kind == '0') {
    std::vector<std::string> values = {
        "-1", "2147483648", "1e300", "9223372036854775807", "0.5", "\"\""};
    // Most numbers are positions of buffers and tables: the first ones, and
    // three others.
    for (int number = 0; number < 6; ++number)
      values.push_back(std::to_string(number));
    for (size_t step : {1, 2, 3})
      values.push_back(std::to_string(6 + position * step * 7 % 41));
    return values;
  }
  if (kind == '"')
    return {"\"\"", "\"other\"", "0"};
  if (kind == '[')
    return {"[]", "null"};
  if (kind == '{')
    return {"{}", "null"};
  return {"true", "false", "null"};
}

/// Loads a plan, binds two members of 4 or 4 x 4 elements to each argument, and
/// prepares.
class Attempt {
public:
  explicit Attempt(const std::string &plan, heddle_memory *memory) {
    if (heddle_load_plan(plan.c_str(), &sm90, &executable) != HEDDLE_OK)
      return;
    loaded = true;
    if (heddle_graph_create(executable, &graph) == HEDDLE_OK && bind(memory))
      prepared = heddle_prepare(graph, nullptr) == HEDDLE_OK;
    for (size_t k = 0; k < heddle_result_count(executable); ++k)
      readResult(k);
  }
  ~Attempt() {
    heddle_graph_free(graph);
    heddle_executable_free(executable);
  }

  bool loaded = false, prepared = false;

private:
  bool bind(heddle_memory *memory) {
    auto *next = static_cast<char *>(heddle_memory_address(memory));
    for (size_t k = 0; k < heddle_argument_count(executable); ++k) {
      heddle_buffer_info info;
      if (heddle_argument(executable, k, &info) != HEDDLE_OK)
        return false;
      if (!info.is_list)
        continue;
      void *members[] = {next, next + 1024};
      next += 2048;
      int ranks[] = {info.rank, info.rank};
      int64_t extents[] = {4, 4, 4, 4};
      if (heddle_bind_list(graph, info.name, info.dtype, 2, members, ranks,
                           extents) != HEDDLE_OK)
        return false;
    }
    return true;
  }

  void readResult(size_t index) {
    heddle_buffer_info info;
    size_t members = 0;
    if (!prepared || heddle_result(executable, index, &info) != HEDDLE_OK ||
        heddle_result_members(graph, info.name, &members) != HEDDLE_OK)
      return;
    void *address = nullptr;
    int rank = 0;
    int64_t extents[2], stride = 0;
    for (size_t member = 0; member < std::min<size_t>(members, 3); ++member)
      heddle_result_member(graph, info.name, member, &address, &rank, extents,
                           &stride);
  }

  heddle_executable *executable = nullptr;
  heddle_graph *graph = nullptr;
};

void mutate(const std::string &plan, bool canPrepare) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  heddle_memory *memory = nullptr;
  ASSERT_EQ(heddle_memory_create(Executables::cuda(), 1 << 20, &memory),
            HEDDLE_OK);
  {
    Attempt unchanged(plan, memory);
    ASSERT_TRUE(unchanged.loaded) << heddle_last_error();
    ASSERT_EQ(unchanged.prepared, canPrepare) << heddle_last_error();
  }
  int attempts = 0, refused = 0, prepared = 0;
  for (const Part &part : partsOf(plan))
    for (const std::string &replacement :
         replacementsOf(part.kind, part.begin)) {
      std::string changed = plan;
      changed.replace(part.begin, part.end - part.begin, replacement);
      Attempt attempt(changed, memory);
      ++attempts;
      refused += !attempt.loaded;
      prepared += attempt.prepared;
    }
  heddle_memory_free(memory);
  std::printf("%d changed plans: %d refused, %d prepared\n", attempts, refused,
              prepared);
}

/// Replaces the value of a field of the plan.
void setField(std::string &plan, const std::string &name,
              const std::string &value) {
  size_t at = plan.find("\n  \"" + name + "\": ");
  if (at == std::string::npos)
    return;
  size_t begin = plan.find(": ", at) + 2, end = begin;
  int depth = 0;
  do {
    if (plan[end] == '"')
      for (++end; plan[end] != '"'; ++end)
        end += plan[end] == '\\';
    depth += plan[end] == '[' || plan[end] == '{';
    depth -= plan[end] == ']' || plan[end] == '}';
    ++end;
  } while (depth > 0);
  plan.replace(begin, end - begin, value);
}

/// The plan of a standard program, without source, so that NVRTC does not run.
std::string planWithoutSource(const char *program) {
  char *text = nullptr;
  if (heddle_emit(program, "plan", &sm90, &text, nullptr) != HEDDLE_OK)
    return "";
  std::string plan = text;
  heddle_free(text);
  setField(plan, "source", "\"\"");
  setField(plan, "panel_source", "\"\"");
  setField(plan, "headers", "{}");
  return plan;
}

TEST(PlanMutationTest, PlansThatTheStandInDriverRuns) {
  mutate(cudaPlan(), true);
}

class PlanOfProgram : public testing::TestWithParam<const char *> {};

TEST_P(PlanOfProgram, EachPart) {
  std::string plan = planWithoutSource(GetParam());
  ASSERT_NE(plan, "") << heddle_last_error();
  mutate(plan, false);
}

INSTANTIATE_TEST_SUITE_P(PlanMutationTest, PlanOfProgram,
                         testing::Values("adamw", "clip_by_global_norm+sgd",
                                         "sinkhorn"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(c) ? c : '_';
                           return name;
                         });

} // namespace
