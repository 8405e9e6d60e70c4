//===- Doctor.cpp - heddle doctor -----------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the driver, GPUs, NVRTC and disk cache of this machine, and says how to
// install each missing part.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Console.h"
#include "OutputFile.h"
#include "Support.h"

#include "runtime/support/Json.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--json", "[FILE]", "write JSON to FILE or to standard output"}};

static std::string details() {
  return R"(For each missing part, the output says how to install it.

  without a GPU   emit, explain and compilation for a given --arch work; 'heddle run' uses the cpu target
  without NVRTC   CUDA kernels cannot be compiled; the cpu target works

The exit code is 1 only if no program can run: without a compiler, or with a wrong variable of the environment.

examples:
  heddle doctor
  heddle doctor --json | python3 -m json.tool

)" + describeEnvironment();
}

const CommandSpec doctorCommand = {
    "doctor", "", "Check the driver, the GPUs, NVRTC and the disk cache.",
    options, details};

namespace {
class Report {
public:
  void good(StringRef part, const Twine &text) {
    line(paint(Colour::green, "ok     "), part, text.str());
  }
  void bad(StringRef part, const Twine &text) {
    line(paint(Colour::yellow, "missing"), part, text.str());
  }
  void wrong(StringRef part, const Twine &text) {
    line(paint(Colour::red, "wrong  "), part, text.str());
  }
  /// Adds `text` if the library found the part, otherwise the problem that it
  /// reports.
  void check(StringRef part, const json::Object &found, const Twine &text) {
    if (found.getBoolean("ok").value_or(false))
      good(part, text);
    else
      bad(part, found.getString("problem").value_or("unknown"));
  }

  std::string take() { return std::move(text); }

private:
  void line(StringRef state, StringRef part, StringRef content) {
    text += formatv("{0} {1,-8} {2}\n", state, part, content);
  }

  std::string text;
};
} // namespace

static std::string describeMachine(const json::Object &machine) {
  Report report;
  auto text = [](const json::Object &object, StringRef key) {
    return object.getString(key).value_or("").str();
  };
  report.good("heddle", text(machine, "version"));
  const json::Object &driver = *machine.getObject("driver");
  report.check("driver", driver,
               "CUDA " + text(driver, "version") + ", " + text(driver, "path"));
  const json::Array &devices = *machine.getArray("devices");
  for (const json::Value &entry : devices) {
    const json::Object &device = *entry.getAsObject();
    report.good("GPU " + std::to_string(*device.getInteger("ordinal")),
                formatv("{0}, {1}, {2:f1} GiB, {3} multiprocessors",
                        text(device, "name"), text(device, "arch"),
                        *device.getNumber("memory_bytes") / (1 << 30),
                        *device.getInteger("multiprocessors")));
  }
  if (devices.empty())
    report.bad("GPU", "no GPU found; 'heddle run' uses the cpu target");
  const json::Object &nvrtc = *machine.getObject("nvrtc");
  std::string architectures;
  if (const json::Array *list = nvrtc.getArray("architectures"))
    for (const json::Value &arch : *list)
      architectures += " " + arch.getAsString()->str();
  report.check("NVRTC", nvrtc,
               text(nvrtc, "version") + ", " + text(nvrtc, "path") +
                   ", compiles for" + architectures);
  const json::Object &cache = *machine.getObject("cache");
  report.check("cache", cache,
               formatv("{0}, {1:f1} of {2:f0} MiB used",
                       text(cache, "directory"),
                       cache.getNumber("bytes").value_or(0) / (1 << 20),
                       cache.getNumber("max_bytes").value_or(0) / (1 << 20)));
  report.check("compiler", *machine.getObject("compiler"),
               "targets cuda and cpu");
  for (const auto &[name, problem] : *machine.getObject("environment_errors"))
    report.wrong("setting", problem.getAsString().value_or(""));
  std::string result = report.take();
  if (const json::Object *variables = machine.getObject("environment"))
    for (const auto &[name, value] : *variables)
      result +=
          formatv("        {0}={1}\n", name, value.getAsString().value_or(""));
  return result;
}

Expected<int> runDoctor(const Arguments &arguments) {
  auto output = OutputFile::open(arguments.get("--json"));
  if (!output)
    return output.takeError();
  char *text = nullptr;
  if (Error error = toError(heddle_doctor(&text)))
    return std::move(error);
  heddle::detail::Owned<char> owned(text);
  auto machine = runtime::parseJson(text);
  if (!machine)
    return machine.takeError();
  const json::Object &found = *machine->getAsObject();
  if (Error error =
          output->write(arguments.has("--json") ? printJSON(*machine)
                                                : describeMachine(found)))
    return std::move(error);
  bool canRun = found.getObject("compiler")->getBoolean("ok").value_or(false) &&
                found.getObject("environment_errors")->empty();
  return canRun ? 0 : 1;
}

} // namespace heddle::cli
