//===- PropertyStatements.cpp - random maps and reductions ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies keep numbers in range: divisors and factors are near 1, and values
// stored in half precision are bounded.
//
//===----------------------------------------------------------------------===//

#include "PropertyDrawing.h"

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

std::string Generator::declare(Body &body, const std::string &text) {
  std::string name = "%v" + std::to_string(names++);
  body.text += "    " + name + " = " + text + "\n";
  return name;
}

/// An extent or a position in the domain of `operands`; "" without elements.
std::string Generator::drawPosition(const std::vector<Value> &operands) {
  auto has = [&](Kind kind) {
    return llvm::any_of(operands,
                        [&](const Value &value) { return value.kind == kind; });
  };
  bool isMatrix = has(Kind::matrix) || (has(Kind::row) && has(Kind::column));
  if (!isMatrix && !has(Kind::row) && !has(Kind::column) && !has(Kind::vector))
    return "";
  std::vector<std::string> axes = {"i", "member"};
  if (isMatrix)
    axes.push_back("j");
  return oneOf<std::string>({"foreach.extent ", "foreach.index "}) +
         oneOf(axes) + " : i64";
}

Generator::Body Generator::drawBody(const std::vector<Value> &operands,
                                    const std::string &type,
                                    unsigned operations) {
  Body result;
  result.type = type;
  std::vector<std::pair<std::string, std::string>> integers;
  for (const Value &value : operands) {
    std::string name = "%x" + std::to_string(names++);
    result.bindings += (result.bindings.empty() ? "" : ", ") + name + " = %" +
                       value.name + indexOf(value.kind);
    bool converts =
        !isInteger(value.dtype) && !isInteger(type) && value.dtype != type;
    if (converts)
      result.bindings += " as " + type;
    result.bindings += " : " + typeOf(value);
    if (isInteger(type) ? value.dtype == type : !isInteger(value.dtype)) {
      result.values.push_back(name);
      if (value.isArgument)
        result.raw.push_back(name);
    } else if (!isInteger(type)) {
      integers.emplace_back(name, value.dtype);
    }
  }
  // The number of the iteration.
  if (loops > 0 && !isInteger(type) && chance(4))
    integers.emplace_back(declare(result, "foreach.iteration : i32"), "i32");
  if (operations > 0 && chance(4)) {
    std::string position = drawPosition(operands);
    if (!position.empty() && type == "i64")
      result.values.push_back(declare(result, position));
    else if (!position.empty() && !isInteger(type))
      integers.emplace_back(declare(result, position), "i64");
  }
  for (auto &[name, dtype] : integers)
    result.values.push_back(declare(
        result, std::string(dtype == "i1" ? "arith.uitofp " : "arith.sitofp ") +
                    name + " : " + dtype + " to " + type));
  if (result.values.empty())
    result.values.push_back(
        declare(result, isInteger(type)
                            ? "arith.constant " +
                                  std::string(type == "i1" ? "true" : "3 : ") +
                                  (type == "i1" ? "" : type)
                            : "arith.constant 0.75 : " + type));
  for (unsigned k = 0; k < operations; ++k)
    isInteger(type) ? drawIntegerOperation(result) : drawOperation(result);
  return result;
}

std::string Generator::bounded(Body &body, const std::string &value) {
  std::string type = " : " + body.type;
  std::string size = declare(body, "math.absf " + value + type);
  std::string one = declare(body, "arith.constant 1.0" + type);
  std::string sum = declare(body, "arith.addf " + size + ", " + one + type);
  return declare(body, "arith.divf " + value + ", " + sum + type);
}

void Generator::drawIntegerOperation(Body &body) {
  std::vector<std::string> operations = {"addi",  "subi",  "muli",  "maxsi",
                                         "minsi", "andi",  "xori",  "divsi",
                                         "remsi", "shrsi", "maxui", "minui"};
  // The interpreter stores integers as doubles, which hold no large ones.
  if (body.type != "i64")
    for (const char *operation : {"divui", "remui", "shli", "shrui"})
      operations.push_back(operation);
  std::string operation = oneOf(operations);
  std::string a = oneOf(body.values), b = oneOf(body.values);
  body.values.push_back(declare(body, "arith." + operation + " " + a + ", " +
                                          b + " : " + body.type));
}

