// Sanitizer options of every program that is built with HEDDLE_SANITIZE.
//
// The inline functions of LLVM's allocators poison memory if they are compiled
// with a sanitizer. The archives of LLVM are compiled without one and access
// the same memory, which is no error.

extern "C" __attribute__((used, visibility("default"))) const char *
__asan_default_options() {
  return "allow_user_poisoning=0";
}
