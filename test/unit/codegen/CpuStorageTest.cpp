//===- CpuStorageTest.cpp - 16-bit floats by integer arithmetic -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the conversions, also those for hosts without instructions, with
// those of the compiler.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Storage.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace heddle::cpu;

namespace {

/// to[k] = convert(from[k]), compiled without conversion instructions.
class Converter {
public:
  using Function = void (*)(const void *from, void *to, int64_t count);

  Converter(mlir::Type from, mlir::Type to, bool hasInstructions = false) {
    Host host = cantFail(Host::detect());
    host.traits.convertsF16 &= hasInstructions;
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

/// Numbers between two 16-bit floats, and next to their middle: a rounding to
/// f32 before makes them the middle.
std::vector<double> betweenHalves(const llvm::fltSemantics &format) {
  std::vector<double> numbers;
  for (int bits = 0; bits < 65535; ++bits) {
    double ends[2];
    for (int end : {0, 1}) {
      llvm::APFloat value(format, llvm::APInt(16, bits + end));
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      ends[end] = value.convertToDouble();
    }
    if (!std::isfinite(ends[0]) || !std::isfinite(ends[1]))
      continue;
    double middle = ends[0] / 2 + ends[1] / 2;
    for (double number :
         {ends[0], middle, middle * (1 + 0x1p-40), middle * (1 - 0x1p-40)})
      numbers.push_back(number);
  }
  for (double number : {0x1p-1074, 1e-300, 65519.999999, 65520.0, 1e39, 1e300,
                        3.3961775292304e38, 3.3961775292305e38,
                        std::numeric_limits<double>::infinity()})
    numbers.insert(numbers.end(), {number, -number});
  return numbers;
}

TEST(CpuStorage, DoublesRoundOnce) {
  mlir::MLIRContext context;
  for (mlir::Type type : {mlir::Type(mlir::Float16Type::get(&context)),
                          mlir::Type(mlir::BFloat16Type::get(&context))}) {
    const llvm::fltSemantics &format =
        mlir::cast<mlir::FloatType>(type).getFloatSemantics();
    std::vector<double> from = betweenHalves(format);
    for (bool hasInstructions : {false, true}) {
      Converter converter(mlir::Float64Type::get(&context), type,
                          hasInstructions);
      std::vector<uint16_t> to(from.size());
      converter.run(from.data(), to.data(), from.size());
      for (auto [number, bits] : llvm::zip(from, to)) {
        llvm::APFloat value(number);
        bool losesInfo;
        value.convert(format, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
        ASSERT_EQ(bits, value.bitcastToAPInt().getZExtValue())
            << number << (type.isF16() ? " as f16" : " as bf16");
      }
    }
  }
}

} // namespace
