//===- Support.cpp - helpers shared by the commands -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library lists the standard programs, so a new program needs no change
// here.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "codegen/compiler/heddle_reference.h"
#include "runtime/program/Executable.h"
#include "runtime/support/InputFile.h"
#include "runtime/support/Json.h"
#include "runtime/support/Status.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

Error toError(const heddle::Status &status) {
  if (status)
    return Error::success();
  return make_error<StatusError>(static_cast<StatusCode>(status.code()),
                                 status.error());
}

//===----------------------------------------------------------------------===//
// Programs and architectures
//===----------------------------------------------------------------------===//

Expected<std::string> readProgram(StringRef word) {
  if (word != "-")
    return word.str();
  auto buffer = readInput(word, "program");
  if (!buffer)
    return buffer.takeError();
  // A newline distinguishes the source of a module from a program's name.
  return (*buffer)->getBuffer().str() + "\n";
}

Expected<std::string> withDType(StringRef program, StringRef dtype) {
  if (program.contains('\n') || program.contains('{') ||
      program.split(':').first.contains('/') || program.ends_with(".mlir") ||
      program.ends_with(".mlirbc"))
    return usageError("option '--dtype' applies only to standard programs "
                      "such as 'adamw'; a .mlir program declares its own "
                      "element types");
  // An option of the last program of a composition applies to all of them.
  size_t end = program.size(), plus;
  while ((plus = program.rfind('+', end)) != StringRef::npos) {
    // Skip the sign of an exponent, 1e+3.
    bool exponent = plus >= 2 && plus + 1 < program.size() &&
                    toLower(program[plus - 1]) == 'e' &&
                    (isDigit(program[plus - 2]) || program[plus - 2] == '.') &&
                    isDigit(program[plus + 1]);
    if (!exponent || plus == 0)
      break;
    end = plus;
  }
  StringRef last = program.drop_front(plus == StringRef::npos ? 0 : plus + 1);
  return (program + (last.contains(':') ? "," : ":") + "dtype=" + dtype).str();
}

Expected<std::string> readArch(const Arguments &arguments) {
  if (!arguments.has("--arch"))
    return std::string();
  StringRef arch = arguments.get("--arch");
  if (!isArch(arch))
    return usageError("option '--arch' expects an architecture such as sm_80, "
                      "sm_90, sm_100 or sm_120, found '" +
                      arch + "'");
  return arch.str();
}

Expected<json::Object> explain(StringRef program, StringRef shapes,
                               const heddle::Options &options) {
  heddle_options known = heddle::detail::raw(options);
  char *text = nullptr;
  if (Error error = toError(heddle_explain(
          program.str().c_str(), shapes.str().c_str(), 1, &known, &text)))
    return std::move(error);
  heddle::detail::Owned<char> owned(text);
  auto value = parseJson(text);
  if (!value)
    return value.takeError();
  return std::move(*value->getAsObject());
}

std::string printJSON(json::Value value) { return formatv("{0:2}\n", value); }

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

std::string describePrograms(ProgramDetails details) {
  char *text = nullptr;
  if (heddle_describe_programs(&text) != HEDDLE_OK)
    return "";
  heddle::detail::Owned<char> owned(text);
  auto programs = parseJson(text);
  if (!programs) {
    consumeError(programs.takeError());
    return "";
  }
  std::string result;
  raw_string_ostream os(result);
  os << "standard programs, written NAME or NAME:option=value,... and composed "
        "with '+':\n";
  for (const json::Value &entry : *programs->getAsArray()) {
    const json::Object &program = *entry.getAsObject();
    os << formatv("  {0,-20} {1}\n", *program.getString("name"),
                  *program.getString("summary"));
    if (details == ProgramDetails::Summary)
      continue;
    for (const json::Value &each : *program.getArray("options")) {
      const json::Object &option = *each.getAsObject();
      std::string name = formatv("{0}={1}", *option.getString("name"),
                                 *option.getString("default"));
      os << formatv("    {0,-20} {1}", name, *option.getString("help"));
      StringRef type = *option.getString("type");
      if (type.contains('|'))
        os << " (" << type << ")";
      os << '\n';
    }
  }
  return result;
}

std::string describeEnvironment() {
  return R"(environment:
  HEDDLE_CACHE_DIR      folder of the disk cache (default: $XDG_CACHE_HOME/heddle or ~/.cache/heddle)
  HEDDLE_CACHE_SIZE     maximum size of the disk cache in MiB (default: 256); 0 disables the cache
  HEDDLE_DUMP_DIR       folder for the IR after every pass, the CUDA source, the plan and the cubin
  HEDDLE_NVRTC          NVRTC library, or the folder that contains it
  HEDDLE_CUDA_DRIVER    driver library (default: libcuda.so.1)
  HEDDLE_THREADS        threads of the cpu target and of a compilation (default: one per core)
  CUDA_HOME, CUDA_PATH  CUDA toolkit to search for NVRTC
  NO_COLOR              disable colours if set and not empty
)";
}

} // namespace heddle::cli
