//===- PropertyDrawing.h - random programs, statement by statement --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the generator. It draws statement after statement over existing
// values or new arguments: maps and reductions
// (PropertyStatements.cpp), loops and branches around further statements
// (PropertyRegions.cpp), loops that balance a matrix (PropertyPanels.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_PROPERTYDRAWING_H
#define HEDDLE_TEST_UNIT_CODEGEN_PROPERTYDRAWING_H

#include "PropertyGenerator.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::test {

/// The shape of a value within its family of lists. A history is a vector with
/// one entry for each iteration of a loop.
enum class Kind { matrix, row, column, vector, member, history, scalar };

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
  std::vector<int64_t> entries;                    ///< of histories
  std::vector<bool> inactive;
};

inline bool isInteger(llvm::StringRef dtype) { return dtype.starts_with("i"); }

class Generator {
public:
  explicit Generator(uint64_t seed);
  RandomProgram run(const std::string &name, int mostStatements);

private:
  unsigned below(unsigned bound) { return random() % bound; }
  bool chance(unsigned oneIn) { return below(oneIn) == 0; }
  template <class T> const T &oneOf(const std::vector<T> &choices) {
    return choices[below(choices.size())];
  }

  // Domains and types.
  Family drawFamily();
  static std::string typeOf(const Value &value);
  std::string indexOf(Kind kind);
  std::string storageFor(const std::string &computed);
  /// The kind of lists over the elements of a family.
  Kind elementsOf(int family) const {
    return families[family].isMatrix ? Kind::matrix : Kind::vector;
  }

  // Operands.
  Value drawOperand(Kind kind, int family, bool mayBeComputed = true);
  Value drawArgument(Kind kind, int family, const std::string &dtype);
  std::vector<Value> drawOperands(Kind domain, int family);
  void addOperands(std::vector<Value> &operands, Kind domain, unsigned more);
  /// A list of one dimension is bound along i, whatever it is beside a matrix.
  static void bindAlone(Kind domain, std::vector<Value> &operands);

  // Bodies.
  struct Body {
    std::string bindings, text;
    /// Names of values of the computed type, and of those that are arguments.
    std::vector<std::string> values, raw;
    std::string type; ///< f32, f64 or an integer
  };
  std::string drawPosition(const std::vector<Value> &operands);
  Body drawBody(const std::vector<Value> &operands, const std::string &type,
                unsigned operations);
  std::string declare(Body &body, const std::string &text);
  void drawOperation(Body &body);
  void drawIntegerOperation(Body &body);
  void drawSelection(Body &body, const std::string &a, const std::string &b);
  void drawPower(Body &body, const std::string &a);
  /// `value`, between -1 and 1.
  std::string bounded(Body &body, const std::string &value);

  // Statements.
  void statement();
  void map();
  void mapAroundSum();
  std::vector<Value> mapOver(Kind domain, int family,
                             const std::vector<Value> &operands,
                             const std::string &type, unsigned operations);
  void reduce();
  void emitMap(const Body &body, const std::vector<Value> &results,
               const std::vector<std::string> &yields);
  void emitReduce(const std::string &kind, const std::string &axis,
                  const Body &body, const std::vector<Value> &results,
                  const std::string &yielded, const std::string &type);
  std::string flagOf(Body &body, const std::string &value, bool isLarge);
  Value declareValue(Kind kind, int family, const std::string &dtype);

  // Regions.
  void loop();
  void branch();
  void balance();
  /// The text of a region; values that it computes are not visible after it.
  std::string region(llvm::function_ref<void()> draw);
  /// New values for those that a loop carries or a branch replaces.
  Value step(const Value &old);
  Value record(const Value &history);
  Value drawFlag(bool perMember, int family, const std::vector<Value> &carried);
  Value drawCondition();
  std::vector<Value> drawCarried(bool perMember, int family);
  Value drawLimit();
  void emitLoop(const std::vector<Value> &carried,
                const std::vector<Value> &inits,
                const std::vector<Value> &further, const std::string &text,
                const std::vector<Value> &yields, const Value &flag);

  // Programs.
  ListInput drawList(const Value &value);
  double drawScalar(const Value &value);
  bool isUsed(const Value &value) const;

  std::mt19937_64 random, ends;
  std::vector<Family> families;
  std::vector<Value> values;
  /// Arguments that no statement draws: limits of loops, flags of branches.
  std::vector<Value> hidden;
  std::string body;
  unsigned names = 0, depth = 0, loops = 0;
  /// Within a loop with a flag for every member: no loops, nothing of the list.
  bool perMemberLoop = false;
  bool isExact, keepsOrder = true;
  Features features;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_PROPERTYDRAWING_H
