//===- align.cpp - Optimal transport between two point sets ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The source points lie on a spiral. The target points are other points of the
// same spiral, stretched, moved and blurred. The transport plan for squared
// distances recovers the position of each source point in the target. The
// program `sinkhorn` computes the plan, on the GPU if there is one and on the
// cpu target otherwise.
//
//   align_points [cpu|cuda] [PICTURE.svg]
//
// Exit codes: 0 aligned; 1 not aligned; 2 bad usage.
//
//===----------------------------------------------------------------------===//

#include "heddle.hpp"
#include "picture.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr const char *Program = "sinkhorn:anneal=geometric,omega=1.5,points=2,"
                                "outputs=plan/cost/projection/history";
constexpr int Sources = 480, Targets = 400, Limit = 2000;
constexpr double Eps = 0.005, FirstEps = 4, Decay = 0.8, Tolerance = 1e-3;
constexpr double Near = 0.05; // the spiral is 2 wide

/// The map of the source to the target. Its matrix is symmetric and positive
/// definite, so the map is the optimal transport for squared distances.
Point moved(Point p) {
  return {0.95f * p.x - 0.25f * p.y + 2.1f, -0.25f * p.x + 0.65f * p.y + 0.5f};
}

class Random {
public:
  float uniform() { return (engine() >> 8) * 0x1p-24f; }
  /// Nearly normal, with mean 0 and standard deviation 1.
  float noise() {
    float sum = -6;
    for (int k = 0; k < 12; ++k)
      sum += uniform();
    return sum;
  }

private:
  std::mt19937 engine{1};
};

Points spiral(int count, Random &random) {
  Points points;
  for (int k = 0; k < count; ++k) {
    int arm = 2 * k / count;
    float t = (2 * k % count + random.uniform()) / count;
    float angle = 3.14159265f * (arm + 1.6f * t), radius = 0.2f + 0.8f * t;
    points.push_back({radius * std::cos(angle) + 0.02f * random.noise(),
                      radius * std::sin(angle) + 0.02f * random.noise()});
  }
  return points;
}

double squaredDistance(Point p, Point q) {
  return (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y);
}

/// A tensor in memory of the target, for an argument or a result.
template <typename T> struct TargetTensor {
  std::vector<int64_t> extents;
  size_t count = 1;
  heddle::Memory memory;

  TargetTensor(const heddle::Executable &executable, std::vector<int64_t> shape)
      : extents(std::move(shape)), memory(create(executable)) {}
  void write(const std::vector<T> &values) {
    memory.write(0, values.data(), count * sizeof(T)).check();
  }
  std::vector<T> read() const {
    std::vector<T> values(count);
    memory.read(0, values.data(), count * sizeof(T)).check();
    return values;
  }
  /// A list of one member. The program solves one problem per member.
  std::vector<heddle::Tensor> list() const {
    return {{memory.address(), extents}};
  }

private:
  heddle::Memory create(const heddle::Executable &executable) {
    for (int64_t extent : extents)
      count *= extent;
    return heddle::Memory::create(executable, count * sizeof(T)).value();
  }
};

/// The program bound to the problem of two point sets.
class Solver {
public:
  Solver(const heddle::Options &options, const Points &source,
         const Points &target)
      : executable(heddle::Executable::compile(Program, options).value()),
        graph(heddle::Graph::create(executable).value()) {
    std::vector<float> distances, x, y;
    for (Point p : source)
      for (Point q : target)
        distances.push_back(static_cast<float>(squaredDistance(p, q)));
    for (Point q : target) {
      x.push_back(q.x);
      y.push_back(q.y);
    }
    C.write(distances);
    a.write(std::vector<float>(Sources, 1.0f / Sources));
    b.write(std::vector<float>(Targets, 1.0f / Targets));
    x1.write(x);
    x2.write(y);

    graph.bindList("C", HEDDLE_F32, C.list()).check();
    graph.bindList("a", HEDDLE_F32, a.list()).check();
    graph.bindList("b", HEDDLE_F32, b.list()).check();
    graph.bindList("x1", HEDDLE_F32, x1.list()).check();
    graph.bindList("x2", HEDDLE_F32, x2.list()).check();
    graph.bindList("errors", HEDDLE_F32, errors.list()).check();
    graph.bindResult("plan", HEDDLE_F32, plan.list()).check();
    graph.bindResult("cost", HEDDLE_F32, cost.list()).check();
    graph.bindResult("y1", HEDDLE_F32, y1.list()).check();
    graph.bindResult("y2", HEDDLE_F32, y2.list()).check();
    graph.bindResult("iterations", HEDDLE_I32, iterations.list()).check();
    graph.bindResult("converged", HEDDLE_I1, converged.list()).check();
    graph.setScalar("eps", Eps).check();
    graph.setScalar("decay", Decay).check();
    graph.setScalar("tol", Tolerance).check();
    graph.setScalar("limit", Limit).check();
  }

