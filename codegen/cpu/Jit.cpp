//===- Jit.cpp - machine code in this process -----------------------------===//
//
// Compiled code calls only the functions that librarySymbols() lists. The JIT
// does not search the symbols of the process, so it works in a library that
// exports nothing.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Jit.h"
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
  return std::unique_ptr<Jit>(new Jit(std::move(*jit)));
}

Expected<void *> Jit::lookup(StringRef name) {
  auto address = jit->lookup(name);
  if (!address)
    return address.takeError();
  return address->toPtr<void *>();
}

} // namespace heddle::cpu
