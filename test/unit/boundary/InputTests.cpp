//===- InputTests.cpp - Text that the C interface must refuse -------------===//

#include "Environment.h"

#include <cstring>

using namespace heddle::test;

namespace {

constexpr heddle_options cpu = {sizeof(heddle_options), "cpu", nullptr};
constexpr heddle_options sm90 = {sizeof(heddle_options), "cuda", "sm_90"};

TEST(InputTest, RefusesDeeplyNestedJson) {
  std::string deep(200000, '[');
  heddle_executable *executable = nullptr;
  EXPECT_EQ(heddle_load_plan(deep.c_str(), &sm90, &executable),
            HEDDLE_BAD_INPUT);
  EXPECT_STREQ(heddle_last_error(),
               "bad plan: not JSON: [byte 640]: expected at most 640 levels of "
               "nested arrays and objects, found more");
  char *text = nullptr;
  EXPECT_EQ(heddle_explain("sgd", deep.c_str(), 0, &sm90, &text),
            HEDDLE_BAD_INPUT);
  // Brackets in strings do not count.
  std::string flat = "[\"" + deep + "\\\"" + deep + "\"]";
  EXPECT_EQ(heddle_load_plan(flat.c_str(), &sm90, &executable),
            HEDDLE_BAD_INPUT);
  EXPECT_EQ(std::strstr(heddle_last_error(), "levels"), nullptr);
}

} // namespace
