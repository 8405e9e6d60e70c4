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

static std::vector<StringRef> splitWords(StringRef value) {
  SmallVector<StringRef> parts;
  value.split(parts, '/');
  return {parts.begin(), parts.end()};
}

std::vector<StringRef> Choices::parts() const { return splitWords(value); }

std::vector<StringRef> Names::parts() const {
  if (value == Names().value)
    return {};
  return splitWords(value);
}

bool Range::holds(double number) const {
  return (takesLeast ? number >= least : number > least) &&
         (takesMost ? number <= most : number < most);
}

std::string Range::getText() const {
  std::string from = std::isfinite(least)
                         ? (takesLeast ? "from " : "above ") + numberText(least)
                         : "";
  std::string to = std::isfinite(most)
                       ? (takesMost ? "to " : "to below ") + numberText(most)
                       : "";
  return from + (from.empty() || to.empty() ? "" : " ") + to;
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
                 [](Names *) -> std::string { return "names"; },
                 [](auto *choice) { return llvm::join(choice->words, "|"); }},
      target);
}

std::string Option::getExpected() const {
  std::string limits = range.getText();
  auto inRange = [&](StringRef kind, StringRef any) {
    return limits.empty() ? any.str() : (kind + " " + limits).str();
  };
  return std::visit(
      Overloaded{[](bool *) -> std::string { return "true or false"; },
                 [&](int64_t *) {
                   return inRange("a whole number", "a whole number");
                 },
                 [&](double *) {
                   return inRange(std::isfinite(range.most) ? "a number"
                                                            : "a finite number",
                                  "a finite number in the range of f64");
                 },
                 [](Names *) -> std::string {
                   return "one or several names of lowercase letters, digits "
                          "and '_' that begin with a letter, each at most "
                          "once, joined by '/'";
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

static bool isName(StringRef text) {
  constexpr size_t longest = 64;
  return !text.empty() && text.size() <= longest &&
         llvm::isLower(text.front()) && llvm::all_of(text, [](char c) {
           return llvm::isLower(c) || llvm::isDigit(c) || c == '_';
         });
}

static bool parseInto(Names *target, StringRef text) {
  Names parsed{text.str()};
  std::vector<StringRef> parts = parsed.parts();
  for (auto [k, part] : llvm::enumerate(parts))
    if (!isName(part) || part == Names().value ||
        llvm::is_contained(ArrayRef(parts).take_front(k), part))
      return false;
  *target = parsed;
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
  return std::visit(
      [&](auto *target) {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
          T number;
          if (!parseInto(&number, text) ||
              !range.holds(static_cast<double>(number)))
            return false;
          *target = number;
          return true;
        } else {
          return parseInto(target, text);
        }
      },
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
  list.add("lists", lists,
           "names of the lists, beside those of another program: 'muon' makes "
           "'param_muon', 'grad_muon' and so on; with several, as in "
           "'muon/rest', each has its own family of lists");
}

std::vector<ListOptions::FamilyName> ListOptions::families() const {
  if (lists.parts().empty() && !others.empty())
    return others;
  std::vector<StringRef> names = lists.parts(), types = dtype.parts();
  if (names.empty())
    names.push_back("");
  std::vector<FamilyName> families;
  for (StringRef name : names)
    for (StringRef type : types)
      families.push_back({(name.empty() ? "" : "_" + name).str() +
                              (types.size() > 1 ? "_" + type : "").str(),
                          type.str()});
  return families;
}

bool ListOptions::hasType(StringRef type) const {
  return llvm::any_of(families(), [&](const FamilyName &family) {
    return family.dtype == type;
  });
}

std::string ListOptions::scalarSuffix() const {
  std::string suffix;
  for (StringRef name : lists.parts())
    suffix += ("_" + name).str();
  return suffix;
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
  for (const ListOptions::FamilyName &name : options.families()) {
    Type storage = typeNamed(name.dtype, context);
    families.push_back({name.suffix, storage, foreach::computeType(storage)});
  }
  return families;
}

} // namespace heddle::library
