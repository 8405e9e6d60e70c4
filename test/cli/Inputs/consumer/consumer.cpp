// The C++ interface of an installed heddle compiles and links outside of the
// tree.
#include <heddle.hpp>

#include <cstdio>

int main() {
  std::printf("heddle %s from C++\n", heddle_version());
  return 0;
}
