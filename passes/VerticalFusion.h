//===- VerticalFusion.h - which sweeps of a block become one ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of fused-fuse-vertical. A section of the class is implemented in
// the file that its heading names. The pass first collects sweeps in groups and
// leaves the sweeps unchanged. Finally, each group becomes one sweep.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_VERTICALFUSION_H
#define HEDDLE_PASSES_VERTICALFUSION_H

#include "cmake/LlvmStatistics.h"

#include "dialect/FusedLevels.h"
#include "mlir/Pass/Pass.h"
#include "passes/FusionGraph.h"
#include "passes/SweepMerger.h"
#include "passes/Traffic.h"

#include <array>
#include <list>
#include <queue>
#include <set>

namespace heddle::fused {

/// Vertical fusion in one block.
class VerticalFusion {
public:
  VerticalFusion(mlir::Block &block, ProgramOp program, const Domains &domains,
                 bool remarks, mlir::Pass::Statistic &merged,
                 mlir::Pass::Statistic &refused);
  void run();

private:
  //===--------------------------------------------------------------------===//
  // Groups and the values that they read (VerticalReadings.cpp)
  //===--------------------------------------------------------------------===//

  /// A value, or a domain, that several groups have in common.
  struct Source {
    /// Null for a domain.
    mlir::Value value;
    /// The operation that computes the value, or -1 if it is not in the block.
    int producer = -1;
    /// The weight of the bytes of one read; less if a group reads one entry.
    int64_t weight = 0;
    /// The number of groups that read it, without the group that computes it.
    unsigned readers = 0;
    /// The first and last reading by a sweep of one segment.
    int firstReading = -1, lastReading = -1;
    /// The arguments bound to it in the group that computes it.
    llvm::SmallVector<mlir::BlockArgument, 1> inside;
    /// Its list in Group::results, and its position in this list.
    std::optional<std::pair<unsigned, std::list<int>::iterator>> place;
  };
  /// The use of one source by one group.
  struct Reading {
    int source = -1;
    /// An operation of the group.
    int reader = -1;
    /// The arguments of segments that are bound to the value.
    llvm::SmallVector<mlir::BlockArgument, 1> arguments;
    /// Whether one of the arguments has uses.
    bool used = false;
    /// Whether the first of them is bound at an iteration index.
    bool entry = false;
    /// The previous and next reading of the source by a sweep of one segment.
    int previous = -1, next = -1;
  };
  /// The operations that become one sweep, or one other operation.
  struct Group {
    /// Null if the operation is not a sweep of one segment.
    SweepOp sweep;
    Shape domain;
    /// The numbers of the readings, by the numbers of their sources.
    std::map<int, int> readings;
    /// The numbers of the results, without lists that only the group reads.
    /// results[0] has the results without a name. The first element of the last
    /// results[k] that is not empty names the group.
    std::array<std::list<int>, 6> results;
    size_t numResults = 0;
    /// In a group over vectors: the vector results that have one value for a
    /// whole member. A sweep over matrices cannot have such results.
    llvm::SmallVector<int, 1> uniform;
    /// The groups with which this one forms a pair.
    std::set<int> partners;
  };
  void addGroup(int number);
  void addReadings(int number, SweepOp sweep);
  int sourceOf(mlir::Value value);
  Reading &readingOf(int number, int source);
  bool isShared(const Source &source) const;
  void addNeighbours(const Source &source);
  void addPairs();
  void addPairsByDomain();
  void removeFromOrder(Reading &reading);
  void removeReader(Source &source);
  void removeInternalReading(Reading &reading, mlir::Operation *body);
  void mergeReadings(Reading &earlier, Reading &later);
  void moveReadings(int kept, int gone, bool keepsFirst, mlir::Operation *body);
  void moveResults(int kept, int gone, bool keepsFirst, mlir::Operation *body);
  void joinDomains(int larger, int smaller, int kept);
  size_t sizeOf(int number) const;
  void join(int first, int second, bool firstIsLarger);
  std::string nameFor(int group) const;

