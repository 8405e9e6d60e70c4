//===- Doctor.cpp - heddle doctor -----------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this machine has, what it lacks, and what can be done without it.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Console.h"
#include "OutputFile.h"
#include "Support.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--json", "[FILE]", "JSON, to FILE or to standard output"}};

static std::string details() {
  return R"(What is missing is listed with the way to get it. Without a GPU everything but running on one works;
without NVRTC, too, no kernel can be compiled and the cpu target remains. The exit code is 1 only if
nothing can run at all.

examples:
  heddle doctor
  heddle doctor --json | python3 -m json.tool

)" + describeEnvironment();
}

const CommandSpec doctorCommand = {
    "doctor", "", "Looks at the driver, the GPUs, NVRTC and the cache.",
    options, details};

namespace {
class Report {
public:
  void good(StringRef what, const Twine &text) {
    line(paint(Colour::green, "ok     "), what, text.str());
  }
  void bad(StringRef what, const Twine &text) {
    line(paint(Colour::yellow, "missing"), what, text.str());
  }
  /// One line for a part that the library looked at.
  void part(StringRef what, const json::Object &found, const Twine &text) {
    if (found.getBoolean("ok").value_or(false))
      good(what, text);
    else
      bad(what, found.getString("problem").value_or("unknown"));
  }

  std::string take() { return std::move(text); }

private:
  void line(StringRef state, StringRef what, StringRef content) {
    text += formatv("{0} {1,-8} {2}\n", state, what, content);
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
  report.part("driver", driver,
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
    report.bad("GPU", "none: 'heddle run' takes the cpu target; emit, explain "
                      "and compiling for a named --arch work");
  const json::Object &nvrtc = *machine.getObject("nvrtc");
  std::string architectures;
  if (const json::Array *list = nvrtc.getArray("architectures"))
    for (const json::Value &arch : *list)
      architectures += " " + arch.getAsString()->str();
  report.part("NVRTC", nvrtc,
              text(nvrtc, "version") + ", " + text(nvrtc, "path") + "," +
                  architectures);
  const json::Object &cache = *machine.getObject("cache");
  report.part("cache", cache,
              formatv("{0}, {1:f1} of {2:f0} MiB", text(cache, "directory"),
                      cache.getNumber("bytes").value_or(0) / (1 << 20),
                      cache.getNumber("max_bytes").value_or(0) / (1 << 20)));
  report.part("compiler", *machine.getObject("compiler"), "foreach programs");
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
  auto machine = json::parse(text);
  if (!machine)
    return machine.takeError();
  const json::Object &found = *machine->getAsObject();
  if (Error error =
          output->write(arguments.has("--json") ? printJSON(*machine)
                                                : describeMachine(found)))
    return std::move(error);
  bool canRun = found.getObject("compiler")->getBoolean("ok").value_or(false);
  return canRun ? 0 : 1;
}

} // namespace heddle::cli
