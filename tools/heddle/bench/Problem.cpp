//===- Problem.cpp - a transport problem on the device --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel generates the costs on the device, because they are too large to
// copy.
//
//===----------------------------------------------------------------------===//

#include "Problem.h"
#include "BenchFiles.h"

#include "runtime/nvrtc/Nvrtc.h"

#include <cmath>
#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

std::string ProblemShape::name() const {
  return formatv("{0}x{1} {2}", rows, columns, dtypeName(dtype)).str();
}

template <typename Real>
static std::vector<char> store(ArrayRef<double> values) {
  std::vector<Real> reals(values.begin(), values.end());
  std::vector<char> stored(reals.size() * sizeof(Real));
  std::memcpy(stored.data(), reals.data(), stored.size());
  return stored;
}

std::vector<char> storeReals(DType dtype, ArrayRef<double> values) {
  return dtype == DType::F64 ? store<double>(values) : store<float>(values);
}

template <typename Real>
static std::vector<double> load(ArrayRef<char> stored) {
  std::vector<Real> reals(stored.size() / sizeof(Real));
  std::memcpy(reals.data(), stored.data(), reals.size() * sizeof(Real));
  return {reals.begin(), reals.end()};
}

std::vector<double> loadReals(DType dtype, ArrayRef<char> stored) {
  return dtype == DType::F64 ? load<double>(stored) : load<float>(stored);
}

Error fillUniform(Device &device, char *to, int64_t elements, DType dtype) {
  KernelSource source;
  source.name = "fill_uniform.cu";
  source.text = benchFile(source.name).str();
  source.options = {"--std=c++17",
                    formatv("-DELEMENT={0}", elementCode(dtype)).str()};
  auto image =
      compileSource(source, device.getContext()->arch(), ImageKind::Cubin);
  if (!image)
    return image.takeError();
  auto module =
      Module::load(device.getContext(),
                   ArrayRef<char>(image->image.data(), image->image.size()));
  if (!module)
    return module.takeError();
  auto function = (*module)->function("fill_uniform");
  if (!function)
    return function.takeError();
  long long count = elements;
  void *arguments[] = {&to, &count};
  CUlaunchConfig config = {};
  config.gridDimX = 8 * device.getContext()->multiprocessors();
  config.blockDimX = 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = device.getStream();
  HEDDLE_DRIVER_CALL(device.getDriver(), cuLaunchKernelEx, &config, *function,
                     arguments, nullptr);
  // The module is unloaded on return, so the kernel must have ended.
  return device.synchronize();
}

Expected<Problem> Problem::create(Device &device, const ProblemShape &shape) {
  Problem problem(shape);
  auto matrix = device.allocate(shape.bytes());
  if (!matrix)
    return matrix.takeError();
  problem.matrix = std::move(*matrix);
  if (Error error = fillUniform(device, problem.costs(),
                                shape.rows * shape.columns, shape.dtype))
    return std::move(error);
  for (int vector = 0; vector < 4; ++vector) {
    int64_t count = vector % 2 == 0 ? shape.rows : shape.columns;
    double weight = 1.0 / static_cast<double>(count);
    std::vector<char> stored = storeReals(
        shape.compute(),
        std::vector<double>(count, vector < 2 ? weight : std::log(weight)));
    auto memory = device.allocate(stored.size());
    if (!memory)
      return memory.takeError();
    problem.vectors[vector] = std::move(*memory);
    if (Error error = device.upload(problem.vectors[vector].address(),
                                    stored.data(), stored.size()))
      return std::move(error);
  }
  return problem;
}

} // namespace heddle::bench
