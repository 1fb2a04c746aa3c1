#pragma once

#include <string>

#include "absl/status/status.h"
#include "cli/console.h"
#include "cli/options.h"

namespace stoker::cli {

/// What every command takes.
struct CommonOptions {
  bool json = false;
  int threads = 0;  ///< 0: one per physical core
  std::string isa = "auto";
  std::string log_level = "info";
};

/// One subcommand: one object in one file, named in one line of registry.cc.
class Command {
 public:
  struct Info {
    std::string name;      ///< "run"; "bench decode" is one of the group "bench"
    std::string summary;   ///< one line
    std::string examples;  ///< commands, one a line
  };

  virtual ~Command() = default;

  [[nodiscard]] virtual Info info() const = 0;

  /// Declares the options; their targets are members.
  virtual void AddOptions(Options& options) = 0;

  /// Whether the options given make sense together, before any work. A failure is a usage error.
  [[nodiscard]] virtual absl::Status Check(const CommonOptions& /*common*/) const {
    return absl::OkStatus();
  }

  /// Does the work. kCancelled means that an interrupt ended it.
  virtual absl::Status Run(const CommonOptions& common, const Console& console) = 0;
};

}  // namespace stoker::cli
