//===- picture.h - An alignment as an SVG ---------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three panels: the points and what the plan couples, the plan, the errors.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_EXAMPLES_SINKHORN_PICTURE_H
#define HEDDLE_EXAMPLES_SINKHORN_PICTURE_H

#include <string>
#include <vector>

struct Point {
  float x, y;
};

/// Points along two arms, the first arm's before the second's.
using Points = std::vector<Point>;

/// The errors of a solve, one for each trip.
struct Curve {
  std::string label;
  std::vector<float> errors;
};

struct Alignment {
  Points source, target;
  Points projection;       // of each source point
  std::vector<float> plan; // source x target
  std::vector<Curve> curves;
  double tolerance;
};

/// The text of an SVG file.
std::string draw(const Alignment &found);

#endif // HEDDLE_EXAMPLES_SINKHORN_PICTURE_H
