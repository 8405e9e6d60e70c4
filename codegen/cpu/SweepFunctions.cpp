//===- SweepFunctions.cpp - the functions of a sweep ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function reads the segment of its descriptor and calls the part of that
// segment.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/SweepFunctions.h"
#include "llvm/IR/Module.h"

using heddle::fused::Level;
using llvm::Value;

namespace heddle::cpu {

static bool worksInTiles(const Segment &segment) {
  return llvm::any_of(segment.results,
                      [](const SegmentResult &result) {
                        return result.isStored() &&
                               (result.at == Level::element ||
                                result.at == Level::row);
                      }) ||
         llvm::any_of(segment.reductions, [](const SegmentReduction &r) {
           return r.from != Level::member;
         });
}

static bool worksInMembers(const Segment &segment) {
  return llvm::any_of(segment.results,
                      [](const SegmentResult &result) {
                        return result.isStored() &&
                               (result.at == Level::member ||
                                result.at == Level::column);
                      }) ||
         llvm::any_of(segment.reductions, [](const SegmentReduction &r) {
           return r.to == Level::list;
         });
}

namespace {
class Functions {
public:
  Functions(SweepContext &context, llvm::ArrayRef<Segment> segments)
      : context(context), ir(context.ir), segments(segments) {}

  void emitTile();
  void emitMember();
  void emitEpilogue();

private:
  using Part = llvm::function_ref<void(const Segment &, llvm::Function *)>;
  /// Emits a function that passes its arguments to the part of the descriptor's
  /// segment.
  void emitOver(const llvm::Twine &name,
                llvm::ArrayRef<llvm::Type *> parameters, int64_t segmentOffset,
                Part part);

  SweepContext &context;
  Ir &ir;
  llvm::ArrayRef<Segment> segments;
};
} // namespace

void Functions::emitOver(const llvm::Twine &name,
                         llvm::ArrayRef<llvm::Type *> parameters,
                         int64_t segmentOffset, Part part) {
  auto &b = ir.b;
  llvm::SmallVector<llvm::Function *> parts;
  for (const Segment &segment : segments) {
    llvm::Function *function = ir.function(
        name + "." + llvm::Twine(segment.number), b.getVoidTy(), parameters);
    if (segments.size() > 1)
      function->addFnAttr(llvm::Attribute::NoInline);
    part(segment, function);
    b.CreateRetVoid();
    parts.push_back(function);
  }
  llvm::Function *function =
      ir.function(name, b.getVoidTy(), parameters, /*visible=*/true);
  llvm::SmallVector<Value *> arguments;
  for (llvm::Argument &argument : function->args())
    arguments.push_back(&argument);
  if (parts.size() == 1) {
    b.CreateCall(parts[0], arguments);
    b.CreateRetVoid();
    return;
  }
  Value *number =
      ir.field(b.getInt32Ty(), arguments[0], segmentOffset, "segment");
  auto *none = llvm::BasicBlock::Create(b.getContext(), "none", function);
  llvm::SwitchInst *choice = b.CreateSwitch(number, none, parts.size());
  for (auto [k, callee] : llvm::enumerate(parts)) {
    auto *chosen = llvm::BasicBlock::Create(b.getContext(), "chosen", function);
    choice->addCase(b.getInt32(k), chosen);
    b.SetInsertPoint(chosen);
    b.CreateCall(callee, arguments);
    b.CreateRetVoid();
  }
  b.SetInsertPoint(none);
  b.CreateRetVoid();
}

void Functions::emitTile() {
  bool streams =
      context.sweep.getScheduleAttr().getKind() == fused::ScheduleKind::stream;
  emitOver(context.layout.name + "_tile",
           {ir.b.getPtrTy(), ir.b.getInt32Ty(), ir.b.getPtrTy()},
           context.countOffset() + 16,
           [&](const Segment &segment, llvm::Function *function) {
             Value *index = ir.b.CreateSExt(function->getArg(1),
                                            ir.b.getInt64Ty(), "tile_index");
             (streams ? emitStreamTile
                      : emitRowsTile)(context, segment, function->getArg(0),
                                      index, function->getArg(2));
           });
}

void Functions::emitMember() {
  emitOver(context.layout.name + "_member", {ir.b.getPtrTy(), ir.b.getPtrTy()},
           context.countOffset() + 16,
           [&](const Segment &segment, llvm::Function *function) {
             emitMemberEnd(context, segment, function->getArg(0),
                           function->getArg(1));
           });
}

void Functions::emitEpilogue() {
  auto &b = ir.b;
  llvm::Function *function =
      ir.function(context.layout.name + "_epilogue", b.getVoidTy(),
                  {b.getPtrTy(), b.getInt32Ty(), b.getPtrTy()},
                  /*visible=*/true);
  Value *count = b.CreateSExt(function->getArg(1), b.getInt64Ty(), "count");
  emitListEnd(context, segments, function->getArg(0), count,
              function->getArg(2));
  b.CreateRetVoid();
}

/// Checks that every value that the sweep reads has a buffer.
static mlir::LogicalResult verifyReads(fused::SweepOp sweep,
                                       const SweepLayout &layout) {
  auto scalarFits = [&](int slot) {
    return slot >= 0 && slot < static_cast<int>(layout.scalars.size());
  };
  bool fits = llvm::all_of(layout.epilogueInputs, scalarFits) &&
              (!layout.whereScalar || scalarFits(*layout.whereScalar));
  for (const SegmentLayout &segment : layout.segments) {
    fits &= llvm::all_of(segment.inputs, [&](int slot) {
      return slot < 0 ? scalarFits(-1 - slot)
                      : slot < static_cast<int>(segment.operands.size());
    });
    fits &= llvm::all_of(segment.operands, [](const OperandSlot &slot) {
      return slot.buffer >= 0;
    });
  }
  if (fits)
    return mlir::success();
  return sweep.emitOpError("reads a value that has no buffer");
}

mlir::FailureOr<SweepFunctions> emitSweep(Ir &ir, fused::SweepOp sweep,
                                          const SweepLayout &layout) {
  if (layout.threads <= 0 || layout.threads % 32) {
    sweep.emitOpError("has a schedule of ")
        << layout.threads << " threads; expected a multiple of 32";
    return mlir::failure();
  }
  if (mlir::failed(verifyReads(sweep, layout)))
    return mlir::failure();
  llvm::SmallVector<Segment> segments;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (layout.segments[s].vector <= 0 || layout.segments[s].tile <= 0) {
      sweep.emitOpError("has a schedule with tiles of ")
          << layout.segments[s].tile << " and vectors of "
          << layout.segments[s].vector << "; expected positive numbers";
      return mlir::failure();
    }
    auto segment = Segment::analyse(sweep, s, layout);
    if (mlir::failed(segment))
      return mlir::failure();
    segments.push_back(std::move(*segment));
  }
  SweepContext context{ir, sweep, layout, KernelSignature::of(layout)};
  Functions functions(context, segments);
  SweepFunctions made;
  made.tile = llvm::any_of(segments, worksInTiles);
  made.member = llvm::any_of(segments, worksInMembers);
  made.epilogue =
      sweep.hasEpilogue() || llvm::any_of(segments, [](const Segment &segment) {
        return llvm::any_of(segment.results, [](auto &result) {
          return result.at == Level::list;
        });
      });
  if (made.tile)
    functions.emitTile();
  if (made.member)
    functions.emitMember();
  if (made.epilogue)
    functions.emitEpilogue();
  if (context.failed)
    return mlir::failure();
  return made;
}

} // namespace heddle::cpu
