//===- Mutation.cpp - errors in emitted code ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of error lists the places where it can be made; the seed chooses
// the kind and the place.
//
//===----------------------------------------------------------------------===//

#include "Mutation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <functional>
#include <random>

using namespace llvm;

namespace heddle::test {

namespace {
struct Place {
  const char *what;
  const Value *value;
  std::function<void()> change;
};
using Places = std::vector<Place>;
} // namespace

static std::string describe(const Place &place) {
  std::string text;
  raw_string_ostream os(text);
  os << place.what << ": ";
  if (auto *instruction = dyn_cast<Instruction>(place.value)) {
    os << instruction->getFunction()->getName() << ": ";
    place.value->print(os);
  } else {
    os << place.value->getName();
  }
  return text;
}

/// Every instruction of the module's functions.
static std::vector<Instruction *> instructionsOf(Module &module) {
  std::vector<Instruction *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      found.push_back(&instruction);
  return found;
}

/// One operand of an operation replaces its result.
static Places droppedOperations(Module &module) {
  Places places;
  for (Instruction *instruction : instructionsOf(module)) {
    bool isFunction =
        isa<IntrinsicInst>(instruction) &&
        !instruction->getType()->isVoidTy() &&
        instruction->getOperand(0)->getType() == instruction->getType();
    if (!isa<BinaryOperator>(instruction) && !isFunction)
      continue;
    for (unsigned k = 0; k < (isFunction ? 1 : 2); ++k)
      places.push_back({"dropped", instruction, [=] {
                          instruction->replaceAllUsesWith(
                              instruction->getOperand(k));
                        }});
  }
  return places;
}

static Places swappedOperands(Module &module) {
  Places places;
  for (Instruction *instruction : instructionsOf(module)) {
    auto swap = [&](unsigned a, unsigned b) {
      places.push_back({"operands swapped", instruction, [=] {
                          Value *first = instruction->getOperand(a);
                          instruction->setOperand(a,
                                                  instruction->getOperand(b));
                          instruction->setOperand(b, first);
                        }});
    };
    if (isa<SelectInst>(instruction))
      swap(1, 2);
    else if (isa<CmpInst>(instruction) || (isa<BinaryOperator>(instruction) &&
                                           !instruction->isCommutative()))
      swap(0, 1);
  }
  return places;
}

static Places otherOperations(Module &module) {
  static const std::pair<Instruction::BinaryOps, Instruction::BinaryOps>
      others[] = {{Instruction::FAdd, Instruction::FSub},
                  {Instruction::FSub, Instruction::FAdd},
                  {Instruction::FMul, Instruction::FDiv},
                  {Instruction::FDiv, Instruction::FMul},
                  {Instruction::And, Instruction::Or},
                  {Instruction::Or, Instruction::And}};
  Places places;
  for (Instruction *instruction : instructionsOf(module))
    for (auto [from, to] : others)
      if (instruction->getOpcode() == from)
        places.push_back(
            {"another operation", instruction, [instruction, to = to] {
               instruction->replaceAllUsesWith(BinaryOperator::Create(
                   to, instruction->getOperand(0), instruction->getOperand(1),
                   "", std::next(instruction->getIterator())));
             }});
  return places;
}

/// A constant of the program, a bound or an index is off by one or by 1 %.
static Places changedConstants(Module &module) {
  Places places;
  for (Instruction *instruction : instructionsOf(module)) {
    if (isa<IntrinsicInst, AllocaInst, SwitchInst, BranchInst>(instruction))
      continue;
    for (Use &use : instruction->operands()) {
      Constant *changed = nullptr;
      if (auto *number = dyn_cast<ConstantFP>(use);
          number && number->getValueAPF().isFinite()) {
        double value = number->getValueAPF().convertToDouble();
        changed =
            ConstantFP::get(number->getType(), value * 1.01 + (value == 0));
      } else if (auto *integer = dyn_cast<ConstantInt>(use)) {
        changed = ConstantInt::get(integer->getType(), integer->getValue() + 1);
      }
      if (changed)
        places.push_back({"changed constant", instruction,
                          [use = &use, changed] { use->set(changed); }});
    }
  }
  return places;
}

/// A loop or a guard ends one element earlier or later.
static Places changedBounds(Module &module) {
  Places places;
  for (Instruction *instruction : instructionsOf(module)) {
    auto *compare = dyn_cast<CmpInst>(instruction);
    if (!compare)
      continue;
    if (isa<ICmpInst>(compare) && compare->isRelational())
      places.push_back({"changed bound", compare, [=] {
                          compare->setPredicate(
                              compare->isStrictPredicate()
                                  ? compare->getNonStrictPredicate()
                                  : compare->getStrictPredicate());
                        }});
    places.push_back({"inverted comparison", compare, [=] {
                        compare->setPredicate(compare->getInversePredicate());
                      }});
  }
  return places;
}

/// A value is rounded to a narrower type.
static Places wrongRoundings(Module &module) {
  Places places;
  for (Instruction *instruction : instructionsOf(module)) {
    Type *type = instruction->getType();
    if (!(type->isFloatTy() || type->isDoubleTy()) ||
        isa<PHINode>(instruction) || instruction->use_empty())
      continue;
    places.push_back(
        {"rounded", instruction, [=] {
           IRBuilder<> builder(instruction->getParent(),
                               std::next(instruction->getIterator()));
           Type *narrow =
               type->isFloatTy() ? builder.getHalfTy() : builder.getFloatTy();
           auto *down = builder.CreateFPTrunc(instruction, narrow);
           auto *up = builder.CreateFPExt(down, type);
           instruction->replaceUsesWithIf(
               up, [&](Use &use) { return use.getUser() != down; });
         }});
  }
  return places;
}

static Places missingStores(Module &module) {
  Places places;
  for (Instruction *instruction : instructionsOf(module))
    if (isa<StoreInst>(instruction))
      places.push_back({"missing store", instruction,
                        [=] { instruction->eraseFromParent(); }});
  return places;
}

/// A load reads the address of an earlier load: a stale element, row or column.
static Places staleLoads(Module &module) {
  Places places;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DominatorTree tree(function);
    std::vector<LoadInst *> loads;
    for (Instruction &instruction : instructions(function)) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      if (!load)
        continue;
      for (LoadInst *other : loads)
        if (other->getType() == load->getType() &&
            other->getPointerOperand() != load->getPointerOperand() &&
            tree.dominates(other, load))
          places.push_back({"stale load", load, [=] {
                              load->setOperand(0, other->getPointerOperand());
                            }});
      loads.push_back(load);
    }
  }
  return places;
}

