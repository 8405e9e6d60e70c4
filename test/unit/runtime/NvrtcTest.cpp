//===- NvrtcTest.cpp - Compiling with NVRTC, and finding it ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/builtin/DeviceSource.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/nvrtc/ResourceReport.h"
#include "runtime/support/Statistics.h"

#include "llvm/Support/MemoryBuffer.h"

#include <chrono>

using namespace heddle::runtime;
using namespace llvm;

namespace {

struct NvrtcTest : testing::Test {
  TemporaryFolder folder;
  ScopedVariable place{"HEDDLE_CACHE_DIR", folder.path("cache").c_str()},
      size{"HEDDLE_CACHE_SIZE", "64"},
      temporary{"TMPDIR", folder.path().c_str()};
  KernelSource source{"small kernel",
                      "#include \"helper.cuh\"\nextern \"C\" __global__ void "
                      "add(float *x) { x[threadIdx.x] += step; }\n",
                      {{"helper.cuh", "constexpr float step = 2;\n"}},
                      {"--std=c++17", "--fmad=false"}};

  void SetUp() override {
    if (Expected<const Nvrtc *> nvrtc = Nvrtc::get(); !nvrtc)
      GTEST_SKIP() << takeError(nvrtc.takeError()).second;
  }
};

TEST_F(NvrtcTest, CompilesOnceAndThenLoads) {
  uint64_t compilations = statistics().compilations,
           hits = statistics().cache_hits;
  CompiledImage first =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  EXPECT_EQ(first.log, "");
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(StringRef(first.image).take_front(4), StringRef("\x7f"
                                                            "ELF"));
  auto begin = std::chrono::steady_clock::now();
  CompiledImage second =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  double milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - begin)
                            .count();
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.image, first.image);
  EXPECT_LT(milliseconds, 20);
  EXPECT_EQ(statistics().compilations, compilations + 1);
  EXPECT_EQ(statistics().cache_hits, hits + 1);
  // Headers, options and architecture are in the key.
  source.headers["helper.cuh"] = "constexpr float step = 3;\n";
  EXPECT_FALSE(
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin)).cached);
  source.options.push_back("-DX=1");
  EXPECT_FALSE(
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin)).cached);
  EXPECT_FALSE(
      cantFail(compileSource(source, "sm_80", ImageKind::Cubin)).cached);
  CompiledImage ptx = cantFail(compileSource(source, "sm_90", ImageKind::Ptx));
  EXPECT_CONTAINS(ptx.image, ".visible .entry add");
  EXPECT_CONTAINS(ptx.image, ".target sm_90");
}

TEST_F(NvrtcTest, WorksWithoutACache) {
  ScopedVariable bad("HEDDLE_CACHE_DIR", "/proc/nowhere");
  uint64_t failures = statistics().cache_failures;
  EXPECT_FALSE(
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin)).cached);
  EXPECT_GT(statistics().cache_failures, failures);
  ScopedVariable off("HEDDLE_CACHE_SIZE", "0");
  EXPECT_FALSE(
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin)).cached);
}

TEST_F(NvrtcTest, RecompilesDamagedEntries) {
  CompiledImage first =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  std::error_code error;
  for (sys::fs::directory_iterator item(folder.path("cache"), error), end;
       !error && item != end; item.increment(error)) {
    raw_fd_ostream stream(item->path(), error);
    stream << "garbage";
  }
  CompiledImage again =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  EXPECT_FALSE(again.cached);
  EXPECT_EQ(again.image, first.image);
}

TEST_F(NvrtcTest, KeepsWarnings) {
  source.text += "__global__ void unused() { int never; }\n";
  CompiledImage first =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  EXPECT_CONTAINS(first.log, "warning");
  CompiledImage second =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.log, first.log);
}

TEST_F(NvrtcTest, AFailureHasLogSourceAndCommand) {
  source.text += "broken;\n";
  std::string text = failure(compileSource(source, "sm_90", ImageKind::Cubin),
                             StatusCode::Failed);
  EXPECT_CONTAINS(text, "NVRTC failed on 'small kernel' for sm_90");
  EXPECT_CONTAINS(text, "small_kernel.cu(3): error");
  EXPECT_CONTAINS(text, "reproduce: nvcc --cubin -arch=sm_90 -I");
  EXPECT_CONTAINS(text, "--fmad=false");
  size_t begin = text.find("source: ") + 8;
  std::string file = text.substr(begin, text.find('\n', begin) - begin);
  auto saved = MemoryBuffer::getFile(file);
  ASSERT_TRUE(static_cast<bool>(saved)) << file;
  EXPECT_EQ((*saved)->getBuffer(), source.text);
  EXPECT_TRUE(sys::fs::exists(file.substr(0, file.rfind('/')) + "/helper.cuh"));
}

