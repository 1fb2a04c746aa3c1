#include "checkpoint/safetensors.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "checkpoint/strict_sax.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace stoker::checkpoint {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxDims = 16;

// A tensor as the header spells it, before its place in the file is checked.
struct RawTensor {
  std::size_t name_begin = 0;
  std::size_t name_bytes = 0;
  std::size_t shape_begin = 0;
  std::size_t dims = 0;
  std::optional<tensor::DType> dtype;
  std::uint64_t begin = 0;  // from the end of the header
  std::uint64_t end = 0;
  unsigned fields = 0;  // bits of Field seen
};

enum Field : unsigned { kDType = 1, kShape = 2, kOffsets = 4, kAllFields = 7, kNoField = 0 };

// Receives the header's JSON event by event: no tree is built for what may be 100 MB of text, and
// duplicate names do not go unseen.
class HeaderHandler : public StrictSax {
 public:
  std::vector<char> names;
  std::vector<std::size_t> shapes;
  std::vector<RawTensor> tensors;

  bool start_object(std::size_t /*elements*/) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTensorValue) {
      state_ = State::kTensor;
    } else if (state_ == State::kMetadataValue) {
      state_ = State::kMetadata;
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTensor) {
      if (tensors.back().fields != kAllFields) {
        return Fail(InvalidArgument("tensor {} must have dtype, shape and data_offsets", Name()));
      }
      state_ = State::kTop;
    } else if (state_ == State::kMetadata) {
      state_ = State::kTop;
    }
    return true;
  }

  bool key(string_t& text) override {
    if (state_ == State::kTop) return TopKey(text);
    if (state_ == State::kMetadata) return true;
    field_ = text == "dtype"          ? kDType
             : text == "shape"        ? kShape
             : text == "data_offsets" ? kOffsets
                                      : kNoField;
    if (field_ == kNoField) {
      return Fail(InvalidArgument("tensor {} has the unknown field {}", Name(), QuotedName(text)));
    }
    if ((tensors.back().fields & field_) != 0) {
      return Fail(InvalidArgument("tensor {} has {} twice", Name(), QuotedName(text)));
    }
    tensors.back().fields |= field_;
    return true;
  }

  bool string(string_t& text) override {
    if (state_ == State::kMetadata) return true;
    if (state_ != State::kTensor || field_ != kDType) return Unexpected("a string");
    field_ = kNoField;
    tensors.back().dtype = tensor::ParseDType(text);
    if (tensors.back().dtype) return true;
    return Fail(Unimplemented("tensor {} has dtype {}, which Stoker does not read", Name(),
                              QuotedName(text)));
  }

  bool start_array(std::size_t /*elements*/) override {
    if (state_ != State::kTensor || (field_ != kShape && field_ != kOffsets)) {
      return Unexpected("a list");
    }
    state_ = State::kList;
    listed_ = 0;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::kList) return Unexpected("a number");
    RawTensor& tensor = tensors.back();
    if (field_ == kShape) {
      if (listed_ == kMaxDims) {
        return Fail(InvalidArgument("tensor {} has more than {} dimensions", Name(), kMaxDims));
      }
      shapes.push_back(value);
      ++tensor.dims;
    } else {
      (listed_ == 0 ? tensor.begin : tensor.end) = value;
    }
    ++listed_;
    return true;
  }

  bool end_array() override {
    state_ = State::kTensor;
    if (field_ == kOffsets && listed_ != 2) {
      return Fail(InvalidArgument("tensor {}: data_offsets must be [begin, end]", Name()));
    }
    field_ = kNoField;
    return true;
  }

  bool Unexpected(std::string_view what) override {
    if (state_ == State::kTensor || state_ == State::kList || state_ == State::kTensorValue) {
      return Fail(InvalidArgument(
          "tensor {} is not {{\"dtype\", \"shape\": [sizes], \"data_offsets\": [begin, end]}}: "
          "{} stands where it must not",
          Name(), what));
    }
    return Fail(InvalidArgument("not an object of tensors: {} stands where it must not", what));
  }

 private:
  enum class State { kStart, kTop, kTensorValue, kTensor, kList, kMetadataValue, kMetadata };

  bool TopKey(const string_t& text) {
    if (text == "__metadata__") {
      if (has_metadata_) return Fail(InvalidArgument("__metadata__ is there twice"));
      has_metadata_ = true;
      state_ = State::kMetadataValue;
      return true;
    }
    RawTensor tensor;
    tensor.name_begin = names.size();
    tensor.name_bytes = text.size();
    tensor.shape_begin = shapes.size();
    names.insert(names.end(), text.begin(), text.end());
    tensors.push_back(tensor);
    state_ = State::kTensorValue;
    field_ = kNoField;
    return true;
  }

  std::string Name() const {
    const RawTensor& tensor = tensors.back();
    return QuotedName({names.data() + tensor.name_begin, tensor.name_bytes});
  }

  State state_ = State::kStart;
  Field field_ = kNoField;
  std::size_t listed_ = 0;
  bool has_metadata_ = false;
};

