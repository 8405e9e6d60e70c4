//===- CpuStorageTest.cpp - 16-bit floats by integer arithmetic -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the conversions for hosts without conversion instructions with those
// of the compiler.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Storage.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace heddle::cpu;

namespace {

/// to[k] = convert(from[k]), compiled without conversion instructions.
class Converter {
public:
  using Function = void (*)(const void *from, void *to, int64_t count);

  Converter(mlir::Type from, mlir::Type to) {
    Host host = cantFail(Host::detect());
    host.traits.convertsF16 = false;
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("convert", *context);
    Ir ir(*module, host.traits);
    auto &b = ir.b;
    llvm::Function *function =
        ir.function("convert", b.getVoidTy(),
                    {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, true);
    ir.loop(function->getArg(2), "k", [&](llvm::Value *k) {
      llvm::Value *value = loadStored(
          ir, from, ir.element(ir.typeOf(from), function->getArg(0), k));
      storeStored(ir, to, convert(ir, value, from, to),
                  ir.element(ir.typeOf(to), function->getArg(1), k));
    });
    b.CreateRetVoid();
    host.prepare(*module);
    host.optimize(*module);
    jit = cantFail(Jit::compile(host, {std::move(module), std::move(context)}));
    run = reinterpret_cast<Function>(cantFail(jit->lookup("convert")));
  }

  std::unique_ptr<Jit> jit;
  Function run;
};

float widened(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, 2);
  return static_cast<float>(half);
}

TEST(CpuStorage, HalvesWidenWithoutInstructions) {
  mlir::MLIRContext context;
  Converter converter(mlir::Float16Type::get(&context),
                      mlir::Float32Type::get(&context));
  std::vector<uint16_t> from(65536);
  std::vector<float> to(65536);
  for (int k = 0; k < 65536; ++k)
    from[k] = k;
  converter.run(from.data(), to.data(), 65536);
  for (int k = 0; k < 65536; ++k) {
    float expected = widened(k);
    if (expected != expected)
      ASSERT_NE(to[k], to[k]) << k;
    else
      ASSERT_EQ(std::memcmp(&to[k], &expected, 4), 0) << k;
  }
}

TEST(CpuStorage, HalvesRoundWithoutInstructions) {
  mlir::MLIRContext context;
  Converter converter(mlir::Float32Type::get(&context),
                      mlir::Float16Type::get(&context));
  constexpr int64_t count = 1 << 22;
  std::vector<float> from(count);
  std::vector<uint16_t> to(count);
  for (int64_t k = 0; k < count; ++k) {
    // Every tie: each pattern of the bits that count, with values below and
    // above.
    uint32_t bits =
        static_cast<uint32_t>(k) << 10 | (k % 4 == 3 ? 0x3ff : k % 4);
    std::memcpy(&from[k], &bits, 4);
  }
  converter.run(from.data(), to.data(), count);
  for (int64_t k = 0; k < count; ++k) {
    auto expected = static_cast<_Float16>(from[k]);
    if (from[k] != from[k])
      ASSERT_NE(widened(to[k]), widened(to[k]));
    else
      ASSERT_EQ(std::memcmp(&to[k], &expected, 2), 0) << from[k];
  }
}

} // namespace
