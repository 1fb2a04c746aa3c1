#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stoker {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "stoker: internal error: %s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace stoker
