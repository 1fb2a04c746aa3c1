#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "sys/file.h"

namespace stoker::model {

/// The tensors of one small safetensors file of golden values.
class GoldenTensors {
 public:
  static absl::StatusOr<GoldenTensors> Open(const std::filesystem::path& path) {
    GoldenTensors golden;
    STOKER_ASSIGN_OR_RETURN(golden.file_, sys::MappedFile::Open(path));
    STOKER_ASSIGN_OR_RETURN(const checkpoint::SafetensorsHeader header,
                            checkpoint::SafetensorsHeader::Parse(golden.file_.bytes()));
    for (const checkpoint::TensorEntry& entry : header.tensors()) {
      golden.tensors_[std::string(entry.name)] = {
          {entry.shape.begin(), entry.shape.end()},
          golden.file_.bytes().subspan(entry.offset, entry.bytes)};
    }
    return golden;
  }

  [[nodiscard]] bool Has(const std::string& name) const { return tensors_.contains(name); }

  [[nodiscard]] const std::vector<std::size_t>& Shape(const std::string& name) const {
    return tensors_.at(name).shape;
  }

  /// The values as T, which must be the stored element type.
  template <typename T>
  [[nodiscard]] std::vector<T> Values(const std::string& name) const {
    const std::span<const std::byte> bytes = tensors_.at(name).bytes;
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  struct Tensor {
    std::vector<std::size_t> shape;
    std::span<const std::byte> bytes;
  };
  sys::MappedFile file_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace stoker::model
