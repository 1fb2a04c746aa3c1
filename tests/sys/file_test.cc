#include "sys/file.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/paths.h"

namespace stoker::sys {
namespace {

class FileTest : public ::testing::Test {
 protected:
  stoker::testing::ScratchDir dir_;
};

TEST_F(FileTest, WhatIsCommittedReadsBack) {
  auto writer = FileWriter::Create(dir_ / "a");
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append("hello ").ok());
  ASSERT_TRUE(writer->Append("world").ok());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "a")) << "in place only when whole";
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(*ReadTextFile(dir_ / "a", 100), "hello world");
  EXPECT_EQ(writer->bytes_written(), 11U);
}

TEST_F(FileTest, AnAbandonedWriteLeavesNothing) {
  {
    auto writer = FileWriter::Create(dir_ / "a");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Append("half").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(FileTest, ErrorsNameTheFile) {
  const auto missing = MappedFile::Open(dir_ / "nowhere");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("nowhere"), std::string::npos);
  EXPECT_FALSE(MappedFile::Open(dir_.path()).ok()) << "a folder";
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::Open(dir_ / "fifo").ok()) << "must not hang";
}

TEST_F(FileTest, EmptyAndOversizedFiles) {
  std::ofstream(dir_ / "empty").close();
  EXPECT_EQ(*ReadTextFile(dir_ / "empty", 0), "");
  std::ofstream(dir_ / "four") << "1234";
  EXPECT_FALSE(ReadTextFile(dir_ / "four", 3).ok());
}

}  // namespace
}  // namespace stoker::sys
