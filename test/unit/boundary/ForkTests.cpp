//===- ForkTests.cpp - Handles in a child of fork() -----------------------===//

#include "Environment.h"

#include <cstring>
#include <thread>
#include <unistd.h>

using namespace heddle::test;

namespace {

TEST(ForkTest, TheCpuTargetWorksInAChild) {
  ASSERT_TRUE(
      succeeded(runOnCpu(Executables::elementwise(), Executables::loop())));
  EXPECT_EQ(runInChild([] {
              Outcome outcome =
                  runOnCpu(Executables::elementwise(), Executables::loop());
              if (!outcome.succeeded())
                return 1;
              return compileForCpu().succeeded() ? 0 : 2;
            }),
            0);
  // And in a child of the child.
  EXPECT_EQ(runInChild([] {
              return runInChild([] {
                return runOnCpu(Executables::elementwise(), Executables::loop())
                               .succeeded()
                           ? 0
                           : 1;
              });
            }),
            0);
}

} // namespace