  /// Runs a solve, which is one graph launch, and returns the error of each
  /// iteration. Setting scalars between solves compiles nothing.
  std::vector<float> solve(double firstEps, double omega) {
    graph.setScalar("eps0", firstEps).check();
    graph.setScalar("omega", omega).check();
    graph.replay().check();
    std::vector<float> history = errors.read();
    history.resize(iterations.read()[0]);
    std::printf("  eps from %g to %g, omega %g: %4zu iterations, error %.1e\n",
                firstEps, Eps, omega, history.size(), history.back());
    return history;
  }

  const heddle::Executable executable;
  heddle::Graph graph;
  TargetTensor<float> C{executable, {Sources, Targets}};
  TargetTensor<float> a{executable, {Sources}}, b{executable, {Targets}};
  TargetTensor<float> x1{executable, {Targets}}, x2{executable, {Targets}};
  TargetTensor<float> errors{executable, {Limit}};
  TargetTensor<float> plan{executable, {Sources, Targets}};
  TargetTensor<float> cost{executable, {}};
  TargetTensor<float> y1{executable, {Sources}}, y2{executable, {Sources}};
  TargetTensor<int32_t> iterations{executable, {}};
  TargetTensor<char> converged{executable, {}};
};

/// The total error of the plan's row and column sums.
double marginalError(const std::vector<float> &plan) {
  std::vector<double> rows(Sources), columns(Targets);
  for (int i = 0; i < Sources; ++i)
    for (int j = 0; j < Targets; ++j) {
      rows[i] += plan[i * Targets + j];
      columns[j] += plan[i * Targets + j];
    }
  double error = 0;
  for (double sum : rows)
    error += std::abs(sum - 1.0 / Sources);
  for (double sum : columns)
    error += std::abs(sum - 1.0 / Targets);
  return error;
}

/// The RMS distance of the projections from the true positions.
double misplacement(const Alignment &found) {
  double sum = 0;
  for (int i = 0; i < Sources; ++i)
    sum += squaredDistance(found.projection[i], moved(found.source[i]));
  return std::sqrt(sum / Sources);
}

bool check(bool holds, const char *name, double value) {
  std::printf("%s %s: %.4g\n", holds ? "ok" : "FAILED", name, value);
  return holds;
}

bool write(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "w");
  bool good = file && std::fputs(text.c_str(), file) >= 0;
  if (file && std::fclose(file) != 0)
    good = false;
  std::printf("%s %s\n", good ? "wrote" : "FAILED to write", path.c_str());
  return good;
}

} // namespace

int main(int count, char **words) {
  heddle::Options options;
  if (count > 1)
    options.target = words[1];
  if (count > 3) {
    std::fprintf(stderr, "usage: align_points [cpu|cuda] [PICTURE.svg]\n");
    return 2;
  }

  Random random;
  Alignment found;
  found.source = spiral(Sources, random);
  for (Point point : spiral(Targets, random))
    found.target.push_back(moved(point));

  Solver solver(options, found.source, found.target);
  std::printf("sinkhorn on %s: %d x %d points\n",
              solver.executable.arch().c_str(), Sources, Targets);
  found.tolerance = Tolerance;
  found.curves = {{"constant eps", solver.solve(Eps, 1)},
                  {"annealed", solver.solve(FirstEps, 1)},
                  {"annealed, omega = 1.8", solver.solve(FirstEps, 1.8)}};
  found.plan = solver.plan.read();
  std::vector<float> x = solver.y1.read(), y = solver.y2.read();
  for (int i = 0; i < Sources; ++i)
    found.projection.push_back({x[i], y[i]});

  double error = marginalError(found.plan), off = misplacement(found);
  bool good = check(solver.converged.read()[0] != 0, "converged, cost",
                    solver.cost.read()[0]);
  good &= check(error < 2 * Tolerance, "error of the plan's sums", error);
  good &= check(off < Near, "RMS error of the positions", off);
  if (count > 2)
    good &= write(words[2], draw(found));
  return good ? 0 : 1;
}
