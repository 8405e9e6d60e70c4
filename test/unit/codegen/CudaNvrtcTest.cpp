//===- CudaNvrtcTest.cpp - the emitted CUDA source, compiled by NVRTC -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No warning, no spill in a `stream` sweep, 16-byte loads, no atomics on
// floats, no local memory, and a short compilation.
//
//===----------------------------------------------------------------------===//

#include "CudaHarness.h"
#include "CudaPrograms.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/nvrtc/ResourceReport.h"
#include "runtime/plan/PanelClass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"

#include <array>
#include <ctime>
#include <set>

using namespace heddle::runtime;

namespace heddle::test {
namespace {

constexpr const char *kArchitectures[] = {"sm_80", "sm_90", "sm_100", "sm_120"};

/// The resources that ptxas reports for an entry.
struct Resources {
  int stack = 0, spills = 0;
};

std::map<std::string, Resources> resourcesIn(llvm::StringRef log) {
  static llvm::Regex named("Compiling entry function '([^']+)'"),
      frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, "
            "([0-9]+) bytes spill loads");
  std::map<std::string, Resources> result;
  std::string entry;
  llvm::SmallVector<llvm::StringRef> lines, found;
  log.split(lines, '\n');
  auto number = [](llvm::StringRef text) { return std::stoi(text.str()); };
  for (llvm::StringRef line : lines) {
    if (named.match(line, &found))
      entry = found[1].str();
    else if (frame.match(line, &found) && !entry.empty())
      result[entry] = {number(found[1]), number(found[2]) + number(found[3])};
  }
  return result;
}

/// Whether the banner of `source` says that the sweep of an entry has the
/// `stream` schedule.
bool streams(llvm::StringRef source, llvm::StringRef entry) {
  llvm::SmallVector<llvm::StringRef> lines;
  source.split(lines, '\n');
  llvm::StringRef longest, kind;
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("// "))
      continue;
    auto [name, rest] = line.split(", ");
    if (entry.starts_with((name + "_").str()) && name.size() > longest.size()) {
      longest = name;
      kind = rest;
    }
  }
  return kind.starts_with("stream:");
}

KernelSource sourceOf(const Plan &plan) {
  return {plan.name, plan.source.text(), plan.headers, plan.options};
}

class CudaNvrtc : public testing::TestWithParam<NamedProgram> {
protected:
  static const Nvrtc *nvrtc() {
    static const Nvrtc *loaded = [] {
      auto found = Nvrtc::get();
      if (found)
        return *found;
      reason = takeError(found.takeError()).second;
      return static_cast<const Nvrtc *>(nullptr);
    }();
    return loaded;
  }
  static bool knows(llvm::StringRef arch) {
    int number;
    return !arch.drop_front(3).getAsInteger(10, number) &&
           llvm::is_contained(nvrtc()->architectures(), number);
  }
  void SetUp() override {
    if (!nvrtc())
      GTEST_SKIP() << reason;
  }
  static void TearDownTestSuite() {
    if (slowest > 0)
      printf("[   TIME   ] the slowest cold compilation took %.1f times as "
             "long as that of adamw: %s\n",
             slowest, slowestName.c_str());
  }

  static double secondsOfAdamW();
  static void forgetSecondsOfAdamW() { adamW = 0; }

  static std::string reason, slowestName;
  static double slowest, adamW;
};
std::string CudaNvrtc::reason, CudaNvrtc::slowestName;
double CudaNvrtc::slowest = 0, CudaNvrtc::adamW = 0;

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

/// The architecture for which every program is compiled.
constexpr const char *kMain = "sm_90";
/// The most processor time of a cold compilation for it, in compilations of
/// `adamw`. Seconds would measure the machine: a busy processor takes twice as
/// long for both. The largest program, of rows with a logsumexp, whose columns
/// have two orders, takes 40 beside other work; LAMB in two types 16 to 26.
constexpr double kMostCompilations = 56;

std::vector<NamedProgram> allPrograms() {
  std::vector<NamedProgram> all = standardPrograms();
  llvm::append_range(all, writtenPrograms());
  return all;
}

