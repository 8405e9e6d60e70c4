//===- Choices.cpp - the words of 'heddle bench' --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choices.h"
#include "BenchFiles.h"
#include "Sizes.h"

#include "runtime/support/Status.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace heddle::runtime;
using heddle::cli::Arguments;
using heddle::cli::usageError;

namespace heddle::bench {

static SmallVector<StringRef> wordsOf(const Arguments &arguments,
                                      StringRef option) {
  SmallVector<StringRef> words;
  arguments.get(option).split(words, ',', -1, /*KeepEmpty=*/false);
  return words;
}

Expected<std::vector<StringRef>> readNames(const Arguments &arguments,
                                           StringRef option,
                                           ArrayRef<StringRef> known) {
  std::vector<StringRef> names;
  for (StringRef word : wordsOf(arguments, option)) {
    if (!is_contained(known, word))
      return usageError("option '" + option + "': unknown name '" + word + "'" +
                        cli::suggestion(word, known) +
                        "\nNames: " + join(known, ", ") + ".");
    names.push_back(word);
  }
  if (arguments.has(option) && names.empty())
    return usageError("option '" + option +
                      "' expects names separated by commas, found none" +
                      "\nNames: " + join(known, ", ") + ".");
  return names;
}

Expected<std::vector<cli::Model>> readChosenModels(const Arguments &arguments) {
  auto models = arguments.has("--shapes")
                    ? cli::readModelsFile(arguments.get("--shapes"))
                    : cli::readModels(benchFile("models.json"), "models.json");
  if (!models)
    return models.takeError();
  SmallVector<StringRef> known;
  for (const cli::Model &model : *models)
    known.push_back(model.name);
  auto names = readNames(arguments, "--models", known);
  if (!names)
    return names.takeError();
  std::vector<cli::Model> chosen;
  for (const cli::Model &model : *models)
    if (names->empty() || is_contained(*names, model.name))
      chosen.push_back(model);
  sort(chosen, [](const cli::Model &a, const cli::Model &b) {
    return std::pair(a.elements(), a.name) < std::pair(b.elements(), b.name);
  });
  for (const cli::Model &model : chosen)
    if (model.elements() == 0)
      return usageError(Twine(model.origin) +
                        ": expected shapes with elements to measure, found "
                        "none");
  return chosen;
}

Expected<std::vector<cli::Model>> readSizes(const Arguments &arguments) {
  std::vector<cli::Model> lists;
  for (StringRef word : wordsOf(arguments, "--sizes")) {
    auto list = parseSizes(word);
    if (!list)
      return withContext("option '--sizes'", list.takeError());
    lists.push_back(std::move(*list));
  }
  if (arguments.has("--sizes") && lists.empty())
    return usageError("option '--sizes' expects lists separated by commas, "
                      "found none\nForm: " +
                      kSizesForm + ".");
  return lists;
}

Expected<std::vector<ElementTypes>>
readElementTypes(const Arguments &arguments) {
  std::vector<ElementTypes> result;
  for (StringRef word : wordsOf(arguments, "--dtype")) {
    auto types = parseElementTypes(word);
    if (!types)
      return usageError("option '--dtype': expected f32, f64, bf16 or f16, or "
                        "two of them as PARAMETERS/STATE, found '" +
                        word + "'");
    if (!is_contained(result, *types))
      result.push_back(*types);
  }
  if (arguments.has("--dtype") && result.empty())
    return usageError("option '--dtype' expects element types separated by "
                      "commas, found none");
  if (result.empty())
    result.emplace_back();
  return result;
}

Expected<std::vector<DType>> readDTypes(const Arguments &arguments) {
  auto types = readElementTypes(arguments);
  if (!types)
    return types.takeError();
  std::vector<DType> result;
  for (ElementTypes each : *types) {
    if (each.param != each.state)
      return usageError("option '--dtype': PARAMETERS/STATE applies only to "
                        "'heddle bench optimizers' and 'heddle bench tail', "
                        "found '" +
                        each.name() + "'; give one of f32, f64, bf16 and f16");
    result.push_back(each.param);
  }
  return result;
}

} // namespace heddle::bench
