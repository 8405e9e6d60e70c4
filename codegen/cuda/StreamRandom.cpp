//===- StreamRandom.cpp - random numbers of a thread's elements -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the draws of numbers before the elements that use them, because
// consecutive elements share the blocks of codegen/device/random.cuh.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/StreamEmitter.h"
#include "codegen/layout/DrawnNumbers.h"

using namespace mlir;

namespace heddle::cuda {

SmallVector<foreach::RandomOp> StreamEmitter::drawnNumbers() const {
  SmallVector<foreach::RandomOp> drawn;
  for (auto op : body.getOps<foreach::RandomOp>())
    if (isDrawn(op, levels))
      drawn.push_back(op);
  return drawn;
}

void StreamEmitter::drawNumbers() {
  std::string sizes = std::to_string(layout.threads) + ", " +
                      std::to_string(slots.vector) + ">(";
  std::string first = "heddle::position<false, " + sizes + "whole, 0" +
                      (repeats() > 1 ? ", round)" : ")"),
              step = "whole ? 1 : " + std::to_string(layout.threads);
  if (reducesElements()) {
    first = "heddle::position_in_round<" + sizes + "round, 0)";
    step = "1";
  }
  SmallVector<foreach::RandomOp> left = drawnNumbers();
  while (!left.empty()) {
    // Those of one sequence of blocks differ in the stream.
    auto model = left.front();
    auto isLike = [&](foreach::RandomOp op) {
      return op.getSeed() == model.getSeed() &&
             op.getBlock() == model.getBlock() &&
             op.getType() == model.getType();
    };
    std::string name = scope.freshOwn("drawn"), streams;
    int count = 0;
    for (foreach::RandomOp op : left)
      if (isLike(op)) {
        streams += (count ? ", " : "") + text(op.getStream());
        scope.bind(op, name + "[" + std::to_string(count++) + "]");
      }
    llvm::erase_if(left, isLike);
    os << "heddle::drawn<" << computedType(model.getType()) << ", "
       << slots.vector << "> " << name << "[" << count << "];\n"
       << "heddle::draw(" << text(model.getSeed()) << ", {" << streams << "}, "
       << text(model.getBlock()) << ", tile.first + " << first << ", " << step
       << ", " << name << ");\n";
  }
}

/// The number of an element in memory, whose position in the tile is `at`.
std::string StreamEmitter::numberAt(foreach::RandomOp op, StringRef at) {
  return ("heddle::random<" + computedType(op.getType()) + ">(" +
          text(op.getSeed()) + ", " + text(op.getStream()) + ", " +
          text(op.getBlock()) + ", tile.first + " + at + ")")
      .str();
}

} // namespace heddle::cuda
