#include "checkpoint/safetensors.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stoker::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string File(const std::string& header, std::size_t data_bytes) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data_bytes, '\1');
}

absl::StatusOr<SafetensorsHeader> Parse(const std::string& file) {
  return SafetensorsHeader::Parse(std::as_bytes(std::span(file.data(), file.size())));
}

void ExpectRefused(const std::string& file, const std::string& part,
                   absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const auto header = Parse(file);
  ASSERT_FALSE(header.ok()) << "expected: " << part;
  EXPECT_EQ(header.status().code(), code) << header.status();
  const std::string message(header.status().message());
  EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

std::string Tensor(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

TEST(Safetensors, TensorsAreFoundWhereTheFormatPutsThem) {
  const std::string header = R"({"__metadata__":{"format":"pt"},)" +
                             Tensor("b", "[2,3]", "[4,28]") + "," + Tensor("a", "[]", "[0,4]") +
                             "," + Tensor("empty", "[0,7]", "[4,4]") + "}   ";
  const auto parsed = Parse(File(header, 28));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->tensors().size(), 3U);
  const TensorEntry& a = parsed->tensors()[0];
  const TensorEntry& b = parsed->tensors()[2];
  EXPECT_EQ(a.name, "a");
  EXPECT_TRUE(a.shape.empty());
  EXPECT_EQ(a.offset, 8 + header.size());
  EXPECT_EQ(a.bytes, 4U);
  EXPECT_EQ(b.name, "b");
  EXPECT_THAT(b.shape, ElementsAre(2U, 3U));
  EXPECT_EQ(b.offset, 8 + header.size() + 4);
  EXPECT_EQ(b.bytes, 24U);
}

TEST(Safetensors, EntriesSurviveAMove) {
  auto parsed = Parse(File("{" + Tensor("a", "[1]", "[0,4]") + "}", 4));
  ASSERT_TRUE(parsed.ok());
  const SafetensorsHeader moved = *std::move(parsed);
  EXPECT_EQ(moved.tensors()[0].name, "a");
  EXPECT_THAT(moved.tensors()[0].shape, ElementsAre(1U));
}

TEST(Safetensors, TruncatedFilesAreRefused) {
  ExpectRefused("", "truncated: 0 bytes");
  ExpectRefused("1234567", "truncated: 7 bytes");
  const std::string whole = File("{" + Tensor("a", "[4]", "[0,16]") + "}", 16);
  for (std::size_t bytes = 8; bytes < whole.size(); ++bytes) {
    ExpectRefused(whole.substr(0, bytes), "truncated");
  }
  ExpectRefused(whole.substr(0, whole.size() - 1), "tensor \"a\" ends at byte");
  ASSERT_TRUE(Parse(whole).ok());
}

TEST(Safetensors, AHeaderBeyondTheFormatsLimitIsRefused) {
  ExpectRefused(std::string(8, '\xff') + "{}", "more than the 100000000 that the format allows");
  const std::string length = {'\x01', '\xe1', '\xf5', '\x05', 0, 0, 0, 0};  // 100000001
  ExpectRefused(length + "{}", "more than the 100000000");
}

TEST(Safetensors, MalformedHeadersAreRefused) {
  ExpectRefused(File("", 0), "does not begin with {");
  ExpectRefused(File("[]", 0), "does not begin with {");
  ExpectRefused(File(" {}", 0), "does not begin with {");
  ExpectRefused(File("{", 0), "not valid JSON");
  ExpectRefused(File("{}}", 0), "not valid JSON");
  ExpectRefused(File("{\"a\xff\":{}}", 0), "not valid JSON");
  ExpectRefused(File("{\"a\":1}", 0), "tensor \"a\"");
  ExpectRefused(File("{\"a\":{}}", 0), "must have dtype, shape and data_offsets");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[],"shape":[],"data_offsets":[0,4]}})", 4),
                "has \"shape\" twice");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0]}})", 4),
                "data_offsets must be [begin, end]");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,5]}})", 4),
                "data_offsets must be [begin, end]");
  ExpectRefused(File(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})", 4),
                "unknown field \"x\"");
  ExpectRefused(File(R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,4]}})", 4), "tensor \"a\"");
  ExpectRefused(File(R"({"__metadata__":[]})", 0), "a list stands where it must not");
  ExpectRefused(File(R"({"__metadata__":{"a":1}})", 0), "a number stands where it must not");
  ExpectRefused(File(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ is there twice");
}

TEST(Safetensors, DeepNestingEndsAtItsFirstLevel) {
  ExpectRefused(File("{\"a\":" + std::string(1'000'000, '['), 0), "tensor \"a\"");
}

TEST(Safetensors, ShapesThatAreNoSizesAreRefused) {
  for (const char* shape : {"[-1]", "[1.0]", "[1e3]", "[\"1\"]", "[[1]]", "[null]", "[true]", "1",
                            "{}", "[99999999999999999999999]"}) {
    ExpectRefused(File("{" + Tensor("a", shape, "[0,4]") + "}", 4), "tensor \"a\"");
  }
  ExpectRefused(File("{" + Tensor("a", "[4294967296,4294967296]", "[0,4]") + "}", 4),
                "too large for any file");
  ExpectRefused(File("{" + Tensor("a", "[4611686018427387904]", "[0,0]") + "}", 0),
                "too large for any file");
  ExpectRefused(File("{" + Tensor("a", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4),
                "more than 16 dimensions");
}

TEST(Safetensors, AShapeMustTakeTheBytesThatItHas) {
  ExpectRefused(File("{" + Tensor("a", "[2]", "[0,4]") + "}", 4),
                "tensor \"a\" has 4 bytes, but F32 [2] takes 8");
  ExpectRefused(File("{" + Tensor("a", "[1]", "[4,0]") + "}", 4), "before it begins");
}

TEST(Safetensors, OverlappingTensorsAreRefused) {
  ExpectRefused(
      File("{" + Tensor("a", "[2]", "[0,8]") + "," + Tensor("b", "[2]", "[4,12]") + "}", 12),
      "tensor \"b\" begins at byte 4 of the data, inside the one before it");
  ExpectRefused(
      File("{" + Tensor("a", "[2]", "[0,8]") + "," + Tensor("b", "[2]", "[0,8]") + "}", 8),
      "inside the one before it");
}

TEST(Safetensors, HolesAreRefused) {
  ExpectRefused(File("{" + Tensor("a", "[1]", "[4,8]") + "}", 8), "leaving a hole");
  ExpectRefused(
      File("{" + Tensor("a", "[1]", "[0,4]") + "," + Tensor("b", "[1]", "[8,12]") + "}", 12),
      "leaving a hole");
  ExpectRefused(File("{" + Tensor("a", "[1]", "[0,4]") + "}", 5), "1 bytes follow the last");
}

TEST(Safetensors, OffsetsThatWrapAroundAreRefused) {
  ExpectRefused(
      File("{" + Tensor("a", "[1]", "[18446744073709551612,18446744073709551616]") + "}", 4),
      "tensor \"a\"");
  ExpectRefused(
      File("{" + Tensor("a", "[1]", "[18446744073709551611,18446744073709551615]") + "}", 4),
      "beyond any file");
}

TEST(Safetensors, DuplicateNamesAreRefused) {
  ExpectRefused(
      File("{" + Tensor("a", "[1]", "[0,4]") + "," + Tensor("a", "[1]", "[4,8]") + "}", 8),
      "tensor \"a\" is there twice");
}

TEST(Safetensors, UnknownDTypesAreNamed) {
  ExpectRefused(File(R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", 1),
                "tensor \"a\" has dtype \"F4\"", absl::StatusCode::kUnimplemented);
}

TEST(Safetensors, NamesInErrorsStayShortAndOnOneLine) {
  ExpectRefused(File("{\"" + std::string(100'000, 'x') + "\\n\":1}", 0), "xxx\"...");
  ExpectRefused(File(R"({"a\nb":1})", 0), R"(tensor "a\nb")");
}

TEST(Safetensors, AWrittenHeaderReadsBack) {
  const std::vector<TensorSpec> specs = {
      {"x.\"quoted\"", tensor::DType::kBf16, {3, 5}},
      {"y", tensor::DType::kI32, {2}},
      {"z", tensor::DType::kF8E4M3, {7}},
  };
  std::string file = FormatSafetensorsHeader(specs);
  EXPECT_EQ(file.size() % 64, 0U);
  file.append(30 + 8 + 7, '\0');
  const auto header = Parse(file);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->tensors().size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(header->tensors()[i].name, specs[i].name);
    EXPECT_EQ(header->tensors()[i].dtype, specs[i].dtype);
    EXPECT_EQ(header->tensors()[i].bytes, specs[i].bytes());
  }
}

}  // namespace
}  // namespace stoker::checkpoint
