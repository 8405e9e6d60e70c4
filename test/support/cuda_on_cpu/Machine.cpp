//===- Machine.cpp - threads and blocks of a grid on a host ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything runs on one thread of the host. Each thread of the grid is a
// fiber; each running block has another fiber, which schedules its threads. The
// shared memory of a block is "thread-local" in the compiled source, and the
// compiler emulates thread-local storage: see __emutls_get_address in
// host_device.h.
//
//===----------------------------------------------------------------------===//

#include "test/support/cuda_on_cpu/Machine.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>

namespace heddle::test {

namespace {

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

constexpr size_t kStackBytes = 128 << 10, kSharedBytes = 1 << 20;
/// The distance by which the top of each stack is lower than that of the
/// previous stack.
constexpr size_t kTopOffset = 9 * 64, kMostTopOffset = 16 << 10;

#if defined(__x86_64__)
// Saves the registers that a callee must preserve on the current stack, and
// continues on another stack.
extern "C" void heddle_switch_stacks(void **from, void *to);
asm(R"(
.text
.globl heddle_switch_stacks
.hidden heddle_switch_stacks
heddle_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

struct Context {
  void *stack = nullptr;
  /// Prepares to run `run` on the stack from `bottom` to `top`.
  void start(char *bottom, char *top, void (*run)()) {
    // The frame is aligned as after a call.
    auto **frame = reinterpret_cast<void **>(top) - 2;
    *frame-- = reinterpret_cast<void *>(run);
    stack = frame - 5;
  }
  static void change(Context &from, Context &to) {
    heddle_switch_stacks(&from.stack, to.stack);
  }
};
#else
struct Context {
  ucontext_t state;
  void start(char *bottom, char *top, void (*run)()) {
    getcontext(&state);
    state.uc_stack.ss_sp = bottom;
    state.uc_stack.ss_size = top - bottom;
    state.uc_link = nullptr;
    makecontext(&state, run, 0);
  }
  static void change(Context &from, Context &to) {
    swapcontext(&from.state, &to.state);
  }
};
#endif

/// Memory of zeros; pages that are not written take no memory.
struct Memory {
  explicit Memory(size_t bytes)
      : begin(static_cast<char *>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        bytes(bytes) {}
  Memory(const Memory &) = delete;
  ~Memory() { munmap(begin, bytes); }

  char *const begin;
  const size_t bytes;
};

/// The stacks of the threads of a block, which later blocks use again.
struct Stacks {
  explicit Stacks(unsigned count) : count(count), memory(count * kStackBytes) {}
  char *bottom(unsigned k) { return memory.begin + k * kStackBytes; }
  /// Stacks grow downwards from here. Without an offset, all tops would map to
  /// the same few sets of each cache.
  char *top(unsigned k) {
    return bottom(k + 1) - k * kTopOffset % kMostTopOffset;
  }

  const unsigned count;
  Memory memory;
};

class StackPool {
public:
  std::unique_ptr<Stacks> take(unsigned count) {
    for (auto &stacks : free)
      if (stacks && stacks->count == count)
        return std::move(stacks);
    return std::make_unique<Stacks>(count);
  }
  void give(std::unique_ptr<Stacks> stacks) {
    for (auto &place : free)
      if (!place) {
        place = std::move(stacks);
        return;
      }
    free.push_back(std::move(stacks));
  }

private:
  std::vector<std::unique_ptr<Stacks>> free;
};

StackPool stackPool;

class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t operator()() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d >> 16;
  }
  size_t below(size_t bound) { return (*this)() % bound; }

private:
  uint64_t state;
};

//===----------------------------------------------------------------------===//
// Blocks and grids
//===----------------------------------------------------------------------===//

struct Fiber {
  Context context;
  /// The value in the shuffle at which the thread waits.
  char *shuffled = nullptr;
  size_t shuffledBytes = 0;
  int mask = 0;
};

/// The blocks of a launch that allowed dependent launches, and that ended.
struct Progress {
  unsigned allowed = 0, ended = 0;
};

class Grid;

/// Runs one block after the other.
class Slot {
public:
  Slot(Grid &grid, unsigned number) : grid(grid), number(number) {}

