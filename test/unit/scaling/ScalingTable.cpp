//===- ScalingTable.cpp - work and seconds of growing programs ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle_scaling [--print] NAME[=SIZE]...: compiles a program of the sizes n,
// n/2 and n/4, and prints the work and seconds of each stage for n, with their
// growth from n/2 to n and from n/4 to n/2. SIZE is n, or, as in `x4`, a
// multiple of the size in the test. The name `all` stands for all programs.
//
//===----------------------------------------------------------------------===//

#include "ScaledPrograms.h"
#include "Stages.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace heddle::test;
using llvm::StringRef;

static std::vector<Stage> measure(const ScaledProgram &program, int n) {
  auto stages = compileInStages(program.text(n), /*all=*/true);
  if (stages)
    return std::move(*stages);
  llvm::errs() << program.name << " of size " << n << ": "
               << llvm::toString(stages.takeError()) << "\n";
  exit(1);
}

static double growth(double half, double whole) {
  return half > 0 ? whole / half : 0;
}

/// A line for each stage.
static void printStages(const ScaledProgram &program, int n) {
  std::vector<Stage> quarter = measure(program, n / 4),
                     half = measure(program, n / 2),
                     whole = measure(program, n);
  llvm::outs() << program.name << ", " << n << " " << program.meaning << "\n"
               << llvm::format("%-28s %12s %7s %7s %9s %7s %7s\n", "stage",
                               "work", "growth", "before", "ms", "growth",
                               "before");
  Stage sums[3] = {{"all", 0, 0}, {"all", 0, 0}, {"all", 0, 0}};
  auto line = [](const Stage &quarter, const Stage &half, const Stage &whole) {
    llvm::outs() << llvm::format(
        "%-28s %12llu %7.2f %7.2f %9.1f %7.2f %7.2f\n", whole.name.c_str(),
        (unsigned long long)whole.work, growth(half.work, whole.work),
        growth(quarter.work, half.work), whole.seconds * 1e3,
        growth(half.seconds, whole.seconds),
        growth(quarter.seconds, half.seconds));
  };
  for (size_t k = 0; k < whole.size(); ++k) {
    line(quarter[k], half[k], whole[k]);
    const Stage *measured[] = {&quarter[k], &half[k], &whole[k]};
    for (int size = 0; size < 3; ++size) {
      sums[size].work += measured[size]->work;
      sums[size].seconds += measured[size]->seconds;
    }
  }
  line(sums[0], sums[1], sums[2]);
  llvm::outs() << "\n";
  llvm::outs().flush();
}

/// The size that an argument names, "x4" or "2000"; 0 if it names none.
static int sizeOf(const ScaledProgram &program, StringRef text) {
  int number = 1;
  bool isFactor = text.consume_front("x");
  if (text.empty() && !isFactor)
    return program.size;
  if (text.getAsInteger(10, number) || number <= 0)
    return 0;
  return isFactor ? program.size * number : number;
}

int main(int count, char **arguments) {
  bool prints = count > 1 && StringRef(arguments[1]) == "--print";
  bool good = count > 1 + prints;
  for (int k = 1 + prints; k < count; ++k) {
    auto [name, size] = StringRef(arguments[k]).split('=');
    bool known = false;
    for (const ScaledProgram &program : scaledPrograms()) {
      if (program.name != name && name != "all")
        continue;
      known = true;
      int n = sizeOf(program, size);
      if (n == 0)
        known = false;
      else if (prints)
        llvm::outs() << program.text(n);
      else
        printStages(program, n);
    }
    good &= known;
  }
  if (good)
    return 0;
  llvm::errs()
      << "usage: heddle_scaling [--print] NAME[=SIZE]...\nprograms: all";
  for (const ScaledProgram &program : scaledPrograms())
    llvm::errs() << " " << program.name;
  llvm::errs() << "\n";
  return 2;
}
