#include "tests/support/paths.h"

#include <cstdlib>
#include <vector>

#include "base/check.h"

namespace stoker::testing {

std::filesystem::path SourcePath(const std::string& relative) {
  return std::filesystem::path(STOKER_SOURCE_DIR) / relative;
}

std::filesystem::path SharedPath(const std::string& relative) {
  auto path = std::filesystem::path(STOKER_SOURCE_DIR) / ".." / "shared" / relative;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

ScratchDir::ScratchDir() {
  std::string name = (std::filesystem::temp_directory_path() / "stoker_test_XXXXXX").string();
  STOKER_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

ScratchDir::~ScratchDir() {
  std::filesystem::remove_all(path_);
}

}  // namespace stoker::testing
