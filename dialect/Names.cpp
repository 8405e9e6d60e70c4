//===- Names.cpp - the names of values ------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The results of one operation share its location. A fused location therefore
// holds one name per result.
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace heddle {

static StringRef nameIn(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  return {};
}

StringRef nameOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nameIn(value.getLoc());
  Location loc = result.getOwner()->getLoc();
  if (result.getOwner()->getNumResults() == 1)
    return nameIn(loc);
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused ||
      fused.getLocations().size() != result.getOwner()->getNumResults())
    return {};
  return nameIn(fused.getLocations()[result.getResultNumber()]);
}

/// The location without names: the place in the program's text.
static Location placeOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return placeOf(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return placeOf(fused.getLocations().front());
  return loc;
}

Location namedLoc(Location place, StringRef name) {
  return NameLoc::get(StringAttr::get(place.getContext(), name),
                      placeOf(place));
}

Location namedLoc(MLIRContext *context, StringRef name) {
  return namedLoc(UnknownLoc::get(context), name);
}

Location namedLoc(Location place, ArrayRef<StringRef> names) {
  if (names.size() == 1)
    return namedLoc(place, names.front());
  // The index makes equal names distinct: a fused location drops duplicates.
  MLIRContext *context = place.getContext();
  place = placeOf(place);
  SmallVector<Location> parts;
  for (auto [i, name] : llvm::enumerate(names)) {
    auto index = IntegerAttr::get(IntegerType::get(context, 64), i);
    Location part = i ? FusedLoc::get({place}, index, context) : place;
    parts.push_back(NameLoc::get(StringAttr::get(context, name), part));
  }
  return FusedLoc::get(context, parts);
}

Location namedLoc(MLIRContext *context, ArrayRef<StringRef> names) {
  return namedLoc(UnknownLoc::get(context), names);
}

void setName(Value value, StringRef name) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    argument.setLoc(namedLoc(argument.getLoc(), name));
    return;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<StringRef> names;
  for (Value result : op->getResults())
    names.push_back(result == value ? name : nameOf(result));
  op->setLoc(namedLoc(op->getLoc(), names));
}

void setNames(Operation *op, ArrayRef<StringRef> names) {
  if (llvm::any_of(names, [](StringRef name) { return !name.empty(); }))
    op->setLoc(namedLoc(op->getLoc(), names));
}

void copyNames(ValueRange from, ValueRange to) {
  // All results of an operation together: they share its location.
  Operation *op = to.empty() ? nullptr : to.front().getDefiningOp();
  if (op && ValueRange(op->getResults()) == to)
    return setNames(op, llvm::map_to_vector(from, nameOf));
  for (auto [a, b] : llvm::zip_equal(from, to))
    if (StringRef name = nameOf(a); !name.empty())
      setName(b, name);
}

bool isCppKeyword(StringRef name) {
  static const llvm::StringSet<> words = [] {
    SmallVector<StringRef> list;
    StringRef("alignas alignof and and_eq asm auto bitand bitor bool break "
              "case catch char char8_t char16_t char32_t class co_await "
              "co_return co_yield compl concept const const_cast consteval "
              "constexpr constinit continue decltype default delete do double "
              "dynamic_cast else enum explicit export extern false float for "
              "friend goto if inline int long main mutable namespace new "
              "noexcept not not_eq nullptr operator or or_eq private protected "
              "public register reinterpret_cast requires return short signed "
              "sizeof static static_assert static_cast struct switch template "
              "this thread_local throw true try typedef typeid typename union "
              "unsigned using virtual void volatile wchar_t while xor xor_eq")
        .split(list, ' ');
    llvm::StringSet<> set;
    for (StringRef word : list)
      set.insert(word);
    return set;
  }();
  return words.contains(name);
}

bool UniqueNames::take(StringRef name) {
  bool isNew = next.try_emplace(name, first).second;
  if (isNew)
    changes.emplace_back(name, std::nullopt);
  return isNew;
}

std::string UniqueNames::unique(StringRef name) {
  if (take(name) && !name.empty())
    return name.str();
  unsigned number = next.lookup(name);
  changes.emplace_back(name, number);
  while (true) {
    std::string numbered = name.empty() ? std::to_string(number)
                                        : (name + "_" + Twine(number)).str();
    ++number;
    if (!take(numbered))
      continue;
    next[name] = number;
    return numbered;
  }
}

void UniqueNames::undo(size_t count) {
  for (; changes.size() > count; changes.pop_back()) {
    auto &[name, number] = changes.back();
    if (number)
      next[name] = *number;
    else
      next.erase(name);
  }
}

void printNames(ValueRange values,
                llvm::function_ref<void(Value, StringRef)> set) {
  for (Value value : values)
    if (StringRef name = nameOf(value); !name.empty())
      set(value, name);
}

} // namespace heddle