  //===--------------------------------------------------------------------===//
  // Pairs of groups, by the bytes that a merge saves (VerticalPairs.cpp)
  //===--------------------------------------------------------------------===//

  struct Pair {
    /// A bound for the weight of the bytes that the merge saves.
    int64_t bound = 0;
    /// Whether a candidate with this bound is in the queue.
    bool queued = false;
    bool illegal = false;
  };
  /// A pair in the queue. A larger bound comes first; of equal bounds, the pair
  /// whose second group is earlier in the block.
  struct Candidate {
    int64_t bound, second, first; // positions
    int a, b;
    bool operator<(const Candidate &other) const {
      return std::tuple(bound, other.second, other.first, a, b) <
             std::tuple(other.bound, second, first, other.a, other.b);
    }
  };
  /// The next pair to try, with the ways in which the smaller domain may lie in
  /// the larger one, and the traffic that the merge saves.
  struct Choice {
    int first, second;
    bool firstIsLarger;
    llvm::SmallVector<Fit> fits;
    TrafficList saved;
  };
  static std::pair<int, int> keyOf(int a, int b);
  void addPair(int a, int b, int64_t weight);
  void push(int a, int b);
  void movePairs(int kept, int gone);
  std::optional<Choice> next();
  std::optional<Choice> choiceOf(Candidate candidate);
  Traffic trafficOf(const Source &source, bool entry, int reads,
                    int writes) const;
  TrafficList savedBy(int first, int second) const;
  void forEachForwarded(
      int first, int second,
      llvm::function_ref<void(const Source &, const Reading &)> visit) const;

  //===--------------------------------------------------------------------===//
  // Whether a merged body is legal (VerticalLevels.cpp)
  //===--------------------------------------------------------------------===//

  enum class Verdict {
    legal,
    /// Not legal, but a merge with a third group may change that.
    blockedByReader,
    illegal
  };
  class Trial;
  /// The level of a value in the body of its group.
  struct LevelAndPhase {
    LevelOf level;
    /// The number of traversals of its row that must come before.
    unsigned phase = 0;
    bool operator==(const LevelAndPhase &) const = default;
  };
  bool inferLevels(SweepOp sweep);
  bool isUniform(mlir::Value result, const Group &group) const;
  void findUniform(Group &group);
  Verdict tryFit(const Choice &choice, Fit fit, std::string &why);
  void embed(int group, Fit fit);
  std::string reasonAgainst(const Choice &choice,
                            llvm::StringRef diagnostic) const;

  bool tryMerge(const Choice &choice);
  llvm::SmallVector<SweepPart> partsOf(int group) const;
  void build();

  mlir::Block &block;
  ProgramOp program;
  const Domains &domains;
  bool remarks;
  mlir::Pass::Statistic &numMerged, &numRefused;
  bool perIteration;

  FusionGraph graph;
  llvm::SmallVector<Group, 0> groups;
  llvm::SmallVector<Source, 0> sources;
  llvm::SmallVector<Reading, 0> readings;
  llvm::DenseMap<mlir::Value, int> sourceNumbers;
  std::map<Shape, int> domainSources;
  llvm::DenseMap<std::pair<int, int>, Pair> pairs;
  std::priority_queue<Candidate> candidates;
  /// Whether pairs that save no bytes are candidates.
  bool pairsByDomain = false;
  llvm::DenseMap<mlir::Value, LevelAndPhase> levels;
  /// How the domains of sweeps lie in those of their groups.
  llvm::DenseMap<mlir::Operation *, Fit> fits;
  /// For each argument that a result of its own group replaces: the sweep
  /// before whose body the result is rounded. This is the first sweep of the
  /// argument's group before that group was merged with the group of the
  /// result.
  llvm::DenseMap<mlir::Value, mlir::Operation *> firstReplacingSweep;
};

} // namespace heddle::fused

#endif // HEDDLE_PASSES_VERTICALFUSION_H
