//===- Environment.cpp - The cache and the processes of these tests -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::test {

namespace {

struct Environment {
  std::filesystem::path cache;
  pid_t process = getpid();

  Environment() {
    std::string name = // mkdtemp() replaces six letters X
        (std::filesystem::temp_directory_path() / "heddle-boundary-").string() +
        std::string(6, 'X');
    if (!mkdtemp(name.data()))
      std::abort();
    cache = name;
    setenv("HEDDLE_CACHE_DIR", name.c_str(), 1);
    setenv("HEDDLE_CACHE_SIZE", "256", 1);
    setenv("HEDDLE_THREADS", "4", 1);
    unsetenv("HEDDLE_DUMP_DIR");
  }
  ~Environment() {
    std::error_code ignored;
    if (getpid() == process)
      std::filesystem::remove_all(cache, ignored);
  }
} environment;

} // namespace

std::vector<std::string> cacheFiles() {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(environment.cache))
    names.push_back(entry.path().filename().string());
  return names;
}

void clearCache() {
  for (const std::string &name : cacheFiles())
    std::filesystem::remove_all(environment.cache / name);
}

heddle_executable *Executables::elementwise() {
  static heddle_executable *const executable = cpuExecutable();
  return executable;
}
heddle_executable *Executables::loop() {
  static heddle_executable *const executable = cpuLoopExecutable();
  return executable;
}
heddle_executable *Executables::cuda() {
  static heddle_executable *const executable = cudaExecutable();
  return executable;
}
heddle_executable *Executables::cudaDistances() {
  static heddle_executable *const executable = cudaDistancesExecutable();
  return executable;
}
heddle_executable *Executables::cudaSum() {
  static heddle_executable *const executable = cudaSumExecutable();
  return executable;
}

int runInChild(const std::function<int()> &body) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string runProgram(const std::vector<std::string> &arguments) {
  // Not popen(), whose shell would need quoting.
  int ends[2];
  if (pipe(ends) != 0)
    return "";
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    std::vector<char *> words = {const_cast<char *>("/proc/self/exe")};
    for (const std::string &word : arguments)
      words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    alarm(60);
    execv(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof(buffer))) > 0;)
    output.append(buffer, count);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? output : "";
}

} // namespace heddle::test