absl::Status CheckSize(const TensorEntry& entry, const RawTensor& raw) {
  std::uint64_t bytes = SizeOf(entry.dtype);
  for (const std::size_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, std::uint64_t{size}, &bytes)) {
      return InvalidArgument("tensor {} has shape [{}], too large for any file",
                             QuotedName(entry.name), fmt::join(entry.shape, ", "));
    }
  }
  if (raw.end < raw.begin) {
    return InvalidArgument("tensor {} ends at byte {}, before it begins at {}",
                           QuotedName(entry.name), raw.end, raw.begin);
  }
  if (raw.end - raw.begin != bytes) {
    return InvalidArgument("tensor {} has {} bytes, but {} [{}] takes {}", QuotedName(entry.name),
                           raw.end - raw.begin, Name(entry.dtype), fmt::join(entry.shape, ", "),
                           bytes);
  }
  return absl::OkStatus();
}

// The format demands that the tensors, in order of offset, fill everything after the header.
absl::Status CheckLayout(std::span<const TensorEntry> tensors, std::uint64_t data_start,
                         std::uint64_t file_bytes) {
  std::uint64_t expected = data_start;
  for (const TensorEntry& entry : tensors) {
    if (entry.offset + entry.bytes > file_bytes) {
      return InvalidArgument("the file is truncated: tensor {} ends at byte {} of {}",
                             QuotedName(entry.name), entry.offset + entry.bytes, file_bytes);
    }
    if (entry.offset != expected) {
      return InvalidArgument("tensor {} begins at byte {} of the data, {} {}",
                             QuotedName(entry.name), entry.offset - data_start,
                             entry.offset < expected ? "inside the one before it, which ends at"
                                                     : "leaving a hole after the one that ends at",
                             expected - data_start);
    }
    expected += entry.bytes;
  }
  if (expected != file_bytes) {
    return InvalidArgument("{} bytes follow the last tensor", file_bytes - expected);
  }
  return absl::OkStatus();
}

absl::Status CheckNamesDiffer(std::span<const TensorEntry> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorEntry& entry : tensors) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return absl::OkStatus();
  return InvalidArgument("tensor {} is there twice", QuotedName(*twice));
}

absl::StatusOr<std::string_view> HeaderText(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    return InvalidArgument("the file is truncated: {} bytes, too few for a safetensors header",
                           file.size());
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  }
  if (length > kMaxHeaderBytes) {
    return InvalidArgument(
        "not a safetensors file: its first 8 bytes give a header of {} bytes, "
        "more than the {} that the format allows",
        length, kMaxHeaderBytes);
  }
  if (length > file.size() - kLengthBytes) {
    return InvalidArgument("the file is truncated: {} bytes, but its header alone has {}",
                           file.size(), length);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (!text.starts_with('{')) {
    return InvalidArgument("not a safetensors file: its header does not begin with {{");
  }
  return text;
}

}  // namespace

absl::StatusOr<SafetensorsHeader> SafetensorsHeader::Parse(std::span<const std::byte> file) {
  STOKER_ASSIGN_OR_RETURN(const std::string_view text, HeaderText(file));
  HeaderHandler handler;
  STOKER_RETURN_IF_ERROR(handler.Run(text, "the header"));

  SafetensorsHeader header;
  header.names_ = std::move(handler.names);
  header.shapes_ = std::move(handler.shapes);
  header.tensors_.reserve(handler.tensors.size());
  const std::uint64_t data_start = kLengthBytes + text.size();
  for (const RawTensor& raw : handler.tensors) {
    TensorEntry entry;
    entry.name = {header.names_.data() + raw.name_begin, raw.name_bytes};
    entry.dtype = *raw.dtype;
    entry.shape = std::span(header.shapes_).subspan(raw.shape_begin, raw.dims);
    STOKER_RETURN_IF_ERROR(CheckSize(entry, raw));
    // Beyond any file, and so far from 2^64 that adding the header's size cannot wrap around.
    if (raw.end > std::uint64_t{1} << 62) {
      return InvalidArgument("tensor {} ends at byte {}, beyond any file", QuotedName(entry.name),
                             raw.end);
    }
    entry.offset = data_start + raw.begin;
    entry.bytes = raw.end - raw.begin;
    header.tensors_.push_back(entry);
  }
  std::sort(header.tensors_.begin(), header.tensors_.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
            });
  STOKER_RETURN_IF_ERROR(CheckLayout(header.tensors_, data_start, file.size()));
  STOKER_RETURN_IF_ERROR(CheckNamesDiffer(header.tensors_));
  return header;
}

std::uint64_t TensorSpec::bytes() const {
  std::uint64_t bytes = SizeOf(dtype);
  for (const std::size_t size : shape) {
    STOKER_CHECK(!__builtin_mul_overflow(bytes, std::uint64_t{size}, &bytes));
  }
  return bytes;
}

std::string FormatSafetensorsHeader(std::span<const TensorSpec> tensors) {
  std::string text = R"({"__metadata__":{"format":"pt"})";
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    const std::uint64_t end = offset + tensor.bytes();
    fmt::format_to(std::back_inserter(text),
                   R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                   nlohmann::json(tensor.name).dump(), Name(tensor.dtype),
                   fmt::join(tensor.shape, ","), offset, end);
    offset = end;
  }
  text += '}';
  constexpr std::size_t kAlignment = 64;
  text.resize(
      (text.size() + kLengthBytes + kAlignment - 1) / kAlignment * kAlignment - kLengthBytes, ' ');
  std::string start;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    start += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return start + text;
}

std::string QuotedName(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  const bool cut = name.size() > kLongest;
  std::string quoted =
      nlohmann::json(std::string(name.substr(0, kLongest)))
          .dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  if (cut) quoted += "...";
  return quoted;
}

}  // namespace stoker::checkpoint
