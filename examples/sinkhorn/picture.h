//===- picture.h - An alignment as an SVG ---------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three plots: the points with their couplings, the plan, and the errors.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_EXAMPLES_SINKHORN_PICTURE_H
#define HEDDLE_EXAMPLES_SINKHORN_PICTURE_H

#include <string>
#include <vector>

struct Point {
  float x, y;
};

/// Points along two arms: first those of the first arm, then of the second.
using Points = std::vector<Point>;

/// The error of each iteration of a solve.
struct Curve {
  std::string label;
  std::vector<float> errors;
};

struct Alignment {
  Points source, target;
  Points projection;       // one per source point
  std::vector<float> plan; // source x target
  std::vector<Curve> curves;
  double tolerance;
};

/// Returns the alignment as an SVG file.
std::string draw(const Alignment &found);

#endif // HEDDLE_EXAMPLES_SINKHORN_PICTURE_H
