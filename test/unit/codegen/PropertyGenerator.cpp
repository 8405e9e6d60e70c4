//===- PropertyGenerator.cpp - random programs ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families of lists with their shapes, operands, the arguments and results of a
// program, and inputs.
//
//===----------------------------------------------------------------------===//

#include "PropertyDrawing.h"
#include "runtime/plan/Scalar.h"

using namespace heddle::runtime;

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Domains and types
//===----------------------------------------------------------------------===//

Generator::Generator(uint64_t seed) : random(seed), ends(seed + 1) {
  for (int k = chance(4) ? 2 : 1; k > 0; --k)
    families.push_back(drawFamily());
  isExact = !chance(4);
}

Family Generator::drawFamily() {
  Family family;
  family.isMatrix = chance(2);
  static const std::vector<int64_t> lengths = {
      0,   1,    2,    3,    5,    7,    16,   31,   255,  256,
      257, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 8193};
  static const std::vector<std::pair<int64_t, int64_t>> matrices = {
      {1, 1},   {0, 3},  {3, 0},   {2, 5},   {7, 3},
      {16, 17}, {33, 2}, {5, 256}, {4, 300}, {17, 31}};
  unsigned members = chance(12) ? 0 : 1 + below(5);
  for (unsigned k = 0; k < members; ++k) {
    family.shapes.push_back(family.isMatrix
                                ? oneOf(matrices)
                                : std::make_pair(int64_t(1), oneOf(lengths)));
    family.entries.push_back(below(7));
  }
  if (chance(4))
    for (unsigned k = 0; k < members; ++k)
      family.inactive.push_back(chance(3));
  return family;
}

static int rankOf(Kind kind) {
  return kind == Kind::matrix                           ? 2
         : kind == Kind::member || kind == Kind::scalar ? 0
                                                        : 1;
}

std::string Generator::typeOf(const Value &value) {
  if (value.kind == Kind::scalar)
    return "tensor<" + value.dtype + ">";
  static const char *extents[] = {"", "?x", "?x?x"};
  return "!foreach.list<tensor<" + std::string(extents[rankOf(value.kind)]) +
         value.dtype + ">>";
}

std::string Generator::indexOf(Kind kind) {
  switch (kind) {
  case Kind::matrix:
    return "[i, j]";
  case Kind::row:
    return "[i]";
  case Kind::column:
    return "[j]";
  case Kind::history:
    return loops == 0
               ? "[first]"
               : oneOf<std::string>({"[iteration]", "[next]", "[first]"});
  default:
    return "";
  }
}

