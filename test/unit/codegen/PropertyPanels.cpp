//===- PropertyPanels.cpp - random loops that balance a matrix ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows follow from columns and columns from rows in every iteration, so that
// most of these loops have the panel schedule.
//
//===----------------------------------------------------------------------===//

#include "PropertyDrawing.h"
#include "llvm/Support/SaveAndRestore.h"

namespace heddle::test {

void Generator::balance() {
  std::vector<int> matrices;
  for (size_t k = 0; k < families.size(); ++k)
    if (families[k].isMatrix)
      matrices.push_back(k);
  if (matrices.empty())
    return map();
  int family = oneOf(matrices);
  ++features.loops;
  ++features.balancing;
  keepsOrder = false;
  bool powers = !isExact || chance(2);
  isExact = isExact && !powers;
  std::string type = chance(4) ? "f64" : "f32";
  Value matrix = drawArgument(
      Kind::matrix, family,
      type == "f64" ? type : oneOf<std::string>({"f32", "f32", "bf16", "f16"}));
  Value rows = drawArgument(Kind::row, family, type);
  Value columns = drawArgument(Kind::column, family, type);
  Value scale = drawArgument(Kind::member, family, type);
  std::vector<Value> inits = {drawArgument(Kind::row, family, type),
                              drawArgument(Kind::column, family, type)};
  if (chance(3))
    inits.push_back(drawArgument(Kind::history, family, "f32"));
  std::vector<Value> carried, yields, further;
  Value flag;
  bool isScaled = chance(2), isRelaxed = chance(3);

  // The reduction of a row or column, of elements and of a value of the other.
  auto reduction = [&](const char *axis, const Value &other, Kind kind) {
    std::vector<Value> operands = {matrix, other};
    if (isScaled)
      operands.push_back(scale);
    Body made = drawBody(operands, type, 0);
    const std::string x = made.values[0], v = made.values[1];
    std::string term = x;
    if (isScaled)
      term = declare(made,
                     "arith.mulf " + x + ", " + made.values[2] + " : " + type);
    std::string sum = declare(made, (powers ? "arith.addf " : "arith.mulf ") +
                                        term + ", " + v + " : " + type);
    Value result = declareValue(kind, family, type);
    emitReduce(powers ? "logsumexp" : "add", axis, made, {result}, sum, type);
    return result;
  };
  // The new value of a row or column: the target less the reduction.
  auto update = [&](const Value &target, const Value &sum, const Value &old) {
    std::vector<Value> operands = {target, sum, old};
    bindAlone(Kind::vector, operands);
    Body made = drawBody(operands, type, 0);
    std::string value = declare(made, "arith.subf " + made.values[0] + ", " +
                                          made.values[1] + " : " + type);
    if (isRelaxed) {
      std::string change = declare(made, "arith.subf " + value + ", " +
                                             made.values[2] + " : " + type);
      std::string factor = declare(made, "arith.constant 0.75 : " + type);
      std::string part =
          declare(made, "arith.mulf " + change + ", " + factor + " : " + type);
      value = declare(made, "arith.addf " + made.values[2] + ", " + part +
                                " : " + type);
    }
    if (!powers)
      value = bounded(made, value);
    Value result = declareValue(old.kind, family, type);
    emitMap(made, {result}, {value});
    return result;
  };

  llvm::SaveAndRestore inLoop(loops, loops + 1);
  llvm::SaveAndRestore ofMembers(perMemberLoop, true);
  std::string text = region([&] {
    for (const Value &init : inits) {
      carried.push_back(init);
      carried.back().name = "c" + std::to_string(names++);
      carried.back().isArgument = false;
    }
    Value row = reduction("j", carried[1], Kind::row);
    yields.push_back(update(rows, row, carried[0]));
    Value column = reduction("i", yields[0], Kind::column);
    yields.push_back(update(columns, column, carried[1]));
    std::vector<Value> changes = {carried[0], yields[0]};
    bindAlone(Kind::vector, changes);
    Body made = drawBody(changes, type, 0);
    std::string difference =
        declare(made, "arith.subf " + made.values[0] + ", " + made.values[1] +
                          " : " + type);
    std::string size = declare(made, "math.absf " + difference + " : " + type);
    Value error = declareValue(Kind::member, family, type);
    emitReduce(oneOf<std::string>({"max", "add"}), "i", made, {error}, size,
               type);
    if (inits.size() > 2)
      yields.push_back(record(carried[2]));
    if (chance(2))
      further.push_back(error);
    flag = declareValue(Kind::member, family, "i1");
    Body stop = drawBody({error}, type, 0);
    std::string bound = declare(stop, "arith.constant 0.01 : " + type);
    std::string more = declare(stop, "arith.cmpf ogt, " + stop.values[0] +
                                         ", " + bound + " : " + type);
    emitMap(stop, {flag}, {more});
  });
  emitLoop(carried, inits, further, text, yields, flag);
}

} // namespace heddle::test
