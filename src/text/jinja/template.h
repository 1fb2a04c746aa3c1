#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/jinja/civil_time.h"
#include "text/jinja/runtime.h"
#include "text/segment.h"

namespace stoker::text::jinja {

struct Block;

/// A variable given to a template.
struct Variable {
  std::string name;
  /// Whether the server itself chose the strings in the value, keys included. Numbers and the like
  /// always count as the template's.
  bool trusted = false;
  const nlohmann::ordered_json* value = nullptr;
};

/// Text that may be trusted although the variable around it is not: the strings under `key` in any
/// of the objects of a list, where they are one of `values`. For the roles of messages.
struct TrustedField {
  std::string key;
  std::vector<std::string> values;
};

struct RenderOptions {
  RenderLimits limits;
  std::optional<CivilTime> now;  ///< for strftime_now; without it that function fails
  std::vector<TrustedField> trusted_fields;
};

/// A Jinja template as jinja2 3.1 reads it in the environment of transformers' chat templates:
/// trim_blocks, lstrip_blocks, loop controls, `generation` tags, no escaping, and the functions
/// raise_exception, strftime_now and tojson that transformers adds. Immutable: any number of
/// threads may render at once.
///
/// Left out, as published chat templates do without: template inheritance, include and import,
/// recursive loops, integers beyond 64 bits, str.casefold and isnumeric, letters whose other case
/// is several letters (but ß), and some filters. What sorts numbers fails on nan.
class Template {
 public:
  /// Errors: kInvalidArgument, with the line, for a template that does not parse.
  static absl::StatusOr<Template> Parse(std::string_view source);

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// Errors: kInvalidArgument, with the line, where the template fails or raises; the message is
  /// then the template's own. kResourceExhausted where it exceeds a limit.
  [[nodiscard]] absl::StatusOr<RenderedPrompt> Render(const std::vector<Variable>& variables,
                                                      const RenderOptions& options) const;

 private:
  explicit Template(std::unique_ptr<const Block> block);

  std::unique_ptr<const Block> block_;
};

}  // namespace stoker::text::jinja
