//===- main.cpp - the command line tool of heddle -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `heddle COMMAND ...`: emit, explain, run, bench, doctor. Exit codes: 0
// success, 1 a failure or a failed check, 2 bad usage or bad input.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Guard.h"
#include "Support.h"

#include "runtime/support/Status.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace heddle::cli;
using heddle::runtime::StatusCode;

namespace {
struct Command {
  const CommandSpec &spec;
  Expected<int> (*run)(const Arguments &);
};
} // namespace

static const Command commands[] = {{emitCommand, runEmit},
                                   {explainCommand, runExplain},
                                   {runCommand, runRun},
                                   {benchCommand, runBench},
                                   {doctorCommand, runDoctor}};

static void printUsage(raw_ostream &os) {
  os << R"(usage: heddle COMMAND [ARGUMENTS]

heddle compiles programs over lists of tensors, such as optimizer steps and Sinkhorn solvers,
into a few fused CUDA kernels and replays them as one CUDA graph.

commands:
)";
  for (const Command &command : commands)
    os << formatv("  {0,-8} {1}\n", command.spec.name, command.spec.summary);
  os << R"(
  heddle COMMAND --help    show the options and examples of a command
  heddle --version         show the version

examples:
  heddle explain clip_by_global_norm+adamw
                           show the kernels, the bytes they move and the decisions of the compiler
  heddle run adamw --shapes examples/shapes/models.json:resnet50 --check
                           run steps and compare them with the reference interpreter
  heddle emit sgd:momentum=0.9
                           print the generated CUDA C++ source

)" << describePrograms(ProgramDetails::Summary)
     << R"(
'heddle emit --help' lists the options of each program. A program can also be a .mlir file, or '-' for
standard input.

)" << describeEnvironment()
     << R"(
exit codes:
  0  success
  1  a failure, or a failed check
  2  bad usage or bad input
)";
}

static int report(Error error) {
  auto [code, text] = heddle::runtime::takeError(std::move(error));
  if (code == StatusCode::BadInput)
    text = heddle::runtime::shortMessage(text);
  outs().flush();
  errs() << "heddle: error: " << heddle::runtime::printable(text) << '\n';
  return code == StatusCode::BadInput ? 2 : 1;
}

static int run(SmallVector<StringRef> words) {
  if (words.empty()) {
    printUsage(errs());
    return 2;
  }
  StringRef name = words.front();
  if (name == "--help" || name == "-h" || name == "help") {
    if (name == "help" && words.size() > 1) {
      std::swap(words[0], words[1]);
      name = words.front();
      words[1] = "--help";
    } else {
      printUsage(outs());
      return 0;
    }
  }
  if (name == "--version") {
    if (words.size() > 1)
      return report(usageError("'--version' takes no argument, found '" +
                               Twine(words[1]) + "'"));
    outs() << "heddle " << heddle::version() << '\n';
    return 0;
  }
  SmallVector<StringRef> names;
  for (const Command &command : commands) {
    names.push_back(command.spec.name);
    if (command.spec.name != name)
      continue;
    ArrayRef<StringRef> rest = ArrayRef(words).drop_front();
    if (is_contained(rest, "--help") || is_contained(rest, "-h")) {
      printHelp(command.spec);
      return 0;
    }
    auto arguments = Arguments::parse(command.spec, rest);
    if (!arguments)
      return report(arguments.takeError());
    auto code = command.run(*arguments);
    return code ? *code : report(code.takeError());
  }
  return report(usageError(
      "unknown command '" + name + "'" + suggestion(name, names) +
      "\nCommands: " + join(names, ", ") + ".\nTry 'heddle --help'."));
}

/// Runs the command, then reports what could not be printed; LLVM's streams
/// would end the process.
static int runAndFlush(ArrayRef<char *> words) {
  int code = run(SmallVector<StringRef>(words));
  outs().flush();
  if (outs().has_error()) {
    std::error_code reason = outs().error();
    outs().clear_error();
    if (code == 0)
      code = report(heddle::runtime::makeError(
          StatusCode::Failed, "cannot write 'standard output': {0}",
          reason.message()));
  }
  return code;
}

int main(int argc, char **argv) {
  int code =
      runGuarded([&] { return runAndFlush(ArrayRef(argv + 1, argv + argc)); });
  outs().clear_error();
  errs().clear_error();
  return code;
}
