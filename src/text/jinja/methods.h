#pragma once

#include <string_view>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// A method of a Python built-in type: str.strip, dict.items, list.append, …
using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

/// The method of that name on the value's type, or null.
Method FindMethod(const Value& value, std::string_view name);
Method FindStringMethod(std::string_view name);
Method FindListMethod(std::string_view name);
Method FindDictMethod(std::string_view name);

/// A method together with the value it was taken from: `message.get` without its call.
class BoundMethod : public Object {
 public:
  BoundMethod(const Value& self, Method method) : self_(self), method_(method) {}
  [[nodiscard]] std::string_view TypeName() const override { return "method"; }
  [[nodiscard]] bool IsCallable() const override { return true; }
  Value Call(Runtime& runtime, const Arguments& arguments) override {
    return method_(runtime, self_, arguments);
  }

 private:
  Value self_;
  Method method_;
};

}  // namespace stoker::text::jinja
