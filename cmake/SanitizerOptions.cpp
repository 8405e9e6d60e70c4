// Options that every program has when it is built with HEDDLE_SANITIZE.
//
// LLVM's allocators poison memory by hand in what is compiled here, and do not
// in the archives of LLVM, which were compiled without a sanitizer: a region
// that one side poisoned is no error on the other.

extern "C" __attribute__((used, visibility("default"))) const char *
__asan_default_options() {
  return "allow_user_poisoning=0";
}
