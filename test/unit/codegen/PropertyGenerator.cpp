//===- PropertyGenerator.cpp - random programs ----------------------------===//
//
// Draws statement after statement; each is a map or a reduction over existing
// values or new arguments. Only arguments are operands of comparisons, signs
// and positions: with a rounded value, both results could be right.
//
//===----------------------------------------------------------------------===//

#include "PropertyGenerator.h"
#include "runtime/plan/Scalar.h"

using namespace heddle::runtime;

namespace heddle::test {

namespace {

/// The loop axes over which a value varies, within its family of lists.
enum class Kind { matrix, row, column, vector, member, scalar };

struct Value {
  std::string name;
  Kind kind;
  int family; ///< -1 for scalars
  std::string dtype;
  bool isArgument;
};

struct Family {
  bool isMatrix;
  std::vector<std::pair<int64_t, int64_t>> shapes; ///< rows, columns
  std::vector<bool> inactive;
};

bool isInteger(llvm::StringRef dtype) { return dtype.starts_with("i"); }

class Generator {
public:
  Generator(uint64_t seed) : random(seed), ends(seed + 1) {
    for (int k = chance(4) ? 2 : 1; k > 0; --k)
      families.push_back(drawFamily());
    isExact = !chance(4);
  }

  RandomProgram run(const std::string &name, int mostStatements);

private:
  unsigned below(unsigned bound) { return random() % bound; }
  bool chance(unsigned oneIn) { return below(oneIn) == 0; }
  template <class T> const T &oneOf(const std::vector<T> &choices) {
    return choices[below(choices.size())];
  }

  Family drawFamily();
  static std::string typeOf(const Value &value);
  static int rankOf(Kind kind) {
    return kind == Kind::matrix                           ? 2
           : kind == Kind::member || kind == Kind::scalar ? 0
                                                          : 1;
  }
  static std::string indexOf(Kind kind) {
    return kind == Kind::matrix   ? "[i, j]"
           : kind == Kind::row    ? "[i]"
           : kind == Kind::column ? "[j]"
                                  : "";
  }

  Value drawOperand(Kind kind, int family, bool mayBeArgument = true);
  std::vector<Value> drawOperands(Kind domain, int family);
  struct Body {
    std::string bindings, text;
    /// Names of values of the computed type, and of flags.
    std::vector<std::string> values, flags;
    std::string type;             ///< f32, f64 or i32
    std::vector<std::string> raw; ///< names of values of arguments
  };
  Body drawBody(const std::vector<Value> &operands, const std::string &type,
                unsigned operations);
  std::string declare(Body &body, const std::string &text);
  void drawOperation(Body &body);
  void map();
  void reduce();
  std::string storageFor(const std::string &computed);
  ListInput drawList(const Value &value);

