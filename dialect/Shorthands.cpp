//===- Shorthands.cpp - forms that only the text of programs has ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of scalars may call others. A call is replaced by the operations of
// its function with their own calls, until none is left; a chain that is longer
// than the number of functions repeats one.
//
//===----------------------------------------------------------------------===//

#include "dialect/Shorthands.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The function of scalars that `call` names, or null after an error.
static func::FuncOp calleeOf(func::CallOp call, SymbolTable &symbols) {
  auto function = symbols.lookup<func::FuncOp>(call.getCallee());
  auto error = [&]() -> InFlightDiagnostic {
    return call.emitOpError("calls '") << call.getCallee() << "'; expected ";
  };
  if (!function || function.isExternal())
    return error() << "a private function of scalars that the module defines",
           func::FuncOp();
  if (!function.isPrivate())
    return error() << "a private function of scalars, found one that is not "
                      "private",
           func::FuncOp();
  if (!function.getBody().hasOneBlock())
    return error() << "a function with one block", func::FuncOp();
  if (function.getArgumentTypes() != call.getOperandTypes() ||
      function.getResultTypes() != call.getResultTypes())
    return error() << "the types of the function, "
                   << function.getFunctionType(),
           func::FuncOp();
  return function;
}

static InFlightDiagnostic emitRecursion(func::CallOp call) {
  return call.emitOpError("calls '")
         << call.getCallee() << "', which calls itself; expected functions "
         << "of scalars without recursion";
}

static LogicalResult inlineCalls(ModuleOp module, SymbolTable &symbols) {
  SmallVector<std::pair<func::CallOp, size_t>> open;
  size_t functions = 0, inlined = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    ++functions;
    function.walk([&](func::CallOp call) {
      if (isa<foreach::MapOp, foreach::ReduceOp>(call->getParentOp()))
        open.emplace_back(call, 0);
    });
  }
  while (!open.empty()) {
    auto [call, depth] = open.pop_back_val();
    func::FuncOp function = calleeOf(call, symbols);
    if (!function)
      return failure();
    if (depth > functions)
      return emitRecursion(call);
    Block &body = function.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getOperands());
    OpBuilder builder(call);
    for (Operation &op : body.without_terminator()) {
      if (!isScalarOp(&op) && !isa<func::CallOp>(op))
        return emitNotScalar(op, "a function that bodies call");
      if (++inlined > kMaxInlined)
        return call.emitOpError("expected calls that stand for at most ")
               << kMaxInlined << " operations, found more";
      Operation *clone = builder.clone(op, mapping);
      if (auto inner = dyn_cast<func::CallOp>(clone))
        open.emplace_back(inner, depth + 1);
    }
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookup(value));
    call.replaceAllUsesWith(values);
    call.erase();
  }
  return success();
}

/// Whether only bodies can call `function`: its values are no tensors.
static bool isOfScalars(func::FuncOp function) {
  return function.isPrivate() && !function.isExternal() &&
         llvm::none_of(function.getArgumentTypes(),
                       llvm::IsaPred<ShapedType>) &&
         llvm::none_of(function.getArgumentTypes(), foreach::isList) &&
         function.getNumResults() > 0 &&
         llvm::none_of(function.getResultTypes(), llvm::IsaPred<ShapedType>) &&
         llvm::none_of(function.getResultTypes(), foreach::isList);
}

/// As `isOfScalars`, for a function that may be invalid.
static bool mayBeOfScalars(func::FuncOp function) {
  TypeAttr type = function.getFunctionTypeAttr();
  return type && isa<FunctionType>(type.getValue()) && isOfScalars(function);
}

/// The functions of a module that may be invalid, with and without regions.
static SmallVector<func::FuncOp> functionsOf(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (Region &region : module->getRegions())
    for (Operation &op : region.getOps())
      if (auto function = dyn_cast<func::FuncOp>(op);
          function && function->getNumRegions() == 1)
        functions.push_back(function);
  return functions;
}

