//===- train.cpp - Logistic regression with adamw.mlir --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host computes gradients and heddle runs the optimizer step, on the GPU if
// there is one and on the cpu target otherwise. The learning rate decreases in
// every step, without a compilation.
//
//   train_adamw [cpu|cuda] [PROGRAM]   run from the root of the tree
//
// Exit codes: 0 converged, with the same bits as the standard program `adamw`;
// 1 otherwise; 2 bad usage.
//
//===----------------------------------------------------------------------===//

#include "heddle.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int Features = 20, Samples = 1000, Steps = 300;
constexpr int Parameters = Features + 1; // the weights, then the bias
constexpr double LargestRate = 0.1, ConvergedNorm = 1e-3;

/// Random points, with labels drawn from a logistic model with known weights.
struct DataSet {
  float points[Samples][Features];
  float labels[Samples];

  DataSet() {
    std::mt19937 random(1);
    auto uniform = [&] { return (random() >> 8) * 0x1p-24f; };
    float truth[Parameters];
    for (float &value : truth)
      value = 4 * uniform() - 2;
    for (int n = 0; n < Samples; ++n) {
      for (float &value : points[n])
        value = 2 * uniform() - 1;
      labels[n] = uniform() < probability(truth, points[n]) ? 1 : 0;
    }
  }

  static double probability(const float *parameters, const float *point) {
    double sum = parameters[Features];
    for (int k = 0; k < Features; ++k)
      sum += parameters[k] * point[k];
    return 1 / (1 + std::exp(-sum));
  }

  /// Returns the mean loss and writes its gradient.
  double loss(const float *parameters, float *gradient) const {
    double total = 0, slope[Parameters] = {};
    for (int n = 0; n < Samples; ++n) {
      double p = probability(parameters, points[n]);
      total -= std::log(labels[n] == 1 ? p : 1 - p);
      for (int k = 0; k < Features; ++k)
        slope[k] += (p - labels[n]) * points[n][k];
      slope[Features] += p - labels[n];
    }
    for (int k = 0; k < Parameters; ++k)
      gradient[k] = static_cast<float>(slope[k] / Samples);
    return total / Samples;
  }
};

double norm(const float *vector) {
  double sum = 0;
  for (int k = 0; k < Parameters; ++k)
    sum += double(vector[k]) * vector[k];
  return std::sqrt(sum);
}

/// Memory of the target with a list of two members: weights and bias.
struct List {
  heddle::Memory memory;

  explicit List(const heddle::Executable &executable)
      : memory(heddle::Memory::create(executable, Parameters * sizeof(float))
                   .value()) {
    write(std::vector<float>(Parameters).data());
  }
  void write(const float *from) {
    memory.write(0, from, Parameters * sizeof(float)).check();
  }
  void read(float *to) const {
    memory.read(0, to, Parameters * sizeof(float)).check();
  }
  std::vector<heddle::Tensor> members() const {
    auto *first = static_cast<float *>(memory.address());
    return {{first, {Features}}, {first + Features, {1}}};
  }
  /// The same memory as a list of rank 0: one scalar per member.
  std::vector<heddle::Tensor> scalars() const {
    auto *first = static_cast<float *>(memory.address());
    return {{first, {}}, {first + 1, {}}};
  }
};

/// Trains from zero and stores the result in `parameters`. Returns whether the
/// gradient converged to zero.
bool train(const DataSet &data, const std::string &program,
           const heddle::Options &options, float *parameters) {
  auto executable = heddle::Executable::compile(program, options).value();
  auto graph = heddle::Graph::create(executable).value();

  List param(executable), grad(executable), mean(executable),
      meanOfSquares(executable), step(executable);
  graph.bindList("param", HEDDLE_F32, param.members()).check();
  graph.bindList("grad", HEDDLE_F32, grad.members()).check();
  graph.bindList("exp_avg", HEDDLE_F32, mean.members()).check();
  graph.bindList("exp_avg_sq", HEDDLE_F32, meanOfSquares.members()).check();
  graph.bindList("step", HEDDLE_F32, step.scalars()).check();
  graph.setScalar("weight_decay", 1e-4).check();

  std::printf("%s on %s\n", program.c_str(), executable.arch().c_str());
  float gradient[Parameters];
  for (int count = 0;; ++count) {
    param.read(parameters);
    double loss = data.loss(parameters, gradient);
    if (count % 50 == 0)
      std::printf("  step %3d  loss %.6f  gradient %.1e\n", count, loss,
                  norm(gradient));
    if (count == Steps)
      return norm(gradient) < ConvergedNorm;
    grad.write(gradient);
    graph.setScalar("lr", LargestRate * (1 - double(count) / Steps)).check();
    graph.replay().check();
  }
}

} // namespace

int main(int count, char **words) {
  heddle::Options options;
  if (count > 1)
    options.target = words[1];
  std::string program = count > 2 ? words[2] : "examples/adamw/adamw.mlir";
  if (count > 3) {
    std::fprintf(stderr, "usage: train_adamw [cpu|cuda] [PROGRAM]\n");
    return 2;
  }

  const DataSet data;
  float ours[Parameters], standard[Parameters];
  bool converged = train(data, program, options, ours);
  std::printf("%s converged: gradient norm below %g\n",
              converged ? "ok" : "FAILED", ConvergedNorm);
  train(data, "adamw", options, standard);
  bool equal = std::memcmp(ours, standard, sizeof(ours)) == 0;
  std::printf("%s same bits as the standard program 'adamw'\n",
              equal ? "ok" : "FAILED");
  return converged && equal ? 0 : 1;
}
