//===- HostText.cpp - emitted text as code of the host --------------------===//
//
// A folder with the headers, one file that includes the text between device.h
// and launch.h, a call of the compiler, dlopen.
//
//===----------------------------------------------------------------------===//

#include "test/support/cuda_on_cpu/HostText.h"
#include "runtime/builtin/DeviceText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

using namespace llvm;
using heddle::runtime::makeError;
using heddle::runtime::StatusCode;

namespace heddle::test {

namespace {
/// A folder that is gone afterwards.
struct Folder {
  Folder() { (void)sys::fs::createUniqueDirectory("heddle-text", path); }
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
} // namespace

std::vector<std::string> entryNames(StringRef text) {
  std::vector<std::string> names;
  StringRef mark = "extern \"C\" __global__";
  for (size_t at = 0; (at = text.find(mark, at)) != StringRef::npos;) {
    // The name begins the line after the launch bounds.
    at = text.find('\n', at) + 1;
    size_t end = text.find('(', at);
    names.push_back(text.slice(at, end).trim().str());
    at = end;
  }
  return names;
}

runtime::PanelClass PanelText::smallest() {
  runtime::PanelClass panels;
  panels.threads = 64;
  panels.itemsPerThread = 8;
  panels.groups = 2;
  panels.stages = 4;
  panels.ragged = true;
  return panels;
}

Expected<std::shared_ptr<HostText>>
HostText::compile(ArrayRef<const runtime::Plan *> plans, PanelText panels) {
  Folder folder;
  std::string text = "#include \"device.h\"\n", ofPanels, table;
  for (auto [k, plan] : enumerate(plans)) {
    for (const auto &[name, contents] : plan->headers)
      if (name != "ptx.cuh")
        folder.write(name, contents);
    std::string name = "text" + std::to_string(k) + ".cu";
    folder.write(name, plan->source.text());
    text += "#include \"" + name + "\"\n";
    std::vector<std::string> entries = entryNames(plan->source.text());
    if (!plan->panelSource.empty()) {
      name = "panels" + std::to_string(k) + ".cu";
      folder.write(name, plan->panelSource);
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
  folder.write("expand_tiles.cu", runtime::deviceText("expand_tiles.cu"));
  text += ofPanels +
          "#include \"expand_tiles.cu\"\n"
          "#include \"launch.h\"\n"
          "extern \"C\" __attribute__((visibility(\"default\")))\n"
          "const heddle_entry heddle_entries[] = {\n" +
          table +
          "    heddle_launch::entry<heddle_expand_tiles>("
          "\"heddle_expand_tiles\"),\n"
          "    {}};\n";
  folder.write("text.cpp", text);

  std::string output = folder.file("text.so"), log = folder.file("log");
  std::string source = folder.file("text.cpp");
  std::string include = "-I" HEDDLE_TEST_SOURCE "/test/support/cuda_on_cpu";
  std::string here = "-I" + folder.path.str().str();
  SmallVector<StringRef> arguments = {HEDDLE_HOST_CXX,
                                      "-std=c++17",
                                      "-O1",
                                      "-w",
                                      "-fPIC",
                                      "-shared",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-ffp-contract=off",
                                      "-fno-fast-math",
                                      "-fvisibility=hidden",
                                      HEDDLE_HOST_LINKER,
                                      include,
                                      here,
                                      source,
                                      "-o",
                                      output};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  std::string problem;
  int code = sys::ExecuteAndWait(HEDDLE_HOST_CXX, arguments, std::nullopt,
                                 redirects, 300, 0, &problem);
  if (code != 0) {
    auto said = MemoryBuffer::getFile(log);
    return makeError(StatusCode::Failed,
                     "the host's compiler rejected the text: {0}{1}", problem,
                     said ? (*said)->getBuffer() : "");
  }

  std::shared_ptr<HostText> result(new HostText);
  result->panelText = std::move(panels);
  result->library = dlopen(output.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!result->library)
    return makeError(StatusCode::Failed, "{0}", dlerror());
  result->all = static_cast<const heddle_entry *>(
      dlsym(result->library, "heddle_entries"));
  result->machine =
      static_cast<heddle_machine **>(dlsym(result->library, "heddle_on_cpu"));
  if (!result->all || !result->machine)
    return makeError(StatusCode::Failed, "the compiled text lacks its entries");
  while (result->all[result->count].name)
    ++result->count;
  return result;
}

HostText::~HostText() {
  if (library)
    dlclose(library);
}

const heddle_entry *HostText::find(StringRef name) const {
  for (const heddle_entry &entry : entries())
    if (name == entry.name)
      return &entry;
  return nullptr;
}

} // namespace heddle::test
