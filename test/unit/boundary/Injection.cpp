//===- Injection.cpp - Requests to the system that fail on purpose --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Injection.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define HEDDLE_HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_HAS_SANITIZER 1
#endif

using namespace heddle::test;

namespace {

//===----------------------------------------------------------------------===//
// Requests of the library
//===----------------------------------------------------------------------===//

/// The addresses of the code of libheddle.so, and of the C++ library, which
/// makes requests for it.
struct Ranges {
  uintptr_t begin[8], end[8];
  int count = 0;
};
Ranges ranges;
std::atomic<bool> ready{false};

int addRanges(dl_phdr_info *info, size_t, void *) {
  const char *file = std::strrchr(info->dlpi_name, '/');
  file = file ? file + 1 : info->dlpi_name;
  if (std::strncmp(file, "libheddle.so", 12) != 0 &&
      std::strncmp(file, "libstdc++.so", 12) != 0)
    return 0;
  for (int k = 0; k < info->dlpi_phnum; ++k)
    if (const ElfW(Phdr) &header = info->dlpi_phdr[k];
        header.p_type == PT_LOAD && (header.p_flags & PF_X) &&
        ranges.count < 8) {
      ranges.begin[ranges.count] = info->dlpi_addr + header.p_vaddr;
      ranges.end[ranges.count] = ranges.begin[ranges.count] + header.p_memsz;
      ++ranges.count;
    }
  return 0;
}

bool isLibrary(const void *caller) {
  if (!ready.load(std::memory_order_acquire))
    return false;
  auto address = reinterpret_cast<uintptr_t>(caller);
  for (int k = 0; k < ranges.count; ++k)
    if (address >= ranges.begin[k] && address < ranges.end[k])
      return true;
  return false;
}

void findRanges() {
  if (ready)
    return;
  dl_iterate_phdr(addRanges, nullptr);
  ready = true;
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

std::atomic<Resource> armed{Resource::None};
std::atomic<long> requests{0};
long refused = 0;
bool refuseAll = false;

bool refuse(Resource resource, const void *caller) {
  if (armed.load(std::memory_order_acquire) != resource || !isLibrary(caller))
    return false;
  long number = ++requests;
  return refused > 0 && (refuseAll ? number >= refused : number == refused);
}

//===----------------------------------------------------------------------===//
// Live allocations: an open hash table without allocations of its own
//===----------------------------------------------------------------------===//

constexpr size_t slots = size_t(1) << 22;
struct Slot {
  uintptr_t address;
  size_t bytes;
} table[slots];
Live live{0, 0};
pthread_spinlock_t tableLock;
void createLock() { pthread_spin_init(&tableLock, PTHREAD_PROCESS_PRIVATE); }
// Another thread may hold the lock at a fork. The child gets a new one. Its
// table may have half an entry, but no child counts its allocations. The lock
// is not taken before the fork, because the library waits there for calls that
// allocate.
[[maybe_unused]] const int lockCreated = [] {
  createLock();
  return pthread_atfork(nullptr, nullptr, createLock);
}();

size_t slotOf(uintptr_t address) {
  return (address >> 4) * 0x9e3779b97f4a7c15u >> 42;
}

void record(void *memory, size_t bytes, const void *caller) {
  if (!memory || !isLibrary(caller))
    return;
  auto address = reinterpret_cast<uintptr_t>(memory);
  pthread_spin_lock(&tableLock);
  size_t slot = slotOf(address);
  while (table[slot].address)
    slot = (slot + 1) % slots;
  table[slot] = {address, bytes};
  ++live.count;
  live.bytes += bytes;
  pthread_spin_unlock(&tableLock);
}

void forget(void *memory) {
  if (!memory || !ready.load(std::memory_order_acquire))
    return;
  auto address = reinterpret_cast<uintptr_t>(memory);
  pthread_spin_lock(&tableLock);
  size_t slot = slotOf(address);
  while (table[slot].address && table[slot].address != address)
    slot = (slot + 1) % slots;
  if (table[slot].address) {
    --live.count;
    live.bytes -= table[slot].bytes;
    // Moves later entries of the chain forward.
    size_t hole = slot;
    table[hole].address = 0;
    for (size_t next = (hole + 1) % slots; table[next].address;
         next = (next + 1) % slots) {
      size_t home = slotOf(table[next].address);
      if ((next - home) % slots >= (next - hole) % slots) {
        table[hole] = table[next];
        table[next].address = 0;
        hole = next;
      }
    }
  }
  pthread_spin_unlock(&tableLock);
}

} // namespace

namespace heddle::test {

void arm(Resource resource, long nth, bool all) {
  findRanges();
  requests = 0;
  refused = nth;
  refuseAll = all;
  armed = resource;
}

long disarm() {
  armed = Resource::None;
  return requests;
}

Live liveAllocations() {
  findRanges();
  pthread_spin_lock(&tableLock);
  Live now = live;
  pthread_spin_unlock(&tableLock);
  return now;
}

} // namespace heddle::test

#ifdef HEDDLE_HAS_SANITIZER

bool heddle::test::canInject() { return false; }

#else

// The library must find the definitions.
#pragma GCC visibility push(default)

bool heddle::test::canInject() { return true; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

#define HEDDLE_CALLER __builtin_return_address(0)

extern "C" {

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static void *allocate(size_t bytes, const void *caller) {
  if (refuse(Resource::Memory, caller)) {
    errno = ENOMEM;
    return nullptr;
  }
  void *memory = __libc_malloc(bytes);
  record(memory, bytes, caller);
  return memory;
}

static void *allocateAligned(size_t alignment, size_t bytes,
                             const void *caller) {
  if (refuse(Resource::Memory, caller)) {
    errno = ENOMEM;
    return nullptr;
  }
  void *memory = __libc_memalign(alignment, bytes);
  record(memory, bytes, caller);
  return memory;
}

void *malloc(size_t bytes) { return allocate(bytes, HEDDLE_CALLER); }

void *calloc(size_t count, size_t size) {
  const void *caller = HEDDLE_CALLER;
  if (refuse(Resource::Memory, caller)) {
    errno = ENOMEM;
    return nullptr;
  }
  void *memory = __libc_calloc(count, size);
  record(memory, count * size, caller);
  return memory;
}

void *realloc(void *old, size_t bytes) {
  const void *caller = HEDDLE_CALLER;
  if (refuse(Resource::Memory, caller)) {
    errno = ENOMEM;
    return nullptr;
  }
  forget(old);
  void *memory = __libc_realloc(old, bytes);
  record(memory ? memory : old, bytes, caller);
  return memory;
}

void *memalign(size_t alignment, size_t bytes) {
  return allocateAligned(alignment, bytes, HEDDLE_CALLER);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return allocateAligned(alignment, bytes, HEDDLE_CALLER);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  void *allocated = allocateAligned(alignment, bytes, HEDDLE_CALLER);
  if (!allocated)
    return ENOMEM;
  *memory = allocated;
  return 0;
}

void free(void *memory) {
  forget(memory);
  __libc_free(memory);
}

} // extern "C"

/// As the standard library's operator new.
template <typename Allocate> static void *required(Allocate tryOnce) {
  while (true) {
    if (void *memory = tryOnce())
      return memory;
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
  }
}
static size_t atLeastOne(size_t bytes) { return bytes ? bytes : 1; }

static void *newObject(size_t bytes, const void *caller) {
  return required([=] { return allocate(atLeastOne(bytes), caller); });
}
static void *newAligned(size_t bytes, std::align_val_t alignment,
                        const void *caller) {
  return required([=] {
    return allocateAligned(size_t(alignment), atLeastOne(bytes), caller);
  });
}
template <typename Allocate> static void *orNull(Allocate throwing) noexcept {
  try {
    return throwing();
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

void *operator new(size_t bytes) { return newObject(bytes, HEDDLE_CALLER); }
void *operator new[](size_t bytes) { return newObject(bytes, HEDDLE_CALLER); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  const void *caller = HEDDLE_CALLER;
  return orNull([=] { return newObject(bytes, caller); });
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  const void *caller = HEDDLE_CALLER;
  return orNull([=] { return newObject(bytes, caller); });
}
void *operator new(size_t bytes, std::align_val_t alignment) {
  return newAligned(bytes, alignment, HEDDLE_CALLER);
}
void *operator new[](size_t bytes, std::align_val_t alignment) {
  return newAligned(bytes, alignment, HEDDLE_CALLER);
}
void *operator new(size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t &) noexcept {
  const void *caller = HEDDLE_CALLER;
  return orNull([=] { return newAligned(bytes, alignment, caller); });
}
void *operator new[](size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t &) noexcept {
  const void *caller = HEDDLE_CALLER;
  return orNull([=] { return newAligned(bytes, alignment, caller); });
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete[](void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete[](void *memory, size_t) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { free(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
void operator delete[](void *memory, size_t, std::align_val_t) noexcept {
  free(memory);
}

//===----------------------------------------------------------------------===//
// Threads, mappings, files
//===----------------------------------------------------------------------===//

extern "C" {

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *argument) {
  using Create =
      int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (refuse(Resource::Thread, HEDDLE_CALLER))
    return EAGAIN;
  return create(thread, attributes, start, argument);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  if (refuse(Resource::Map, HEDDLE_CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
void *mmap64(void *address, size_t bytes, int protection, int flags, int file,
             off64_t offset) noexcept {
  if (refuse(Resource::Map, HEDDLE_CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
int mprotect(void *address, size_t bytes, int protection) noexcept {
  if (refuse(Resource::Map, HEDDLE_CALLER)) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}

ssize_t write(int file, const void *bytes, size_t count) {
  if (refuse(Resource::Write, HEDDLE_CALLER)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, file, bytes, count);
}

} // extern "C"

#pragma GCC visibility pop

#endif // HEDDLE_HAS_SANITIZER
