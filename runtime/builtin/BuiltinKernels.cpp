//===- BuiltinKernels.cpp - The built-in kernels --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/builtin/BuiltinKernels.h"

#include "runtime/builtin/DeviceSource.h"

#include "llvm/ADT/StringSwitch.h"

#include <map>
#include <mutex>
#include <tuple>

using namespace llvm;

namespace heddle::runtime {

namespace {
/// The images and modules of this process. Never destroyed, because at the end
/// of the process the driver may be unloaded first.
struct Builtins {
  std::mutex imagesMutex;
  std::map<std::pair<std::string, std::string>, std::string> images;
  std::mutex modulesMutex;
  std::vector<std::tuple<ContextPtr, std::string, std::shared_ptr<Module>>>
      modules;
};
Builtins &builtins() {
  static auto &instance = *new Builtins();
  return instance;
}

StringRef fileOf(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"heddle_expand_tiles", "heddle_move_operands"}, kDescriptorsFile)
      .Cases({"heddle_loop_begin", "heddle_loop_next"}, "loop_control.ptx")
      .Default(kCopyFile);
}

/// The cubin of a file, or its PTX with a terminating null character.
Expected<std::string> imageOf(StringRef file, StringRef arch) {
  if (file.ends_with(".ptx")) {
    std::string image = deviceSource(file).str();
    image.push_back('\0');
    return image;
  }
  auto key = std::make_pair(file.str(), arch.str());
  {
    std::lock_guard<std::mutex> lock(builtins().imagesMutex);
    if (auto known = builtins().images.find(key);
        known != builtins().images.end())
      return known->second;
  }
  // Two threads may compile the same file; both get the same image.
  Expected<CompiledImage> compiled =
      compileSource({"heddle_" + file.drop_back(strlen(".cu")).str(),
                     deviceSource(file).str(),
                     {},
                     {"--std=c++17", kMinimalOption.str()}},
                    arch, ImageKind::Cubin);
  if (!compiled)
    return compiled.takeError();
  std::lock_guard<std::mutex> lock(builtins().imagesMutex);
  return builtins().images[key] = std::move(compiled->image);
}
} // namespace

Error compileBuiltin(StringRef file, StringRef arch) {
  return imageOf(file, arch).takeError();
}

Expected<CUfunction> builtinFunction(const ContextPtr &context,
                                     StringRef name) {
  StringRef file = fileOf(name);
  std::lock_guard<std::mutex> lock(builtins().modulesMutex);
  for (const auto &[owner, loadedFile, module] : builtins().modules)
    if (owner == context && loadedFile == file)
      return module->function(name);
  Expected<std::string> image = imageOf(file, context->arch());
  if (!image)
    return image.takeError();
  Expected<std::shared_ptr<Module>> module =
      Module::load(context, ArrayRef<char>(image->data(), image->size()));
  if (!module)
    return withContext("built-in kernels (" + file + ")", module.takeError());
  builtins().modules.emplace_back(context, file.str(), *module);
  return (*module)->function(name);
}

} // namespace heddle::runtime