/// The features of a program: its name and options if it is a standard program;
/// otherwise the operations, axes and types of the module.
std::set<std::string> featuresOf(llvm::StringRef text) {
  std::set<std::string> features;
  llvm::SmallVector<llvm::StringRef> words;
  if (!text.contains('\n')) {
    llvm::SplitString(text, words, ":,+");
    for (llvm::StringRef word : words)
      features.insert(word.str());
    return features;
  }
  // The aliases of types are the same in every module.
  llvm::SplitString(text.drop_front(text.find("func.func")), words, " \n(),:");
  for (auto [k, word] : llvm::enumerate(words)) {
    if (word.starts_with("foreach.reduce") || word == "along")
      features.insert((word + " " + words[k + 1]).str());
    else if (word.starts_with("foreach.") || word.starts_with("arith.") ||
             word.starts_with("math.") || word.starts_with("!"))
      features.insert(word.str());
  }
  return features;
}

using Architectures = std::vector<std::string>;

/// The architectures for which each program is compiled: the main one, another
/// one, and as many more as are needed to compile every feature for every
/// architecture.
const std::map<std::string, Architectures> &architecturesOfPrograms() {
  static const std::map<std::string, Architectures> result = [] {
    std::map<std::string, Architectures> result;
    std::vector<NamedProgram> programs = allPrograms();
    std::vector<std::set<std::string>> features;
    for (const NamedProgram &program : programs)
      features.push_back(featuresOf(program.text));
    std::set<std::pair<std::string, std::string>> covered;
    auto add = [&](size_t k, const std::string &arch) {
      result[programs[k].text].push_back(arch);
      for (const std::string &feature : features[k])
        covered.insert({feature, arch});
    };
    for (size_t k = 0; k < programs.size(); ++k) {
      add(k, kMain);
      // The architecture for which most features are new; otherwise in turn.
      const char *best = nullptr;
      long most = -1;
      for (size_t turn = 0; turn < std::size(kArchitectures); ++turn) {
        const char *arch =
            kArchitectures[(k + turn) % std::size(kArchitectures)];
        long count = llvm::count_if(
            features[k], [&](auto &f) { return !covered.count({f, arch}); });
        if (llvm::StringRef(arch) != kMain && count > most) {
          best = arch;
          most = count;
        }
      }
      add(k, best);
    }
    for (size_t k = 0; k < programs.size(); ++k)
      for (const char *arch : kArchitectures)
        if (llvm::any_of(features[k],
                         [&](auto &f) { return !covered.count({f, arch}); }))
          add(k, arch);
    return result;
  }();
  return result;
}

