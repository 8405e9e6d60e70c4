//===- VerticalFusion.h - which sweeps of a block become one ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of fused-fuse-vertical, which share one state. Each group of them
// is in a file of its own. All sweeps keep their form until the groups are
// known; then each group becomes one sweep.
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
    int maker = -1;
    /// A bound for the bytes that one more read of it costs, weighed.
    int64_t weight = 0;
    /// The number of groups that read it, without the maker's.
    unsigned readers = 0;
    /// The first and last reading by a sweep that can be merged.
    int front = -1, back = -1;
    /// The arguments of the maker's group that are bound to it.
    llvm::SmallVector<mlir::BlockArgument, 1> inside;
    /// Its list among the results of its group, and its place there.
    std::optional<std::pair<unsigned, std::list<int>::iterator>> place;
  };
  /// One group reads one source.
  struct Reading {
    int source = -1;
    /// An operation of the group.
    int reader = -1;
    /// The arguments of segments that are bound to the value.
    llvm::SmallVector<mlir::BlockArgument, 1> arguments;
    /// Whether one of the arguments has uses.
    bool used = false;
    /// Whether the first of them is bound at an iteration.
    bool entry = false;
    /// The neighbours among the sweeps that read the source.
    int before = -1, behind = -1;
  };
  struct Group {
    /// Null if the operation is not a sweep of one segment.
    SweepOp sweep;
    Shape domain;
    /// For each source, the reading.
    std::map<int, int> readings;
    /// The results that are read outside of the group. The last list that is
    /// not empty begins with the one that names the group; the first list has
    /// results without a name.
    std::array<std::list<int>, 6> results;
    size_t numResults = 0;
    /// Results with the rank of the domain whose value is the same for a whole
    /// member. They cannot be results over a domain of a higher rank.
    llvm::SmallVector<int, 1> uniform;
    /// The groups with which this one is a pair.
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
  void loseReader(Source &source);
  void becomeInternal(Reading &reading, mlir::Operation *body);
  void absorb(Reading &earlier, Reading &later);
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
    /// Whether a candidate has this bound.
    bool queued = false;
    bool refused = false;
  };
  /// Pairs that save more bytes come first, then those that stand first.
  struct Candidate {
    int64_t bound, second, first; // positions
    int a, b;
    bool operator<(const Candidate &other) const {
      return std::tuple(bound, other.second, other.first, a, b) <
             std::tuple(other.bound, second, first, other.a, other.b);
    }
  };
  /// A pair that may be merged now, with the bytes that this saves.
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
    notYet,
    illegal
  };
  class Trial;
  /// What is known of a value in the body of its group.
  struct Place {
    LevelOf level;
    /// The traversals of its row that come before.
    unsigned phase = 0;
    bool operator==(const Place &) const = default;
  };
  bool addPlaces(SweepOp sweep);
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
  llvm::DenseMap<mlir::Value, Place> places;
  /// How the domains of sweeps lie in those of their groups.
  llvm::DenseMap<mlir::Operation *, Fit> fits;
  /// For each argument that a result replaces, the first body behind that of
  /// the result when the two groups were joined.
  llvm::DenseMap<mlir::Value, mlir::Operation *> replacedBefore;
};

} // namespace heddle::fused

#endif // HEDDLE_PASSES_VERTICALFUSION_H
