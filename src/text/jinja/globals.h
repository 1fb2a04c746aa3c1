#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// The functions that every template can use: range, dict, namespace, raise_exception,
/// strftime_now; a value for the name, made on `heap`, or nothing.
std::optional<Value> FindGlobal(Heap& heap, std::string_view name);

/// What namespace() makes: a bag of attributes that `set` can assign from inner scopes.
class Namespace : public Object {
 public:
  [[nodiscard]] std::string_view TypeName() const override { return "Namespace"; }
  const Value* Attribute(Runtime& /*runtime*/, std::string_view name) override {
    return attributes_.Find(name);
  }
  Dict& attributes() { return attributes_; }

 private:
  Dict attributes_;
};

}  // namespace stoker::text::jinja
