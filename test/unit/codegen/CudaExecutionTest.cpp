//===- CudaExecutionTest.cpp - the emitted CUDA text, executed ------------===//

#include "CudaHarness.h"
#include "gtest/gtest.h"

using namespace heddle::runtime;
using heddle::reference::Arithmetic;

namespace heddle::test {

static std::string textOf(llvm::Error error) {
  return takeError(std::move(error)).second;
}

TEST(CudaExecution, AdamW) {
  Program program("adamw");
  auto extents = [](llvm::StringRef, int64_t) {
    return std::vector<std::vector<int64_t>>{{5}, {1024}, {0}, {1}, {3000}};
  };
  Inputs inputs = randomInputs(program, extents, 1);
  auto cpu = program.cpu(inputs), cuda = program.cuda(inputs, "_tiles", 0);
  auto exact = program.reference(inputs, Arithmetic::exact);
  auto plain = program.reference(inputs, Arithmetic::asWritten);
  for (int step = 0; step < 3; ++step) {
    for (Runnable *run : {(Runnable *)cpu.get(), (Runnable *)cuda.get(), exact.get(), plain.get()})
      if (llvm::Error error = run->step())
        FAIL() << run->name << ": " << textOf(std::move(error));
    EXPECT_EQ(differenceInBits(cpu->results(), cuda->results()), "");
    EXPECT_EQ(differenceFrom(exact->results(), plain->results(), cuda->results(), 6e-8), "");
  }
}

} // namespace heddle::test
