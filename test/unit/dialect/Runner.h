//===- Runner.h - programs run step by step in tests ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with its arguments by name. A result that replaces an argument is
// the argument of the next step.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_DIALECT_RUNNER_H
#define HEDDLE_TEST_UNIT_DIALECT_RUNNER_H

#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/ProgramText.h"
#include "dialect/Register.h"
#include "dialect/library/Compose.h"
#include "dialect/library/Library.h"
#include "dialect/reference/Interpreter.h"
#include "gtest/gtest.h"

#include <map>
#include <random>
#include <string>

namespace heddle::test {

using Vector = std::vector<double>;
using reference::Tensor;

/// A context with the dialects that programs use; keeps the last diagnostic.
class Context {
public:
  Context()
      : context(registry()), handler(&context, [this](mlir::Diagnostic &d) {
          message = d.str();
          return mlir::success();
        }) {
    context.loadAllAvailableDialects();
  }
  mlir::MLIRContext *get() { return &context; }
  std::string message;

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerAll(registry);
    return registry;
  }
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
};

class Runner {
public:
  /// A standard program, such as `adamw:amsgrad=true`.
  static Runner library(Context &context, llvm::StringRef text) {
    auto module = library::buildProgram(text, context.get());
    if (failed(module))
      llvm::report_fatal_error(llvm::Twine(text) + ": " + context.message);
    return Runner(std::move(*module));
  }
  /// A program from its text.
  static Runner parse(Context &context, llvm::StringRef text) {
    auto module = parseProgram(text, "test.mlir", context.get());
    if (!module)
      llvm::report_fatal_error("a program of the tests does not parse");
    return Runner(std::move(module));
  }

  explicit Runner(mlir::OwningOpRef<mlir::ModuleOp> owned)
      : module(std::move(owned)),
        function(*module->getOps<mlir::func::FuncOp>().begin()) {
    // Scalar arguments have their defaults.
    for (unsigned k = 0; k < function.getNumArguments(); ++k)
      if (auto number = function.getArgAttrOfType<mlir::FloatAttr>(
              k, foreach::kDefaultAttr))
        arguments[nameOf(function.getArgument(k)).str()] =
            reference::Value::scalar(number.getValueAsDouble());
  }

  void set(const std::string &name, const std::vector<Vector> &members) {
    reference::Value value;
    for (const Vector &member : members)
      value.members.push_back({{static_cast<int64_t>(member.size())}, member});
    arguments[name] = value;
  }
  /// One value for each member.
  void setEach(const std::string &name, const Vector &numbers) {
    reference::Value value;
    for (double number : numbers)
      value.members.push_back({{}, {number}});
    arguments[name] = value;
  }
  void setScalar(const std::string &name, double number) {
    arguments[name] = reference::Value::scalar(number);
  }

  /// Evaluates the program; results replace arguments or are kept by name.
  mlir::LogicalResult step(reference::InterpretOptions options = {}) {
    std::vector<reference::Value> values;
    options.inactive.resize(function.getNumArguments());
    for (mlir::BlockArgument argument : function.getArguments()) {
      std::string name = nameOf(argument).str();
      EXPECT_TRUE(arguments.count(name)) << name;
      values.push_back(arguments[name]);
      if (inactive.count(name))
        options.inactive[argument.getArgNumber()] = inactive[name];
    }
    auto results = reference::interpret(function, std::move(values), options);
    if (failed(results))
      return mlir::failure();
    for (auto [k, result] : llvm::enumerate(*results)) {
      std::string name = library::resultName(function, k).str();
      if (arguments.count(name))
        arguments[name] = std::move(result);
      else
        this->results[name] = std::move(result);
    }
    return mlir::success();
  }

  const reference::Value &operator[](const std::string &name) {
    auto found = results.find(name);
    return found == results.end() ? arguments.at(name) : found->second;
  }
  const Vector &member(const std::string &name, size_t k = 0) {
    return (*this)[name].members.at(k).data;
  }
  double number(const std::string &name, size_t k = 0) {
    return member(name, k).at(0);
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::map<std::string, reference::Value> arguments, results;
  std::map<std::string, std::vector<bool>> inactive;
};

/// Members of different lengths: odd, one, zero, longer than a block.
inline std::vector<Vector> raggedList(std::mt19937_64 &random,
                                      double scale = 1) {
  std::normal_distribution<double> normal(0, scale);
  std::vector<Vector> members;
  for (int64_t size : {7, 1, 0, 64, 1025}) {
    Vector member(size);
    for (double &x : member)
      x = normal(random);
    members.push_back(std::move(member));
  }
  return members;
}

inline std::vector<Vector> zerosLike(const std::vector<Vector> &list) {
  std::vector<Vector> zeros;
  for (const Vector &member : list)
    zeros.emplace_back(member.size());
  return zeros;
}

enum class Storage { f64, f32, bf16, f16 };

inline const char *nameOfStorage(Storage storage) {
  static const char *const names[] = {"f64", "f32", "bf16", "f16"};
  return names[static_cast<int>(storage)];
}

/// `x` rounded to a storage type.
inline double store(Storage storage, double x) {
  if (storage == Storage::f64)
    return x;
  llvm::APFloat number(x);
  bool inexact;
  const llvm::fltSemantics *semantics[] = {
      &llvm::APFloat::IEEEdouble(), &llvm::APFloat::IEEEsingle(),
      &llvm::APFloat::BFloat(), &llvm::APFloat::IEEEhalf()};
  number.convert(*semantics[static_cast<int>(storage)],
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

/// Checks that two lists of values near 1 agree to a few ulps of their storage
/// type.
inline void expectNear(const reference::Value &found,
                       const std::vector<Vector> &expected, Storage storage,
                       const std::string &what) {
  static constexpr double units[] = {2e-14, 3e-7, 0.02, 3e-3};
  double unit = units[static_cast<int>(storage)];
  ASSERT_EQ(found.members.size(), expected.size()) << what;
  for (size_t m = 0; m < expected.size(); ++m) {
    ASSERT_EQ(found.members[m].data.size(), expected[m].size()) << what;
    for (size_t k = 0; k < expected[m].size(); ++k)
      ASSERT_NEAR(found.members[m].data[k], expected[m][k],
                  unit * (1 + std::fabs(expected[m][k])))
          << what << " member " << m << " element " << k;
  }
}

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_DIALECT_RUNNER_H
