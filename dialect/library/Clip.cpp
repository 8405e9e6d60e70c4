//===- Clip.cpp - the norm of all gradients, and clipping by it -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like torch's clip_grad_norm_: the factor is applied even if it is 1, and a
// NaN or infinite norm affects every gradient. In a composition with an
// optimizer, such as `clip_by_global_norm+adamw`, clipped gradients are never
// stored.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::ReduceKind;
using heddle::foreach::scalarOf;

namespace heddle::library {

namespace {
struct NormOptions : ListOptions {
  std::string check() const { return {}; }
};

struct ClipOptions : ListOptions {
  double maxNorm = 1.0;

  void describe(OptionList &list) {
    list.add("max_norm", maxNorm,
             "the largest norm; larger gradients are scaled down to it",
             kNotNegative);
    ListOptions::describe(list);
  }
  std::string check() const { return {}; }
};
} // namespace

/// The sums of the squares of each family, in double.
static SmallVector<Value> sumSquares(ProgramBuilder &program,
                                     ArrayRef<Family> families,
                                     ArrayRef<Value> lists) {
  SmallVector<Value> sums;
  for (auto [family, list] : llvm::zip(families, lists)) {
    Body body(program);
    Scalar grad = body.read(list, "grad", program.f64());
    Scalar square = (grad * grad).as("square");
    body.write(square, scalarOf(program.f64()), "sum" + family.suffix);
    sums.push_back(body.reduce(ReduceKind::add, Axis::list));
  }
  return sums;
}

/// The square root of the sum over all families, in a body of device scalars.
static Scalar normOf(ProgramBuilder &program, Body &body,
                     ArrayRef<Family> families, ArrayRef<Value> sums) {
  SmallVector<Scalar> parts;
  for (auto [family, sum] : llvm::zip(families, sums))
    parts.push_back(body.read(sum, "sum" + family.suffix, program.f64()));
  Scalar total = parts.front();
  for (Scalar part : ArrayRef(parts).drop_front())
    total = (total + part).as("total");
  return sqrt(total).as("norm");
}

static void buildGlobalNorm(ProgramBuilder &program,
                            const NormOptions &options) {
  auto families = familiesOf(options, program.getBuilder().getContext());
  auto lists = gradients(program, families);
  auto sums = sumSquares(program, families, lists);
  Body body(program);
  Scalar norm = normOf(program, body, families, sums);
  body.write(norm, scalarOf(program.f64()), "norm" + options.scalarSuffix());
  program.result(body.map().front());
}

static void buildClipByGlobalNorm(ProgramBuilder &program,
                                  const ClipOptions &options) {
  auto families = familiesOf(options, program.getBuilder().getContext());
  auto lists = gradients(program, families);
  auto sums = sumSquares(program, families, lists);
  Value maxNorm =
      program.scalar("max_norm" + options.scalarSuffix(), options.maxNorm);

  Body body(program);
  Scalar norm = normOf(program, body, families, sums);
  Scalar most = body.read(maxNorm, "max_norm", program.f64());
  Scalar padded = (norm + norm.constant(1e-6, "tiny")).as("padded");
  Scalar ratio = (most / padded).as("ratio");
  Scalar clip = minimum(ratio, norm.constant(1.0, "one")).as("clip");
  body.write(norm, scalarOf(program.f64()), "norm" + options.scalarSuffix());
  body.write(clip, scalarOf(program.f64()), "clip");
  auto scalars = body.map();

  for (auto [family, list] : llvm::zip(families, lists)) {
    Body scale(program);
    Scalar grad = scale.read(list, "grad", family.compute);
    Scalar factor = scale.read(scalars[1], "clip", family.compute);
    scale.write((grad * factor).as("clipped"), list.getType(),
                "clipped" + family.suffix);
    program.result(scale.map().front(), list);
  }
  program.result(scalars[0]);
}

std::vector<Entry> clipPrograms() {
  return {limiting(
              program("clip_by_global_norm",
                      "scale gradients so that their global norm has a maximum",
                      buildClipByGlobalNorm)),
          program("global_norm", "the Euclidean norm of all gradients",
                  buildGlobalNorm)};
}

} // namespace heddle::library
