#pragma once

#include <filesystem>
#include <string>

namespace stoker::testing {

/// A file of the repository: SourcePath("tests/golden/x").
std::filesystem::path SourcePath(const std::string& relative);

/// Public data beside the repository (../shared/NAME), which is not part of it; empty where it is
/// missing, and the test should then skip with a message.
std::filesystem::path SharedPath(const std::string& relative);

/// A folder of the running test's own, removed when the object dies.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace stoker::testing