TEST(CudaNvrtcArchitectures, EveryProgramHasTwoAndEveryFeatureHasAll) {
  std::map<std::string, std::set<std::string>> architectures;
  size_t compilations = 0;
  for (const NamedProgram &program : allPrograms()) {
    const Architectures &own = architecturesOfPrograms().at(program.text);
    EXPECT_GE(std::set<std::string>(own.begin(), own.end()).size(), 2u);
    EXPECT_TRUE(llvm::is_contained(own, kMain)) << program.name;
    for (const std::string &feature : featuresOf(program.text))
      architectures[feature].insert(own.begin(), own.end());
    compilations += own.size();
  }
  for (const auto &[feature, own] : architectures)
    EXPECT_EQ(own.size(), std::size(kArchitectures)) << feature;
  printf("[  CUBINS  ] %zu for %zu programs of %zu features\n", compilations,
         allPrograms().size(), architectures.size());
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct Outcome {
  std::string problems, ptx;
  /// Of the first compilation.
  double seconds = 0;
};

/// Whether a `stream` sweep spills more bytes. (The entries of rows may spill
/// with any number of blocks; nothing is checked of them.)
bool streamSpills(llvm::StringRef source, llvm::StringRef log, int most) {
  return llvm::any_of(resourcesIn(log), [&](const auto &entry) {
    return entry.second.spills > 2 * most && streams(source, entry.first);
  });
}

/// Compiles a source, and again for fewer resident blocks if a `stream` sweep
/// spills. (The runtime compiles units of one entry each, rows included.)
Outcome compileFor(const Nvrtc &nvrtc, KernelSource source,
                   llvm::StringRef arch, bool noStack) {
  Outcome outcome;
  std::vector<std::string> options = source.options;
  std::string log;
  // The math of precomputed scalars, which few steps need, may save a few
  // registers around its calls.
  const int spilledAroundCalls =
      llvm::StringRef(source.text).contains("__noinline__") ? 64 : 0;
  for (int fewer = 0; fewer < 3; ++fewer) {
    source.options = options;
    source.options.push_back(kReportOption.str());
    if (fewer)
      source.options.push_back("-DHEDDLE_FEWER_BLOCKS=" +
                               std::to_string(fewer));
    // Processor time, because other processes may use the machine.
    clock_t begin = clock();
    auto compiled = nvrtc.compile(source, arch, ImageKind::Cubin, &outcome.ptx);
    if (!fewer)
      outcome.seconds = static_cast<double>(clock() - begin) / CLOCKS_PER_SEC;
    if (!compiled) {
      outcome.problems = takeError(compiled.takeError()).second;
      return outcome;
    }
    log = compiled->log;
    if (!streamSpills(source.text, log, spilledAroundCalls))
      break;
  }
  std::string &problems = outcome.problems;
  if (std::string rest = withoutReport(log);
      !llvm::StringRef(rest).trim().empty())
    problems += "the compiler reports:\n" + rest;
  auto resources = resourcesIn(log);
  for (const std::string &entry : entryNames(source.text)) {
    auto own = resources.find(entry);
    if (own == resources.end()) {
      problems += "ptxas reports nothing about " + entry + ":\n" + log;
      continue;
    }
    // Stores and loads.
    if (own->second.spills > 2 * spilledAroundCalls &&
        streams(source.text, entry))
      problems +=
          entry + " spills " + std::to_string(own->second.spills) + " bytes\n";
    if (noStack && own->second.stack > spilledAroundCalls &&
        streams(source.text, entry))
      problems += entry + " has a stack frame of " +
                  std::to_string(own->second.stack) + " bytes\n";
  }
  return outcome;
}

/// Checks that there are no atomics on floats and no local memory, and that
/// `stream` sweeps load vectors.
void checkPtx(llvm::StringRef ptx, const Plan &plan, bool isExact) {
  ASSERT_TRUE(ptx.contains(".visible .entry"));
  static llvm::Regex floatAtomic(
      "[^a-z_](atom|red)\\.[a-z0-9_.]*(f16|bf16|f16x2|bf16x2|f32|f64)"),
      wideLoad("ld[a-z0-9_.]*\\.v4\\.[a-z]32"),
      widePair("ld[a-z0-9_.]*\\.v2\\.[a-z]64");
  EXPECT_FALSE(floatAtomic.match(ptx));
  // Sines of large values need local memory.
  if (isExact)
    EXPECT_FALSE(ptx.contains(".local"));
  // `stream` sweeps load vectors of 4-byte words, and pairs of doubles.
  bool singles = false, doubles = false;
  for (const PlanTable &table : plan.tables)
    for (const PlanSegment &segment : table.segments)
      for (const PlanOperand &operand : segment.operands)
        if (table.rank == 1 && operand.index == OperandIndex::I) {
          DType dtype = plan.buffers[operand.buffer].dtype;
          singles |= dtype == DType::F32;
          doubles |= dtype == DType::F64;
        }
  if (singles)
    EXPECT_TRUE(wideLoad.match(ptx)) << "no load of 16 bytes";
  else if (doubles)
    EXPECT_TRUE(widePair.match(ptx)) << "no load of 16 bytes";
}

/// The processor time of a cold compilation of `adamw`.
double CudaNvrtc::secondsOfAdamW() {
  if (adamW == 0) {
    adamW = std::numeric_limits<double>::infinity();
    KernelSource source = sourceOf(sharedProgram("adamw").plan());
    for (int again = 0; again < 2; ++again)
      adamW =
          std::min(adamW, compileFor(*nvrtc(), source, kMain, true).seconds);
  }
  return adamW;
}

TEST_P(CudaNvrtc, CompilesWellAndSoon) {
  Program &program = sharedProgram(GetParam().text);
  ASSERT_TRUE(program.isGood());
  const Plan &plan = program.plan();
  for (const std::string &arch :
       architecturesOfPrograms().at(GetParam().text)) {
    if (!knows(arch))
      continue;
    SCOPED_TRACE(arch);
    Outcome outcome =
        compileFor(*nvrtc(), sourceOf(plan), arch, GetParam().isExact);
    EXPECT_EQ(outcome.problems, "");
    if (arch != kMain)
      continue;
    checkPtx(outcome.ptx, plan, GetParam().isExact);
    double compilations = outcome.seconds / secondsOfAdamW();
    if (compilations > kMostCompilations) {
      // The load of the machine may have changed meanwhile.
      forgetSecondsOfAdamW();
      double seconds =
          compileFor(*nvrtc(), sourceOf(plan), arch, GetParam().isExact)
              .seconds;
      compilations = std::min(compilations, seconds / secondsOfAdamW());
    }
    EXPECT_LE(compilations, kMostCompilations);
    if (compilations > slowest) {
      slowest = compilations;
      slowestName = GetParam().name;
    }
  }
}

/// The most bytes that a kernel of the plan spills, or -1.
int64_t spillsOf(const Nvrtc &nvrtc, const Plan &plan, int fewerBlocks) {
  KernelSource source = sourceOf(plan);
  source.options.push_back(kReportOption.str());
  source.options.push_back("-DHEDDLE_FEWER_BLOCKS=" +
                           std::to_string(fewerBlocks));
  auto compiled = nvrtc.compile(source, kMain, ImageKind::Cubin);
  if (compiled)
    return spilledBytes(compiled->log);
  ADD_FAILURE() << takeError(compiled.takeError()).second;
  return -1;
}

/// A kernel that spills is compiled again, which takes as long as the first
/// time. Divisions are no reason, nor are powers in precomputed scalars.
TEST(CudaNvrtcOnce, NothingSpills) {
  auto found = Nvrtc::get();
  if (!found)
    GTEST_SKIP() << takeError(found.takeError()).second;
  for (const char *text : {"adamw", "lion", "adagrad", "rmsprop", "adopt"}) {
    Program &program = sharedProgram(text);
    ASSERT_TRUE(program.isGood()) << text;
    EXPECT_EQ(spillsOf(**found, program.plan(), /*fewerBlocks=*/0), 0) << text;
  }
}

/// Kernels that call long math before their rounds are compiled once, although
/// they spill: a few registers, around the call.
TEST(CudaNvrtcOnce, FewRegistersSpillAroundCalls) {
  auto found = Nvrtc::get();
  if (!found)
    GTEST_SKIP() << takeError(found.takeError()).second;
  constexpr int64_t sixteenRegisters = 64;
  for (const char *text :
       {"average:count=4+unscale+clip_by_global_norm+adamw:ema=0.999,"
        "zero_grad=true,schedule=cosine,schedule_steps=1000,groups=true",
        "unscale+clip_by_global_norm+adamw:ema=0.999,zero_grad=true,"
        "schedule=cosine,schedule_steps=1000",
        "nadam", "radam", "adabelief", "adan"}) {
    Program &program = sharedProgram(text);
    ASSERT_TRUE(program.isGood()) << text;
    EXPECT_LE(spillsOf(**found, program.plan(), /*fewerBlocks=*/0),
              sixteenRegisters)
        << text;
  }
}

/// Seven blocks have no more registers than eight, so the second try is for
/// six.
TEST(CudaNvrtcOnce, SecondTryHasMoreRegisters) {
  auto found = Nvrtc::get();
  if (!found)
    GTEST_SKIP() << takeError(found.takeError()).second;
  Program &program = sharedProgram("sgd:momentum=0.9");
  ASSERT_TRUE(program.isGood());
  KernelSource source = sourceOf(program.plan());
  source.text += "\nstatic_assert(HEDDLE_BLOCKS(8) == 6 && "
                 "HEDDLE_BLOCKS(7) == 6 && HEDDLE_BLOCKS(1) == 1);\n";
  source.options.push_back("-DHEDDLE_FEWER_BLOCKS=1");
  auto compiled = (*found)->compile(source, kMain, ImageKind::Cubin);
  EXPECT_TRUE(bool(compiled)) << takeError(compiled.takeError()).second;
}

//===----------------------------------------------------------------------===//
// Panel loops
//===----------------------------------------------------------------------===//

struct PanelProgram {
  NamedProgram program;
  std::vector<int64_t> widths;
  /// The most bytes of spills of any class.
  int mostSpills;

  friend void PrintTo(const PanelProgram &panels, std::ostream *os) {
    *os << panels.program.name;
  }
};

std::vector<PanelProgram> panelPrograms() {
  std::vector<PanelProgram> programs = {
      {{"Sinkhorn", "sinkhorn"},
       {601, 1000, 2500, 6001, 12001, 20001, 17, 64, 100, 150, 250, 500},
       64},
      {{"SinkhornF64", "sinkhorn:dtype=f64"},
       {601, 6001, 20001, 30, 64, 100, 250, 320},
       256},
      {{"SinkhornBF16", "sinkhorn:dtype=bf16"},
       {1000, 12001, 64, 100, 250, 400},
       256},
      {{"SinkhornUnbalanced", "sinkhorn:rho_a=1,rho_b=2,omega=1.1"},
       {2500, 64, 100, 250},
       256},
      {{"SinkhornAnnealed", "sinkhorn:anneal=geometric,order=v"},
       {601, 6001, 12001, 64, 100, 250},
       256},
      {{"SinkhornAnnealedF64", "sinkhorn:anneal=geometric,order=v,dtype=f64"},
       {6001, 12001, 64, 100, 250},
       256}};
  for (const NamedProgram &program : writtenPrograms())
    if (program.name == "LoopBalances" || program.name == "LoopOfGrams" ||
        program.name == "LoopOfColumnPowers" ||
        program.name == "LoopOverMatricesByIteration")
      programs.push_back({program, {601, 6001, 64, 100}, 256});
  return programs;
}

/// The shared memory that the entry of a source declares.
int fixedBytesIn(llvm::StringRef log) {
  static llvm::Regex declared("([0-9]+) bytes smem");
  llvm::SmallVector<llvm::StringRef> found;
  return declared.match(log, &found) ? std::stoi(found[1].str()) : 0;
}

/// The most bytes of shared memory of a block.
int sharedBytesOf(llvm::StringRef arch) {
  return (arch == "sm_120" ? 99 : 227) * 1024;
}

const PlanPanel *panelIn(const Plan &plan) {
  for (const PlanNode &node : plan.graph.nodes)
    if (node.panel)
      return &*node.panel;
  return nullptr;
}

class CudaPanelSources : public testing::TestWithParam<PanelProgram> {};

TEST_P(CudaPanelSources, CompileWithoutAWarning) {
  auto found = Nvrtc::get();
  if (!found)
    GTEST_SKIP() << takeError(found.takeError()).second;
  const Nvrtc &nvrtc = **found;
  Program &program = sharedProgram(GetParam().program.text);
  ASSERT_TRUE(program.isGood());
  const Plan &plan = program.plan();
  const PlanPanel *panel = panelIn(plan);
  ASSERT_TRUE(panel) << "no loop has the panel schedule";
  static llvm::Regex floatAtomic(
      "[^a-z_](atom|red)\\.[a-z0-9_.]*(f16|bf16|f16x2|bf16x2|f32|f64)");
  for (auto [k, width] : llvm::enumerate(GetParam().widths)) {
    // One architecture for each width, in turn.
    llvm::StringRef arch = std::array{"sm_90", "sm_100", "sm_120"}[k % 3];
    auto classes = panelClassesFor(*panel, PanelExtents{width, width},
                                   sharedBytesOf(arch));
    if (!classes && arch == "sm_120")
      continue; // too wide for it
    SCOPED_TRACE((arch + ", width " + std::to_string(width)).str());
    ASSERT_TRUE(classes);
    const PanelClass *shape = &classes->front().shape;
    KernelSource source{plan.name, plan.panelSource, plan.headers,
                        plan.options};
    for (const std::string &define : shape->defines())
      source.options.push_back(define);
    source.options.push_back(kReportOption.str());
    std::string ptx;
    auto compiled = nvrtc.compile(source, arch, ImageKind::Cubin, &ptx);
    ASSERT_TRUE(static_cast<bool>(compiled))
        << takeError(compiled.takeError()).second;
    EXPECT_EQ(llvm::StringRef(withoutReport(compiled->log)).trim().str(), "");
    auto resources = resourcesIn(compiled->log);
    ASSERT_TRUE(resources.count(panel->entry)) << compiled->log;
    int spills = resources[panel->entry].spills;
    EXPECT_LE(spills, GetParam().mostSpills) << shape->describe();
    EXPECT_LE(fixedBytesIn(compiled->log) + shape->sharedBytes,
              sharedBytesOf(arch))
        << shape->describe();
    if (spills)
      printf("[  SPILLS  ] %s, width %lld, %s: %d bytes\n",
             GetParam().program.name.c_str(), static_cast<long long>(width),
             arch.str().c_str(), spills);
    EXPECT_TRUE(llvm::StringRef(ptx).contains("cp.async.bulk"));
    EXPECT_FALSE(floatAtomic.match(ptx));
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaPanelSources, testing::ValuesIn(panelPrograms()),
                         [](const auto &info) {
                           return info.param.program.name;
                         });

INSTANTIATE_TEST_SUITE_P(Library, CudaNvrtc,
                         testing::ValuesIn(standardPrograms()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Module, CudaNvrtc,
                         testing::ValuesIn(writtenPrograms()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle::test
