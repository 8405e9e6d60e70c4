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
  EXPECT_CONTAINS(heddle_last_error(),
                  "heddle_load_plan: expected no null pointer");
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
