//===- Nvrtc.cpp - CUDA C++ source to cubin or PTX ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/Nvrtc.h"

#include "runtime/nvrtc/Cache.h"
#include "runtime/nvrtc/ResourceReport.h"
#include "runtime/support/Dump.h"
#include "runtime/support/Environment.h"
#include "runtime/support/Statistics.h"
#include "runtime/support/Text.h"

#include "heddle-version.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <nvrtc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

using namespace llvm;

namespace heddle::runtime {

//===----------------------------------------------------------------------===//
// Finding the library
//===----------------------------------------------------------------------===//

/// Adds all folders `base`/python3*/TAIL.
static void addPythonFolders(StringRef base, ArrayRef<StringRef> tails,
                             std::vector<std::string> &folders) {
  std::error_code error;
  for (sys::fs::directory_iterator item(base, error), end;
       !error && item != end; item.increment(error))
    if (sys::path::filename(item->path()).starts_with("python3"))
      for (StringRef tail : tails)
        folders.push_back(item->path() + "/" + tail.str());
}

/// The folders in which a Python environment keeps its packages.
static std::vector<std::string> packageFolders() {
  std::vector<std::string> folders;
  SmallVector<StringRef> entries;
  environment("PYTHONPATH").split(entries, ':', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries)
    folders.push_back(entry.str());
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (StringRef prefix = environment(name); !prefix.empty())
      addPythonFolders((prefix + "/lib").str(), {"site-packages"}, folders);
  if (StringRef home = environment("HOME"); !home.empty())
    addPythonFolders((home + "/.local/lib").str(), {"site-packages"}, folders);
  addPythonFolders("/usr/local/lib", {"site-packages", "dist-packages"},
                   folders);
  folders.push_back("/usr/lib/python3/dist-packages");
  return folders;
}

/// The library in `folder`, or an empty string. In a wheel, only the name with
/// the major version exists.
static std::string nvrtcIn(const Twine &folder) {
  for (const char *name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}) {
    SmallString<256> path;
    (folder + "/" + name).toVector(path);
    if (sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

Expected<std::string> findNvrtc() {
  if (StringRef named = environment("HEDDLE_NVRTC"); !named.empty()) {
    if (!sys::fs::is_directory(named)) {
      if (sys::fs::exists(named))
        return named.str();
    } else if (std::string path = nvrtcIn(named); !path.empty()) {
      return path;
    }
    return makeError(StatusCode::BadInput,
                     "HEDDLE_NVRTC: expected libnvrtc.so or a folder that "
                     "holds it, found '{0}'",
                     shortened(named));
  }
  std::vector<std::string> toolkits;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (StringRef prefix = environment(name); !prefix.empty())
      toolkits.push_back(prefix.str());
  toolkits.push_back("/usr/local/cuda");
  for (const std::string &toolkit : toolkits)
    for (const char *folder : {"lib64", "lib", "targets/x86_64-linux/lib"})
      if (std::string path = nvrtcIn(Twine(toolkit) + "/" + folder);
          !path.empty())
        return path;
  for (const std::string &packages : packageFolders())
    for (const char *folder : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
      if (std::string path = nvrtcIn(Twine(packages) + "/" + folder);
          !path.empty())
        return path;
  return std::string();
}

//===----------------------------------------------------------------------===//
// Loading the library
//===----------------------------------------------------------------------===//

#define HEDDLE_NVRTC_FUNCTIONS(X)                                              \
  X(nvrtcVersion)                                                              \
  X(nvrtcGetErrorString)                                                       \
  X(nvrtcGetNumSupportedArchs)                                                 \
  X(nvrtcGetSupportedArchs)                                                    \
  X(nvrtcCreateProgram)                                                        \
  X(nvrtcDestroyProgram)                                                       \
  X(nvrtcCompileProgram)                                                       \
  X(nvrtcGetProgramLogSize)                                                    \
  X(nvrtcGetProgramLog)                                                        \
  X(nvrtcGetPTXSize)                                                           \
  X(nvrtcGetPTX)                                                               \
  X(nvrtcGetCUBINSize)                                                         \
  X(nvrtcGetCUBIN)

struct Nvrtc::Functions {
#define HEDDLE_DECLARE(name) decltype(&::name) name = nullptr;
  HEDDLE_NVRTC_FUNCTIONS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
};

/// The error for a library that cannot be used. A wrong file is a mistake of
/// the one who named it.
static Error unusable(bool isNamed, const Twine &text) {
  return isNamed ? make_error<StatusError>(StatusCode::BadInput,
                                           ("HEDDLE_NVRTC: " + text).str())
                 : make_error<StatusError>(StatusCode::Unavailable, text.str());
}

Error Nvrtc::load() {
  bool isNamed = !environment("HEDDLE_NVRTC").empty();
  Expected<std::string> found = findNvrtc();
  if (!found)
    return found.takeError();
  SmallVector<std::string, 3> candidates;
  if (!found->empty())
    candidates = {*found};
  else
    candidates = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  std::string reasons;
  for (const std::string &candidate : candidates) {
    Expected<DynamicLibrary> opened = DynamicLibrary::open(candidate);
    if (opened) {
      library = *opened;
      break;
    }
    reasons += "\n  " + takeError(opened.takeError()).second;
  }
  if (library.path().empty())
    return unusable(
        isNamed,
        (isNamed ? Twine("expected libnvrtc.so or a folder that holds it")
                 : Twine("no NVRTC: searched HEDDLE_NVRTC, CUDA_HOME, "
                         "CUDA_PATH, /usr/local/cuda, the Python packages of "
                         "VIRTUAL_ENV and CONDA_PREFIX, and the system's "
                         "libraries")) +
            reasons +
            (isNamed ? ""
                     : "\nInstall a CUDA toolkit, or the wheel: pip install "
                       "nvidia-cuda-nvrtc"));
  api = std::make_shared<Functions>();
#define HEDDLE_RESOLVE(name)                                                   \
  api->name = reinterpret_cast<decltype(api->name)>(library.find(#name));      \
  if (!api->name)                                                              \
    return unusable(isNamed, library.path() +                                  \
                                 " lacks " #name                               \
                                 ": expected NVRTC of CUDA 12 or later");
  HEDDLE_NVRTC_FUNCTIONS(HEDDLE_RESOLVE)
#undef HEDDLE_RESOLVE
  int count = 0;
  if (api->nvrtcVersion(&majorVersion, &minorVersion) != NVRTC_SUCCESS ||
      api->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS)
    return unusable(isNamed, library.path() + " does not report its version");
  constexpr int mostArchs = 1000;
  if (count < 0 || count > mostArchs)
    return unusable(isNamed, library.path() + " reports " + Twine(count) +
                                 " architectures");
  archs.resize(count);
  if (count && api->nvrtcGetSupportedArchs(archs.data()) != NVRTC_SUCCESS)
    return unusable(isNamed,
                    library.path() + " does not report its architectures");
  return Error::success();
}

Expected<const Nvrtc *> Nvrtc::get() {
  static Nvrtc nvrtc;
  static std::pair<StatusCode, std::string> outcome = takeError(nvrtc.load());
  if (outcome.first != StatusCode::Ok)
    return make_error<StatusError>(outcome.first, outcome.second);
  return &nvrtc;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Writes the source and its headers to a folder for the user, and returns the
/// folder.
static Expected<std::string> saveSource(const KernelSource &source) {
  SmallString<256> folder;
  std::error_code error;
  if (dumpEnabled()) {
    folder = environment("HEDDLE_DUMP_DIR");
    sys::path::append(folder, safeFileName(source.folder()));
    error = sys::fs::create_directories(folder);
  } else {
    // In a new folder with a random name, no file can be another user's link.
    error = sys::fs::createUniqueDirectory(
        "heddle-" + safeFileName(source.name), folder);
  }
  auto write = [&](StringRef name, StringRef text) {
    SmallString<256> path(folder);
    sys::path::append(path, safeFileName(name));
    if (error)
      return;
    raw_fd_ostream stream(path, error);
    if (error)
      return;
    stream << text;
    stream.close();
    error = stream.error();
    stream.clear_error();
  };
  write(safeFileName(source.name) + ".cu", source.text);
  for (const auto &[name, text] : source.headers)
    write(name, text);
  if (error)
    return errorCodeToError(error);
  return folder.str().str();
}

static std::string shellQuote(StringRef word) {
  if (!word.empty() && all_of(word, [](char c) {
        return isAlnum(c) || StringRef("-_=./,:+").contains(c);
      }))
    return word.str();
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The error of a failed compilation: the log, the path of the source, and a
/// command that reproduces it.
static Error compileError(const KernelSource &source, StringRef arch,
                          ImageKind kind, StringRef reason, StringRef log) {
  std::string where, command;
  Expected<std::string> folder = saveSource(source);
  if (folder) {
    std::string file = *folder + "/" + safeFileName(source.name) + ".cu";
    where = "\nsource: " + file;
    command = "\nreproduce: nvcc " +
              std::string(kind == ImageKind::Cubin ? "--cubin" : "--ptx") +
              " -arch=" + arch.str() + " -I" + shellQuote(*folder);
    for (const std::string &option : source.options)
      if (option != kMinimalOption)
        command += " " + shellQuote(option);
    command += " -o /dev/null " + shellQuote(file);
  } else {
    where =
        "\nsource: cannot be saved: " + takeError(folder.takeError()).second;
  }
  return makeError(StatusCode::Failed,
                   "NVRTC failed on '{0}' for {1}: {2}{3}{4}{5}{6}",
                   source.name, arch, reason, where, command,
                   log.empty() ? "" : "\n", log.rtrim());
}

/// 90 for "sm_90" or "sm_90a"; -1 if `arch` is no architecture.
static int capabilityOf(StringRef arch) {
  int number = 0;
  if (!arch.consume_front("sm_"))
    return -1;
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f'))
    arch = arch.drop_back();
  return arch.size() > 3 || arch.getAsInteger(10, number) || number <= 0
             ? -1
             : number;
}

Expected<CompiledImage> Nvrtc::compile(const KernelSource &source,
                                       StringRef arch, ImageKind kind,
                                       std::string *ptx) const {
  int capability = capabilityOf(arch);
  if (capability < 0)
    return makeError(StatusCode::BadInput,
                     "architecture: expected a name like sm_90, found '{0}'",
                     arch);
  if (!is_contained(archs, capability)) {
    std::string known;
    for (int number : archs)
      known += formatv(" sm_{0}", number).str();
    return makeError(StatusCode::BadInput,
                     "architecture: NVRTC {0}.{1} supports{2}, found '{3}'",
                     majorVersion, minorVersion, known, arch);
  }

  std::vector<std::string> options;
  options.push_back(("--gpu-architecture=" +
                     Twine(kind == ImageKind::Cubin ? "sm_" : "compute_") +
                     arch.drop_front(3))
                        .str());
  bool hasMinimal = std::pair(majorVersion, minorVersion) >= std::pair(12, 4);
  for (const std::string &option : source.options)
    if (option != kMinimalOption || hasMinimal)
      options.push_back(option);
  std::vector<const char *> optionPointers, headerNames, headerTexts;
  for (const std::string &option : options)
    optionPointers.push_back(option.c_str());
  for (const auto &[name, text] : source.headers) {
    headerNames.push_back(name.c_str());
    headerTexts.push_back(text.c_str());
  }

  struct Program {
    const Functions &api;
    nvrtcProgram handle = nullptr;
    ~Program() {
      if (handle)
        api.nvrtcDestroyProgram(&handle);
    }
  } owner{*api};
  std::string file = safeFileName(source.name) + ".cu";
  nvrtcResult result =
      api->nvrtcCreateProgram(&owner.handle, source.text.c_str(), file.c_str(),
                              static_cast<int>(headerNames.size()),
                              headerTexts.data(), headerNames.data());
  if (result != NVRTC_SUCCESS)
    return compileError(source, arch, kind, api->nvrtcGetErrorString(result),
                        "");
  nvrtcProgram program = owner.handle;
  count(statistics().compilations);
  result = api->nvrtcCompileProgram(
      program, static_cast<int>(optionPointers.size()), optionPointers.data());

  CompiledImage compiled;
  size_t size = 0;
  if (api->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS &&
      size > 1) {
    compiled.log.resize(size);
    if (api->nvrtcGetProgramLog(program, compiled.log.data()) != NVRTC_SUCCESS)
      compiled.log.clear();
    compiled.log.resize(std::strlen(compiled.log.c_str()));
  }
  if (result == NVRTC_SUCCESS) {
    bool cubin = kind == ImageKind::Cubin;
    result = cubin ? api->nvrtcGetCUBINSize(program, &size)
                   : api->nvrtcGetPTXSize(program, &size);
    if (result == NVRTC_SUCCESS) {
      compiled.image.resize(size);
      result = cubin ? api->nvrtcGetCUBIN(program, compiled.image.data())
                     : api->nvrtcGetPTX(program, compiled.image.data());
      if (!cubin && !compiled.image.empty() && compiled.image.back() == '\0')
        compiled.image.pop_back();
    }
    if (ptx && result == NVRTC_SUCCESS) {
      result = api->nvrtcGetPTXSize(program, &size);
      ptx->resize(result == NVRTC_SUCCESS ? size : 0);
      if (result == NVRTC_SUCCESS)
        result = api->nvrtcGetPTX(program, ptx->data());
    }
  }
  if (result != NVRTC_SUCCESS)
    return compileError(source, arch, kind, api->nvrtcGetErrorString(result),
                        compiled.log);
  if (compiled.image.empty())
    return compileError(source, arch, kind, "no code", compiled.log);
  return compiled;
}

//===----------------------------------------------------------------------===//
// Compiling through the cache
//===----------------------------------------------------------------------===//

/// The identity of NVRTC without loading it: path, size and modification time.
static Expected<std::string> nvrtcIdentity() {
  Expected<std::string> found = findNvrtc();
  if (!found)
    return found.takeError();
  std::string path = *found;
  if (path.empty()) {
    Expected<const Nvrtc *> nvrtc = Nvrtc::get();
    if (!nvrtc)
      return nvrtc.takeError();
    path = (*nvrtc)->path();
  }
  SmallString<256> real;
  if (sys::fs::real_path(path, real))
    real = path;
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(real, status))
    return makeError(StatusCode::Unavailable, "{0}: {1}", real,
                     error.message());
  return formatv("{0} {1} {2}", real, status.getSize(),
                 status.getLastModificationTime().time_since_epoch().count())
      .str();
}

static void dumpImage(const KernelSource &source, StringRef arch,
                      ImageKind kind, const CompiledImage &compiled) {
  if (!dumpEnabled())
    return;
  std::string name = safeFileName(source.name);
  StringRef folder = source.folder();
  dump(folder, name + ".cu", source.text);
  for (const auto &[header, text] : source.headers)
    dump(folder, header, text);
  dump(folder,
       name + "." + arch.str() + (kind == ImageKind::Cubin ? ".cubin" : ".ptx"),
       compiled.image);
  dump(folder, name + "." + arch.str() + ".log", compiled.log);
}

/// The largest number of resident blocks that the kernels of a source ask for.
static int64_t mostBlocks(StringRef text) {
  int64_t most = 0;
  for (auto [head, rest] = text.split("HEDDLE_BLOCKS("); !rest.empty();
       std::tie(head, rest) = rest.split("HEDDLE_BLOCKS(")) {
    int64_t blocks = 0;
    if (StringRef number = rest; !number.consumeInteger(10, blocks))
      most = std::max(most, blocks);
  }
  return most;
}

/// Compiles a source whose kernels have launch bounds with a minimum of
/// resident blocks (HEDDLE_BLOCKS of codegen/device/tables.cuh). If a kernel
/// spills too many registers, compiles the source again for fewer blocks.
static Expected<CompiledImage> compileWithoutSpills(const Nvrtc &nvrtc,
                                                    KernelSource source,
                                                    StringRef arch,
                                                    ImageKind kind) {
  constexpr int maxTries = 3;
  if (kind != ImageKind::Cubin ||
      !StringRef(source.text).contains("HEDDLE_BLOCKS("))
    return nvrtc.compile(source, arch, kind);
  const int64_t most = mostBlocks(source.text);
  auto contains = [&](StringRef word) {
    return StringRef(source.text).contains(word);
  };
  // An inverse root calls a function that is not inlined for rare operands.
  const bool calls =
      contains("__noinline__") || contains("heddle::inverse_root(");
  std::vector<std::string> options = source.options;
  options.push_back(kReportOption.str());
  for (int fewer = 0;; ++fewer) {
    source.options = options;
    if (fewer)
      source.options.push_back("-DHEDDLE_FEWER_BLOCKS=" +
                               std::to_string(fewer));
    Expected<CompiledImage> compiled = nvrtc.compile(source, arch, kind);
    if (!compiled)
      return compiled.takeError();
    bool isGood =
        isWorthSpilling(spilledBytes(compiled->log), most - fewer, calls);
    if (!isGood && fewer + 1 < maxTries)
      continue;
    compiled->log = withoutReport(compiled->log);
    return compiled;
  }
}

Expected<CompiledImage> compileSource(const KernelSource &source,
                                      StringRef arch, ImageKind kind) {
  Cache cache;
  std::string key;
  if (cache.usable()) {
    Expected<std::string> identity = nvrtcIdentity();
    if (!identity)
      return identity.takeError();
    CacheKey hash;
    hash.add(HEDDLE_VERSION)
        .add(*identity)
        .add(arch)
        .add(kind == ImageKind::Cubin ? "cubin" : "ptx");
    hash.add(source.name).add(source.text);
    for (const auto &[name, text] : source.headers)
      hash.add("header").add(name).add(text);
    for (const std::string &option : source.options)
      hash.add("option").add(option);
    key = hash.finish();
    if (std::optional<std::string> entry = cache.load(key)) {
      // An entry has the length of the log, the log and the image.
      uint64_t logLength = 0;
      if (entry->size() >= sizeof(logLength))
        std::memcpy(&logLength, entry->data(), sizeof(logLength));
      if (entry->size() > sizeof(logLength) &&
          logLength < entry->size() - sizeof(logLength)) {
        CompiledImage compiled;
        compiled.cached = true;
        compiled.log = entry->substr(sizeof(logLength), logLength);
        compiled.image = entry->substr(sizeof(logLength) + logLength);
        dumpImage(source, arch, kind, compiled);
        return compiled;
      }
    }
  }
  Expected<const Nvrtc *> nvrtc = Nvrtc::get();
  if (!nvrtc)
    return nvrtc.takeError();
  Expected<CompiledImage> compiled =
      compileWithoutSpills(**nvrtc, source, arch, kind);
  if (!compiled)
    return compiled.takeError();
  dumpImage(source, arch, kind, *compiled);
  if (!key.empty()) {
    uint64_t logLength = compiled->log.size();
    std::string entry(reinterpret_cast<const char *>(&logLength),
                      sizeof(logLength));
    entry += compiled->log;
    entry += compiled->image;
    cache.store(key, entry);
  }
  return compiled;
}

} // namespace heddle::runtime
