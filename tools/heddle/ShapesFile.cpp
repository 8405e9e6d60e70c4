//===- ShapesFile.cpp - parameter shapes of models ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors name the file, the model, the shape and the expected form.
//
//===----------------------------------------------------------------------===//

#include "ShapesFile.h"

#include "CommandLine.h"

#include "runtime/support/InputFile.h"
#include "runtime/support/Json.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

int64_t Model::elements() const {
  int64_t count = 0;
  for (const Extents &shape : shapes)
    count = addCounts(count, elementCount(shape));
  return count;
}

static StringRef kindOf(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Array:
    return "an array";
  case json::Value::Number:
    return "a number";
  case json::Value::String:
    return "a string";
  case json::Value::Object:
    return "an object";
  case json::Value::Boolean:
    return "a boolean";
  case json::Value::Null:
    return "null";
  }
  llvm_unreachable("every kind of JSON value is listed");
}

Expected<std::vector<Model>> readModels(StringRef text, StringRef where) {
  auto value = parseJson(text);
  if (!value)
    return makeError(StatusCode::BadInput,
                     "shapes file '{0}' is not valid JSON: {1}", where,
                     toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return makeError(StatusCode::BadInput,
                     "shapes file '{0}': expected an object "
                     "{{\"MODEL\": [[dim, ...], ...], ...}, found {1}",
                     where, kindOf(*value));
  std::vector<Model> models;
  for (const auto &[name, shapes] : *object) {
    std::string place = formatv("shapes file '{0}', model '{1}'", where, name);
    auto read = shapesFromJSON(shapes, place);
    if (!read)
      return read.takeError();
    models.push_back({StringRef(name).str(), std::move(*read), place});
  }
  sort(models, [](const Model &a, const Model &b) { return a.name < b.name; });
  return models;
}

Expected<std::vector<Model>> readModelsFile(StringRef path) {
  auto buffer = readInput(path, "shapes file");
  if (!buffer)
    return buffer.takeError();
  return readModels((*buffer)->getBuffer(), path);
}

Expected<Model> readModel(StringRef argument) {
  // If a file has the whole argument as its name, the colon is part of the
  // name.
  StringRef path = argument, name;
  bool named = false;
  if (!sys::fs::exists(argument) && argument.contains(':')) {
    std::tie(path, name) = argument.rsplit(':');
    named = true;
  }
  auto models = readModelsFile(path);
  if (!models)
    return models.takeError();
  if (models->empty())
    return makeError(StatusCode::BadInput,
                     "shapes file '{0}' has no models; expected at least one, "
                     "as in {{\"model\": [[64, 3], [64]]}",
                     path);
  SmallVector<StringRef> names;
  for (const Model &model : *models)
    names.push_back(model.name);
  std::string list = listed(names, "");
  if (!named) {
    if (models->size() == 1)
      return models->front();
    return makeError(StatusCode::BadInput,
                     "shapes file '{0}' has {1}; choose one with "
                     "'{0}:MODEL'\nModels: {2}.",
                     path, counted(models->size(), "model"), list);
  }
  for (Model &model : *models)
    if (model.name == name)
      return std::move(model);
  return makeError(StatusCode::BadInput,
                   "shapes file '{0}' has no model '{1}'{2}\nModels: {3}.",
                   path, name, suggestion(name, names), list);
}

Model builtInModel() {
  return {"built-in",
          {{64, 3, 7, 7},
           {64},
           {1},
           {10007},
           {33, 65},
           {1000, 1},
           {5, 3},
           {4096},
           {255},
           {128, 129}},
          "built-in model"};
}

std::string shapesToJSON(ArrayRef<Extents> shapes) {
  json::Array list;
  for (const Extents &shape : shapes)
    list.push_back(json::Array(shape));
  return formatv("{0}", json::Value(std::move(list)));
}

} // namespace heddle::cli
