//===- Names.cpp - identifiers of the emitted text ------------------------===//
//
// Letters, digits and underscores survive; a number keeps equal names apart.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Names.h"
#include "dialect/Names.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::cuda {

/// Words of C++ and CUDA, and the names that the emitted text uses itself.
static const llvm::StringSet<> &reservedWords() {
  static const llvm::StringSet<> words = {
      "alignas",       "alignof",     "and",
      "and_eq",        "asm",         "auto",
      "bitand",        "bitor",       "bool",
      "break",         "case",        "catch",
      "char",          "class",       "compl",
      "concept",       "const",       "consteval",
      "constexpr",     "constinit",   "const_cast",
      "continue",      "co_await",    "co_return",
      "co_yield",      "decltype",    "default",
      "delete",        "do",          "double",
      "dynamic_cast",  "else",        "enum",
      "explicit",      "export",      "extern",
      "false",         "float",       "for",
      "friend",        "goto",        "if",
      "inline",        "int",         "long",
      "mutable",       "namespace",   "new",
      "noexcept",      "not",         "not_eq",
      "nullptr",       "operator",    "or",
      "or_eq",         "private",     "protected",
      "public",        "register",    "reinterpret_cast",
      "requires",      "return",      "short",
      "signed",        "sizeof",      "static",
      "static_assert", "static_cast", "struct",
      "switch",        "template",    "this",
      "thread_local",  "throw",       "true",
      "try",           "typedef",     "typeid",
      "typename",      "union",       "unsigned",
      "using",         "virtual",     "void",
      "volatile",      "wchar_t",     "while",
      "xor",           "xor_eq",      "main",
      "threadIdx",     "blockIdx",    "blockDim",
      "gridDim",       "warpSize",    "whole",
      "aligned",       "there",       "round",
      "base",          "first_tile",  "more",
      "trips",         "limit",       "arrived",
      "vector",        "width",       "heddle",
      "ByValue",       "Passing",     "tile",
      "tile_index",    "table",       "at",
      "kept",          "next",        "row",
      "column",        "k",           "u",
      "exp",           "log",         "sqrt",
      "sqrtf",         "expf",        "logf",
      "pow",           "powf",        "fabs",
      "fabsf",         "fma",         "fmaf",
      "tanh",          "tanhf",       "sin",
      "sinf",          "cos",         "cosf",
      "erf",           "erff",        "floor",
      "floorf",        "ceil",        "ceilf",
      "exp2",          "exp2f",       "log2",
      "log2f",         "log1p",       "log1pf",
      "expm1",         "expm1f",      "isnan",
      "isinf",         "isfinite",    "copysign",
      "copysignf",     "abs",         "fmaxf",
      "fmax",          "fminf",       "fmin",
      "min",           "max",         "add",
      "mul",           "any",         "all",
      "sign",          "convert",     "load",
      "store",         "first",       "last",
      "asserts",       "assert",      "printf",
      "malloc",        "free",        "float2",
      "float4",        "double2",     "int2",
      "int4",          "uint2",       "uint4",
      "dim3",          "half",        "INFINITY",
      "NAN",           "NULL",        "linux",
      "unix"};
  return words;
}

std::string identifierFrom(StringRef name) {
  std::string result;
  for (char c : name.take_front(48))
    result += llvm::isAlnum(c) ? c : '_';
  // Names that begin with a digit or an underscore, or hold two underscores in
  // a row, belong to nobody or to the implementation.
  size_t at;
  while ((at = result.find("__")) != std::string::npos)
    result.erase(at, 1);
  while (!result.empty() && result.back() == '_')
    result.pop_back(); // a number may follow, after one more
  if (result.empty() || llvm::isDigit(result.front()) || result.front() == '_')
    result = "v" + result;
  if (reservedWords().contains(result))
    result += "_value";
  return result;
}

std::string Scope::fresh(StringRef wanted) {
  std::string base = identifierFrom(wanted), candidate = base;
  for (unsigned n = 1; !taken.insert(candidate).second; ++n)
    candidate = base + "_" + std::to_string(n);
  return candidate;
}

std::string Scope::declare(Value value, StringRef fallback) {
  StringRef own = nameOf(value);
  std::string name = fresh(own.empty() ? fallback : own);
  texts[value] = name;
  return name;
}

} // namespace heddle::cuda
