//===- SweepEmitter.h - common parts of all schedules -----------*- C++ -*-===//
//
// A schedule visits the domain of a sweep; the values that it computes there
// are printed here, from the operations of the IR. Derived classes are the
// schedules.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H
#define HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H

#include "codegen/cuda/DeviceFunctions.h"
#include "codegen/cuda/Scalars.h"
#include "codegen/layout/SweepLayout.h"
#include "dialect/FusedLevels.h"
#include "mlir/Support/IndentedOstream.h"

namespace heddle::cuda {

/// Names of the parts of a sweep in the source; shared by its segments.
struct SweepNames {
  std::string sweep; // prefix of all that follows
  /// The structure that holds the arguments of the sweep's kernels, its fields
  /// in the order of a plan, and whether it is a template over `ByValue`: how
  /// scalar arguments are passed.
  struct Field {
    std::string type, name; // the type ends in a space or an asterisk
    std::string typeFor(llvm::StringRef byValue) const;
  };
  std::string params;
  llvm::SmallVector<Field> fields;
  bool isTemplate = false;
  llvm::SmallVector<std::string> scalars;      // addresses of device scalars
  llvm::SmallVector<std::string> scratch;      // addresses of scratch areas
  llvm::SmallVector<std::string> scratchTypes; // their element types
  /// For areas of precomputed scalars, the function that computes them.
  llvm::SmallVector<std::string> precompute;
  /// Names that are parameters of the printed function itself.
  llvm::SmallVector<std::string> taken;
  /// Whether a launch before (after) this one may overlap with it.
  bool hasPrevious = false, hasNext = false;
  /// The functions printed so far; null where none are printed.
  DeviceFunctions *functions = nullptr;

  /// The structure's type as a parameter of a device function.
  std::string paramsType() const {
    return params + (isTemplate ? "<ByValue>" : "");
  }
  /// The type of a descriptor of any of the members, whatever their segment.
  std::string memberType(const SweepLayout &layout) const;
};

/// The fields of a segment's tile descriptor, one for each operand slot.
llvm::SmallVector<std::string> fieldNames(const SegmentLayout &segment,
                                          const Buffers &buffers);

/// `text`, a value of type `from`, as a value of type `to`.
std::string converted(llvm::StringRef text, mlir::Type from, mlir::Type to);

/// `heddle::add<double>`, and the type of the state it keeps.
std::string kindOf(fused::ReduceOp op);
std::string stateOf(fused::ReduceOp op);

class SegmentEmitter {
public:
  SegmentEmitter(mlir::raw_indented_ostream &os, fused::SweepOp sweep,
                 const SweepLayout &layout, const SweepNames &names,
                 const Buffers &buffers, unsigned segment);
  virtual ~SegmentEmitter() = default;

  /// Prints the device function that computes one tile of the segment.
  mlir::LogicalResult emit();

  /// `step_walk` of kernel `step`, of the segment where there are several.
  std::string functionName(llvm::StringRef part) const;

protected:
  using OpSet = llvm::DenseSet<mlir::Operation *>;
  using Filter = llvm::function_ref<bool(mlir::Operation *)>;

  /// Every function has a scope of its own.
  void newScope();
  /// Prints the walk over the tile, from its loads to its last store.
  virtual mlir::LogicalResult emitWalk() = 0;

  /// The condition under which the walk accesses elements as vectors, and the
  /// name of its parameter; empty where there are no vectors. The walk takes it
  /// as a parameter: the compiler then loads operand by operand.
  virtual std::string vectorCondition() { return {}; }
  virtual llvm::StringRef vectorFlag() const { return {}; }

  /// Prints the statements of the block that finishes a member last.
  mlir::LogicalResult emitEnd();

  /// Declares the values of the operations for which `wanted` holds, in order;
  /// constants, and values that Inlining.h selects, are printed where they are
  /// used.
  mlir::LogicalResult declareOps(Filter wanted);
  /// Variables that exist already and are assigned the value they stand for.
  llvm::DenseMap<mlir::Value, std::string> homes;

  /// The expression of a value in the current scope.
  Expression expression(mlir::Value value);
  std::string text(mlir::Value value) { return expression(value).text; }

  /// Declares the member and list scalars that the body is bound to.
  void
  declareScalarInputs(llvm::function_ref<bool(mlir::Value)> wanted = nullptr);
  /// The name of the slot: lengths and strides by the operand before them.
  std::string nameOfSlot(const OperandSlot &slot) const;
  static bool isNumberOfOperand(const OperandSlot &slot) {
    return slot.index == kLength || slot.index == kStride;
  }
  mlir::LogicalResult declarePrecomputed();
  /// The type of a tile descriptor of the segment.
  std::string tileType() const;

