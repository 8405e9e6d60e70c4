//===- CudaInjectionTest.cpp - names that attempt to inject code ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module is data. Whatever its names and strings contain, the source compiles
// and contains only their letters, digits and underscores.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"

#include <set>

using namespace heddle::runtime;

namespace heddle::test {
namespace {

/// `text` as a string literal of MLIR.
std::string inQuotes(llvm::StringRef text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    static const char digits[] = "0123456789ABCDEF";
    if (c == '"' || c == '\\' || c < 32 || c > 126) {
      result += '\\';
      result += digits[c / 16];
      result += digits[c % 16];
    } else {
      result += static_cast<char>(c);
    }
  }
  return result + "\"";
}

/// A program in which everything that can have a name is called `name`: the
/// function, arguments, values, results. Numbered values get the name from
/// their locations.
std::string programCalled(const std::string &name) {
  std::string loc = " loc(" + inQuotes(name) + ")";
  auto also = [&](const char *more) {
    return " loc(" + inQuotes(name + more) + ")";
  };
  return "!list = !foreach.list<tensor<?xf32>>\n"
         "!each = !foreach.list<tensor<f32>>\n"
         "!num = tensor<f64>\n"
         "func.func @" +
         inQuotes(name) + "(%0: !list {foreach.donate = 0 : i64}" + loc +
         ", %1: !each {foreach.donate = 1 : i64}" + also("1") +
         ", %2: !num {foreach.default = 0.5 : f64}" + also("2") +
         ") -> (!list, !each, tensor<f32>) attributes {note = " +
         inQuotes(name) +
         "} {\n"
         "  %3 = foreach.map (%4 = %1 : !each) -> !each {\n"
         "    %5 = arith.constant 1.0 : f32" +
         loc +
         "\n"
         "    %6 = arith.addf %4, %5 : f32" +
         loc +
         "\n"
         "    foreach.yield %6 : f32\n"
         "  }" +
         also("3") +
         "\n"
         "  %7 = foreach.map (%8 = %0 : !list, %9 = %2 as f32 : !num, "
         "%10 = %1 : !each) -> !list {\n"
         "    %11 = arith.mulf %8, %9 : f32" +
         loc +
         "\n"
         "    %12 = arith.addf %11, %10 : f32" +
         loc +
         "\n"
         "    %13 = arith.mulf %12, %11 : f32" +
         loc +
         "\n"
         "    foreach.yield %13 : f32\n"
         "  }" +
         also("4") +
         "\n"
         "  %14 = foreach.reduce add along list (%15 = %7 : !list) -> "
         "tensor<f32> {\n"
         "    foreach.yield %15 : f32\n"
         "  }" +
         loc +
         "\n"
         "  return %7, %3, %14 : !list, !each, tensor<f32>\n"
         "}" +
         loc + "\n";
}

const std::vector<std::string> &attempts() {
  static const std::vector<std::string> texts = {
      "\"); asm volatile(\"trap;\"); (\"",
      "*/ injected_code(); /*",
      "// injected_code",
      "x\ninjected_code();\n",
      "x\r\n#include <injected_code>\r\n",
      "#define float injected_code",
      "__asm__(\"injected_code\")",
      "a; } extern \"C\" __global__ void injected_code() { while (1); } //",
      "\?\?/\n\?\?=define injected_code",
      "\\\ninjected_code",
      "R\"(injected_code)\"",
      "u\xc3\xbc\xc2\xb5\xe2\x80\xae\xf0\x9f\x98\x80",
      std::string("zero\0injected_code", 18),
      "%n%s%x",
      "${injected_code}",
      "`injected_code`",
      "",
      " ",
      "0",
      "_",
      "__",
      "_Reserved",
      "9lives",
      "operator",
      "this",
      "float",
      "template",
      "asm",
      "main",
      "heddle",
      "valid",
      "heddle_expand_tiles",
      "HEDDLE_BLOCKS",
      "tile",
      "tile_index",
      "table",
      "whole",
      "aligned",
      "is_last",
      "wanted",
      "present",
      "Held",
      "Sure",
      "Items",
      "Rows",
      "Adjacent",
      "Vectors",
      "stale",
      "precomputed",
      "own",
      "k",
      "round",
      "row",
      "column",
      "at",
      "all_there",
      "state",
      "pair",
      "threadIdx",
      "blockIdx",
      "gridDim",
      "warpSize",
      "sqrtf",
      "expf",
      "min",
      "max",
      "add",
      "std",
      "INFINITY",
      "NULL",
      "uint4",
      "ByValue",
      "EvictFirst",
      "p",
      "x_1",
      "x_tile",
      "x_tile_0",
      "x_next",
      "x_f64",
      "unused",
      std::string(10000, 'a'),
      std::string(200, 'a') + "b",
      std::string(200, 'a') + "c",
  };
  return texts;
}

TEST(CudaInjection, NamesNeverBecomeSource) {
  Program plain(programCalled("plain"));
  ASSERT_TRUE(plain.isGood());
  llvm::Regex assembly("[^A-Za-z0-9_](__)?asm(__)?[^A-Za-z0-9_]");
  llvm::Regex strange("[^][ \na-zA-Z0-9_(){}<>.,;:=+*/&|!?#%-]");
  for (const std::string &name : attempts()) {
    SCOPED_TRACE(inQuotes(llvm::StringRef(name).take_front(100)));
    std::string text = programCalled(name);
    Compilation compilation;
    // If the module itself is rejected, nothing is emitted.
    if (llvm::Error error = compilation.read(text)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    if (llvm::Error error = compilation.lower()) {
      llvm::consumeError(std::move(error));
      continue;
    }
    auto plan = compilation.planForCuda();
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    std::string source = plan->source.text();
    EXPECT_EQ(source.find("injected_code("), std::string::npos);
    EXPECT_FALSE(assembly.match(source)) << source.substr(0, 300);
    // Only the emitter prints quotes.
    std::string rest;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(source).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      EXPECT_LT(line.size(), 4000u);
      if (!line.starts_with("#include \"") && !line.starts_with("extern \"C\""))
        rest += line.str() + "\n";
    }
    llvm::SmallVector<llvm::StringRef> found;
    EXPECT_FALSE(strange.match(rest, &found))
        << "holds " << inQuotes(found.empty() ? "" : found[0]);
    EXPECT_EQ(llvm::StringRef(rest).count("/*"), 0u);

    auto compiled = HostSource::compile({&*plan});
    ASSERT_TRUE(static_cast<bool>(compiled))
        << takeError(compiled.takeError()).second;
  }
}

TEST(CudaInjection, SomeCompileWithNvrtcToo) {
  auto nvrtc = Nvrtc::get();
  if (!nvrtc)
    GTEST_SKIP() << takeError(nvrtc.takeError()).second;
  std::set<std::string> compiled;
  for (const std::string &name : attempts()) {
    SCOPED_TRACE(inQuotes(llvm::StringRef(name).take_front(100)));
    Compilation compilation;
    std::string text = programCalled(name);
    if (llvm::Error error = compilation.read(text)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    if (llvm::Error error = compilation.lower()) {
      llvm::consumeError(std::move(error));
      continue;
    }
    auto plan = compilation.planForCuda();
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    // Many names become the same identifier, which gives the same source.
    if (!compiled.insert(plan->source.text()).second)
      continue;
    auto ptx = (*nvrtc)->compile(
        {"injection", plan->source.text(), plan->headers, plan->options},
        "sm_90", ImageKind::Ptx);
    ASSERT_TRUE(static_cast<bool>(ptx)) << takeError(ptx.takeError()).second;
    EXPECT_EQ(ptx->log, "");
  }
}

/// Most of the names reach the plan, as names of buffers.
TEST(CudaInjection, TheAttemptsReachThePlan) {
  unsigned arrived = 0;
  for (const std::string &name : attempts()) {
    Compilation compilation;
    std::string text = programCalled(name);
    llvm::Error error = compilation.read(text);
    if (!error)
      error = compilation.lower();
    if (error) {
      llvm::consumeError(std::move(error));
      continue;
    }
    auto plan = compilation.planForCuda();
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    arrived += plan->name == name && plan->findArgument(name) >= 0;
  }
  EXPECT_GT(arrived, attempts().size() / 2);
}

} // namespace
} // namespace heddle::test