/// A choice by a comparison or a sign. Rounding may decide both, so most of
/// them compare arguments.
void Generator::drawSelection(Body &body, const std::string &a,
                              const std::string &b) {
  const std::string type = " : " + body.type;
  const std::vector<std::string> &from =
      body.raw.empty() || chance(4) ? body.values : body.raw;
  std::string looked = oneOf(from);
  if (chance(3)) {
    body.values.push_back(declare(body, "foreach.sign " + looked + type));
    return;
  }
  std::string bound =
      declare(body, "arith.constant " +
                        oneOf<std::string>({"0.0", "0.7", "-1.3"}) + type);
  std::string predicate = oneOf<std::string>(
      {"ogt", "ole", "une", "ult", "oge", "ueq", "one", "ugt", "ord", "uno"});
  std::string flag = declare(body, "arith.cmpf " + predicate + ", " + looked +
                                       ", " + bound + type);
  body.values.push_back(
      declare(body, "arith.select " + flag + ", " + a + ", " + b + type));
}

/// A small integer power of a number around 2.
void Generator::drawPower(Body &body, const std::string &a) {
  const std::string type = " : " + body.type;
  std::string exponent = declare(
      body, "arith.constant " + std::to_string(int(below(6)) - 1) + " : i32");
  std::string part = bounded(body, a);
  std::string two = declare(body, "arith.constant 2.0" + type);
  std::string around = declare(body, "arith.addf " + part + ", " + two + type);
  body.values.push_back(
      declare(body, "math.fpowi " + around + ", " + exponent + type + ", i32"));
}