/// The function of tiles returns at once for one tile.
static Places skippedTiles(Module &module) {
  Places places;
  for (Function &function : module)
    if (function.getName().ends_with("_tile") && !function.isDeclaration())
      for (int tile = 0; tile < 3; ++tile)
        places.push_back({"skipped tile", &function, [&function, tile] {
                            BasicBlock &rest = function.getEntryBlock();
                            auto &context = function.getContext();
                            auto *skip =
                                BasicBlock::Create(context, "skip", &function);
                            ReturnInst::Create(context, skip);
                            auto *entry = BasicBlock::Create(context, "check",
                                                             &function, &rest);
                            IRBuilder<> builder(entry);
                            builder.CreateCondBr(
                                builder.CreateICmpEQ(function.getArg(1),
                                                     builder.getInt32(tile)),
                                skip, &rest);
                          }});
  return places;
}

std::string mutate(Module &module, uint64_t seed) {
  static constexpr Places (*kinds[])(Module &) = {
      droppedOperations, swappedOperands, otherOperations,
      changedConstants,  changedBounds,   wrongRoundings,
      missingStores,     staleLoads,      skippedTiles};
  std::mt19937_64 random(seed);
  Places places = kinds[random() % std::size(kinds)](module);
  if (places.empty())
    return {};
  Place &place = places[random() % places.size()];
  std::string description = describe(place); // of the module before
  place.change();
  return description;
}

} // namespace heddle::test
