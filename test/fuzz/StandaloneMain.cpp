//===- StandaloneMain.cpp - Fuzz targets without libFuzzer ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: TARGET [--seconds=N] [--seed=N] FILE|FOLDER...
//
// Runs the target on every file, then on random mutations of the files for N
// seconds of processor time. It has no coverage feedback. If the process
// crashes or one input takes longer than a minute, the input is in the file
// crash-SEED in the current folder.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr size_t maxSize = 1 << 16;
constexpr unsigned secondsPerInput = 60;
using Input = std::vector<uint8_t>;

std::mt19937 generator;
const Input *running = nullptr;
char crashFile[64];

/// Saves the input. Uses only functions that a signal handler may call.
void onCrash(int signal) {
  if (int file = open(crashFile, O_WRONLY | O_CREAT | O_TRUNC, 0644);
      file >= 0 && running) {
    ssize_t written = write(file, running->data(), running->size());
    (void)written;
    close(file);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void installCrashHandler() {
  static char stack[1 << 16]; // the ordinary stack may be full
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM})
    sigaction(signal, &action, nullptr);
}

void runOn(const Input &input) {
  running = &input;
  alarm(secondsPerInput);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  alarm(0);
  running = nullptr;
}

Input readFile(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::filesystem::path> filesOf(const std::string &argument) {
  if (!std::filesystem::is_directory(argument))
    return {argument};
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(argument))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Runs mutations of the corpus. A mutation starts from a seed or from an
/// earlier mutation.
size_t fuzz(std::vector<Input> corpus, double seconds) {
  constexpr size_t kept = 64;
  size_t seeds = corpus.size(), count = 0;
  std::clock_t end = std::clock() + seconds * CLOCKS_PER_SEC;
  for (; std::clock() < end; ++count) {
    Input input = corpus[generator() % corpus.size()];
    size_t size = std::min(input.size(), maxSize);
    input.resize(maxSize);
    for (unsigned rounds = 1 + generator() % 3; rounds > 0; --rounds)
      size = LLVMFuzzerCustomMutator(input.data(), size, maxSize, generator());
    input.resize(size);
    runOn(input);
    if (corpus.size() < seeds + kept)
      corpus.push_back(std::move(input));
    else
      corpus[seeds + generator() % kept] = std::move(input);
  }
  return count;
}

} // namespace

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize) {
  static constexpr uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff};
  size_t at = size ? generator() % size : 0;
  switch (size ? generator() % 5 : 3) {
  case 0:
    data[at] ^= 1 << generator() % 8;
    return size;
  case 1:
    data[at] = special[generator() % std::size(special)];
    return size;
  case 2: {
    size_t count = std::min<size_t>(1 + generator() % 8, size - at);
    std::memmove(data + at, data + at + count, size - at - count);
    return size - count;
  }
  case 3:
    if (size == maxSize)
      return size;
    std::memmove(data + at + 1, data + at, size - at);
    data[at] = generator();
    return size + 1;
  default:
    data[at] = generator();
    return size;
  }
}

int main(int argc, char **argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  double seconds = 0;
  unsigned seed = std::random_device()();
  std::vector<Input> corpus;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string &argument : arguments)
    if (argument.rfind("--seconds=", 0) == 0)
      seconds = std::stod(argument.substr(10));
    else if (argument.rfind("--seed=", 0) == 0)
      seed = static_cast<unsigned>(std::stoul(argument.substr(7)));
    else
      for (const auto &file : filesOf(argument))
        corpus.push_back(readFile(file));
  if (corpus.empty()) {
    std::fprintf(stderr, "error: expected the files or folders of a corpus\n");
    return 2;
  }
  std::snprintf(crashFile, sizeof(crashFile), "crash-%u", seed);
  std::printf("seed %u; a crash leaves its input in %s\n", seed, crashFile);
  std::fflush(stdout);
  generator.seed(seed);
  installCrashHandler();
  for (const Input &input : corpus)
    runOn(input);
  size_t mutations = fuzz(corpus, seconds);
  std::printf("%zu files, %zu mutations\n", corpus.size(), mutations);
  return 0;
}
