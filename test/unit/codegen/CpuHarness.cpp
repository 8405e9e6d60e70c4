//===- CpuHarness.cpp - runs handwritten programs on the cpu target -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "dialect/Bindings.h"
#include "dialect/Register.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "runtime/binding/Tables.h"

using heddle::foreach::isList;

namespace heddle::test {

struct CpuHarness::Bound {
  runtime::CpuProgram::Sweep functions;
  std::vector<char> tiles, members;
  struct {
    const void *tiles, *members;
    unsigned *tickets;
    int tileCount, memberCount;
  } table;
  std::vector<std::vector<char>> scratch;
  std::vector<void *> arguments;
  int64_t descriptorBytes;
};

CpuHarness::CpuHarness(const std::string &text) {
  mlir::DialectRegistry registry;
  registerAll(registry);
  context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->getDiagEngine().registerHandler([this](mlir::Diagnostic &d) {
    llvm::raw_string_ostream os(diagnostics);
    os << d.getLocation() << ": " << d << '\n';
    return mlir::success();
  });
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (module)
    for (auto found : module->getOps<fused::ProgramOp>())
      programOp = found;
}

CpuHarness::~CpuHarness() = default;

bool CpuHarness::compile() {
  if (!programOp)
    return false;
  auto compiled = compileForCpu(programOp);
  if (!compiled) {
    error = toString(compiled.takeError());
    return false;
  }
  program = std::move(*compiled);
  return true;
}

void CpuHarness::bindList(int buffer, std::vector<Member> members) {
  if (lists.size() <= static_cast<size_t>(buffer))
    lists.resize(buffer + 1);
  lists[buffer] = std::move(members);
}

void CpuHarness::bindScalar(int buffer, void *address) {
  if (scalars.size() <= static_cast<size_t>(buffer))
    scalars.resize(buffer + 1);
  scalars[buffer] = address;
}

template <class T>
static void put(std::vector<char> &table, int64_t at, T value) {
  std::memcpy(table.data() + at, &value, sizeof(T));
}

void CpuHarness::bindSweep(fused::SweepOp sweep) {
  auto buffers = Buffers::read(programOp);
  auto layout = SweepLayout::compute(sweep, *buffers);
  auto b = std::make_unique<Bound>();
  b->functions = cantFail(program->lookup(layout->name));
  int64_t pointers = layout->pointers;
  bool wide = layout->rank == 2;
  int64_t at = 8 * pointers + (wide ? 16 : 0);
  b->descriptorBytes = (at + 24 + 15) / 16 * 16;
  int tileCount = 0, memberCount = 0;
  int64_t columnBase = 0;
  for (auto [s, segment] : llvm::enumerate(layout->segments)) {
    size_t length = 1;
    for (const OperandSlot &slot : segment.operands)
      length = lists.at(slot.buffer).size();
    for (size_t m = 0; m < length; ++m) {
      // Extents of this member's domain, and its operands.
      int64_t count = 0, columns = 0;
      bool active = true;
      for (const OperandSlot &slot : segment.operands) {
        const Member &member = lists[slot.buffer].at(m);
        active &= member.active;
        int64_t all = member.rows * member.columns;
        if (slot.index == kIJ || (!wide && slot.index == kI)) {
          count = wide ? member.rows : all;
          columns = member.columns;
        } else if (slot.index == kI) {
          count = all;
        } else if (slot.index == kJ) {
          columns = all;
        }
      }
      if (!active)
        continue;
      runtime::HeldRows held = segment.held;
      held.tallUnits = 1; // as the compiler for the cpu target
      int64_t most =
          wide ? runtime::rowsOfTile(segment.tile, held, columns, count)
               : segment.tile;
      int tiles = count <= 0 ? 1 : (count - 1) / most + 1;
      int64_t start = memberCount * b->descriptorBytes;
      b->members.resize(start + b->descriptorBytes);
      for (auto [k, slot] : llvm::enumerate(segment.operands)) {
        const Member &member = lists[slot.buffer][m];
        if (slot.index == kLength)
          put<int64_t>(b->members, start + 8 * k, member.rows * member.columns);
        else if (slot.index == kStride)
          put<int64_t>(b->members, start + 8 * k, member.columns);
        else
          put(b->members, start + 8 * k, member.data);
      }
      if (wide) {
        put(b->members, start + 8 * pointers, columns);
        put(b->members, start + 8 * pointers + 8, columnBase);
      }
      put<int64_t>(b->members, start + at, count);
      put<int32_t>(b->members, start + at + 8, tileCount);
      put<int32_t>(b->members, start + at + 12, tiles);
      put<int32_t>(b->members, start + at + 16, s);
      put<int32_t>(b->members, start + at + 20, m);
      for (int k = 0; k < tiles; ++k) {
        int64_t tile = tileCount++ * b->descriptorBytes;
        int64_t first = k * most;
        b->tiles.resize(tile + b->descriptorBytes);
        for (auto [p, slot] : llvm::enumerate(segment.operands)) {
          const Member &member = lists[slot.buffer][m];
          char *base = static_cast<char *>(member.data);
          if (slot.index == kLength)
            base = reinterpret_cast<char *>(member.rows * member.columns);
          if (slot.index == kStride)
            base = reinterpret_cast<char *>(member.columns);
          int64_t bytes = storageBytes(slot.storage);
          if (slot.index == kI)
            base += first * bytes;
          if (slot.index == kIJ)
            base += first * columns * bytes;
          put(b->tiles, tile + 8 * p, base);
        }
        if (wide) {
          put(b->tiles, tile + 8 * pointers, columns);
          put(b->tiles, tile + 8 * pointers + 8, columnBase + k * columns);
        }
        put<int64_t>(b->tiles, tile + at, first);
        put<int32_t>(b->tiles, tile + at + 8, std::min(most, count - first));
        put<int32_t>(b->tiles, tile + at + 12, memberCount);
        put<int32_t>(b->tiles, tile + at + 16, s);
        put<int32_t>(b->tiles, tile + at + 20, tiles);
      }
      columnBase += tiles * columns;
      ++memberCount;
    }
  }
  b->table = {b->tiles.data(), b->members.data(), nullptr, tileCount,
              memberCount};
  b->arguments.push_back(&b->table);
  for (const ScalarSlot &slot : layout->scalars)
    b->arguments.push_back(scalars.at(slot.buffer));
  for (const ScratchSlot &slot : layout->scratch) {
    int64_t count = slot.per == ScratchPer::tile         ? tileCount
                    : slot.per == ScratchPer::member     ? memberCount
                    : slot.per == ScratchPer::tileColumn ? columnBase
                                                         : 1;
    b->scratch.emplace_back(count * slot.bytes + 64,
                            slot.zero ? char(0) : char(0x7b));
    b->arguments.push_back(b->scratch.back().data());
  }
  bound.push_back(std::move(b));
}

void CpuHarness::bind() {
  bound.clear();
  programOp.walk([&](fused::SweepOp sweep) { bindSweep(sweep); });
}

void CpuHarness::launch() {
  for (auto &b : bound) {
    void *const *arguments = b->arguments.data();
    if (b->functions.tile)
      for (int k = 0; k < b->table.tileCount; ++k)
        b->functions.tile(b->tiles.data() + k * b->descriptorBytes, k,
                          arguments);
    if (b->functions.member)
      for (int k = 0; k < b->table.memberCount; ++k)
        b->functions.member(b->members.data() + k * b->descriptorBytes,
                            arguments);
    if (b->functions.epilogue)
      b->functions.epilogue(b->members.data(), b->table.memberCount, arguments);
  }
}

void CpuHarness::run() {
  bind();
  launch();
}

std::string listType(const std::string &element, int rank) {
  static const char *extents[] = {"", "?x", "?x?x"};
  return "!foreach.list<tensor<" + std::string(extents[rank]) + element + ">>";
}

static std::string schedule(const std::string &kind, const std::string &name,
                            const std::string &buffers, int vector, int tile) {
  return " schedule #fused.schedule<" + kind + ", threads = 256, vector = [" +
         std::to_string(vector) + "], tile = [" + std::to_string(tile) +
         "], reason = \"test\"> name \"" + name + "\" result_buffers [" +
         buffers + "] ";
}

std::string stream(const std::string &name, const std::string &buffers,
                   int vector, int tile) {
  return schedule("stream", name, buffers, vector, tile);
}

std::string rows(const std::string &name, const std::string &buffers,
                 int tile) {
  return schedule("rows", name, buffers, 4, tile);
}

} // namespace heddle::test
