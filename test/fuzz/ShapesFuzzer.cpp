//===- ShapesFuzzer.cpp - Shapes in JSON ----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface takes an array of shapes; the command line takes a file with
// one such array per model. An input is tried as both. Its shapes are bound to
// a plan that was made at the start. Every 1024th input also goes through the C
// interface.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "ShapesFile.h"
#include "TokenMutator.h"

#include "codegen/compiler/ProgramCompiler.h"
#include "codegen/plan/PlanShapes.h"
#include "runtime/heddle.h"
#include "runtime/plan/Plan.h"
#include "llvm/Support/JSON.h"

#include <string>

using namespace heddle;
using namespace heddle::fuzz;

static const std::vector<std::string_view> words = {"0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "1000",
                                                    "2147483648",
                                                    "1e3",
                                                    "0.5",
                                                    "281474976710656",
                                                    "4294967296",
                                                    "\"model\"",
                                                    "null",
                                                    "true",
                                                    "9223372036854775807",
                                                    "[]",
                                                    "{}",
                                                    "[0]",
                                                    "[[1, 2], [3]]",
                                                    "\"\\u0000\"",
                                                    "\"\\ud800\"",
                                                    "[3, 5, 7]"};

// The programs differ in the ranks of their lists.
static const char *const programs[] = {"sgd", "sinkhorn"};
static std::vector<runtime::Plan> *plans;

static void initialize() {
  plans = new std::vector<runtime::Plan>;
  for (const char *program : programs) {
    Compilation compilation;
    llvm::cantFail(compilation.read(program));
    llvm::cantFail(compilation.lower());
    plans->push_back(llvm::cantFail(compilation.planForCuda()));
  }
}

/// The shapes of the first model, or the text itself if it is no shapes file.
static std::string firstShapes(const std::string &text) {
  auto models = cli::readModels(text, "shapes.json");
  if (!models) {
    consumeError(models.takeError());
    return text;
  }
  for (const cli::Model &model : *models)
    (void)model.elements();
  return models->empty() ? text : cli::shapesToJSON(models->front().shapes);
}

/// Computes the extents and counts that `heddle explain` needs of the shapes.
static void bindShapes(const runtime::Plan &plan, const std::string &text) {
  auto value = llvm::json::parse(text);
  if (!value)
    return consumeError(value.takeError());
  auto shapes = shapesFromJSON(*value, "shapes");
  if (!shapes)
    return consumeError(shapes.takeError());
  PlanShapes bound = PlanShapes::bind(plan, *shapes);
  for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    (void)bound.elementsOf(buffer);
  for (size_t table = 0; table < plan.tables.size(); ++table)
    (void)bound.tilesOf(table);
  (void)bound.launches();
}

static void explainThroughC(const char *program, const std::string &shapes,
                            bool json) {
  heddle_options options = {sizeof(options), "cuda", "sm_90"};
  char *explained = nullptr;
  heddle_explain(program, shapes.c_str(), json, &options, &explained);
  heddle_free(explained);
}

static void run(const uint8_t *data, size_t size) {
  std::string shapes = firstShapes(std::string(textOf(data, size)));
  size_t choice = size % std::size(programs);
  bindShapes((*plans)[choice], shapes);
  static size_t inputs = 0;
  if (++inputs % 1024 == 0)
    explainThroughC(programs[choice], shapes, inputs / 1024 % 2);
}

static size_t mutate(uint8_t *data, size_t size, size_t maxSize,
                     unsigned seed) {
  return mutateText(data, size, maxSize, seed, words);
}

const heddle::fuzz::Target heddle::fuzz::shapesTarget = {"shapes", initialize,
                                                         run, mutate};
