//===- RulePlaces.h - where a program computes a rule's values --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of hyperparameters, of the list and of tensors are computed in double,
// in maps of their own. Values of elements are computed in the bodies that need
// them. A reduction divides a program into stages: the values of stage 1 need
// its result. `python/heddle/_rule/places.py` is the same for Python.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_RULEPLACES_H
#define HEDDLE_DIALECT_LIBRARY_RULEPLACES_H

#include "dialect/library/Rule.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <functional>
#include <set>

namespace heddle::library {

using Inside = std::function<bool(const Node *)>;

/// The nodes that one body computes, and those that it reads from outside, each
/// in the order of operations.
struct Needs {
  Needs(llvm::ArrayRef<Node *> roots, const Inside &isInside);

  std::vector<Node *> computed, read;
};

/// The levels of all nodes, and the nodes that maps compute for other maps.
class Places {
public:
  Places(llvm::ArrayRef<Node *> outputs, bool groups);

  llvm::ArrayRef<Node *> getOutputs() const { return outputs; }
  Level levelOf(const Node *node) const { return levels.lookup(node); }
  /// Whether the program computes or reads the node.
  bool reaches(const Node *node) const { return levels.contains(node); }
  /// The reductions that outputs need.
  llvm::ArrayRef<Node *> getReductions() const { return reductions; }
  unsigned getLastStage() const { return lastStage; }

  /// Whether the body of a map over elements computes the node.
  bool isInElementBody(const Node *node) const;
  /// Whether the map over scalars of a level and stage computes the node.
  bool isInScalarBody(const Node *node, Level level, unsigned stage) const;
  /// The nodes that the map over scalars of a level and stage computes for
  /// other bodies.
  std::vector<Node *> resultsOf(Level level, unsigned stage) const;
  /// Whether one of these bodies computes in double.
  bool isReadInDouble(const Node *node) const { return shared.lookup(node); }

private:
  Level infer(Node *node);
  bool isScalar(const Node *node) const;
  void findShared();
  void share(Node *node, bool inDouble);

  llvm::SmallVector<Node *> outputs;
  bool groups;
  llvm::DenseMap<const Node *, Level> levels;
  std::vector<Node *> reductions;
  unsigned lastStage = 0;
  llvm::MapVector<const Node *, bool> shared;
};

/// The stage in which a family stores each output.
///
/// An output of an early stage may be stored with the reduction that needs it,
/// and read by later bodies. This saves them from computing it again, with all
/// that it needs. It is correct if storing does not round, and if no later body
/// needs the state that the output replaces. All other outputs are stored in
/// the last stage.
class ElementStages {
public:
  /// `lists` are the leaves that the outputs replace; `exact` tells whether
  /// storing an output does not round.
  ElementStages(const Places &places, llvm::ArrayRef<Node *> lists,
                llvm::ArrayRef<bool> exact);

  unsigned stageOf(unsigned output) const { return stages[output]; }
  /// Whether later bodies read the output.
  bool isEarly(unsigned output) const { return early.count(output); }
  /// Whether a body of this stage computes a node, and does not read it.
  Inside inside(unsigned stage, bool reduces) const;

private:
  bool isNeededLater(unsigned output) const;

  const Places &places;
  llvm::SmallVector<Node *> lists, reduced;
  std::set<unsigned> early;
  llvm::SmallVector<unsigned> stages;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_RULEPLACES_H