  std::string storedExpression(mlir::Value value, mlir::Type storage);
  /// The iteration whose entry an operand at `index` is.
  std::string iterationOf(int32_t index) const;
  /// The number of the iteration of the loop around.
  virtual std::string iterationText() const {
    return "*" + names.scalars[*layout.iteration];
  }
  std::string accumulator(fused::ReduceOp op) { return accumulators[op]; }
  void declareAccumulators(Filter wanted);
  /// A name for what belongs to `op`, by the name of its result.
  std::string freshFor(fused::ReduceOp op, llvm::StringRef what);
  /// Declares what `op` gives, of which `state` is complete.
  void declareReduced(fused::ReduceOp op, llvm::StringRef state);
  /// Prints the statement that adds a value at `position` to its reduction.
  void accumulate(fused::ReduceOp op, const llvm::Twine &position);
  void storePartials();
  /// If the launch before this one may still run, everything that it writes is
  /// read after this.
  void waitForDependency();
  /// Whether a block arrives before its work is done: the member's end needs
  /// none of its stores.
  bool arrivesEarly() const {
    return fused::SweepOp(sweep).getLaunchAttr().getArrivals()[segment] ==
           fused::Arrival::early;
  }
  void arriveEarly();
  /// Whether the walk uses a value.
  bool isUsedInWalk(mlir::Value value) const {
    return usedInWalk.contains(value);
  }
  /// Whether only hints use a value; the walks here ignore them.
  bool isOnlyHinted(mlir::Value value) const { return hinted.contains(value); }
  /// Results that are complete only after the sweep are written at the member's
  /// end, all others in the walk.
  static bool isWrittenAtEnd(int32_t index) {
    return isMemberIndex(index) || index == kJ;
  }

  /// The type of result `number` of the segment.
  mlir::Type resultType(unsigned number) const { return resultTypes[number]; }
  bool isElement(mlir::Operation *op) const;
  bool isInlined(mlir::Operation *op) const { return inlined.contains(op); }
  /// Reductions of this segment, in order.
  llvm::SmallVector<fused::ReduceOp> reductions;

  mlir::raw_indented_ostream &os;
  fused::SweepOp sweep;
  const SweepLayout &layout;
  const SweepNames &names;
  const Buffers &buffers;
  unsigned segment;
  const SegmentLayout &slots;
  mlir::Block &body;
  fused::Levels levels;
  llvm::SmallVector<mlir::Type> resultTypes;
  fused::ScheduleKind schedule;
  Scope scope;
  llvm::SmallVector<std::string> pointers; // one per operand slot: addresses
  llvm::DenseMap<mlir::Operation *, std::string> accumulators;
  std::string stale; // whether precomputed values had to be recomputed

  /// Where blocks share a tile (SharedRows.cpp): one of them reduces the values
  /// of rows and columns.
  virtual mlir::LogicalResult emitCounts() { return mlir::failure(); }
  std::string blockOfTile();
  mlir::LogicalResult emitCountFunction();
  void emitEndOfSharedTile();

  void storeMemberResults();
  /// The statement that stores `value` at `pointer`, or `record`, which stores
  /// the value of an iteration.
  virtual std::string storeOfMember(llvm::StringRef pointer,
                                    llvm::StringRef value) const {
    return ("*" + pointer + " = " + value).str();
  }
  virtual std::string recordOfMember(llvm::StringRef record) const {
    return record.str();
  }

private:
  mlir::LogicalResult emitMemberValues();
  void emitPrecomputeForNextStep();
  void storeListStates();
  void findUsedAtEnd();
  bool isUsedAtEnd(mlir::Value value) const {
    return usedAtEnd.contains(value);
  }
  llvm::DenseSet<mlir::Value> usedAtEnd;
  void findUsedInWalk();
  bool isUseInWalk(mlir::OpOperand &use) const;
  /// If blocks share a tile, the values that elements are computed from.
  llvm::DenseSet<mlir::Value> usedInWalk;
  llvm::DenseSet<mlir::Value> hinted;
  llvm::DenseSet<mlir::Operation *> inlined;
  bool lost = false;
  mlir::LogicalResult emitWalkFunction();
  void emitCombineFunction();
  mlir::LogicalResult emitEndFunction();
  void emitProcessFunction();
  void emitSkippedTile();
  void beginFunction();
  void endFunction(llvm::StringRef comment, llvm::StringRef type,
                   llvm::StringRef part);
  bool waitsAtOnce() const;
  std::string callOf(llvm::StringRef part) const;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H
