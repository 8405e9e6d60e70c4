//===- Names.cpp - identifiers of the emitted source ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Identifiers keep letters, digits and underscores; a number distinguishes
// equal names.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Names.h"
#include "dialect/Names.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::cuda {

/// Names that CUDA, the device headers and the emitted source use themselves,
/// beside the keywords of C++.
static bool isUsedBySource(StringRef name) {
  static const llvm::StringSet<> words = [] {
    SmallVector<StringRef> list;
    StringRef("threadIdx blockIdx blockDim gridDim warpSize aligned round "
              "base first_tile more limit is_last vector width heddle "
              "ByValue tile tile_index table at next row column k exp log "
              "sqrt sqrtf expf logf pow powf fabs fabsf fma fmaf tanh tanhf "
              "sin sinf cos cosf erf erff floor floorf ceil ceilf exp2 "
              "exp2f log2 log2f log1p log1pf expm1 expm1f isnan isinf "
              "isfinite copysign copysignf abs fmaxf fmax fminf fmin min "
              "max add mul any all sign convert load store first last "
              "trunc truncf rint rintf fmod fmodf log10 "
              "log10f tan tanf atan atanf atan2 atan2f "
              "asserts assert printf malloc free float2 float4 double2 int2 "
              "int4 uint2 uint4 dim3 half INFINITY NAN NULL linux "
              "EvictFirst params whole there all_there iteration unix wanted "
              "Items Rows Sure Held Clusters Lanes Adjacent Vectors distances")
        .split(list, ' ');
    llvm::StringSet<> set;
    for (StringRef word : list)
      set.insert(word);
    return set;
  }();
  return words.contains(name);
}

/// Whether `name` could be a function or type of a sweep: the sweep's name, an
/// ending of this list and, if the sweep has several, a number. A variable of
/// the same name would hide the function.
static bool isLikeFunction(StringRef name) {
  static const llvm::StringSet<> endings = {
      "block",   "combine", "count",  "end",        "epilogue",
      "held",    "mapped",  "params", "precompute", "precomputed",
      "process", "tile",    "walk"};
  StringRef unnumbered = name.rtrim("0123456789").rtrim('_');
  return endings.contains(unnumbered.rsplit('_').second);
}

std::string identifierFrom(StringRef name) {
  std::string result;
  for (char c : name.take_front(48))
    result += llvm::isAlnum(c) ? c : '_';
  // Names that begin with a digit are not identifiers; those that begin with an
  // underscore or contain two in a row are reserved for the implementation.
  size_t at;
  while ((at = result.find("__")) != std::string::npos)
    result.erase(at, 1);
  while (!result.empty() && result.back() == '_')
    result.pop_back(); // an underscore and a number may follow
  if (result.empty() || llvm::isDigit(result.front()) || result.front() == '_')
    result = "v" + result;
  if (isCppKeyword(result) || isUsedBySource(result) || isLikeFunction(result))
    result += "_value";
  return result;
}

std::string typeSuffix(Type type) {
  if (type.isBF16())
    return "_bf16";
  return (isa<FloatType>(type) ? "_f" : "_i") +
         std::to_string(type.getIntOrFloatBitWidth());
}

std::string Scope::take(std::string base, Type type) {
  if (reserved.contains(base))
    base += "_value";
  // A conversion of a value has the value's name in the IR.
  if (auto held = types.find(base);
      type && held != types.end() && held->second && held->second != type)
    base += typeSuffix(type);
  std::string name = taken.unique(base);
  types[name] = type;
  names.push_back(name);
  return name;
}

std::string Scope::declare(Value value, StringRef fallback) {
  StringRef own = nameOf(value);
  std::string name =
      take(identifierFrom(own.empty() ? fallback : own), value.getType());
  bind(value, name);
  return name;
}

void Scope::set(Value value, std::optional<std::string> text) {
  std::optional<std::string> &current = texts[value];
  bound.emplace_back(value, std::move(current));
  current = std::move(text);
}

void Scope::undo(size_t toNames, size_t toBound) {
  for (; names.size() > toNames; names.pop_back())
    types.erase(names.back());
  for (; bound.size() > toBound; bound.pop_back())
    texts[bound.back().first] = std::move(bound.back().second);
}

} // namespace heddle::cuda
