//===- CpuHarness.h - runs handwritten programs on the cpu target ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a fused program, lays out tables as docs/plan.md describes (without
// the runtime), and calls the functions of its sweeps.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_CPUHARNESS_H
#define HEDDLE_TEST_UNIT_CODEGEN_CPUHARNESS_H

#include "codegen/cpu/CpuTarget.h"
#include "codegen/layout/SweepLayout.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

/// A member of a list, as bound; a vector has one row.
struct Member {
  void *data = nullptr;
  int64_t rows = 1, columns = 1;
  bool active = true;
};

/// Memory of one tensor, optionally misaligned by some elements, with guards
/// around it that must not change.
template <class T> class Tensor {
public:
  explicit Tensor(int64_t count, int64_t offset = 0)
      : count(count), offset(offset), memory(offset + count + guard, poison()) {
  }
  Tensor(std::vector<T> values) : Tensor(static_cast<int64_t>(values.size())) {
    std::copy(values.begin(), values.end(), begin());
  }

  T *begin() { return memory.data() + offset; }
  T *end() { return begin() + count; }
  T &operator[](int64_t k) { return begin()[k]; }
  int64_t size() const { return count; }
  Member vector() { return {begin(), 1, count}; }
  Member matrix(int64_t rows, int64_t columns) {
    return {begin(), rows, columns};
  }
  bool guardHolds() {
    T expected = poison();
    for (size_t k = 0; k < memory.size(); ++k)
      if ((k < static_cast<size_t>(offset) ||
           k >= static_cast<size_t>(offset + count)) &&
          std::memcmp(&memory[k], &expected, sizeof(T)))
        return false;
    return true;
  }

private:
  static T poison() {
    T value;
    std::memset(&value, 0xa5, sizeof(T));
    return value;
  }
  static constexpr int64_t guard = 64;
  int64_t count, offset;
  std::vector<T> memory;
};

class CpuHarness {
public:
  /// Parses a module with one fused program; diagnostics are collected.
  explicit CpuHarness(const std::string &text);
  ~CpuHarness();

  bool compile();
  std::string diagnostics;
  std::string error;

  void bindList(int buffer, std::vector<Member> members);
  void bindScalar(int buffer, void *address);
  /// Runs all sweeps in order.
  void run();
  /// Makes the tables and scratch areas of each sweep, once for many launches.
  void bind();
  void launch();

  fused::ProgramOp fusedProgram() { return programOp; }

private:
  struct Bound;
  void bindSweep(fused::SweepOp sweep);

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  fused::ProgramOp programOp;
  std::unique_ptr<runtime::CpuProgram> program;
  std::vector<std::vector<Member>> lists;
  std::vector<void *> scalars;
  std::vector<std::unique_ptr<Bound>> bound;
};

/// The type of a list, and the attributes of a sweep with its schedule, name
/// and result buffers.
std::string listType(const std::string &element, int rank = 1);
std::string stream(const std::string &name, const std::string &buffers,
                   int vector = 4, int tile = 1024);
std::string rows(const std::string &name, const std::string &buffers,
                 int tile = 4);

//===----------------------------------------------------------------------===//
// The order of reductions, in plain loops
//===----------------------------------------------------------------------===//

template <class T, class Combine>
T blockOrder(std::vector<T> x, Combine combine) {
  for (size_t o = 16; o; o /= 2) {
    std::vector<T> before = x;
    for (size_t t = 0; t < x.size(); ++t)
      x[t] = combine(before[t], before[t ^ o]);
  }
  T result = x[0];
  for (size_t t = 32; t < x.size(); t += 32)
    result = combine(result, x[t]);
  return result;
}

/// The order in which a block combines consecutive values, one per thread in
/// turn.
template <class T, class Combine>
T spreadOrder(const std::vector<T> &values, T neutral, Combine combine) {
  std::vector<T> x(256, neutral);
  for (size_t k = 0; k < values.size(); ++k)
    x[k % 256] = combine(x[k % 256], values[k]);
  return blockOrder(x, combine);
}

/// The partials of the tiles of a member of a `stream` sweep.
template <class T, class Combine>
std::vector<T> tilePartials(const std::vector<T> &values, int64_t vector,
                            int64_t tile, T neutral, Combine combine) {
  std::vector<T> partials;
  int64_t count = values.size();
  for (int64_t first = 0; first == 0 || first < count; first += tile) {
    std::vector<T> x(256, neutral);
    for (int64_t e = 0; e < std::min(tile, count - first); ++e) {
      int64_t t = e / vector % 256;
      x[t] = combine(x[t], values[first + e]);
    }
    partials.push_back(blockOrder(x, combine));
  }
  return partials;
}

/// The order in which a `stream` sweep combines the elements of a member.
template <class T, class Combine>
T streamOrder(const std::vector<T> &values, int64_t vector, int64_t tile,
              T neutral, Combine combine) {
  return spreadOrder(tilePartials(values, vector, tile, neutral, combine),
                     neutral, combine);
}

/// The order in which the partials of all tiles of a list are combined: 1024
/// threads, one after the other in turn, then the threads of each warp, then
/// the warps as the threads of a warp.
template <class T, class Combine>
T listOrder(const std::vector<T> &partials, T neutral, Combine combine) {
  std::vector<T> x(1024, neutral), warps;
  for (size_t k = 0; k < partials.size(); ++k)
    x[k % 1024] = combine(x[k % 1024], partials[k]);
  for (size_t first = 0; first < x.size(); first += 32)
    warps.push_back(blockOrder(
        std::vector<T>(x.begin() + first, x.begin() + first + 32), combine));
  return blockOrder(warps, combine);
}

inline double randomIn(double low, double high) {
  static std::mt19937_64 engine(7);
  return std::uniform_real_distribution<double>(low, high)(engine);
}

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CPUHARNESS_H
