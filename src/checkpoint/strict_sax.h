#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace stoker::checkpoint {

/// A receiver of JSON events that accepts nothing: whatever a derived class does not override ends
/// the parse through Unexpected. Keeps the first error.
class StrictSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Parses `text` into this receiver. `what` names the text in syntax errors.
  absl::Status Run(std::string_view text, std::string_view what);

  bool null() override { return Unexpected("null"); }
  bool boolean(bool /*value*/) override { return Unexpected("true or false"); }
  bool number_integer(number_integer_t /*value*/) override {
    return Unexpected("a negative number");
  }
  bool number_unsigned(number_unsigned_t /*value*/) override { return Unexpected("a number"); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return Unexpected("a number that is not whole, or beyond 64 bits,");
  }
  bool string(string_t& /*text*/) override { return Unexpected("a string"); }
  bool binary(binary_t& /*bytes*/) override { return Unexpected("binary data"); }
  bool start_object(std::size_t /*elements*/) override { return Unexpected("an object"); }
  bool key(string_t& /*text*/) override { return Unexpected("a key"); }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*elements*/) override { return Unexpected("a list"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::json::exception& error) override;

 protected:
  /// Records that `what` ("a list") is not allowed where it stands. Returns false.
  virtual bool Unexpected(std::string_view what) = 0;
  /// Keeps `error` and ends the parse. Returns false.
  bool Fail(absl::Status error);

 private:
  absl::Status status_;
};

}  // namespace stoker::checkpoint