TEST_F(NvrtcTest, TheMinimalOptionChangesNoCode) {
  source.name = "one";
  CompiledImage whole =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  source.options.push_back(kMinimalOption.str());
  CompiledImage minimal =
      cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  EXPECT_FALSE(minimal.cached);
  EXPECT_EQ(minimal.image, whole.image);
  // The nvcc command does not have the option.
  source.text += "broken;\n";
  EXPECT_EQ(failure(compileSource(source, "sm_90", ImageKind::Cubin),
                    StatusCode::Failed)
                .find(kMinimalOption.str()),
            std::string::npos);
}

TEST_F(NvrtcTest, RefusesOtherArchitectures) {
  for (const char *arch :
       {"sm_12", "sm_9999", "sm_", "compute_90", "", "sm_90; rm", "sm_-90"})
    EXPECT_CONTAINS(failure(compileSource(source, arch, ImageKind::Cubin),
                            StatusCode::BadInput),
                    "architecture: ");
  EXPECT_GE(cantFail(Nvrtc::get())->major(), 12);
}

TEST_F(NvrtcTest, DumpsEveryLevel) {
  ScopedVariable dump("HEDDLE_DUMP_DIR", folder.path("dump").c_str());
  cantFail(compileSource(source, "sm_90", ImageKind::Cubin));
  for (const char *file :
       {"small_kernel.cu", "helper.cuh", "small_kernel.sm_90.cubin",
        "small_kernel.sm_90.log"})
    EXPECT_TRUE(sys::fs::exists(folder.path("dump/small_kernel/") + file))
        << file;
}

TEST_F(NvrtcTest, BuiltinKernelsCompileWithoutWarnings) {
  for (const char *arch : {"sm_80", "sm_90", "sm_100", "sm_120"})
    for (StringRef file : {"copy.cu", "descriptors.cu"}) {
      KernelSource own{
          file.str(), deviceSource(file).str(), {}, {"--std=c++17"}};
      EXPECT_EQ(cantFail(compileSource(own, arch, ImageKind::Cubin)).log, "")
          << file.str() << " for " << arch;
    }
}

TEST(ResourceReport, HasTheLargestSpill) {
  StringRef log =
      "kernel.cu(3): warning: unused\n"
      "ptxas info    : Function properties for first\n"
      "    8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 48 registers, used 1 barriers\n"
      "ptxas         .     24 bytes stack frame, 24 bytes spill stores, 52 "
      "bytes spill loads\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  EXPECT_EQ(spilledBytes(log), 24);
  EXPECT_EQ(spilledBytes(""), 0);
  EXPECT_EQ(withoutReport(log), "kernel.cu(3): warning: unused\n");
}

// A block is worth four registers, or sixteen around calls; the fourth block is
// worth twenty.
TEST(ResourceReport, SaysWhetherSpillsAreWorthABlock) {
  for (int64_t blocks : {1, 3, 5, 8}) {
    EXPECT_TRUE(isWorthSpilling(16, blocks, /*aroundCalls=*/false)) << blocks;
    EXPECT_FALSE(isWorthSpilling(17, blocks, false)) << blocks;
    EXPECT_TRUE(isWorthSpilling(64, blocks, /*aroundCalls=*/true)) << blocks;
    EXPECT_FALSE(isWorthSpilling(65, blocks, true)) << blocks;
  }
  for (bool aroundCalls : {false, true}) {
    EXPECT_TRUE(isWorthSpilling(80, 4, aroundCalls));
    EXPECT_FALSE(isWorthSpilling(81, 4, aroundCalls));
  }
}

TEST(NvrtcSearch, FollowsTheEnvironment) {
  TemporaryFolder folder;
  auto make = [&](const std::string &path) {
    std::string file = folder.path(path);
    ASSERT_FALSE(sys::fs::create_directories(file.substr(0, file.rfind('/'))));
    std::error_code error;
    raw_fd_ostream(file, error) << "not a library";
  };
  make("toolkit/lib64/libnvrtc.so");
  make("env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  ScopedVariable named("HEDDLE_NVRTC", folder.path("toolkit/lib64").c_str());
  EXPECT_EQ(cantFail(findNvrtc()), folder.path("toolkit/lib64/libnvrtc.so"));
  ScopedVariable wrong("HEDDLE_NVRTC", folder.path("nothing").c_str());
  EXPECT_CONTAINS(failure(findNvrtc(), StatusCode::BadInput),
                  "HEDDLE_NVRTC: expected libnvrtc.so");
  ScopedVariable none("HEDDLE_NVRTC", nullptr),
      home("CUDA_HOME", folder.path("toolkit").c_str());
  EXPECT_EQ(cantFail(findNvrtc()), folder.path("toolkit/lib64/libnvrtc.so"));
  if (sys::fs::exists("/usr/local/cuda"))
    return;
  ScopedVariable noHome("CUDA_HOME", nullptr), noPath("CUDA_PATH", nullptr),
      python("VIRTUAL_ENV", folder.path("env").c_str());
  EXPECT_EQ(
      cantFail(findNvrtc()),
      folder.path(
          "env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
}

} // namespace
