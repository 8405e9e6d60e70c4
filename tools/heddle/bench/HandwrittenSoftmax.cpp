//===- HandwrittenSoftmax.cpp - a hand-written softmax of rows ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HandwrittenSoftmax.h"
#include "BenchFiles.h"

#include "runtime/nvrtc/Nvrtc.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

std::string SoftmaxClass::describe() const {
  static const char *const kinds[] = {"staged", "whole rows", "chunks"};
  return formatv("{0} lane{1} of {2}, {3}", lanes, lanes == 1 ? "" : "s", items,
                 kinds[kind]);
}

SoftmaxClass softmaxClass(int64_t columns, DType dtype) {
  // The elements of a thread are in registers; those of f64 need two each.
  int64_t most = dtype == DType::F64 ? 16 : 32;
  SoftmaxClass result;
  if (columns <= 64) {
    result.kind = SoftmaxClass::narrow;
    // A row of few elements is one thread's; otherwise neighbouring lanes
    // read neighbouring elements of shared memory.
    result.lanes = 1;
    while (columns > 8 && result.lanes < std::min<int64_t>(columns, 32))
      result.lanes *= 2;
  } else {
    while (result.lanes < 1024 && columns > result.lanes * most)
      result.lanes *= 2;
    if (columns > result.lanes * most) {
      result.kind = SoftmaxClass::chunked;
      result.lanes = 512;
      result.items = 16;
      return result;
    }
  }
  result.items = static_cast<int>((columns + result.lanes - 1) / result.lanes);
  return result;
}

Error HandwrittenSoftmax::load(DType dtype) {
  KernelSource source;
  source.name = "row_softmax.cu";
  source.text = benchFile(source.name).str();
  source.options = {"--std=c++17", "--fmad=false",
                    formatv("-DELEMENT={0}", elementCode(dtype)).str(),
                    formatv("-DLANES={0}", chosen.lanes).str(),
                    formatv("-DITEMS={0}", chosen.items).str()};
  auto image =
      compileSource(source, device->getContext()->arch(), ImageKind::Cubin);
  if (!image)
    return image.takeError();
  auto loaded =
      Module::load(device->getContext(),
                   ArrayRef<char>(image->image.data(), image->image.size()));
  if (!loaded)
    return loaded.takeError();
  module = std::move(*loaded);
  return Error::success();
}

Error HandwrittenSoftmax::launch(StringRef entry, CUstream stream,
                                 int64_t width, int64_t height,
                                 ArrayRef<void *> arguments) {
  auto function = module->function(entry);
  if (!function)
    return function.takeError();
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(width);
  config.gridDimY = static_cast<unsigned>(height);
  config.blockDimX = chosen.threads();
  config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  HEDDLE_DRIVER_CALL(device->getDriver(), cuLaunchKernelEx, &config, *function,
                     const_cast<void **>(arguments.data()), nullptr);
  return Error::success();
}

static int64_t quotientUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

Error HandwrittenSoftmax::issue(CUstream stream) {
  if (chosen.kind == SoftmaxClass::narrow)
    return launch("row_softmax_narrow", stream, quotientUp(rows, rowsOfBlock),
                  1, {&x, &y, &rows, &columns, &rowsOfBlock});
  if (chosen.kind == SoftmaxClass::whole)
    return launch("row_softmax", stream,
                  quotientUp(rows, chosen.threads() / chosen.lanes), 1,
                  {&x, &y, &rows, &columns});
  int64_t chunks = quotientUp(columns, chosen.lanes * chosen.items);
  if (Error error = launch("row_softmax_partials", stream, chunks, rows,
                           {&x, &partial, &columns}))
    return error;
  return launch("row_softmax_finish", stream, chunks, rows,
                {&x, &y, &partial, &columns});
}

Expected<HandwrittenSoftmax>
HandwrittenSoftmax::create(Device &device, const char *x, int64_t rows,
                           int64_t columns, DType dtype) {
  HandwrittenSoftmax softmax(device);
  softmax.chosen = softmaxClass(columns, dtype);
  softmax.x = x;
  softmax.rows = rows;
  softmax.columns = static_cast<int>(columns);
  size_t real = dtype == DType::F64 ? 8 : 4;
  softmax.rowsOfBlock =
      std::max(8, static_cast<int>(16384 / real / columns) / 8 * 8);
  if (softmax.chosen.kind == SoftmaxClass::chunked && rows > 65535)
    return makeError(StatusCode::Failed,
                     "the hand-written kernel takes at most 65535 wide rows, "
                     "found {0}",
                     rows);
  int64_t chunks =
      quotientUp(columns, softmax.chosen.lanes * softmax.chosen.items);
  for (auto [at, bytes] :
       {std::pair(&softmax.y, rows * columns * dtypeSize(dtype)),
        {&softmax.partial, 2 * real * chunks * rows}}) {
    auto memory = device.allocate(bytes);
    if (!memory)
      return memory.takeError();
    *at = memory->address();
    softmax.memory.push_back(std::move(*memory));
  }
  if (Error error = softmax.load(dtype))
    return std::move(error);
  auto graph =
      device.capture([&](CUstream stream) { return softmax.issue(stream); });
  if (!graph)
    return graph.takeError();
  softmax.graph = std::move(*graph);
  return softmax;
}

Error HandwrittenSoftmax::replay() {
  HEDDLE_DRIVER_CALL(device->getDriver(), cuGraphLaunch, graph.get(),
                     device->getStream());
  return Error::success();
}

} // namespace heddle::bench
