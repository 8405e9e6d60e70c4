//===- Options.cpp - the options of a standard program --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and printing of option values.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Options.h"
#include "dialect/Foreach.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace mlir;

namespace heddle::library {

std::vector<StringRef> Choices::parts() const {
  SmallVector<StringRef> parts;
  StringRef(value).split(parts, '/');
  return {parts.begin(), parts.end()};
}

namespace {
template <typename... Fs> struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs> Overloaded(Fs...) -> Overloaded<Fs...>;
} // namespace

std::string numberText(double number) {
  char buffer[32];
  // %g writes 100 as 1e+02. A double holds every integer of 15 digits.
  if (std::fabs(number) < 1e15 && number == std::trunc(number)) {
    snprintf(buffer, sizeof buffer, "%.0f", number);
    return buffer;
  }
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    if (strtod(buffer, nullptr) == number)
      break;
  }
  return buffer;
}

std::string Option::getType() const {
  return std::visit(
      Overloaded{[](bool *) -> std::string { return "bool"; },
                 [](int64_t *) -> std::string { return "int"; },
                 [](double *) -> std::string { return "float"; },
                 [](auto *choice) { return llvm::join(choice->words, "|"); }},
      target);
}

std::string Option::getExpected() const {
  return std::visit(
      Overloaded{[](bool *) -> std::string { return "true or false"; },
                 [](int64_t *) -> std::string { return "a whole number"; },
                 [](double *) -> std::string {
                   return "a finite number in the range of f64";
                 },
                 [](Choice *choice) {
                   return "one of " + llvm::join(choice->words, ", ");
                 },
                 [](Choices *choices) {
                   return "one or several of " +
                          llvm::join(choices->words, ", ") +
                          ", each at most once, joined by '/'";
                 }},
      target);
}

std::string Option::getValue() const {
  return std::visit(
      Overloaded{
          [](bool *value) -> std::string { return *value ? "true" : "false"; },
          [](int64_t *value) { return std::to_string(*value); },
          [](double *value) { return numberText(*value); },
          [](auto *choice) { return choice->value; }},
      target);
}

static bool parseInto(bool *target, StringRef text) {
  if (text != "true" && text != "false")
    return false;
  *target = text == "true";
  return true;
}

static bool parseInto(int64_t *target, StringRef text) {
  return !text.empty() && !text.getAsInteger(10, *target);
}

static bool parseInto(double *target, StringRef text) {
  double number;
  // LLVM takes an exponent without digits.
  if (text.empty() || !(llvm::isDigit(text.back()) || text.back() == '.') ||
      text.getAsDouble(number) || !std::isfinite(number))
    return false;
  // A number below the smallest double must not become 0.
  StringRef digits = text.take_front(text.find_first_of("eE"));
  if (number == 0 && digits.find_first_of("123456789") != StringRef::npos)
    return false;
  *target = number;
  return true;
}

static bool parseInto(Choice *target, StringRef text) {
  if (!llvm::is_contained(target->words, text))
    return false;
  target->value = text.str();
  return true;
}

static bool parseInto(Choices *target, StringRef text) {
  Choices parsed{text.str(), target->words};
  std::vector<StringRef> parts = parsed.parts();
  for (auto [k, part] : llvm::enumerate(parts))
    if (!llvm::is_contained(target->words, part) ||
        llvm::is_contained(ArrayRef(parts).take_front(k), part))
      return false;
  *target = parsed;
  return true;
}

bool Option::parse(StringRef text) {
  return std::visit([&](auto *target) { return parseInto(target, text); },
                    target);
}

Option *OptionList::find(StringRef name) {
  auto found = llvm::find_if(
      options, [&](const Option &option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

StringRef nearest(StringRef word, ArrayRef<StringRef> words) {
  StringRef best;
  unsigned bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (StringRef candidate : words) {
    unsigned distance = word.edit_distance(candidate);
    if (distance >= bestDistance)
      continue;
    best = candidate;
    bestDistance = distance;
  }
  // The shortest name with the word: `norm` means global_norm.
  if (best.empty() && word.size() >= 3)
    for (StringRef candidate : words)
      if (candidate.contains(word) &&
          (best.empty() || candidate.size() < best.size()))
        best = candidate;
  return best;
}

//===----------------------------------------------------------------------===//
// Families of lists
//===----------------------------------------------------------------------===//

void ListOptions::describe(OptionList &list) {
  list.add("dtype", dtype,
           "element type of parameters and gradients; with several, as in "
           "'f32/bf16', each has its own family of lists");
}

Type typeNamed(StringRef name, MLIRContext *context) {
  Builder builder(context);
  if (name == "f64")
    return builder.getF64Type();
  if (name == "f16")
    return builder.getF16Type();
  if (name == "bf16")
    return builder.getBF16Type();
  return builder.getF32Type();
}

std::vector<Family> familiesOf(const ListOptions &options,
                               MLIRContext *context) {
  std::vector<Family> families;
  std::vector<StringRef> names = options.dtype.parts();
  for (StringRef name : names) {
    Type storage = typeNamed(name, context);
    families.push_back({names.size() > 1 ? ("_" + name).str() : "", storage,
                        foreach::computeType(storage)});
  }
  return families;
}

} // namespace heddle::library
