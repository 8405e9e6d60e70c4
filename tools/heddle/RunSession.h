//===- RunSession.h - a program bound to generated data ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled program whose arguments and results are bound to memory of the
// session; the arguments are filled from a seed, or from arrays of the user.
// The initial contents of a list depend on its position and attributes, not on
// the program's name.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNSESSION_H
#define HEDDLE_TOOLS_HEDDLE_RUNSESSION_H

#include "Console.h"
#include "RunData.h"
#include "ShapesFile.h"
#include "Support.h"
#include "data/DataFile.h"

#include "codegen/compiler/heddle_reference.h"

#include <map>
#include <set>

namespace heddle::cli {

/// Deleter of a program in the reference interpreter.
struct FreeReference {
  void operator()(heddle_reference *reference) const {
    heddle_reference_free(reference);
  }
};
using ReferencePtr = std::unique_ptr<heddle_reference, FreeReference>;
llvm::Expected<ReferencePtr> makeReference(const std::string &program);

class RunSession {
public:
  struct Settings {
    std::string program;
    heddle::Options options;
    std::vector<Extents> shapes;
    std::string origin; ///< the place of the shapes, for messages
    uint64_t seed = 0;
    std::map<std::string, double> scalars; ///< set by the user
    std::string dataFile;                  ///< arrays of the user; empty: none
    std::map<std::string, Contents> contents; ///< of lists, set by the user
  };

  /// Compiles, allocates, fills and binds.
  static llvm::Expected<std::unique_ptr<RunSession>> create(Settings settings,
                                                            Progress &progress);

  const runtime::Plan &getPlan() const { return plan; }
  const PlanShapes &getShapes() const { return *shapes; }
  /// With the shapes of the user's arrays.
  const Settings &getSettings() const { return settings; }
  heddle::Graph &getGraph() { return *graph; }
  /// The values of all scalar arguments.
  const std::map<std::string, double> &getScalars() const { return scalars; }
  bool onCpu() const { return executable->arch() == "cpu"; }
  std::string arch() const { return executable->arch(); }
  double getCompileSeconds() const { return compileSeconds; }

  /// Replaces the inputs (such as gradients) by those of step `step`. Step 0
  /// has its inputs from the start.
  llvm::Error beginStep(int64_t step);
  /// Copies the inputs of step `step` to the reference interpreter; of step 0,
  /// all arguments.
  llvm::Error fill(heddle_reference *reference, int64_t step) const;

  /// Calls `visit` with the stored bytes of a member of result `index`, in
  /// pieces.
  llvm::Error
  readResult(size_t index, size_t member,
             llvm::function_ref<void(llvm::ArrayRef<char>)> visit) const;

  /// Whether the program sets all elements of a list that it replaces, or of
  /// another result, to a constant.
  bool isFill(int buffer) const { return fills.count(buffer); }

  /// The value of scalar result `index`.
  llvm::Expected<double> readScalar(size_t index);

private:
  /// The members of one list in one allocation.
  struct List {
    std::optional<heddle::Memory> memory;
    std::vector<size_t> offsets;
    Contents contents;
    /// Whether a step reads what the step before left in the list: not if that
    /// is a constant, as of gradients after their last use.
    bool carried = false;
  };

  llvm::Error compile(Progress &progress);
  llvm::Error readData();
  llvm::Error decideShapes(const heddle_reference *reference);
  llvm::Error checkShapes();
  llvm::Error checkContents();
  llvm::Error findFills(const heddle_reference *reference);
  llvm::Error decideContents(const heddle_reference *reference);
  llvm::Error allocate(int buffer);
  llvm::Error fill(int buffer, int64_t step);
  llvm::Error setMembers(heddle_reference *reference, int buffer) const;
  /// Whether a list is filled before every step: it has other contents in each,
  /// or the step before has replaced them.
  bool isInput(int buffer) const {
    if (plan.buffers[buffer].donated)
      return !lists[buffer].carried;
    return !isGiven(buffer) && lists[buffer].contents.isRandom();
  }
  /// Whether the user's arrays have the list.
  bool isGiven(int buffer) const { return data && data->has(buffer); }
  /// Elements `first` to `first + count` of a member in step `step`. `begin` is
  /// the position of its first element in the list.
  void elementsOf(int buffer, size_t member, int64_t begin, int64_t step,
                  int64_t first, int64_t count, double *to) const;
  uint64_t seedOf(int64_t step) const {
    return settings.seed + static_cast<uint64_t>(step) * 0xd1342543de82ef95;
  }
  llvm::Error bindScalars();

  Settings settings;
  runtime::Plan plan;
  std::optional<DataFile> data;
  std::optional<PlanShapes> shapes;
  std::optional<heddle::Executable> executable;
  std::vector<List> lists; ///< by buffer
  std::set<int> fills;     ///< the buffers of results that are constants
  std::map<std::string, double> scalars;
  // Declared after the memory bound to it, so that it is destroyed first.
  std::optional<heddle::Graph> graph;
  double compileSeconds = 0;
};

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_RUNSESSION_H
