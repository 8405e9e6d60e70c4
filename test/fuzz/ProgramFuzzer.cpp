//===- ProgramFuzzer.cpp - The text of programs ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses, prints, lowers and explains a program, and emits its CUDA source and
// plan. A printed program must be a program.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "IrMutator.h"
#include "ProgramWords.h"
#include "SharedContext.h"
#include "TokenMutator.h"

#include "codegen/compiler/Explain.h"
#include "codegen/compiler/ProgramCompiler.h"
#include "dialect/ProgramText.h"
#include "runtime/plan/Plan.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace heddle;

static std::string printed(Compilation &compilation) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(compilation.getModule(), os);
  return text;
}

static bool read(Compilation &compilation, llvm::StringRef text) {
  return !errorToBool(compilation.read(text));
}

static void run(const uint8_t *data, size_t size) {
  // The line break makes it the text of a module, never a path or a name.
  std::string text = "\n" + std::string(fuzz::textOf(data, size));
  PipelineOptions options;
  options.remarks = true;
  static fuzz::SharedContext shared;
  mlir::MLIRContext &context = shared.get();
  Compilation compilation(options, &context);
  if (!read(compilation, text))
    return;
  Compilation again({}, &context);
  if (!read(again, "\n" + printed(compilation)))
    fuzz::finding("the printed program is not a program");
  if (errorToBool(compilation.lower()))
    return;
  printed(compilation);
  if (llvm::Expected<runtime::Plan> plan = compilation.planForCuda())
    llvm::nulls() << llvm::formatv("{0:2}", runtime::planToJSON(*plan));
  else
    consumeError(plan.takeError());
  // The stand-in is another device, so no bandwidth is measured.
  auto explained = explainProgram(compilation, "[[3, 5], [7], []]",
                                  /*json=*/size % 2, "sm_80");
  if (!explained)
    consumeError(explained.takeError());
}

static size_t mutate(uint8_t *data, size_t size, size_t maxSize,
                     unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 2)
    if (auto mutated = fuzz::mutateIr(fuzz::textOf(data, size), random))
      return fuzz::storeText(*mutated, data, size, maxSize);
  return fuzz::mutateText(data, size, maxSize, seed, fuzz::programWords);
}

const heddle::fuzz::Target heddle::fuzz::programTarget = {"program", [] {}, run,
                                                          mutate};
