//===- CudaHarness.h - runs one program in all executors --------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a program for the interpreter, the cpu target (fused and not) and
// CUDA, runs all of them on the same inputs, and compares the results.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_CUDAHARNESS_H
#define HEDDLE_TEST_UNIT_CODEGEN_CUDAHARNESS_H

#include "codegen/compiler/ProgramCompiler.h"
#include "dialect/reference/Interpreter.h"
#include "runtime/program/ProgramGraph.h"
#include "test/support/cuda_on_cpu/CudaOnCpuGraph.h"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

/// The members of a list and the layout of their memory.
struct ListInput {
  struct Member {
    std::vector<int64_t> extents;
    std::vector<double> data;
    /// The distance in elements from a fully aligned address.
    int offset = 0;
    /// For a matrix: elements between its rows, in executors that support a
    /// stride.
    int gap = 0;
  };
  std::vector<Member> members;
  std::vector<bool> inactive;
};

struct Inputs {
  std::map<std::string, ListInput> lists;
  std::map<std::string, double> scalars;
};

/// The elements of each member of each result.
using Numbers = std::vector<std::vector<std::vector<double>>>;

/// One executor of a program, which runs step after step. Donated arguments
/// carry over.
class Runnable {
public:
  virtual ~Runnable() = default;
  virtual llvm::Error step() = 0;
  virtual void setScalar(llvm::StringRef name, double value) = 0;
  virtual void setList(llvm::StringRef name, const ListInput &list) = 0;
  /// The results of the last step; inactive members have no elements.
  virtual Numbers results() = 0;
  /// The ends of their ranges, in bounded arithmetic.
  virtual std::pair<Numbers, Numbers> ranges() { return {}; }
  std::string name;
};

/// A graph of the runtime with its own memory, and with margins around each
/// member that must not be written.
class GraphRun : public Runnable {
public:
  GraphRun(std::string name, std::unique_ptr<runtime::ProgramGraph> graph,
           const Inputs &inputs);
  llvm::Error step() override;
  void setScalar(llvm::StringRef name, double value) override;
  void setList(llvm::StringRef name, const ListInput &list) override;
  Numbers results() override;
  /// Binds a scalar to memory of the caller.
  void bindScalar(llvm::StringRef name, double value);

  runtime::ProgramGraph &graph() { return *owned; }

private:
  struct Memory {
    std::vector<char> bytes;
    char *data = nullptr;
    size_t size = 0, row = 1, stride = 1; // bytes
    bool holds(const char *byte) const {
      return byte >= data && byte < data + size &&
             static_cast<size_t>(byte - data) % stride < row;
    }
  };
  llvm::Error checkMargins();
  /// Whether every sweep supports a stride in the matrices of an argument: none
  /// visits them as vectors.
  bool takesStrides(llvm::StringRef argument) const;

  std::unique_ptr<runtime::ProgramGraph> owned;
  std::map<std::string, std::vector<Memory>> lists;
  std::map<std::string, std::unique_ptr<double>> scalars;
  std::map<std::string, std::vector<bool>> inactive;
  void note(llvm::Error error);
  std::string problem; ///< errors while inputs were set
};

/// One program.
class Program {
public:
  /// Reads the program; an error fails the test.
  explicit Program(llvm::StringRef text);

  /// The plan with the CUDA source.
  const runtime::Plan &plan();
  std::string cuda() { return plan().source.text(); }
  /// The source as host code; compiled on demand unless setHostSource() was
  /// called.
  std::shared_ptr<HostSource> hostSource();
  void setHostSource(std::shared_ptr<HostSource> source) {
    host = std::move(source);
  }

  std::unique_ptr<Runnable> reference(const Inputs &inputs,
                                      reference::Arithmetic arithmetic);
  std::unique_ptr<GraphRun> cpu(const Inputs &inputs, bool fuse = true);
  std::unique_ptr<GraphRun> cuda(const Inputs &inputs, llvm::StringRef suffix,
                                 uint64_t seed);

  mlir::func::FuncOp function() { return func; }
  bool isGood() const { return good; }
  const std::string &source() const { return text; }

private:
  void complain(llvm::Error error);

  std::string text;
  Compilation read;
  mlir::func::FuncOp func;
  std::optional<runtime::Plan> cudaPlan;
  std::shared_ptr<HostSource> host;
  std::shared_ptr<runtime::Executable> executables[2];
  bool good = true;
};

/// The program `text`. Tests of one process share it and everything compiled
/// for it; only the last few programs are kept.
Program &sharedProgram(const std::string &text);

/// Empty, or the position where `found` first differs from `expected`; all NaNs
/// are equal.
std::string differenceInBits(const Numbers &expected, const Numbers &found);

/// Empty, or a message if the RMS error of a result in `found` exceeds both
/// `factor` times that of a plain evaluation in the types as written (`plain`)
/// and a few units in the last place. Errors are distances from `exact`.
std::string differenceFrom(const Numbers &exact, const Numbers &plain,
                           const Numbers &found, double unit,
                           double factor = 1.5);

/// Empty, or where `found` is outside of the ranges of `reference`, whose
/// results are `exact`. With `factor`, ranges are that many times as wide.
std::string differenceFromRanges(const Numbers &exact,
                                 const std::pair<Numbers, Numbers> &ranges,
                                 const Numbers &found, double factor = 1);

/// The suffixes of the entries that a sweep may have.
llvm::ArrayRef<llvm::StringRef> entrySuffixes();

/// Inputs for the arguments of `program`. `extents` gives the shapes of a list
/// by its name (for rank 0: one for each member).
using ExtentsOf = std::function<std::vector<std::vector<int64_t>>(
    llvm::StringRef name, int64_t rank)>;
Inputs randomInputs(Program &program, const ExtentsOf &extents, uint64_t seed,
                    bool misaligned = false);
/// Gives every matrix its own gap between rows.
void spreadRows(Inputs &inputs);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAHARNESS_H