std::string Generator::storageFor(const std::string &computed) {
  if (isInteger(computed))
    return computed;
  if (computed == "f64")
    return oneOf<std::string>({"f64", "f64", "f32"});
  return oneOf<std::string>({"f32", "f32", "f32", "f32", "bf16", "f16", "f64"});
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value Generator::drawArgument(Kind kind, int family, const std::string &dtype) {
  Value value{"a" + std::to_string(names++), kind, family, dtype, true};
  values.push_back(value);
  return value;
}

Value Generator::drawOperand(Kind kind, int family, bool mayBeComputed) {
  std::vector<Value> there;
  for (const Value &value : values)
    if (value.kind == kind && value.family == family &&
        (mayBeComputed || value.isArgument))
      there.push_back(value);
  if (!there.empty() && !chance(3))
    return oneOf(there);
  std::string dtype =
      kind == Kind::scalar
          ? oneOf<std::string>({"f64", "f64", "f32"})
          : oneOf<std::string>(
                {"f32", "f32", "f32", "f32", "bf16", "f16", "f64",
                 kind == Kind::vector
                     ? oneOf<std::string>({"i32", "i8", "i16", "i64", "i1"})
                     : "f32"});
  return drawArgument(kind, family, dtype);
}

/// Operands over a domain, which the first operand spans.
std::vector<Value> Generator::drawOperands(Kind domain, int family) {
  std::vector<Value> operands = {drawOperand(domain, family)};
  addOperands(operands, domain, below(4));
  return operands;
}

void Generator::addOperands(std::vector<Value> &operands, Kind domain,
                            unsigned more) {
  int family = operands.front().family;
  std::vector<Kind> kinds = {domain, domain, Kind::member, Kind::scalar};
  if (domain == Kind::matrix)
    kinds = {domain, Kind::row, Kind::column, Kind::member, Kind::scalar};
  if (domain == Kind::scalar)
    kinds = {domain};
  else if (loops > 0)
    kinds.push_back(Kind::history);
  for (; more > 0; --more) {
    Kind kind = oneOf(kinds);
    Value next = drawOperand(kind, kind == Kind::scalar ? -1 : family);
    if (llvm::none_of(operands, [&](const Value &value) {
          return value.name == next.name;
        }))
      operands.push_back(next);
  }
}

void Generator::bindAlone(Kind domain, std::vector<Value> &operands) {
  if (domain == Kind::matrix)
    return;
  for (Value &value : operands)
    if (value.kind == Kind::row || value.kind == Kind::column)
      value.kind = Kind::vector;
}

Value Generator::declareValue(Kind kind, int family, const std::string &dtype) {
  return {"r" + std::to_string(names++), kind,
          kind == Kind::scalar ? -1 : family, dtype, false};
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ListInput Generator::drawList(const Value &value) {
  const Family &family = families[value.family];
  DType dtype = *parseDType(value.dtype);
  std::mt19937_64 numbers(ends());
  std::normal_distribution<double> normal;
  bool special = numbers() % 10 == 0;
  auto number = [&]() -> double {
    if (value.dtype == "i1")
      return numbers() % 2;
    if (isInteger(value.dtype))
      return static_cast<double>(numbers() % 41) - 20;
    static const double odd[] = {INFINITY, -INFINITY, NAN,  -0.0,
                                 0.0,      1e-40,     6e-8, -3e38};
    if (special && numbers() % 50 == 0)
      return odd[numbers() % 8];
    return normal(numbers);
  };
  bool hasGaps = numbers() % 3 == 0;
  ListInput list;
  for (auto [k, shape] : llvm::enumerate(family.shapes)) {
    ListInput::Member member;
    if (value.kind == Kind::matrix)
      member.extents = {shape.first, shape.second};
    else if (value.kind == Kind::row)
      member.extents = {shape.first};
    else if (value.kind == Kind::history)
      member.extents = {family.entries[k]};
    else if (rankOf(value.kind) == 1)
      member.extents = {shape.second};
    int64_t count = 1;
    for (int64_t extent : member.extents)
      count *= extent;
    for (int64_t element = 0; element < count; ++element) {
      ScalarBytes bytes;
      cantFail(encodeScalar(dtype, number(), bytes));
      member.data.push_back(decodeScalar(dtype, bytes.data()));
    }
    member.offset = numbers() % 3 ? 0 : numbers() % 7;
    if (value.kind == Kind::matrix && hasGaps)
      member.gap = numbers() % 9;
    list.members.push_back(std::move(member));
  }
  list.inactive = family.inactive;
  return list;
}

double Generator::drawScalar(const Value &value) {
  if (value.dtype == "i1")
    return ends() % 2;
  if (value.dtype == "i32") // a limit of a loop
    return ends() % 8 ? 1 + ends() % 4 : 0;
  return (static_cast<double>(ends() % 64) - 30) / 16;
}

bool Generator::isUsed(const Value &value) const {
  for (const char *end : {" ", "["})
    if (body.find(" = %" + value.name + end) != std::string::npos)
      return true;
  return false;
}

RandomProgram Generator::run(const std::string &name, int mostStatements) {
  RandomProgram program;
  program.isExact = isExact;
  int statements = 1 + below(6);
  program.statements = std::min(statements, mostStatements);
  for (int k = 0; k < program.statements; ++k)
    statement();
  // A program has at least one list argument.
  if (llvm::none_of(values, [](const Value &value) {
        return value.isArgument && value.kind != Kind::scalar;
      }))
    map();

  // A separate generator draws the results, and the arguments that they
  // replace.
  std::vector<Value> results, arguments = hidden;
  for (const Value &value : values) {
    if (value.isArgument)
      arguments.push_back(value);
    else if (!isUsed(value) || ends() % 2)
      results.push_back(value);
  }
  if (results.empty())
    results.push_back(values.back());
  std::string parameters, returned, types;
  std::vector<bool> taken(results.size());
  for (const Value &argument : arguments) {
    parameters += (parameters.empty() ? "%" : ", %") + argument.name + ": " +
                  typeOf(argument);
    for (size_t k = 0; k < results.size(); ++k)
      if (!taken[k] && results[k].kind == argument.kind &&
          results[k].family == argument.family &&
          results[k].dtype == argument.dtype && argument.kind != Kind::scalar &&
          ends() % 2) {
        parameters += " {foreach.donate = " + std::to_string(k) + " : i64}";
        taken[k] = true;
        break;
      }
    if (argument.kind == Kind::scalar)
      program.inputs.scalars[argument.name] = drawScalar(argument);
    else
      program.inputs.lists[argument.name] = drawList(argument);
  }
  for (const Value &result : results) {
    returned += (returned.empty() ? "%" : ", %") + result.name;
    types += (types.empty() ? "" : ", ") + typeOf(result);
  }
  program.text = "func.func @" + name + "(" + parameters + ") -> (" + types +
                 ") {\n" + body + "  return " + returned + " : " + types +
                 "\n}\n";
  program.keepsOrder = keepsOrder;
  program.isExact = isExact;
  program.features = features;
  return program;
}

RandomProgram drawProgram(uint64_t seed, const std::string &name,
                          int mostStatements) {
  return Generator(seed * 2 + 1).run(name, mostStatements);
}

} // namespace heddle::test
