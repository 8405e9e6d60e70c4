/* The C interface of an installed heddle: prints the library's version. */
#include <heddle.h>
#include <stdio.h>

int main(void) {
  printf("heddle %s from C\n", heddle_version());
  return 0;
}
