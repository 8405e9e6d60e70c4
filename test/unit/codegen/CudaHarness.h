//===- CudaHarness.h - one program, run in every way ------------*- C++ -*-===//
//
// Compiles a program for the interpreter, the cpu target (fused and not) and
// CUDA, gives all of them the same inputs and compares what they make of them.
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

/// The members of a list and where they lie.
struct ListInput {
  struct Member {
    std::vector<int64_t> extents;
    std::vector<double> data;
    /// Elements by which the member is off an address of full alignment.
    int offset = 0;
    /// Of a matrix: elements between its rows, for those who can do with them.
    int gap = 0;
  };
  std::vector<Member> members;
  std::vector<bool> inactive;
};

struct Inputs {
  std::map<std::string, ListInput> lists;
  std::map<std::string, double> scalars;
};

/// Elements of each member of each result, as numbers.
using Numbers = std::vector<std::vector<std::vector<double>>>;

/// A way to run a program step after step. Donated arguments carry over.
class Runnable {
public:
  virtual ~Runnable() = default;
  virtual llvm::Error step() = 0;
  virtual void setScalar(llvm::StringRef name, double value) = 0;
  virtual void setList(llvm::StringRef name, const ListInput &list) = 0;
  /// The results of the last step; inactive members have no elements.
  virtual Numbers results() = 0;
  std::string name;
};

/// A graph of the runtime over memory of its own, with margins around each
/// member that nobody may write.
class GraphRun : public Runnable {
public:
  GraphRun(std::string name, std::unique_ptr<runtime::ProgramGraph> graph,
           const Inputs &inputs);
  llvm::Error step() override;
  void setScalar(llvm::StringRef name, double value) override;
  void setList(llvm::StringRef name, const ListInput &list) override;
  Numbers results() override;
  /// Scalars are read where the caller keeps them.
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
  /// Whether no sweep takes the matrices of an argument for vectors.
  bool takesStrides(llvm::StringRef argument) const;

  std::unique_ptr<runtime::ProgramGraph> owned;
  std::map<std::string, std::vector<Memory>> lists;
  std::map<std::string, std::unique_ptr<double>> scalars;
  std::map<std::string, std::vector<bool>> inactive;
  void note(llvm::Error error);
  std::string problem; ///< what went wrong while inputs were set
};

/// One program.
class Program {
public:
  /// Reads it; a failure is one of the test.
  explicit Program(llvm::StringRef text);

  /// The plan with CUDA text.
  const runtime::Plan &plan();
  std::string cuda() { return plan().source.text(); }
  /// The text as code of the host. A batch gives it from outside.
  std::shared_ptr<HostText> hostText();
  void setHostText(std::shared_ptr<HostText> text) { host = std::move(text); }

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
  std::shared_ptr<HostText> host;
  std::shared_ptr<runtime::Executable> executables[2];
  bool good = true;
};

/// The program of this text. Tests of one process share it, and with it all
/// that was compiled for it; only the last few are kept.
Program &sharedProgram(const std::string &text);

/// Empty, or where `found` first differs from `expected`; a NaN is a NaN.
std::string differenceInBits(const Numbers &expected, const Numbers &found);

/// Empty, or where `found` is further from `exact` than `factor` times what a
/// plain evaluation in the types as written (`plain`) is, over each result as a
/// whole, and than a few units in the last place.
std::string differenceFrom(const Numbers &exact, const Numbers &plain,
                           const Numbers &found, double unit,
                           double factor = 1.5);

/// The entries that a sweep may have.
llvm::ArrayRef<llvm::StringRef> entrySuffixes();

/// Inputs for the arguments of `program`: `members` gives the extents of a list
/// by its name (of rank 0: one for each member).
using ExtentsOf = std::function<std::vector<std::vector<int64_t>>(
    llvm::StringRef name, int64_t rank)>;
Inputs randomInputs(Program &program, const ExtentsOf &extents, uint64_t seed,
                    bool misaligned = false);
/// Gives every matrix a gap of its own between its rows.
void spreadRows(Inputs &inputs);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAHARNESS_H