void Generator::drawOperation(Body &body) {
  const std::string type = " : " + body.type;
  auto add = [&](const std::string &text) {
    body.values.push_back(declare(body, text + type));
  };
  auto constant = [&](const std::string &number) {
    return declare(body, "arith.constant " + number + type);
  };
  // Drawn in this order by any compiler.
  std::string a = oneOf(body.values), b = oneOf(body.values);
  switch (below(isExact ? 12 : 17)) {
  case 0:
  case 1:
    return add("arith.addf " + a + ", " + b);
  case 2:
    return add("arith.subf " + a + ", " + b);
  case 3:
  case 4:
    return add("arith.mulf " + a + ", " + b);
  case 5: { // the divisor is never near zero
    std::string size = declare(body, "math.absf " + b + type);
    std::string one = constant("1.0");
    std::string least = declare(body, "arith.addf " + size + ", " + one + type);
    return add("arith.divf " + a + ", " + least);
  }
  case 6: {
    std::string size = declare(body, "math.absf " + a + type);
    return add("math.sqrt " + size);
  }
  case 7:
    return add("arith." + oneOf<std::string>({"maximumf", "minimumf"}) + " " +
               a + ", " + b);
  case 8: {
    std::string factor =
        constant(oneOf<std::string>({"0.5", "-1.25", "3.0", "0.1", "-0.0"}));
    return add("arith.mulf " + a + ", " + factor);
  }
  case 9:
    return drawSelection(body, a, b);
  case 10:
    return drawPower(body, a);
  case 11:
    return add(
        oneOf<std::string>({"arith.negf ", "math.floor ", "math.absf ",
                            "math.trunc ", "math.round ", "math.roundeven "}) +
        a);
  case 12: {
    std::string bound = declare(body, "math.tanh " + a + type);
    return add("math.exp " + bound);
  }
  case 13: {
    std::string size = declare(body, "math.absf " + a + type);
    return add("math.log1p " + size);
  }
  case 14:
    return add("math.erf " + a);
  case 15:
    if (chance(4))
      return add("math.atan2 " + a + ", " + b);
    return add(oneOf<std::string>(
                   {"math.sin ", "math.cos ", "math.tan ", "math.atan "}) +
               bounded(body, a));
  default:
    return add("math.tanh " + a);
  }
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

void Generator::statement() {
  if (depth < 2 && !perMemberLoop && chance(7))
    return loop();
  if (depth == 0 && chance(10))
    return balance();
  if (depth < 2 && chance(9))
    return branch();
  if (chance(6))
    return mapAroundSum();
  chance(3) ? reduce() : map();
}

void Generator::emitMap(const Body &made, const std::vector<Value> &results,
                        const std::vector<std::string> &yields) {
  std::string declared, types, yielded, yieldTypes;
  for (auto [result, value] : llvm::zip(results, yields)) {
    declared += (declared.empty() ? "%" : ", %") + result.name;
    types += (types.empty() ? "" : ", ") + typeOf(result);
    yielded += (yielded.empty() ? "" : ", ") + value;
    yieldTypes += (yieldTypes.empty() ? "" : ", ") +
                  (result.dtype == "i1" ? "i1" : made.type);
  }
  body += "  " + declared + " = foreach.map (" + made.bindings + ") -> (" +
          types + ") {\n" + made.text + "    foreach.yield " + yielded + " : " +
          yieldTypes + "\n  }\n";
  values.insert(values.end(), results.begin(), results.end());
}

void Generator::map() {
  int family = below(families.size());
  bool isMatrix = families[family].isMatrix;
  Kind domain =
      chance(6) ? Kind::member
      : isMatrix
          ? oneOf<Kind>({Kind::matrix, Kind::matrix, Kind::row, Kind::column})
          : Kind::vector;
  features.matrices += domain == Kind::matrix;
  features.rowsOrColumns += domain == Kind::row || domain == Kind::column;
  std::vector<Value> operands = drawOperands(domain, family);
  bindAlone(domain, operands);
  bool integers =
      isInteger(operands[0].dtype) && operands[0].dtype != "i1" && chance(2);
  std::string type =
      integers ? operands[0].dtype : oneOf<std::string>({"f32", "f32", "f64"});
  mapOver(domain, family, operands, type, 1 + below(7));
}

/// Maps `operands`, which span the domain, to one or two lists.
std::vector<Value> Generator::mapOver(Kind domain, int family,
                                      const std::vector<Value> &operands,
                                      const std::string &type,
                                      unsigned operations) {
  Body made = drawBody(operands, type, operations);
  std::vector<Value> results;
  std::vector<std::string> yields;
  for (unsigned count = 1 + below(2); count > 0; --count) {
    Value result = declareValue(domain, family, storageFor(type));
    std::string value =
        made.values[made.values.size() - 1 -
                    below(std::min<size_t>(2, made.values.size()))];
    if (result.dtype == "f16" || result.dtype == "bf16")
      value = bounded(made, value);
    results.push_back(result);
    yields.push_back(value);
  }
  emitMap(made, results, yields);
  return results;
}

/// Lists that are read before and after a sum of theirs is complete. A sweep
/// may compute them again.
void Generator::mapAroundSum() {
  int family = below(families.size());
  Kind domain = elementsOf(family);
  std::vector<Value> operands = drawOperands(domain, family);
  std::string type = oneOf<std::string>({"f32", "f32", "f64"});
  auto mapped = mapOver(domain, family, operands, type, 1 + below(4));
  bool isList = !perMemberLoop && chance(2);
  keepsOrder &= domain == Kind::vector;
  Value sum = declareValue(isList ? Kind::scalar : Kind::member, family, type);
  Body summed = drawBody(mapped, type, below(2));
  emitReduce("add", isList ? "list" : "member", summed, {sum},
             summed.values.back(), type);
  std::vector<Value> again = mapped;
  again.push_back(sum);
  for (const Value &operand : operands)
    if (chance(2))
      again.push_back(operand);
  mapOver(domain, family, again, type, 2 + below(4));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void Generator::emitReduce(const std::string &kind, const std::string &axis,
                           const Body &made, const std::vector<Value> &results,
                           const std::string &yielded,
                           const std::string &type) {
  std::string declared, types;
  for (const Value &result : results) {
    declared += (declared.empty() ? "%" : ", %") + result.name;
    types += (types.empty() ? "" : ", ") + typeOf(result);
  }
  body += "  " + declared + " = foreach.reduce " + kind + " along " + axis +
          " (" + made.bindings + ") -> (" + types + ") {\n" + made.text +
          "    foreach.yield " + yielded + " : " + type + "\n  }\n";
  values.insert(values.end(), results.begin(), results.end());
}

/// Whether `value` is large, or small.
std::string Generator::flagOf(Body &made, const std::string &value,
                              bool isLarge) {
  if (made.type == "i1")
    return value;
  std::string type = " : " + made.type;
  bool integers = isInteger(made.type);
  std::string bound = declare(made, std::string("arith.constant ") +
                                        (integers ? "19" : "2.5") + type);
  std::string size = declare(made, std::string("math.abs") +
                                       (integers ? "i " : "f ") + value + type);
  return declare(made, std::string("arith.cmp") + (integers ? "i s" : "f o") +
                           (isLarge ? "gt, " : "le, ") + size + ", " + bound +
                           type);
}

void Generator::reduce() {
  int family = below(families.size());
  bool isMatrix = families[family].isMatrix;
  Kind domain =
      isMatrix
          ? oneOf<Kind>({Kind::matrix, Kind::matrix, Kind::row, Kind::column})
      : chance(5) ? Kind::member
                  : Kind::vector;
  struct Axis {
    const char *name;
    Kind result;
  };
  std::vector<Axis> axes;
  if (perMemberLoop && domain == Kind::member)
    domain = Kind::vector;
  if (!perMemberLoop)
    axes.push_back({"list", Kind::scalar});
  if (domain != Kind::member)
    axes.push_back({"member", Kind::member});
  if (domain == Kind::matrix) {
    axes.push_back({"i", Kind::column});
    axes.push_back({"j", Kind::row});
  }
  Axis axis = oneOf(axes);
  bool toWhole = axis.result == Kind::scalar || axis.result == Kind::member;
  features.rowsOrColumns += !toWhole;
  // Fusion with a matrix changes the order in which rows and columns combine.
  // So does fusion of a matrix that is visited as a vector with one that is
  // visited by rows.
  keepsOrder &= domain == Kind::vector || domain == Kind::member ||
                (domain == Kind::matrix && !toWhole);
  std::string kind =
      oneOf<std::string>({"add", "add", "add", "mul", "min", "max", "any",
                          "all", "argmax", "argmin", "mean", "logsumexp"});
  bool isPositioned = kind == "argmax" || kind == "argmin";
  if ((isPositioned && axis.result == Kind::scalar && domain != Kind::member) ||
      (kind == "logsumexp" && isExact)) {
    kind = "add";
    isPositioned = false;
  }
  bool isFlag = kind == "any" || kind == "all";
  bool looks = isFlag || isPositioned;
  std::vector<Value> operands =
      looks ? std::vector<Value>{drawOperand(domain, family, chance(3))}
            : drawOperands(domain, family);
  bindAlone(domain, operands);
  // Narrow integers are not combined, but flags of them are.
  std::string first = operands[0].dtype;
  if ((first == "i1" || first == "i8" || first == "i16") && kind != "all") {
    kind = "any";
    isPositioned = false;
  }
  isFlag = kind == "any" || kind == "all";
  // Only floats have positions and means.
  if ((isPositioned || kind == "mean") && isInteger(first)) {
    kind = "max";
    isPositioned = false;
  }
  bool integers = isInteger(first) && kind != "logsumexp";
  std::string type =
      integers ? first : oneOf<std::string>({"f32", "f64", "f32"});
  Body made = drawBody(operands, type, looks ? 0 : below(4));
  std::string value = made.values.back();
  if (isFlag) {
    value = flagOf(made, value, kind == "any");
  } else if (kind == "mul" && !isInteger(type)) { // factors near one
    std::string part = bounded(made, value);
    std::string tiny = declare(made, "arith.constant 0.01 : " + type);
    std::string small =
        declare(made, "arith.mulf " + part + ", " + tiny + " : " + type);
    std::string one = declare(made, "arith.constant 1.0 : " + type);
    value = declare(made, "arith.addf " + small + ", " + one + " : " + type);
  }
  std::vector<Value> results = {
      declareValue(axis.result, family,
                   isFlag            ? "i1"
                   : isInteger(type) ? type
                   : type == "f64"   ? "f64"
                                     : oneOf<std::string>({"f32", "f64"}))};
  if (isPositioned)
    results.push_back(declareValue(axis.result, family, "i64"));
  emitReduce(kind, axis.name, made, results, value, isFlag ? "i1" : type);
}

} // namespace heddle::test
