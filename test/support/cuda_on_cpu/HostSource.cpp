//===- HostSource.cpp - emitted source as host code -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the headers and a file that includes the source between host_device.h
// and host_launch.h to a folder, compiles it and loads the result. Objects are
// kept for later runs.
//
//===----------------------------------------------------------------------===//

#include "test/support/cuda_on_cpu/HostSource.h"
#include "runtime/builtin/DeviceSource.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <dlfcn.h>
#include <map>

using namespace llvm;
using heddle::runtime::makeError;
using heddle::runtime::StatusCode;

namespace heddle::test {

namespace {
/// A temporary folder, removed afterwards.
struct Folder {
  Folder() { (void)sys::fs::createUniqueDirectory("heddle-source", path); }
  ~Folder() { sys::fs::remove_directories(path); }
  std::string file(StringRef name) const {
    SmallString<128> full(path);
    sys::path::append(full, name);
    return full.str().str();
  }
  void write(StringRef name, StringRef text) const {
    std::error_code error;
    raw_fd_ostream os(file(name), error);
    os << text;
  }
  SmallString<128> path;
};

/// Files of a compilation, by name; kMain is the one to compile.
using Files = std::map<std::string, std::string>;

constexpr const char *kMain = "main.cpp";
constexpr const char *kSupport = HEDDLE_TEST_SOURCE "/test/support/cuda_on_cpu";
// Tests whose panels have many threads run for longer than they compile: they
// take 0.6 of the time that they take without optimization, and other tests
// take no longer. The level changes no result, since contraction and fast math
// are off.
constexpr const char *kOptions[] = {"-std=c++17",
                                    "-O1",
                                    "-w",
                                    "-fPIC",
                                    "-shared",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-ffp-contract=off",
                                    "-fno-fast-math",
                                    "-fvisibility=hidden",
                                    "-femulated-tls",
                                    "-nostdinc++",
#ifdef HEDDLE_HOST_SANITIZE
                                    HEDDLE_HOST_SANITIZE,
                                    "-fno-sanitize-recover=all",
                                    "-g1",
#endif
                                    HEDDLE_HOST_LINKER};

/// All inputs of an object besides the files of its compilation: the compiler,
/// its options and the support headers.
const std::string &commonInputs() {
  static const std::string inputs = [] {
    std::string text = HEDDLE_HOST_CXX;
    sys::fs::file_status compiler;
    if (!sys::fs::status(HEDDLE_HOST_CXX, compiler))
      text += formatv(" {0} {1}", compiler.getSize(),
                      compiler.getLastModificationTime());
    for (StringRef option : kOptions)
      (text += '\0') += option;
    for (StringRef name :
         {"host_device.h", "host_launch.h", "device_machine.h", "ptx.cuh"})
      if (auto header = MemoryBuffer::getFile(Twine(kSupport) + "/" + name))
        (text += '\0') += (*header)->getBuffer();
    return text;
  }();
  return inputs;
}

std::string keyOf(const Files &files) {
  std::string all = commonInputs();
  for (const auto &[name, text] : files)
    ((all += formatv("\n{0} {1}\n", name, text.size())) += text);
  XXH128_hash_t hash = xxh3_128bits(arrayRefFromStringRef(all));
  return formatv("{0:x-16}{1:x-16}", hash.high64, hash.low64);
}

/// Compiles `files` into the shared object `output`.
Error compileInto(StringRef output, const Files &files) {
  Folder folder;
  for (const auto &[name, text] : files)
    folder.write(name, text);
  std::string log = folder.file("log"), source = folder.file(kMain),
              include = std::string("-I") + kSupport,
              here = ("-I" + folder.path).str();
  SmallVector<StringRef> arguments = {HEDDLE_HOST_CXX};
  append_range(arguments, kOptions);
  append_values(arguments, StringRef(include), StringRef(here),
                StringRef(source), StringRef("-o"), output);
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  std::string problem;
  if (sys::ExecuteAndWait(HEDDLE_HOST_CXX, arguments, std::nullopt, redirects,
                          300, 0, &problem) == 0)
    return Error::success();
  auto said = MemoryBuffer::getFile(log);
  return makeError(StatusCode::Failed,
                   "the host compiler rejected the source: {0}{1}", problem,
                   said ? (*said)->getBuffer() : "");
}

/// Compiles and loads `files`. Objects are kept in HEDDLE_TEST_OBJECTS under
/// the hash of all their inputs. Tests of other processes use the same folder,
/// so a rename makes an object appear there complete.
Expected<void *> load(const Files &files) {
  // pruneCache() removes only files with this prefix.
  std::string object =
      (HEDDLE_TEST_OBJECTS "/llvmcache-" + Twine(keyOf(files))).str();
  if (void *library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL))
    return library;
  if (std::error_code error = sys::fs::create_directories(HEDDLE_TEST_OBJECTS))
    return makeError(StatusCode::Failed, "{0}: {1}", HEDDLE_TEST_OBJECTS,
                     error.message());
  SmallString<128> output;
  sys::fs::createUniquePath(Twine(object) + "-%%%%%%%%", output, false);
  if (Error error = compileInto(output, files))
    return error;
  void *library = dlopen(output.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string problem = library ? "" : dlerror();
  if (sys::fs::rename(output, object))
    sys::fs::remove(output);
  CachePruningPolicy policy;
  policy.MaxSizeBytes = 256 << 20;
  pruneCache(HEDDLE_TEST_OBJECTS, policy);
  if (!library)
    return makeError(StatusCode::Failed, "{0}", problem);
  return library;
}
} // namespace

std::vector<std::string> entryNames(StringRef text) {
  std::vector<std::string> names;
  StringRef mark = "extern \"C\" __global__";
  for (size_t at = 0; (at = text.find(mark, at)) != StringRef::npos;) {
    // The name is at the beginning of the line after the launch bounds.
    at = text.find('\n', at) + 1;
    size_t end = text.find('(', at);
    names.push_back(text.slice(at, end).trim().str());
    at = end;
  }
  return names;
}

runtime::PanelClass PanelOptions::smallest() {
  runtime::PanelClass panels;
  panels.threads = 64;
  panels.itemsPerThread = 8;
  panels.groups = 2;
  panels.stages = 4;
  panels.ragged = true;
  return panels;
}

Expected<std::shared_ptr<HostSource>>
HostSource::compile(ArrayRef<const runtime::Plan *> plans,
                    PanelOptions panels) {
  Files files;
  std::string text = "#include \"host_device.h\"\n", ofPanels, table;
  for (auto [k, plan] : enumerate(plans)) {
    for (const auto &[name, contents] : plan->headers)
      if (name != "ptx.cuh")
        files[name] = contents;
    std::string name = "source" + std::to_string(k) + ".cu";
    files[name] = plan->source.text();
    text += "#include \"" + name + "\"\n";
    std::vector<std::string> entries = entryNames(plan->source.text());
    if (!plan->panelSource.empty()) {
      name = "panels" + std::to_string(k) + ".cu";
      files[name] = plan->panelSource;
      ofPanels += "#include \"" + name + "\"\n";
      append_range(entries, entryNames(plan->panelSource));
    }
    for (const std::string &entry : entries)
      table += "    heddle_launch::entry<" + entry + ">(\"" + entry + "\"),\n";
  }
  std::vector<std::string> defines = panels.shape.defines();
  append_range(defines, panels.options);
  for (StringRef define : defines) {
    auto [name, value] = define.drop_front(2).split('=');
    text += ("#define " + name + " " + value + "\n").str();
  }
  files["descriptors.cu"] = runtime::deviceSource("descriptors.cu").str();
  text += ofPanels +
          "#include \"descriptors.cu\"\n"
          "#include \"host_launch.h\"\n"
          "extern \"C\" __attribute__((visibility(\"default\")))\n"
          "const heddle_entry heddle_entries[] = {\n" +
          table +
          "    heddle_launch::entry<heddle_expand_tiles>("
          "\"heddle_expand_tiles\"),\n"
          "    heddle_launch::entry<heddle_move_operands>("
          "\"heddle_move_operands\"),\n"
          "    {}};\n";
  files[kMain] = std::move(text);

  Expected<void *> library = load(files);
  if (!library)
    return library.takeError();
  std::shared_ptr<HostSource> result(new HostSource);
  result->panelOptions = std::move(panels);
  result->library = *library;
  result->all = static_cast<const heddle_entry *>(
      dlsym(result->library, "heddle_entries"));
  result->machine =
      static_cast<heddle_machine **>(dlsym(result->library, "heddle_on_cpu"));
  if (!result->all || !result->machine)
    return makeError(StatusCode::Failed,
                     "the compiled source lacks its entries");
  while (result->all[result->count].name)
    ++result->count;
  return result;
}

HostSource::~HostSource() {
  if (library)
    dlclose(library);
}

const heddle_entry *HostSource::find(StringRef name) const {
  for (const heddle_entry &entry : entries())
    if (name == entry.name)
      return &entry;
  return nullptr;
}

} // namespace heddle::test
