#include "cli/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/prompt_input.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"

namespace stoker::cli {
namespace {

// The lines that a chat gets from `text` in a pipe.
std::vector<std::string> Lines(const std::string& text) {
  int fds[2] = {-1, -1};
  EXPECT_EQ(pipe(fds), 0);
  std::thread writer([&] {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = write(fds[1], text.data() + at, text.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    close(fds[1]);
  });
  const std::unique_ptr<LineReader> reader = LineReader::Plain(fds[0]);
  std::vector<std::string> lines;
  std::string line;
  for (auto event = reader->Read(line); event.ok() && *event == LineEvent::kLine;
       event = reader->Read(line)) {
    lines.push_back(line);
  }
  writer.join();
  close(fds[0]);
  return lines;
}

using Strings = std::vector<std::string>;

TEST(PlainInput, LinesComeWithoutTheirEnds) {
  EXPECT_EQ(Lines("one\ntwo\r\n\nlast"), (Strings{"one", "two", "", "last"}));
  EXPECT_EQ(Lines(""), Strings());
}

TEST(PlainInput, ABackslashGoesOnInTheNextLineIfThereIsOne) {
  EXPECT_EQ(Lines("one\\\ntwo\\\nthree\nfour\n"), (Strings{"one\ntwo\nthree", "four"}));
  EXPECT_EQ(Lines("Hello\\\n"), (Strings{"Hello"}));
  EXPECT_EQ(Lines("Hello\\"), (Strings{"Hello"}));
}

TEST(PlainInput, LongLinesTakeLinearTime) {
  const std::string line(16 << 20, 'x');
  const auto start = std::chrono::steady_clock::now();
  const Strings lines = Lines(line + "\nshort\n");
  // The square of its length took minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), line.size());
  EXPECT_EQ(lines[1], "short");
}

TEST(PlainInput, ALineWithoutEndIsAnError) {
  const int zero = open("/dev/zero", O_RDONLY);
  std::string line;
  EXPECT_EQ(LineReader::Plain(zero)->Read(line).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_LT(line.size(), kLongestInput + (1 << 20));
  close(zero);
}

TEST(PlainInput, WhatCannotBeReadIsAnErrorAndNotTheEnd) {
  const int folder = open("/", O_RDONLY);
  std::string line;
  EXPECT_EQ(LineReader::Plain(folder)->Read(line).status().code(), absl::StatusCode::kUnavailable);
  close(folder);
  EXPECT_EQ(LineReader::Plain(folder)->Read(line).status().code(), absl::StatusCode::kUnavailable)
      << "closed";
}

TEST(History, IsKeptInAFileOfItsOwnOnly) {
  const stoker::testing::ScratchDir dir;
  EXPECT_TRUE(IsFitForHistory(dir / "none/yet"));
  std::ofstream(dir / "kept") << "_HiStOrY_V2_\n";
  EXPECT_TRUE(IsFitForHistory(dir / "kept"));
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", dir / "endless");
  std::ofstream(dir / "huge").close();
  std::filesystem::resize_file(dir / "huge", 1 << 30);
  for (const char* name : {"fifo", "endless", "huge", ""}) {
    EXPECT_FALSE(IsFitForHistory(dir / name)) << name;
  }
}

}  // namespace
}  // namespace stoker::cli
