//===- RunEverywhere.cpp - a program in all executors, on given inputs ----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle_run_everywhere PROGRAM.mlir < INPUTS > RESULTS
//
// INPUTS is {"steps": [{"lists": {NAME: [[EXTENTS, DATA], ...]}, "scalars":
// {NAME: VALUE}}, ...]}; the first step has all arguments, the others those
// that change. RESULTS is {EXECUTOR: [one array for each step, of one for each
// result, of one for each member]}. A number that is not finite is a string,
// such as "inf".
// The executors are the interpreter, the cpu target (fused and not), and every
// entry of the emitted CUDA source on an emulated GPU.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/InputFile.h"
#include "runtime/support/Json.h"
#include "test/unit/codegen/CudaHarness.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <iostream>

using namespace llvm;
using namespace heddle;
using namespace heddle::test;
using heddle::reference::Arithmetic;

static double readNumber(const json::Value &value) {
  if (auto word = value.getAsString())
    return std::stod(word->str());
  return *value.getAsNumber();
}

static Inputs readInputs(const json::Object &step) {
  Inputs inputs;
  const json::Object none;
  auto objectOf = [&](StringRef key) -> const json::Object & {
    const json::Object *found = step.getObject(key);
    return found ? *found : none;
  };
  for (const auto &[name, value] : objectOf("lists")) {
    ListInput list;
    for (const json::Value &entry : *value.getAsArray()) {
      ListInput::Member member;
      for (const json::Value &extent : *(*entry.getAsArray())[0].getAsArray())
        member.extents.push_back(*extent.getAsInteger());
      for (const json::Value &number : *(*entry.getAsArray())[1].getAsArray())
        member.data.push_back(readNumber(number));
      list.members.push_back(std::move(member));
    }
    inputs.lists[StringRef(name).str()] = std::move(list);
  }
  for (const auto &[name, value] : objectOf("scalars"))
    inputs.scalars[StringRef(name).str()] = *value.getAsNumber();
  return inputs;
}

static json::Value toJSON(const Numbers &numbers) {
  json::Array results;
  for (const auto &members : numbers) {
    json::Array result;
    for (const auto &elements : members) {
      json::Array member;
      for (double element : elements)
        member.push_back(std::isfinite(element)
                             ? json::Value(element)
                             : json::Value(std::to_string(element)));
      result.push_back(std::move(member));
    }
    results.push_back(std::move(result));
  }
  return results;
}

/// All steps of one executor.
static Expected<json::Value> run(Runnable &runnable, ArrayRef<Inputs> changes) {
  json::Array steps;
  for (auto [step, inputs] : enumerate(changes)) {
    if (step > 0) {
      for (const auto &[name, list] : inputs.lists)
        runnable.setList(name, list);
      for (const auto &[name, value] : inputs.scalars)
        runnable.setScalar(name, value);
    }
    if (Error error = runnable.step())
      return std::move(error);
    steps.push_back(toJSON(runnable.results()));
  }
  return json::Value(std::move(steps));
}

static Expected<json::Value> runAll(Program &program,
                                    ArrayRef<Inputs> changes) {
  const Inputs &first = changes.front();
  std::vector<std::unique_ptr<Runnable>> runnables;
  runnables.push_back(program.reference(first, Arithmetic::exact));
  for (bool fuse : {true, false})
    runnables.push_back(program.cpu(first, fuse));
  auto host = program.hostSource();
  for (StringRef suffix : entrySuffixes())
    if (host && any_of(host->entries(), [&](const heddle_entry &entry) {
          return StringRef(entry.name).ends_with(suffix);
        }))
      runnables.push_back(program.cuda(first, suffix, /*seed=*/3));
  json::Object results;
  for (auto &runnable : runnables) {
    if (!runnable)
      return runtime::makeError(runtime::StatusCode::Failed,
                                "the program does not compile");
    auto steps = run(*runnable, changes);
    if (!steps)
      return steps.takeError();
    results[runnable->name] = std::move(*steps);
  }
  return json::Value(std::move(results));
}

static Error runMain(StringRef path) {
  auto text = runtime::readInput(path, "program");
  if (!text)
    return text.takeError();
  auto input = runtime::readInput("-", "inputs");
  if (!input)
    return input.takeError();
  auto inputs = runtime::parseJson((*input)->getBuffer());
  if (!inputs)
    return inputs.takeError();
  std::vector<Inputs> changes;
  for (const json::Value &step : *inputs->getAsObject()->getArray("steps"))
    changes.push_back(readInputs(*step.getAsObject()));
  Program program((*text)->getBuffer());
  if (!program.isGood())
    return runtime::makeError(runtime::StatusCode::Failed,
                              "the program is not valid");
  auto results = runAll(program, changes);
  if (!results)
    return results.takeError();
  outs() << *results << '\n';
  return Error::success();
}

int main(int count, char **words) {
  if (count != 2) {
    errs() << "usage: heddle_run_everywhere PROGRAM.mlir < INPUTS\n";
    return 2;
  }
  if (Error error = runMain(words[1])) {
    errs() << toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
