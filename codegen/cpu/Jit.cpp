//===- Jit.cpp - machine code in this process -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code calls only the functions that librarySymbols() lists. The JIT
// does not search the symbols of the process, so it works in a library that
// exports nothing.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Jit.h"
#include "runtime/support/Status.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"

using namespace llvm;

namespace heddle::cpu {

Expected<std::unique_ptr<Jit>> Jit::compile(const Host &host,
                                            orc::ThreadSafeModule module) {
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(host.builder)
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  orc::SymbolMap symbols;
  for (auto &[name, address] : librarySymbols())
    symbols[(*jit)->mangleAndIntern(name)] = {
        orc::ExecutorAddr::fromPtr(address),
        JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = (*jit)->getMainJITDylib().define(
          orc::absoluteSymbols(std::move(symbols))))
    return std::move(error);
  if (Error error = (*jit)->addIRModule(std::move(module)))
    return std::move(error);
  std::unique_ptr<Jit> result(new Jit(std::move(*jit)));
  result->jit->getExecutionSession().setErrorReporter(
      [&reported = result->reported](Error error) {
        reported += toString(std::move(error)) + "\n";
      });
  return result;
}

Expected<void *> Jit::lookup(StringRef name) {
  auto address = jit->lookup(name);
  if (!address) {
    std::string symbols = toString(address.takeError());
    return runtime::makeError(
        runtime::StatusCode::Failed, "compiling for the cpu target failed: {0}",
        reported.empty() ? symbols : StringRef(reported).rtrim());
  }
  return address->toPtr<void *>();
}

} // namespace heddle::cpu