  void run();

  // Called from the threads of the block.
  int barrier(int flag);
  int groupBarrier(unsigned group, unsigned threads, int flag);
  void shuffle(char *value, size_t bytes, int mask);
  void pause(unsigned odds, unsigned slotOdds);
  void launchDependents();
  void waitForDependency();
  void threadMain();

  /// The context in which the slot continues: its scheduler.
  Context scheduler;
  bool active = true;

private:
  void runBlock();
  void enter();
  void choose();
  void leave();
  void wake(unsigned fiber);
  void fail(const std::string &what);

  Grid &grid;
  unsigned number;
  unsigned launch = 0, block = 0;
  std::vector<Fiber> fibers;
  std::deque<unsigned> ready;
  std::vector<unsigned> shuffling;
  struct ThreadGroup {
    std::vector<unsigned> waiting;
    int flags = 0, result = 0;
  };
  std::map<unsigned, ThreadGroup> groups;
  unsigned current = 0, alive = 0, waiting = 0;
  int flags = 0, barrierResult = 0;
  bool hasAllowed = false, leavesSlot = false;
  Memory shared{kSharedBytes};
};

class Grid {
public:
  Grid(const std::vector<GridLaunch> &launches, heddle_machine &machine,
       uint64_t seed);
  GridRecord run();

  /// Selects the next block to run; false if none may begin.
  bool next(unsigned &launch, unsigned &block);
  /// Runs another slot, and returns when slot `from` runs again.
  void switchSlot(unsigned from);
  void retire(unsigned slot);
  bool hasEnded(unsigned launch) const {
    return progress[launch].ended == launches[launch].grid;
  }
  bool mayBegin(unsigned launch) const;
  bool isDone() const { return failed || left == 0; }

  const std::vector<GridLaunch> &launches;
  heddle_machine &machine;
  Random random;
  GridRecord record;
  std::vector<Progress> progress;
  /// Selects the ready thread that continues: the first, the last, or a random
  /// one.
  unsigned policy;
  bool failed = false;

private:
  void change(Context &from, unsigned slot);