  std::mt19937_64 random, ends;
  std::vector<Family> families;
  std::vector<Value> values;
  std::string body;
  unsigned names = 0;
  bool isExact, keepsOrder = true;
};

//===----------------------------------------------------------------------===//
// Domains and types
//===----------------------------------------------------------------------===//

Family Generator::drawFamily() {
  Family family;
  family.isMatrix = chance(3);
  static const std::vector<int64_t> lengths = {
      0,   1,    2,    3,    5,    7,    16,   31,   255,  256,
      257, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 8193};
  static const std::vector<std::pair<int64_t, int64_t>> matrices = {
      {1, 1},   {0, 3},  {3, 0},   {2, 5},   {7, 3},
      {16, 17}, {33, 2}, {5, 256}, {4, 300}, {17, 31}};
  unsigned members = chance(12) ? 0 : 1 + below(5);
  for (unsigned k = 0; k < members; ++k)
    family.shapes.push_back(family.isMatrix
                                ? oneOf(matrices)
                                : std::make_pair(int64_t(1), oneOf(lengths)));
  if (chance(4))
    for (unsigned k = 0; k < members; ++k)
      family.inactive.push_back(chance(3));
  return family;
}

std::string Generator::typeOf(const Value &value) {
  if (value.kind == Kind::scalar)
    return "tensor<" + value.dtype + ">";
  static const char *extents[] = {"", "?x", "?x?x"};
  return "!foreach.list<tensor<" + std::string(extents[rankOf(value.kind)]) +
         value.dtype + ">>";
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

Value Generator::drawOperand(Kind kind, int family, bool mayBeComputed) {
  std::vector<Value> there;
  for (const Value &value : values)
    if (value.kind == kind && value.family == family &&
        (mayBeComputed || value.isArgument))
      there.push_back(value);
  if (!there.empty() && !chance(3))
    return oneOf(there);
  Value value{"a" + std::to_string(names++), kind, family,
              kind == Kind::scalar
                  ? oneOf<std::string>({"f64", "f64", "f32"})
                  : oneOf<std::string>(
                        {"f32", "f32", "f32", "f32", "bf16", "f16", "f64",
                         kind == Kind::vector
                             ? oneOf<std::string>({"i32", "i8", "i16", "i64"})
                             : "f32"}),
              true};
  values.push_back(value);
  return value;
}

/// Operands over a domain, which the first operand spans.
std::vector<Value> Generator::drawOperands(Kind domain, int family) {
  std::vector<Value> operands = {drawOperand(domain, family)};
  std::vector<Kind> kinds = {domain, domain, Kind::member, Kind::scalar};
  if (domain == Kind::matrix)
    kinds = {domain, Kind::row, Kind::column, Kind::member, Kind::scalar};
  for (unsigned more = below(4); more > 0; --more) {
    Kind kind = oneOf(kinds);
    Value next = drawOperand(kind, kind == Kind::scalar ? -1 : family);
    if (llvm::none_of(operands, [&](const Value &value) {
          return value.name == next.name;
        }))
      operands.push_back(next);
  }
  return operands;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

std::string Generator::declare(Body &body, const std::string &text) {
  std::string name = "%v" + std::to_string(names++);
  body.text += "    " + name + " = " + text + "\n";
  return name;
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
  for (auto &[name, dtype] : integers)
    result.values.push_back(declare(result, "arith.sitofp " + name + " : " +
                                                dtype + " to " + type));
  if (result.values.empty())
    result.values.push_back(
        declare(result, isInteger(type) ? "arith.constant 3 : " + type
                                        : "arith.constant 0.75 : " + type));
  for (unsigned k = 0; k < operations; ++k)
    drawOperation(result);
  return result;
}

void Generator::drawOperation(Body &body) {
  auto any = [&] { return oneOf(body.values); };
  const std::string type = " : " + body.type;
  auto add = [&](const std::string &text) {
    body.values.push_back(declare(body, text + type));
    return body.values.back();
  };
  auto constant = [&](const std::string &number) {
    return declare(body, "arith.constant " + number + type);
  };
  if (isInteger(body.type)) {
    std::string operation = oneOf<std::string>(
        {"addi", "subi", "muli", "maxsi", "minsi", "andi", "xori"});
    std::string a = any(), b = any(); // drawn in this order by any compiler
    add("arith." + operation + " " + a + ", " + b);
    return;
  }
  std::string a = any(), b = any();
  unsigned which = below(isExact ? 11 : 15);
  switch (which) {
  case 0:
  case 1:
    add("arith.addf " + a + ", " + b);
    break;
  case 2:
    add("arith.subf " + a + ", " + b);
    break;
  case 3:
  case 4:
    add("arith.mulf " + a + ", " + b);
    break;
  case 5: { // the divisor is never near zero
    std::string size = declare(body, "math.absf " + b + type);
    std::string one = constant("1.0");
    std::string least = declare(body, "arith.addf " + size + ", " + one + type);
    add("arith.divf " + a + ", " + least);
    break;
  }
  case 6: {
    std::string size = declare(body, "math.absf " + a + type);
    add("math.sqrt " + size);
    break;
  }
  case 7:
    add("arith." + oneOf<std::string>({"maximumf", "minimumf"}) + " " + a +
        ", " + b);
    break;
  case 8:
    add("arith.mulf " + a + ", " +
        constant(oneOf<std::string>({"0.5", "-1.25", "3.0", "0.1", "-0.0"})));
    break;
  case 9:
    if (body.raw.empty()) {
      add("arith.negf " + a);
      break;
    }
    if (chance(3)) {
      add("foreach.sign " + oneOf(body.raw));
    } else {
      std::string bound = constant(oneOf<std::string>({"0.0", "0.7", "-1.3"}));
      std::string predicate =
          oneOf<std::string>({"ogt", "ole", "une", "ult", "oge", "ueq", "one",
                              "ugt", "ord", "uno"});
      std::string flag =
          declare(body, "arith.cmpf " + predicate + ", " + oneOf(body.raw) +
                            ", " + bound + type);
      body.flags.push_back(flag);
      add("arith.select " + flag + ", " + a + ", " + b);
    }
    break;
  case 10: {
    std::string exponent = declare(
        body, "arith.constant " + std::to_string(int(below(6)) - 1) + " : i32");
    // The bases are near one.
    std::string size = declare(body, "math.absf " + a + type);
    std::string one = constant("1.0");
    std::string sum = declare(body, "arith.addf " + size + ", " + one + type);
    std::string part = declare(body, "arith.divf " + a + ", " + sum + type);
    std::string around =
        declare(body, "arith.addf " + part + ", " + constant("2.0") + type);
    body.values.push_back(declare(body, "math.fpowi " + around + ", " +
                                            exponent + type + ", i32"));
    break;
  }
  case 11: {
    std::string bound = declare(body, "math.tanh " + a + type);
    add("math.exp " + bound);
    break;
  }
  case 12: {
    std::string size = declare(body, "math.absf " + a + type);
    add("math.log1p " + size);
    break;
  }
  case 13:
    add("math.erf " + a);
    break;
  default:
    add("math.tanh " + a);
    break;
  }
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Generator::map() {
  int family = below(families.size());
  bool isMatrix = families[family].isMatrix;
  Kind domain =
      chance(6) ? Kind::member
      : isMatrix
          ? oneOf<Kind>({Kind::matrix, Kind::matrix, Kind::row, Kind::column})
          : Kind::vector;
  std::vector<Value> operands = drawOperands(domain, family);
  // The axis of a domain of rank 1 is i, also for vectors of rows or columns of
  // a matrix.
  std::vector<Value> bound = operands;
  if (domain != Kind::matrix)
    for (Value &value : bound)
      if (value.kind == Kind::row || value.kind == Kind::column)
        value.kind = Kind::vector;
  bool integers = isInteger(operands[0].dtype) && chance(2);
  std::string type =
      integers ? operands[0].dtype : oneOf<std::string>({"f32", "f32", "f64"});
  Body made = drawBody(bound, type, 1 + below(7));
  std::string results, types, yields, yieldTypes;
  std::vector<Value> declared;
  for (unsigned count = 1 + below(2); count > 0; --count) {
    Value result{"r" + std::to_string(names++), domain, family,
                 storageFor(type), false};
    std::string value =
        made.values[made.values.size() - 1 -
                    below(std::min<size_t>(2, made.values.size()))];
    // Large values would overflow 16-bit floats.
    if (result.dtype == "f16" || result.dtype == "bf16") {
      std::string size = declare(made, "math.absf " + value + " : " + type);
      std::string one = declare(made, "arith.constant 1.0 : " + type);
      std::string sum =
          declare(made, "arith.addf " + size + ", " + one + " : " + type);
      value = declare(made, "arith.divf " + value + ", " + sum + " : " + type);
    }
    results += (results.empty() ? "%" : ", %") + result.name;
    types += (types.empty() ? "" : ", ") + typeOf(result);
    yields += (yields.empty() ? "" : ", ") + value;
    yieldTypes += (yieldTypes.empty() ? "" : ", ") + type;
    declared.push_back(result);
  }
  body += "  " + results + " = foreach.map (" + made.bindings + ") -> (" +
          types + ") {\n" + made.text + "    foreach.yield " + yields + " : " +
          yieldTypes + "\n  }\n";
  values.insert(values.end(), declared.begin(), declared.end());
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
  std::vector<Axis> axes = {{"list", Kind::scalar}};
  if (domain != Kind::member)
    axes.push_back({"member", Kind::member});
  if (domain == Kind::matrix) {
    axes.push_back({"i", Kind::column});
    axes.push_back({"j", Kind::row});
  }
  Axis axis = oneOf(axes);
  // Reductions of row and column values have another order if they are fused
  // with the matrix, and so have reductions of elements if a matrix that is
  // visited as a vector is fused with a matrix that is visited by rows.
  keepsOrder &= domain == Kind::vector || domain == Kind::member ||
                (domain == Kind::matrix && std::string(axis.name) != "member" &&
                 std::string(axis.name) != "list");
  std::string kind =
      oneOf<std::string>({"add", "add", "add", "mul", "min", "max", "any",
                          "all", "argmax", "logsumexp"});
  if ((kind == "argmax" && std::string(axis.name) == "list" &&
       domain != Kind::member) ||
      (kind == "logsumexp" && isExact))
    kind = "add";
  bool looks = kind == "any" || kind == "all" || kind == "argmax";
  std::vector<Value> operands =
      looks ? std::vector<Value>{drawOperand(domain, family, false)}
            : drawOperands(domain, family);
  if (domain != Kind::matrix)
    for (Value &value : operands)
      if (value.kind == Kind::row || value.kind == Kind::column)
        value.kind = Kind::vector;
  // Narrow integers are not combined, but can be compared.
  if ((operands[0].dtype == "i1" || operands[0].dtype == "i8" ||
       operands[0].dtype == "i16") &&
      kind != "all")
    kind = "any";
  // Only floats have positions.
  if (kind == "argmax" && isInteger(operands[0].dtype))
    kind = "max";
  bool integers = isInteger(operands[0].dtype) && kind != "logsumexp";
  std::string type =
      integers ? operands[0].dtype : oneOf<std::string>({"f32", "f64", "f32"});
  Body made = drawBody(operands, type, looks ? 0 : below(4));
  std::string value = made.values.back(), yieldType = type;
  if (kind == "any" || kind == "all") {
    if (type != "i1") {
      std::string of = isInteger(type) ? "i" : "f";
      std::string bound =
          declare(made, (isInteger(type) ? "arith.constant 19 : "
                                         : "arith.constant 2.5 : ") +
                            type);
      std::string size =
          declare(made, "math.abs" + of + " " + value + " : " + type);
      value = declare(made, "arith.cmp" + of + (isInteger(type) ? " s" : " o") +
                                (kind == "any" ? "gt" : "le") + ", " + size +
                                ", " + bound + " : " + type);
    }
    yieldType = "i1";
  } else if (kind == "mul" && !isInteger(type)) {
    // Factors near one.
    std::string size = declare(made, "math.absf " + value + " : " + type);
    std::string one = declare(made, "arith.constant 1.0 : " + type);
    std::string sum =
        declare(made, "arith.addf " + size + ", " + one + " : " + type);
    std::string part =
        declare(made, "arith.divf " + value + ", " + sum + " : " + type);
    std::string tiny = declare(made, "arith.constant 0.01 : " + type);
    std::string small =
        declare(made, "arith.mulf " + part + ", " + tiny + " : " + type);
    value = declare(made, "arith.addf " + small + ", " + one + " : " + type);
  }
  Value result{"r" + std::to_string(names++), axis.result,
               axis.result == Kind::scalar ? -1 : family,
               yieldType == "i1" ? "i1"
               : isInteger(type) ? type
               : type == "f64"   ? "f64"
                                 : oneOf<std::string>({"f32", "f64"}),
               false};
  std::string results = "%" + result.name, types = typeOf(result);
  std::vector<Value> declared = {result};
  if (kind == "argmax") {
    Value position = result;
    position.name = "r" + std::to_string(names++);
    position.dtype = "i64";
    results += ", %" + position.name;
    types = "(" + types + ", " + typeOf(position) + ")";
    declared.push_back(position);
  }
  body += "  " + results + " = foreach.reduce " + kind + " along " + axis.name +
          " (" + made.bindings + ") -> " + types + " {\n" + made.text +
          "    foreach.yield " + value + " : " + yieldType + "\n  }\n";
  values.insert(values.end(), declared.begin(), declared.end());
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
    if (isInteger(value.dtype))
      return static_cast<double>(numbers() % 41) - 20;
    static const double odd[] = {INFINITY, -INFINITY, NAN,  -0.0,
                                 0.0,      1e-40,     6e-8, -3e38};
    if (special && numbers() % 50 == 0)
      return odd[numbers() % 8];
    return normal(numbers);
  };
  ListInput list;
  for (auto [rows, columns] : family.shapes) {
    ListInput::Member member;
    switch (value.kind) {
    case Kind::matrix:
      member.extents = {rows, columns};
      break;
    case Kind::row:
      member.extents = {rows};
      break;
    case Kind::column:
    case Kind::vector:
      member.extents = {columns};
      break;
    default:
      break;
    }
    int64_t count = 1;
    for (int64_t extent : member.extents)
      count *= extent;
    for (int64_t k = 0; k < count; ++k) {
      ScalarBytes bytes;
      cantFail(encodeScalar(dtype, number(), bytes));
      member.data.push_back(decodeScalar(dtype, bytes.data()));
    }
    member.offset = numbers() % 3 ? 0 : numbers() % 7;
    list.members.push_back(std::move(member));
  }
  list.inactive = family.inactive;
  return list;
}

RandomProgram Generator::run(const std::string &name, int mostStatements) {
  RandomProgram program;
  program.isExact = isExact;
  int statements = 1 + below(6);
  program.statements = std::min(statements, mostStatements);
  for (int k = 0; k < program.statements; ++k)
    chance(3) ? reduce() : map();

  // A separate generator draws the results, and the arguments that they
  // replace.
  std::vector<Value> results, arguments;
  for (const Value &value : values) {
    if (value.isArgument) {
      arguments.push_back(value);
      continue;
    }
    bool isUsed = body.find(" = %" + value.name + " ") != std::string::npos ||
                  body.find(" = %" + value.name + "[") != std::string::npos;
    if (!isUsed || ends() % 2)
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
      program.inputs.scalars[argument.name] =
          (static_cast<double>(ends() % 64) - 30) / 16;
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
  return program;
}

} // namespace

RandomProgram drawProgram(uint64_t seed, const std::string &name,
                          int mostStatements) {
  return Generator(seed * 2 + 1).run(name, mostStatements);
}

} // namespace heddle::test
