//===- DoctorTest.cpp - The C interface without a GPU ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/capi/Doctor.h"
#include "runtime/heddle.hpp"
#include "runtime/program/Executable.h"

using namespace heddle::runtime;
using namespace llvm;

extern "C" int heddleHeaderInC(char *text, size_t size);

namespace {

TEST(CApi, HeaderIsC) {
  char text[200];
  EXPECT_EQ(heddleHeaderInC(text, sizeof(text)), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(text, "plan.buffers");
}

TEST(Doctor, SaysWhatIsMissing) {
  json::Object report = inspectMachine();
  for (const char *part : {"driver", "nvrtc", "cache", "compiler"}) {
    const json::Object *object = report.getObject(part);
    ASSERT_TRUE(object) << part;
    std::optional<bool> ok = object->getBoolean("ok");
    ASSERT_TRUE(ok) << part;
    if (!*ok) {
      EXPECT_FALSE(object->getString("problem").value_or("").empty()) << part;
    }
  }
  EXPECT_TRUE(report.getString("version"));
  auto text = heddle::version();
  EXPECT_EQ(report.getString("version"), StringRef(text));
}

TEST(Doctor, WithoutAGpuTheErrorSaysWhatToDo) {
  Expected<const Driver *> driver = Driver::get();
  if (driver)
    GTEST_SKIP() << "this machine has a GPU";
  std::string text = takeError(driver.takeError()).second;
  EXPECT_TRUE(text.find("no CUDA driver") == 0 || text.find("no GPU") == 0)
      << text;
  EXPECT_CONTAINS(failure(chooseTarget("cuda", ""), StatusCode::Unavailable),
                  "target cuda without an architecture");
  EXPECT_EQ(cantFail(chooseTarget("", "")).first, Target::Cpu);
  EXPECT_EQ(cantFail(chooseTarget("", "sm_90")).first, Target::Cuda);
  EXPECT_CONTAINS(failure(chooseTarget("tpu", ""), StatusCode::BadInput),
                  "expected 'cuda' or 'cpu'");
}

TEST(CApi, ReportsMistakes) {
  heddle_executable *executable = nullptr;
  EXPECT_EQ(heddle_load_plan(nullptr, nullptr, &executable), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(
      heddle_last_error(),
      "heddle_load_plan: expected an address for 'plan', found null");
  EXPECT_EQ(heddle_load_plan("{}", nullptr, nullptr), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(
      heddle_last_error(),
      "heddle_load_plan: expected an address for 'executable', found null");
  EXPECT_EQ(heddle_load_plan("{", nullptr, &executable), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(heddle_last_error(), "bad plan");
  EXPECT_EQ(heddle_replay(nullptr, nullptr), HEDDLE_BAD_INPUT);
  uint64_t value = 0;
  EXPECT_EQ(heddle_statistic("nothing", &value), HEDDLE_BAD_INPUT);
  for (size_t index = 0; const char *name = heddle_statistic_name(index);
       ++index)
    EXPECT_EQ(heddle_statistic(name, &value), HEDDLE_OK) << name;
  heddle_executable_free(nullptr);
  heddle_graph_free(nullptr);
  heddle_memory_free(nullptr);
}

TEST(CApi, NamesTheFunctionThatWasCalled) {
  auto bind = [](auto function, auto... strides) {
    EXPECT_EQ(function(nullptr, "x", HEDDLE_F32, 0, nullptr, nullptr, nullptr,
                       strides...),
              HEDDLE_BAD_INPUT);
    return std::string(heddle_last_error());
  };
  const int64_t *none = nullptr;
  EXPECT_EQ(bind(heddle_bind_list),
            "heddle_bind_list: expected an address for 'graph', found null");
  EXPECT_CONTAINS(bind(heddle_bind_list_strided, none),
                  "heddle_bind_list_strided: ");
  EXPECT_CONTAINS(bind(heddle_bind_result), "heddle_bind_result: ");
  EXPECT_CONTAINS(bind(heddle_bind_result_strided, none),
                  "heddle_bind_result_strided: ");
}

TEST(CApi, ChecksOptions) {
  heddle_executable *executable = nullptr;
  heddle_options options = {sizeof(options), "cuda", "sm_90"};
  for (size_t size : {0, 8, 15, 23}) {
    options.struct_size = size;
    EXPECT_EQ(heddle_load_plan("{", &options, &executable), HEDDLE_BAD_INPUT);
    EXPECT_EQ(heddle_last_error(),
              formatv("options: expected a struct_size of "
                      "sizeof(heddle_options), at least 24, found {0}",
                      size)
                  .str());
  }
  // A later heddle.h may have a larger struct.
  options.struct_size = sizeof(options) + 8;
  EXPECT_EQ(heddle_load_plan("{", &options, &executable), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(heddle_last_error(), "bad plan");
}

TEST(CApi, ChecksArchitectures) {
  EXPECT_CONTAINS(failure(chooseTarget("cpu", "sm_90"), StatusCode::BadInput),
                  "arch: expected none for target 'cpu', found 'sm_90'");
  for (const char *arch : {"junk", "sm_999", "sm_02", "sm_9", "sm_90b", "90"})
    EXPECT_CONTAINS(failure(chooseTarget("cuda", arch), StatusCode::BadInput),
                    "arch: expected an architecture such as sm_80");
  for (const char *arch : {"sm_50", "sm_90a", "sm_100f", "sm_121"})
    EXPECT_EQ(cantFail(chooseTarget("", arch)).second, arch);
}

TEST(CApi, LoadsPlansWithoutAGpu) {
  // The architecture is named, and a plan without source needs no NVRTC.
  Plan plan = parsed(updatePlan());
  plan.source.clear();
  std::string text = formatv("{0}", planToJSON(plan)).str();
  auto executable = heddle::Executable::fromPlan(text, {"cuda", "sm_90"});
  ASSERT_TRUE(executable) << executable.error();
  EXPECT_EQ(executable->arch(), "sm_90");
  auto arguments = executable->arguments();
  ASSERT_EQ(arguments.size(), 5u);
  EXPECT_STREQ(arguments[0].name, "param");
  EXPECT_EQ(arguments[0].donated, 1);
  EXPECT_EQ(arguments[3].dtype, HEDDLE_BF16);
  EXPECT_EQ(arguments[4].has_default, 1);
  EXPECT_EQ(arguments[4].default_value, 0.001);
  auto results = executable->results();
  ASSERT_EQ(results.size(), 5u);
  EXPECT_STREQ(results[4].name, "norm");
  EXPECT_EQ(results[4].is_list, 0);
  heddle_buffer_info info;
  EXPECT_EQ(heddle_argument(executable->get(), 5, &info), HEDDLE_BAD_INPUT);
  EXPECT_EQ(
      planToJSON(cantFail(parsePlan(std::move(executable->plan()).value()))),
      planToJSON(plan));
}

} // namespace