  std::vector<std::unique_ptr<Slot>> slots;
  Context caller;
  std::vector<std::vector<unsigned>> blocks; // of each launch, from the back
  size_t left = 0;
};

Slot *ownSlot = nullptr; ///< the slot that runs now

void enterSlot() { ownSlot->run(); }
void enterThread() { ownSlot->threadMain(); }

Grid::Grid(const std::vector<GridLaunch> &launches, heddle_machine &machine,
           uint64_t seed)
    : launches(launches), machine(machine), random(seed),
      progress(launches.size()), policy(seed % 4) {
  unsigned resident = 1 + random.below(5);
  for (const GridLaunch &launch : launches) {
    auto &order = blocks.emplace_back();
    for (unsigned block = launch.grid; block-- > 0;)
      order.push_back(block);
    // Blocks begin in any order, but those of a cluster together.
    const size_t cluster = launch.cluster;
    if (seed)
      for (size_t i = order.size() / cluster; i-- > 1;)
        if (size_t other = random.below(i + 1); other != i)
          std::swap_ranges(order.begin() + i * cluster,
                           order.begin() + (i + 1) * cluster,
                           order.begin() + other * cluster);
    left += launch.grid;
    resident =
        std::max(resident, launch.cooperative ? launch.grid : launch.together);
  }
  resident = std::min<size_t>(resident, std::max<size_t>(left, 1));
  for (unsigned k = 0; k < resident; ++k)
    slots.push_back(std::make_unique<Slot>(*this, k));
}

GridRecord Grid::run() {
  auto stacks = stackPool.take(slots.size());
  for (unsigned k = 0; k < slots.size(); ++k)
    slots[k]->scheduler.start(stacks->bottom(k), stacks->top(k), enterSlot);
  change(caller, 0);
  stackPool.give(std::move(stacks));
  return record;
}

void Grid::change(Context &from, unsigned slot) {
  ownSlot = slots[slot].get();
  Context::change(from, ownSlot->scheduler);
}

bool Grid::mayBegin(unsigned launch) const {
  for (const GridLaunch::Dependency &on : launches[launch].dependencies)
    if (on.programmatic ? progress[on.launch].allowed < launches[on.launch].grid
                        : !hasEnded(on.launch))
      return false;
  return true;
}

bool Grid::next(unsigned &launch, unsigned &block) {
  if (failed)
    return false;
  std::vector<unsigned> candidates;
  for (unsigned k = 0; k < launches.size(); ++k)
    if (!blocks[k].empty() && mayBegin(k))
      candidates.push_back(k);
  if (candidates.empty())
    return false;
  launch = candidates[random.below(candidates.size())];
  block = blocks[launch].back();
  blocks[launch].pop_back();
  --left;
  return true;
}

void Grid::switchSlot(unsigned from) {
  unsigned to = random.below(slots.size());
  while (!slots[to]->active)
    to = (to + 1) % slots.size();
  if (to == from)
    return;
  ++record.slotSwitches;
  change(slots[from]->scheduler, to);
}

void Grid::retire(unsigned slot) {
  slots[slot]->active = false;
  Context &from = slots[slot]->scheduler;
  for (unsigned to = 0; to < slots.size(); ++to)
    if (slots[to]->active)
      change(from, to);
  Context::change(from, caller);
}

void Slot::run() {
  while (!grid.isDone()) {
    if (grid.next(launch, block))
      runBlock();
    grid.switchSlot(number);
  }
  grid.retire(number);
}

void Slot::runBlock() {
  const GridLaunch &what = grid.launches[launch];
  auto stacks = stackPool.take(what.block);
  fibers.assign(what.block, {});
  ready.clear();
  shuffling.assign((what.block + 31) / 32, 0);
  groups.clear();
  alive = what.block;
  waiting = flags = 0;
  hasAllowed = false;
  for (unsigned k = 0; k < what.block; ++k) {
    fibers[k].context.start(stacks->bottom(k), stacks->top(k), enterThread);
    ready.push_back(k);
  }
  while (alive && !grid.failed) {
    if (ready.empty()) {
      unsigned ended = what.block - alive, shuffle = 0;
      for (unsigned count : shuffling)
        shuffle += count;
      for (auto &[group, threads] : groups)
        waiting += threads.waiting.size();
      fail(std::to_string(waiting) + " threads wait at a barrier and " +
           std::to_string(shuffle) + " in a shuffle, " + std::to_string(ended) +
           " have ended");
      break;
    }
    enter();
    choose();
    Context::change(scheduler, fibers[current].context);
    if (std::exchange(leavesSlot, false))
      grid.switchSlot(number);
  }
  stackPool.give(std::move(stacks));
  if (!hasAllowed)
    ++grid.progress[launch].allowed;
  ++grid.progress[launch].ended;
}

/// Sets the indexes of the block for the compiled source.
void Slot::enter() {
  const GridLaunch &what = grid.launches[launch];
  grid.machine.block_index = {block, 0, 0};
  grid.machine.block_extent = {what.block, 1, 1};
  grid.machine.grid_extent = {what.grid, 1, 1};
  grid.machine.cluster = what.cluster;
  grid.machine.shared = shared.begin;
}

/// Chooses the ready thread that runs next, and sets its index for the compiled
/// source.
void Slot::choose() {
  size_t at = grid.policy == 0   ? 0
              : grid.policy == 1 ? ready.size() - 1
                                 : grid.random.below(ready.size());
  current = ready[at];
  if (at == 0)
    ready.pop_front();
  else {
    ready[at] = ready.back();
    ready.pop_back();
  }
  ++grid.record.switches;
  grid.machine.thread_index = {current, 0, 0};
}

void Slot::fail(const std::string &what) {
  grid.record.error = std::string(grid.launches[launch].entry.name) +
                      ", block " + std::to_string(block) + ": " + what;
  grid.failed = true;
}

void Slot::threadMain() {
  const GridLaunch &what = grid.launches[launch];
  what.entry.run(what.slots.data());
  --alive;
  leave();
}

/// Switches to another thread of the block; directly if nothing else has to be
/// decided, because a detour through the scheduler doubles the cost.
void Slot::leave() {
  Context &own = fibers[current].context;
  Context *next = &scheduler;
  if (!leavesSlot && alive && !grid.failed && !ready.empty()) {
    choose();
    next = &fibers[current].context;
  }
  if (next != &own)
    Context::change(own, *next);
}

void Slot::wake(unsigned fiber) { ready.push_back(fiber); }

int Slot::barrier(int flag) {
  flags |= flag != 0;
  // All threads of the block must arrive, as on a GPU: a thread that returns
  // early leaves the others waiting, which is an error in the source.
  if (++waiting == fibers.size()) {
    barrierResult = flags;
    waiting = flags = 0;
    for (unsigned k = 0; k < fibers.size(); ++k)
      wake(k);
    leavesSlot |= grid.random.below(4) == 0;
  }
  leave();
  return barrierResult;
}

int Slot::groupBarrier(unsigned group, unsigned threads, int flag) {
  ThreadGroup &here = groups[group];
  here.waiting.push_back(current);
  here.flags |= flag != 0;
  if (here.waiting.size() == threads) {
    here.result = std::exchange(here.flags, 0);
    for (unsigned fiber : here.waiting)
      wake(fiber);
    here.waiting.clear();
  }
  leave();
  return here.result;
}

void Slot::shuffle(char *value, size_t bytes, int mask) {
  unsigned warp = current / 32, first = warp * 32;
  Fiber &own = fibers[current];
  own.shuffled = value;
  own.shuffledBytes = bytes;
  own.mask = mask;
  if (++shuffling[warp] == 32) {
    shuffling[warp] = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const Fiber &here = fibers[first + lane];
      if (here.mask != mask || here.shuffledBytes != bytes)
        fail("threads of a warp are in different shuffles");
      wake(first + lane);
    }
    for (unsigned lane = 0; lane < 32 && !grid.failed; ++lane)
      if (unsigned other = lane ^ mask; lane < other)
        std::swap_ranges(fibers[first + lane].shuffled,
                         fibers[first + lane].shuffled + bytes,
                         fibers[first + other].shuffled);
  }
  leave();
}

void Slot::pause(unsigned odds, unsigned slotOdds) {
  leavesSlot |= grid.random.below(slotOdds) == 0;
  if (!leavesSlot && grid.random.below(odds))
    return;
  // After the other threads, because this thread may wait for one of them.
  if (grid.policy == 1)
    ready.push_front(current);
  else
    ready.push_back(current);
  leave();
}

void Slot::launchDependents() {
  if (!std::exchange(hasAllowed, true))
    ++grid.progress[launch].allowed;
}

void Slot::waitForDependency() {
  for (const GridLaunch::Dependency &on : grid.launches[launch].dependencies)
    while (!grid.failed && !grid.hasEnded(on.launch))
      pause(1, 1);
}

} // namespace

GridRecord runOnCpu(const std::vector<GridLaunch> &launches,
                    heddle_machine **hook, uint64_t seed) {
  heddle_machine machine = {};
  machine.barrier = [](int flag) { return ownSlot->barrier(flag); };
  machine.group_barrier = [](unsigned group, unsigned threads, int flag) {
    return ownSlot->groupBarrier(group, threads, flag);
  };
  machine.shuffle_xor = [](char *value, unsigned long bytes, int mask) {
    ownSlot->shuffle(value, bytes, mask);
  };
  machine.pause = [] { ownSlot->pause(4, 512); };
  machine.give_way = [] { ownSlot->pause(2, 2); };
  machine.shared_bytes = kSharedBytes;
  machine.launch_dependents = [] { ownSlot->launchDependents(); };
  machine.wait_for_dependency = [] { ownSlot->waitForDependency(); };
  *hook = &machine;
  return Grid(launches, machine, seed).run();
}

} // namespace heddle::test
