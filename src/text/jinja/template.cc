#include "text/jinja/template.h"

#include <algorithm>

#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/jinja/failure.h"
#include "text/jinja/parser.h"
#include "text/quote.h"

namespace stoker::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestSourceBytes = std::size_t{4} << 20;
constexpr std::size_t kLongestMessageBytes = 500;

absl::Status ToStatus(const Failure& failure, int current_line) {
  const int line = failure.line > 0 ? failure.line : current_line;
  // One line of a sensible length, whatever text of the user's has got into the message.
  std::string message = failure.message;
  std::replace(message.begin(), message.end(), '\n', ' ');
  return {failure.code, fmt::format("line {} of the template: {}", line,
                                    Printable(message, kLongestMessageBytes))};
}

// Brings JSON into a render's heap. JSON from our parsers nests little enough to recurse.
class Importer {
 public:
  Importer(Runtime& runtime, const std::vector<TrustedField>& trusted_fields)
      : runtime_(runtime), trusted_fields_(trusted_fields) {}

  Value Import(const Json& json, bool trusted) {
    const DepthGuard guard(runtime_);
    runtime_.Step();
    switch (json.type()) {
      case Json::value_t::boolean:
        return Value::Bool(json.get<bool>());
      case Json::value_t::number_integer:
        return Value::Int(json.get<std::int64_t>());
      case Json::value_t::number_float:
        return Value::Float(json.get<double>());
      case Json::value_t::number_unsigned: {
        const auto number = json.get<std::uint64_t>();
        return std::in_range<std::int64_t>(number) ? Value::Int(static_cast<std::int64_t>(number))
                                                   : Value::Float(static_cast<double>(number));
      }
      case Json::value_t::string:
        return Text(json.get_ref<const std::string&>(), trusted);
      case Json::value_t::array: {
        std::vector<Value> items;
        items.reserve(json.size());
        for (const Json& item : json) items.push_back(Import(item, trusted));
        return runtime_.heap().NewList(std::move(items));
      }
      case Json::value_t::object:
        return ImportObject(json, trusted);
      default:
        return Value::None();
    }
  }

 private:
  Value Text(const std::string& text, bool trusted) {
    return runtime_.heap().NewText(OriginText(text, trusted));
  }

  Value ImportObject(const Json& json, bool trusted) {
    Dict& dict = runtime_.heap().NewDict();
    for (const auto& [key, value] : json.items()) {
      const bool trusts_value = trusted || IsTrustedField(key, value);
      dict.Set(runtime_, Text(key, trusted), Import(value, trusts_value));
    }
    return Value::Of(&dict);
  }

  [[nodiscard]] bool IsTrustedField(const std::string& key, const Json& value) const {
    if (!value.is_string()) return false;
    return std::any_of(
        trusted_fields_.begin(), trusted_fields_.end(), [&](const TrustedField& field) {
          return field.key == key &&
                 std::find(field.values.begin(), field.values.end(),
                           value.get_ref<const std::string&>()) != field.values.end();
        });
  }

  Runtime& runtime_;
  const std::vector<TrustedField>& trusted_fields_;
};

}  // namespace

Template::Template(std::unique_ptr<const Block> block) : block_(std::move(block)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

absl::StatusOr<Template> Template::Parse(std::string_view source) {
  if (source.size() > kLargestSourceBytes) {
    return InvalidArgument("the template has {} bytes; at most {} make sense", source.size(),
                           kLargestSourceBytes);
  }
  try {
    return Template(std::make_unique<const Block>(ParseTemplate(source)));
  } catch (const Failure& failure) {
    return ToStatus(failure, 1);
  }
}

absl::StatusOr<RenderedPrompt> Template::Render(const std::vector<Variable>& variables,
                                                const RenderOptions& options) const {
  Runtime runtime(options.limits, options.now);
  try {
    Importer importer(runtime, options.trusted_fields);
    for (const Variable& variable : variables) {
      const Value name = runtime.heap().NewText(variable.name);
      runtime.variables().Set(runtime, name, importer.Import(*variable.value, variable.trusted));
    }
    block_->Execute(runtime);
  } catch (const Failure& failure) {
    return ToStatus(failure, runtime.line());
  }
  RenderedPrompt prompt;
  const OriginText& output = runtime.output();
  output.ForEachRun(0, output.size(),
                    [&](std::string_view run, bool trusted) { prompt.Append(run, trusted); });
  return prompt;
}

}  // namespace stoker::text::jinja
