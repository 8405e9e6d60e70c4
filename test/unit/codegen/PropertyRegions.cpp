//===- PropertyRegions.cpp - random loops and branches --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region holds further statements. Values of a loop move by bounded steps, so
// that they stay in range.
//
//===----------------------------------------------------------------------===//

#include "PropertyDrawing.h"
#include "llvm/Support/SaveAndRestore.h"

namespace heddle::test {

std::string Generator::region(llvm::function_ref<void()> draw) {
  std::string outer = std::move(body);
  std::vector<Value> visible = values;
  body.clear();
  ++depth;
  draw();
  --depth;
  std::string text = std::move(body);
  body = std::move(outer);
  // Arguments are those of the function.
  for (size_t k = visible.size(); k < values.size(); ++k)
    if (values[k].isArgument)
      visible.push_back(values[k]);
  values = std::move(visible);
  return text;
}

Value Generator::step(const Value &old) {
  if (old.kind == Kind::history)
    return record(old);
  std::vector<Value> operands = {old};
  addOperands(operands, old.kind, below(3));
  bindAlone(old.kind, operands);
  bool integers = isInteger(old.dtype);
  std::string type = integers ? old.dtype : old.dtype == "f64" ? "f64" : "f32";
  Body made = drawBody(operands, type, 1 + below(4));
  std::string value = made.values.back();
  if (!integers) {
    std::string half = declare(made, "arith.constant 0.5 : " + type);
    std::string kept = declare(made, "arith.mulf " + made.values.front() +
                                         ", " + half + " : " + type);
    std::string part = bounded(made, value);
    value = declare(made, "arith.addf " + kept + ", " + part + " : " + type);
  }
  Value result = declareValue(old.kind, old.family, old.dtype);
  emitMap(made, {result}, {value});
  return result;
}

/// A history with a new entry: a value of the member or of the list.
Value Generator::record(const Value &history) {
  std::vector<Value> entries;
  for (const Value &value : values)
    if (!isInteger(value.dtype) &&
        (value.kind == Kind::scalar ||
         (value.kind == Kind::member && value.family == history.family)))
      entries.push_back(value);
  Value entry = entries.empty()
                    ? drawArgument(Kind::member, history.family, "f32")
                    : oneOf(entries);
  Value result = declareValue(Kind::history, history.family, history.dtype);
  body += "  %" + result.name + " = foreach.record %" + entry.name + " in %" +
          history.name + " : " + typeOf(entry) + " in " + typeOf(history) +
          "\n";
  ++features.records;
  return result;
}

Value Generator::drawLimit() {
  Value limit{"n" + std::to_string(names++), Kind::scalar, -1, "i32", true};
  hidden.push_back(limit);
  return limit;
}

/// Values to carry: one to three lists, and scalars if one flag serves all
/// members.
std::vector<Value> Generator::drawCarried(bool perMember, int family) {
  std::vector<Value> carried;
  for (unsigned count = 1 + below(3); count > 0; --count) {
    int of = perMember ? family : below(families.size());
    Kind elements = elementsOf(of);
    std::vector<Kind> kinds = {elements, elements, Kind::member, Kind::history};
    if (families[of].isMatrix)
      kinds.insert(kinds.end(), {Kind::row, Kind::column, Kind::column});
    if (!perMember)
      kinds.push_back(Kind::scalar);
    Kind kind = oneOf(kinds);
    Value value = drawOperand(kind, kind == Kind::scalar ? -1 : of);
    // A history is carried once, and holds numbers.
    if (kind == Kind::history)
      value =
          drawArgument(kind, of, oneOf<std::string>({"f32", "bf16", "f64"}));
    if (value.dtype != "i1")
      carried.push_back(value);
  }
  return carried;
}

/// Whether the loop continues: by the number of the iteration, by a value of
/// the member, or by elements.
Value Generator::drawFlag(bool perMember, int family,
                          const std::vector<Value> &carried) {
  Kind kind = perMember ? Kind::member : Kind::scalar;
  Value flag = declareValue(kind, family, "i1");
  std::vector<Value> elements;
  for (const Value &value : carried)
    if (value.kind == elementsOf(family) && value.family == family &&
        !isInteger(value.dtype))
      elements.push_back(value);
  if (!elements.empty() && chance(2)) {
    Value looked = oneOf(elements);
    Body made = drawBody({looked}, looked.dtype == "f64" ? "f64" : "f32", 0);
    std::string large = flagOf(made, made.values.front(), true);
    emitReduce("any", perMember ? "member" : "list", made, {flag}, large, "i1");
    return flag;
  }
  Value operand = drawOperand(kind, perMember ? family : -1);
  Body made = drawBody({operand}, "f32", 0);
  std::string k = declare(made, "foreach.iteration : i32");
  std::string number = declare(made, "arith.sitofp " + k + " : i32 to f32");
  std::string sum = declare(made, "arith.addf " + number + ", " +
                                      made.values.front() + " : f32");
  std::string bound =
      declare(made, "arith.constant " + std::to_string(below(4)) + ".5 : f32");
  std::string more =
      declare(made, "arith.cmpf olt, " + sum + ", " + bound + " : f32");
  emitMap(made, {flag}, {more});
  return flag;
}

void Generator::emitLoop(const std::vector<Value> &carried,
                         const std::vector<Value> &inits,
                         const std::vector<Value> &further,
                         const std::string &text,
                         const std::vector<Value> &yields, const Value &flag) {
  Value limit = drawLimit();
  std::string bindings, declared, types, yielded, yieldTypes;
  std::vector<Value> results;
  for (auto [value, init] : llvm::zip(carried, inits))
    bindings += (bindings.empty() ? "%" : ", %") + value.name + " = %" +
                init.name + " : " + typeOf(value);
  std::vector<Value> returned = carried;
  llvm::append_range(returned, further);
  for (const Value &value : returned)
    results.push_back(declareValue(value.kind, value.family, value.dtype));
  std::vector<Value> all = yields;
  llvm::append_range(all, further);
  for (const Value &value : all) {
    yielded += (yielded.empty() ? "%" : ", %") + value.name;
    yieldTypes += (yieldTypes.empty() ? "" : ", ") + typeOf(value);
  }
  results.push_back(declareValue(flag.kind, flag.family, "i32"));
  for (const Value &result : results) {
    declared += (declared.empty() ? "%" : ", %") + result.name;
    types += (types.empty() ? "" : ", ") + typeOf(result);
  }
  body += "  " + declared + " = foreach.while (" + bindings + ") upto %" +
          limit.name + " -> (" + types + ") {\n" + text + "  foreach.yield " +
          yielded + " while %" + flag.name + " : " + yieldTypes + " while " +
          typeOf(flag) + "\n  }\n";
  values.insert(values.end(), results.begin(), results.end());
}

void Generator::loop() {
  int family = below(families.size());
  bool perMember = chance(2);
  std::vector<Value> inits = drawCarried(perMember, family), carried;
  if (inits.empty())
    return map();
  ++features.loops;
  features.nestedLoops += loops > 0;
  // The loop may run in another order of sweeps than the statements before it.
  keepsOrder = keepsOrder && !families[family].isMatrix;
  std::vector<Value> further, yields;
  Value flag;
  llvm::SaveAndRestore inLoop(loops, loops + 1);
  llvm::SaveAndRestore ofMembers(perMemberLoop, perMember);
  std::string text = region([&] {
    for (const Value &init : inits) {
      carried.push_back(init);
      carried.back().name = "c" + std::to_string(names++);
      carried.back().isArgument = false;
      // A history has no other use than its new entry.
      if (init.kind != Kind::history)
        values.push_back(carried.back());
    }
    for (unsigned count = below(3); count > 0; --count)
      statement();
    for (const Value &value : carried)
      yields.push_back(value.kind != Kind::history && chance(8) ? value
                                                                : step(value));
    // Values of one type may change places.
    if (yields.size() > 1 && chance(4) && yields[0].kind != Kind::history &&
        yields[0].kind == yields[1].kind &&
        yields[0].family == yields[1].family &&
        yields[0].dtype == yields[1].dtype)
      std::swap(yields[0], yields[1]);
    flag = drawFlag(perMember, family, carried);
    if (chance(3) && flag.kind == Kind::member)
      for (const Value &value : values)
        if (!value.isArgument && value.kind == Kind::member &&
            value.family == family && !isInteger(value.dtype)) {
          further.push_back(value);
          break;
        }
  });
  emitLoop(carried, inits, further, text, yields, flag);
}

Value Generator::drawCondition() {
  std::vector<Value> flags;
  for (const Value &value : values)
    if (value.kind == Kind::scalar && value.dtype == "i1")
      flags.push_back(value);
  if (!flags.empty() && chance(2))
    return oneOf(flags);
  Value flag{"f" + std::to_string(names++), Kind::scalar, -1, "i1", true};
  hidden.push_back(flag);
  return flag;
}

void Generator::branch() {
  Value condition = drawCondition();
  std::vector<Value> kept;
  for (unsigned count = 1 + below(2); count > 0; --count) {
    int family = below(families.size());
    Kind elements = elementsOf(family);
    Kind kind = oneOf<Kind>({elements, elements, Kind::member, Kind::scalar});
    Value value = drawOperand(kind, kind == Kind::scalar ? -1 : family);
    if (value.dtype != "i1")
      kept.push_back(value);
  }
  if (kept.empty())
    return map();
  ++features.branches;
  std::vector<Value> updated, results;
  std::string text = region([&] {
    for (unsigned count = below(3); count > 0; --count)
      statement();
    for (const Value &value : kept)
      updated.push_back(step(value));
  });
  std::string declared, types, yielded, yieldTypes, otherwise;
  for (auto [value, update] : llvm::zip(kept, updated)) {
    results.push_back(declareValue(value.kind, value.family, value.dtype));
    declared += (declared.empty() ? "%" : ", %") + results.back().name;
    types += (types.empty() ? "" : ", ") + typeOf(value);
    yielded += (yielded.empty() ? "%" : ", %") + update.name;
    otherwise += (otherwise.empty() ? "%" : ", %") + value.name;
  }
  body += "  " + declared + " = foreach.if %" + condition.name + " -> (" +
          types + ") {\n" + text + "  foreach.yield " + yielded + " : " +
          types + "\n  } else (" + otherwise + ")\n";
  values.insert(values.end(), results.begin(), results.end());
}

} // namespace heddle::test
