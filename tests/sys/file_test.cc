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
}

TEST_F(FileTest, AnAbandonedWriteLeavesNothing) {
  {
    auto writer = FileWriter::Create(dir_ / "a");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Append("half").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(FileTest, TwoWritersOfOneFileLeaveEachOtherAlone) {
  auto first = FileWriter::Create(dir_ / "a");
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->Append("first").ok());
  {
    const auto second = FileWriter::Create(dir_ / "a");
    EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_NE(second.status().message().find("a.partial"), std::string::npos);
  }
  ASSERT_TRUE(first->Commit().ok());
  auto third = FileWriter::Create(dir_ / "a");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ(third->Commit().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadTextFile(dir_ / "a", 100), "first");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "a.partial"));
}

TEST_F(FileTest, AFileWithoutASizeIsReadToItsEnd) {
  // Its size is 0: that of a file that grows while it is read is as wrong.
  EXPECT_NE(ReadTextFile("/proc/self/status", 1 << 20)->find("Name:"), std::string::npos);
  EXPECT_FALSE(ReadTextFile("/proc/self/status", 10).ok());
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
