#include "sys/mapping_guard.h"

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sys/file.h"

namespace stoker::sys {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPages = 64;
constexpr std::size_t kPageBytes = 4096;

class MappingGuardTest : public testing::Test {
 protected:
  MappingGuardTest() : path_(std::filesystem::path(testing::TempDir()) / "mapping_guard_test.bin") {
    std::ofstream(path_) << std::string(kPages * kPageBytes, 'x');
  }
  ~MappingGuardTest() override { std::filesystem::remove(path_); }

  static std::size_t CountX(const MappedFile& file) {
    std::size_t count = 0;
    for (const std::byte byte : file.bytes()) count += byte == std::byte{'x'} ? 1 : 0;
    return count;
  }

  std::filesystem::path path_;
};

TEST_F(MappingGuardTest, AWholeFileIsIntact) {
  const auto file = MappedFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(CountX(*file), kPages * kPageBytes);
  EXPECT_TRUE(file->CheckIntact().ok());
}

TEST_F(MappingGuardTest, AFileCutShortReadsAsZerosAndSaysSo) {
  auto file = MappedFile::Open(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path_, 3 * kPageBytes);
  EXPECT_TRUE(file->CheckIntact().ok()) << "nothing was read yet";
  EXPECT_EQ(CountX(*file), 3 * kPageBytes);
  const MappedFile moved = *std::move(file);
  EXPECT_EQ(moved.CheckIntact().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(moved.CheckIntact().message()), HasSubstr(path_.string()));
}

TEST_F(MappingGuardTest, OneFilesFailureIsNotAnothers) {
  const std::filesystem::path other = path_.string() + ".other";
  std::filesystem::copy_file(path_, other);
  const auto whole = MappedFile::Open(other);
  ASSERT_TRUE(whole.ok());
  {
    const auto cut = MappedFile::Open(path_);
    ASSERT_TRUE(cut.ok());
    std::filesystem::resize_file(path_, 0);
    EXPECT_EQ(CountX(*cut), 0U);
    EXPECT_FALSE(cut->CheckIntact().ok());
  }
  EXPECT_EQ(CountX(*whole), kPages * kPageBytes);
  EXPECT_TRUE(whole->CheckIntact().ok());
  // A range that is taken up again starts afresh.
  const auto again = MappedFile::Open(other);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->CheckIntact().ok());
  std::filesystem::remove(other);
}

TEST_F(MappingGuardTest, OtherBusErrorsStillEndTheProcess) {
  const auto file = MappedFile::Open(path_);  // installs the handler
  ASSERT_TRUE(file.ok());
  EXPECT_DEATH(std::raise(SIGBUS), "");
}

}  // namespace
}  // namespace stoker::sys