LogicalResult heddle::checkCalls(ModuleOp module) {
  llvm::DenseMap<StringAttr, func::FuncOp> functions;
  SmallVector<func::FuncOp> all = functionsOf(module);
  for (func::FuncOp function : all)
    if (StringAttr name = function.getSymNameAttr())
      functions.try_emplace(name, function);
  for (func::FuncOp function : all) {
    bool isProgram = !mayBeOfScalars(function);
    auto checked = function.walk([&](func::CallOp call) {
      FlatSymbolRefAttr name = call.getCalleeAttr();
      func::FuncOp callee =
          name ? functions.lookup(name.getAttr()) : func::FuncOp();
      if (!callee)
        return WalkResult::advance();
      if (isProgram && !call->getParentOfType<foreach::MapOp>() &&
          !call->getParentOfType<foreach::ReduceOp>()) {
        call.emitOpError("is not allowed here; expected it in the body of "
                         "foreach.map or foreach.reduce, with scalars, such as "
                         "f32, as operands");
        return WalkResult::interrupt();
      }
      if (!mayBeOfScalars(callee))
        return WalkResult::advance();
      for (auto [found, expected, what] :
           {std::tuple(call->getNumOperands(), callee.getNumArguments(),
                       "operand"),
            std::tuple(call->getNumResults(), callee.getNumResults(),
                       "result")})
        if (found != expected) {
          call.emitOpError("calls '")
              << callee.getSymName() << "' with " << counted(found, what)
              << "; expected " << expected;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (checked.wasInterrupted())
      return failure();
  }
  return success();
}

/// Checks functions of scalars as if bodies called them: a function that none
/// calls is no part of the program, but its author should know of an error.
static LogicalResult checkFunctions(ArrayRef<func::FuncOp> functions,
                                    SymbolTable &symbols) {
  llvm::MapVector<Operation *, SmallVector<func::CallOp>> calls;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> callers;
  for (func::FuncOp function : functions) {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError("expected a function with one block");
    Block &body = function.getBody().front();
    if (failed(verifyBody(function, body)))
      return failure();
    SmallVector<func::CallOp> &own = calls[function];
    for (auto call : body.getOps<func::CallOp>()) {
      func::FuncOp callee = calleeOf(call, symbols);
      if (!callee)
        return failure();
      own.push_back(call);
      callers[callee].push_back(function);
    }
  }
  // A function whose callees do not call themselves does not either.
  llvm::DenseMap<Operation *, size_t> open;
  SmallVector<Operation *> done;
  for (auto &[function, own] : calls)
    if (!(open[function] = own.size()))
      done.push_back(function);
  for (size_t k = 0; k < done.size(); ++k)
    for (Operation *caller : callers[done[k]])
      if (--open[caller] == 0)
        done.push_back(caller);
  auto repeats = [&](Operation *function) { return open.lookup(function) > 0; };
  auto found = llvm::find_if(
      calls, [&](const auto &entry) { return repeats(entry.first); });
  if (found == calls.end())
    return success();
  // The open calls lead into a cycle.
  func::CallOp call;
  Operation *function = found->first;
  for (size_t k = 0; k <= calls.size(); ++k) {
    call = *llvm::find_if(calls[function], [&](func::CallOp call) {
      return repeats(symbols.lookup(call.getCallee()));
    });
    function = symbols.lookup(call.getCallee());
  }
  return emitRecursion(call);
}

//===----------------------------------------------------------------------===//
// Scalar operations outside of bodies
//===----------------------------------------------------------------------===//

static bool isDeviceScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         foreach::isElementType(tensor.getElementType());
}

/// Whether `op` computes device scalars from device scalars.
static bool isOnDeviceScalars(Operation *op) {
  return isScalarOp(op) && op->getNumResults() == 1 &&
         llvm::all_of(op->getOperandTypes(), isDeviceScalar) &&
         llvm::all_of(op->getResultTypes(), isDeviceScalar);
}

static void wrap(Operation *op) {
  OpBuilder builder(op);
  SmallVector<int32_t> indices(op->getNumOperands(), kScalar);
  auto map = foreach::MapOp::create(builder, op->getLoc(), op->getResultTypes(),
                                    op->getOperands(), indices);
  Block &body = map.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand,
                body.addArgument(foreach::storageType(operand.getType()),
                                 operand.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Operation *scalar = inner.clone(*op, mapping);
  Value result = scalar->getResult(0);
  result.setType(foreach::storageType(result.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(scalar))
    constant.setValueAttr(
        cast<TypedAttr>(cast<DenseElementsAttr>(constant.getValue())
                            .getSplatValue<Attribute>()));
  foreach
    ::YieldOp::create(inner, op->getLoc(), result);
  copyNames(op->getResults(), map.getResults());
  op->replaceAllUsesWith(map);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Loops of a given number of iterations
//===----------------------------------------------------------------------===//

/// Adds a flag that always holds.
static void addFlag(foreach::WhileOp loop) {
  foreach
    ::YieldOp yield = loop.getYield();
  OpBuilder builder(yield);
  Location loc = yield.getLoc();
  auto map = foreach::MapOp::create(builder, loc,
                                    foreach::scalarOf(builder.getI1Type()),
                                    loop.getLimit(), kScalar);
  Block &body = map.getBody().emplaceBlock();
  body.addArgument(builder.getI32Type(), loc);
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Value holds = arith::ConstantOp::create(inner, loc, inner.getBoolAttr(true));
  foreach
    ::YieldOp::create(inner, loc, holds);
  setName(map.getResult(0), "more");
  yield.getMoreMutable().assign(map.getResult(0));
}

LogicalResult heddle::expandShorthands(ModuleOp module) {
  SymbolTable symbols(module);
  if (failed(inlineCalls(module, symbols)))
    return failure();
  auto functions = llvm::to_vector(
      llvm::make_filter_range(module.getOps<func::FuncOp>(), isOfScalars));
  if (failed(checkFunctions(functions, symbols)))
    return failure();
  if (!functions.empty() &&
      functions.size() == module.getBody()->getOperations().size())
    return functions.front().emitError(
        "expected a function that is not private, the program; found only "
        "functions that bodies call");
  for (func::FuncOp function : functions)
    symbols.erase(function);
  SmallVector<Operation *> scalars;
  SmallVector<foreach::WhileOp> loops;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<foreach::MapOp, foreach::ReduceOp>(op))
        return WalkResult::skip();
      if (isOnDeviceScalars(op))
        scalars.push_back(op);
      auto loop = dyn_cast<foreach::WhileOp>(op);
      if (loop && !loop.getYield().getMore())
        loops.push_back(loop);
      return WalkResult::advance();
    });
  llvm::for_each(scalars, wrap);
  llvm::for_each(loops, addFlag);
  return verify(module);
}
