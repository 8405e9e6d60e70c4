//===- CudaHarness.cpp - runs one program in all executors ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/reference/Ranges.h"
#include "runtime/cpu/CpuGraph.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <list>

using namespace heddle::runtime;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle::test {

static std::string messageOf(llvm::Error error) {
  return takeError(std::move(error)).second;
}

/// `value`, rounded to `dtype`.
static double decodeNumber(DType dtype, double value) {
  ScalarBytes bytes;
  cantFail(encodeScalar(dtype, value, bytes));
  return decodeScalar(dtype, bytes.data());
}

static DType dtypeOf(mlir::Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return *parseDType(name);
}

//===----------------------------------------------------------------------===//
// The interpreter
//===----------------------------------------------------------------------===//

namespace {
class ReferenceRun : public Runnable {
public:
  ReferenceRun(mlir::func::FuncOp function, const Inputs &inputs,
               reference::Arithmetic arithmetic)
      : function(function) {
    name = "interpreter";
    options.arithmetic = arithmetic;
    options.inactive.resize(function.getNumArguments());
    arguments.resize(function.getNumArguments());
    for (unsigned k = 0; k < arguments.size(); ++k) {
      std::string argument = nameOf(function.getArgument(k)).str();
      if (auto list = inputs.lists.find(argument); list != inputs.lists.end())
        setList(argument, list->second);
      else if (auto scalar = inputs.scalars.find(argument);
               scalar != inputs.scalars.end())
        setScalar(argument, scalar->second);
      else if (auto number = function.getArgAttrOfType<mlir::FloatAttr>(
                   k, foreach::kDefaultAttr))
        setScalar(argument, number.getValueAsDouble());
      else if (auto number = function.getArgAttrOfType<mlir::IntegerAttr>(
                   k, foreach::kDefaultAttr))
        setScalar(argument, static_cast<double>(number.getInt()));
      else
        ADD_FAILURE() << "no input for " << argument;
    }
  }

  void setScalar(llvm::StringRef argument, double value) override {
    arguments[find(argument)] = reference::Value::scalar(value);
  }
  void setList(llvm::StringRef argument, const ListInput &list) override {
    unsigned k = find(argument);
    arguments[k].members.clear();
    for (const ListInput::Member &member : list.members)
      arguments[k].members.push_back({member.extents, member.data});
    options.inactive[k] = list.inactive;
  }

  llvm::Error step() override {
    auto values = reference::interpret(function, arguments, options);
    if (mlir::failed(values))
      return makeError(StatusCode::Failed, "the interpreter failed");
    last = *values;
    for (unsigned k = 0; k < arguments.size(); ++k)
      if (auto donated = function.getArgAttrOfType<mlir::IntegerAttr>(
              k, foreach::kDonateAttr))
        arguments[k] = last[donated.getInt()];
    return llvm::Error::success();
  }

  Numbers results() override {
    return planes([](const reference::Tensor &tensor) -> const auto & {
      return tensor.data;
    });
  }
  std::pair<Numbers, Numbers> ranges() override {
    return {planes([](const reference::Tensor &tensor) -> const auto & {
              return tensor.lows();
            }),
            planes([](const reference::Tensor &tensor) -> const auto & {
              return tensor.highs();
            })};
  }

private:
  template <class Plane> Numbers planes(Plane plane) const {
    Numbers numbers;
    for (const reference::Value &value : last) {
      auto &members = numbers.emplace_back();
      for (const reference::Tensor &tensor : value.members)
        members.push_back(plane(tensor));
    }
    return numbers;
  }
  unsigned find(llvm::StringRef argument) {
    for (mlir::BlockArgument candidate : function.getArguments())
      if (nameOf(candidate) == argument)
        return candidate.getArgNumber();
    ADD_FAILURE() << "no argument " << argument.str();
    return 0;
  }

  mlir::func::FuncOp function;
  reference::InterpretOptions options;
  std::vector<reference::Value> arguments, last;
};
} // namespace

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static constexpr size_t kMargin = 128;
static constexpr char kPoison = char(0xff); // NaN in every float

GraphRun::GraphRun(std::string name, std::unique_ptr<ProgramGraph> graph,
                   const Inputs &inputs)
    : owned(std::move(graph)) {
  this->name = std::move(name);
  for (const PlanBuffer &buffer : owned->plan().buffers) {
    if (buffer.role != runtime::BufferRole::Argument)
      continue;
    if (buffer.kind == BufferKind::Scalar) {
      if (auto value = inputs.scalars.find(buffer.name);
          value != inputs.scalars.end())
        setScalar(buffer.name, value->second);
      continue;
    }
    setList(buffer.name, inputs.lists.at(buffer.name));
  }
}

void GraphRun::setScalar(llvm::StringRef argument, double value) {
  if (auto bound = scalars.find(argument.str()); bound != scalars.end()) {
    *bound->second = value;
    return;
  }
  note(owned->setScalar(argument, value, nullptr));
}

void GraphRun::bindScalar(llvm::StringRef argument, double value) {
  const Plan &plan = owned->plan();
  DType dtype = plan.buffers[plan.findArgument(argument)].dtype;
  auto &place = scalars[argument.str()] = std::make_unique<double>(value);
  note(owned->bindScalar(argument, dtype, place.get()));
}

void GraphRun::setList(llvm::StringRef argument, const ListInput &list) {
  const Plan &plan = owned->plan();
  DType dtype = plan.buffers[plan.findArgument(argument)].dtype;
  size_t size = dtypeSize(dtype);
  auto &memories = lists[argument.str()];
  bool first = memories.empty();
  memories.resize(list.members.size());
  std::vector<ListMember> members;
  for (auto [memory, member] : llvm::zip(memories, list.members)) {
    if (first) {
      memory.size = member.data.size() * size;
      if (member.gap && takesStrides(argument) && memory.size) {
        memory.row = member.extents.back() * size;
        memory.stride = memory.row + member.gap * size;
        memory.size =
            (memory.size / memory.row - 1) * memory.stride + memory.row;
      }
      memory.bytes.assign(memory.size + 4 * kMargin + 64, kPoison);
      auto address = reinterpret_cast<uintptr_t>(memory.bytes.data()) + kMargin;
      memory.data = reinterpret_cast<char *>(address + (-address & 255) % 128) +
                    member.offset * size;
    }
    ScalarBytes bytes;
    for (auto [k, value] : llvm::enumerate(member.data)) {
      if (llvm::Error error = encodeScalar(dtype, value, bytes)) {
        note(std::move(error));
        break;
      }
      size_t at = k * size;
      std::memcpy(memory.data + at / memory.row * memory.stride +
                      at % memory.row,
                  bytes.data(), size);
    }
    members.push_back({memory.data,
                       llvm::SmallVector<int64_t, 4>(member.extents.begin(),
                                                     member.extents.end()),
                       memory.stride == memory.row
                           ? 0
                           : static_cast<int64_t>(memory.stride / size)});
  }
  if (!first) // other values at the same addresses: no binding changes
    return;
  note(owned->bindList(argument, dtype, members));
  if (!list.inactive.empty()) {
    llvm::SmallVector<bool> mask(list.inactive.begin(), list.inactive.end());
    note(owned->setInactive(argument, mask));
  }
}

bool GraphRun::takesStrides(llvm::StringRef argument) const {
  const Plan &plan = owned->plan();
  int buffer = plan.findArgument(argument);
  return plan.buffers[buffer].rank == 2 &&
         llvm::none_of(plan.tables, [&](const runtime::PlanTable &table) {
           return table.rank != 2 &&
                  llvm::any_of(table.segments, [&](const auto &segment) {
                    return llvm::any_of(segment.operands, [&](auto &operand) {
                      return operand.buffer == buffer;
                    });
                  });
         });
}

void GraphRun::note(llvm::Error error) {
  if (error)
    problem += messageOf(std::move(error)) + "\n";
}

llvm::Error GraphRun::step() {
  if (!problem.empty())
    return makeError(StatusCode::Failed, "{0}", problem);
  if (llvm::Error error = owned->replay(nullptr))
    return error;
  return checkMargins();
}

llvm::Error GraphRun::checkMargins() {
  for (auto &[argument, memories] : lists)
    for (auto [m, memory] : llvm::enumerate(memories))
      for (char &byte : memory.bytes)
        if (!memory.holds(&byte) && byte != kPoison)
          return makeError(StatusCode::Failed,
                           "memory beside member {0} of '{1}' was written", m,
                           argument);
  return llvm::Error::success();
}

Numbers GraphRun::results() {
  Numbers numbers;
  for (const PlanResult &result : owned->plan().results) {
    auto &members = numbers.emplace_back();
    DType dtype = owned->plan().buffers[result.buffer].dtype;
    for (const ResultMember &member : cantFail(owned->result(result.name))) {
      auto &elements = members.emplace_back();
      if (!member.address)
        continue;
      elements.resize(member.extents[0] * member.extents[1]);
      for (size_t k = 0; k < elements.size(); ++k)
        elements[k] =
            decodeScalar(dtype, static_cast<const char *>(member.address) +
                                    (k / member.extents[1] * member.rowStride +
                                     k % member.extents[1]) *
                                        dtypeSize(dtype));
    }
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Program::Program(llvm::StringRef text) : text(text) {
  if (llvm::Error error = read.read(text)) {
    complain(std::move(error));
    return;
  }
  func = *read.getModule().getOps<mlir::func::FuncOp>().begin();
}

void Program::complain(llvm::Error error) {
  good = false;
  ADD_FAILURE() << messageOf(std::move(error)) << "\nin the program\n" << text;
}

const Plan &Program::plan() {
  if (cudaPlan)
    return *cudaPlan;
  cudaPlan.emplace();
  Compilation compilation;
  llvm::Error error = compilation.read(text);
  if (!error)
    error = compilation.lower();
  if (error) {
    complain(std::move(error));
    return *cudaPlan;
  }
  auto plan = compilation.planForCuda();
  if (!plan) {
    complain(plan.takeError());
    return *cudaPlan;
  }
  cudaPlan = std::move(*plan);
  if (llvm::Error error = validatePlan(*cudaPlan))
    complain(std::move(error));
  return *cudaPlan;
}

std::shared_ptr<HostSource> Program::hostSource() {
  if (host)
    return host;
  auto compiled = HostSource::compile({&plan()});
  if (compiled)
    host = std::move(*compiled);
  else
    complain(compiled.takeError());
  return host;
}

std::unique_ptr<Runnable> Program::reference(const Inputs &inputs,
                                             reference::Arithmetic arithmetic) {
  return std::make_unique<ReferenceRun>(func, inputs, arithmetic);
}

std::unique_ptr<GraphRun> Program::cpu(const Inputs &inputs, bool fuse) {
  auto &executable = executables[fuse];
  if (!executable) {
    PipelineOptions options;
    options.fuse = fuse;
    Compilation compilation(options);
    llvm::Error error = compilation.read(text);
    if (!error)
      error = compilation.lower();
    if (error) {
      complain(std::move(error));
      return nullptr;
    }
    auto compiled = compilation.compile(Target::Cpu);
    if (!compiled) {
      complain(compiled.takeError());
      return nullptr;
    }
    executable =
        cantFail(Executable::create(std::move(*compiled), Target::Cpu, ""));
  }
  auto graph = CpuGraph::create(executable);
  if (!graph) {
    complain(graph.takeError());
    return nullptr;
  }
  return std::make_unique<GraphRun>(fuse ? "cpu" : "cpu, not fused",
                                    std::move(*graph), inputs);
}

std::unique_ptr<GraphRun> Program::cuda(const Inputs &inputs,
                                        llvm::StringRef suffix, uint64_t seed) {
  if (!hostSource())
    return nullptr;
  auto graph = cantFail(CudaOnCpuGraph::create(plan(), host));
  graph->chooseEntries(suffix);
  graph->setSeed(seed);
  return std::make_unique<GraphRun>(
      ("cuda " + suffix + ", seed " + std::to_string(seed)).str(),
      std::move(graph), inputs);
}

Program &sharedProgram(const std::string &text) {
  constexpr size_t kMost = 32;
  static std::list<Program> programs;
  auto found = llvm::find_if(
      programs, [&](const Program &other) { return other.source() == text; });
  if (found == programs.end()) {
    programs.emplace_front(text);
    if (programs.size() > kMost)
      programs.pop_back();
  } else {
    programs.splice(programs.begin(), programs, found);
  }
  return programs.front();
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static bool sameBits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, 8) == 0;
}

static std::string place(size_t result, size_t member, size_t element) {
  return "result " + std::to_string(result) + ", member " +
         std::to_string(member) + ", element " + std::to_string(element);
}

std::string differenceInBits(const Numbers &expected, const Numbers &found) {
  if (expected.size() != found.size())
    return "the number of results differs";
  for (size_t r = 0; r < expected.size(); ++r) {
    if (expected[r].size() != found[r].size())
      return "the number of members of result " + std::to_string(r) +
             " differs";
    for (size_t m = 0; m < expected[r].size(); ++m) {
      const auto &a = expected[r][m], &b = found[r][m];
      if (a.size() != b.size())
        return place(r, m, 0) + ": the extents differ";
      for (size_t k = 0; k < a.size(); ++k)
        if (!sameBits(a[k], b[k]))
          return llvm::formatv("{0}: expected {1:e17}, found {2:e17}",
                               place(r, m, k), a[k], b[k])
              .str();
    }
  }
  return {};
}

std::string differenceFrom(const Numbers &exact, const Numbers &plain,
                           const Numbers &found, double unit, double factor) {
  if (exact.size() != found.size())
    return "the number of results differs";
  for (size_t r = 0; r < exact.size(); ++r) {
    if (exact[r].size() != found[r].size())
      return "the number of members of result " + std::to_string(r) +
             " differs";
    double plainSquares = 0, foundSquares = 0, largest = 0, worst = -1;
    size_t count = 0;
    std::string where;
    for (size_t m = 0; m < exact[r].size(); ++m) {
      const auto &e = exact[r][m], &p = plain[r][m], &f = found[r][m];
      if (f.empty()) // empty or inactive
        continue;
      if (e.size() != f.size())
        return place(r, m, 0) + ": the extents differ";
      for (size_t k = 0; k < e.size(); ++k) {
        // If a plain evaluation overflows or is NaN, this result may be, too.
        if (!std::isfinite(p[k]) || !std::isfinite(e[k])) {
          if (!std::isfinite(f[k])
                  ? sameBits(f[k], p[k]) || sameBits(f[k], e[k])
                  : f[k] == e[k])
            continue;
          return llvm::formatv("{0}: expected {1} or {2}, found {3}",
                               place(r, m, k), e[k], p[k], f[k])
              .str();
        }
        if (!std::isfinite(f[k]))
          return llvm::formatv("{0}: expected {1}, found {2}", place(r, m, k),
                               e[k], f[k])
              .str();
        double own = f[k] - e[k], theirs = p[k] - e[k];
        plainSquares += theirs * theirs;
        foundSquares += own * own;
        largest = std::max(largest, std::fabs(e[k]));
        ++count;
        if (std::fabs(own) > worst) {
          worst = std::fabs(own);
          where = llvm::formatv("{0}: expected {1:e17} (plain {2:e17}), found "
                                "{3:e17}",
                                place(r, m, k), e[k], p[k], f[k])
                      .str();
        }
      }
    }
    if (!count)
      continue;
    // With few elements the error estimate is noisy, and some are products or
    // sums of very many values.
    bool few = count < 64;
    double bound = (few ? 4 : 1) * factor * std::sqrt(plainSquares / count) +
                   (few && unit < 1e-6 ? 128 : 4) * unit * largest;
    if (std::sqrt(foundSquares / count) > bound)
      return llvm::formatv("RMS error {0:e3}, allowed {1:e3}; largest at {2}",
                           std::sqrt(foundSquares / count), bound, where)
          .str();
  }
  return {};
}

std::string differenceFromRanges(const Numbers &exact,
                                 const std::pair<Numbers, Numbers> &ranges,
                                 const Numbers &found, double factor) {
  if (exact.size() != found.size())
    return "the number of results differs";
  for (size_t r = 0; r < exact.size(); ++r) {
    if (exact[r].size() != found[r].size())
      return "the number of members of result " + std::to_string(r) +
             " differs";
    for (size_t m = 0; m < exact[r].size(); ++m) {
      const auto &e = exact[r][m], &f = found[r][m];
      if (f.empty()) // nothing, or inactive
        continue;
      if (e.size() != f.size())
        return place(r, m, 0) + ": the extents differ";
      for (size_t k = 0; k < e.size(); ++k) {
        reference::Range range{ranges.first[r][m][k], ranges.second[r][m][k]};
        if (factor != 1 && std::isfinite(range.high - range.low))
          range = {e[k] - factor * (e[k] - range.low),
                   e[k] + factor * (range.high - e[k])};
        if (!range.contains(f[k]))
          return llvm::formatv("{0}: expected {1:e17} ({2:e17} to {3:e17}), "
                               "found {4:e17}",
                               place(r, m, k), e[k], range.low, range.high,
                               f[k])
              .str();
      }
    }
  }
  return {};
}

llvm::ArrayRef<llvm::StringRef> entrySuffixes() {
  static const llvm::StringRef suffixes[] = {
      "_tiles",         "_evict_first", "_held_rows",    "_tiles_by_address",
      "_in_one_launch", "_panels",      "_row_clusters", "_row_parts",
      "_long_parts",    "_distances",   "_vectors"};
  return suffixes;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Inputs randomInputs(Program &program, const ExtentsOf &extents, uint64_t seed,
                    bool misaligned) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Inputs inputs;
  auto function = program.function();
  for (mlir::BlockArgument argument : function.getArguments()) {
    llvm::StringRef name = nameOf(argument);
    mlir::Type type = argument.getType();
    mlir::Type storage = storageType(type);
    DType dtype = dtypeOf(storage);
    bool isDefault = static_cast<bool>(
        function.getArgAttr(argument.getArgNumber(), foreach::kDefaultAttr));
    auto number = [&]() -> double {
      if (storage.isInteger(1))
        return random() % 2;
      if (mlir::isa<mlir::IntegerType>(storage))
        return static_cast<double>(random() % 41) - 20;
      if (name.contains("step"))
        return random() % 5;
      if (isDefault) // a hyperparameter for each member of a group
        return name.contains("beta")       ? 0.9 + 0.01 * (random() % 9)
               : name.contains("eps")      ? 1e-8
               : name.contains("max_norm") ? 3.0
                                           : 0.001 * (1 + random() % 100);
      double value = normal(random);
      return name.contains("_sq") ? value * value : value;
    };
    if (!isList(type)) {
      if (!isDefault)
        inputs.scalars[name.str()] = number();
      continue;
    }
    ListInput list;
    for (const std::vector<int64_t> &shape : extents(name, rankOf(type))) {
      ListInput::Member member{rankOf(type) ? shape : std::vector<int64_t>(),
                               {},
                               misaligned ? static_cast<int>(random() % 5) : 0};
      int64_t count = 1;
      for (int64_t extent : member.extents)
        count *= extent;
      for (int64_t k = 0; k < count; ++k)
        member.data.push_back(decodeNumber(dtype, number()));
      list.members.push_back(std::move(member));
    }
    inputs.lists[name.str()] = std::move(list);
  }
  return inputs;
}

void spreadRows(Inputs &inputs) {
  int gap = 0;
  for (auto &[name, list] : inputs.lists)
    for (ListInput::Member &member : list.members)
      if (member.extents.size() >= 2)
        member.gap = 1 + gap++ % 9;
}

} // namespace heddle::test
