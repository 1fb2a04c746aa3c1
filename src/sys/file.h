#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sys/mapping_guard.h"

namespace stoker::sys {

/// A whole file mapped read-only. Should it shrink or its disk fail, the rest reads as zeros and
/// CheckIntact says so.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// Errors: kNotFound, kPermissionDenied, or kInvalidArgument for what is not a regular file.
  static absl::StatusOr<MappedFile> Open(const std::filesystem::path& path);

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Whether all that was read so far came from the file. Errors: kDataLoss, naming the file.
  [[nodiscard]] absl::Status CheckIntact() const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MappingGuard guard_;
  std::filesystem::path path_;
};

/// Reads a whole text file, which may shrink or grow meanwhile. Errors: as MappedFile::Open, and
/// kInvalidArgument beyond `max_bytes`.
absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& path,
                                         std::uint64_t max_bytes);

/// Writes a new file front to back under a temporary name, NAME.partial; Commit puts it in place
/// whole. Destroyed without Commit, nothing is left behind. Files of others are never touched: of
/// two writers of one name, one fails.
class FileWriter {
 public:
  FileWriter() = default;
  ~FileWriter();
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;

  /// Errors: kAlreadyExists while another writes this file, or where a writer that was killed left
  /// its NAME.partial; kNotFound, kPermissionDenied, kResourceExhausted, kUnavailable for what the
  /// system refuses.
  static absl::StatusOr<FileWriter> Create(const std::filesystem::path& path);

  /// Errors: kResourceExhausted when the disk is full, kUnavailable for other failures.
  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status Append(std::string_view text);
  /// Flushes to disk and renames into place. Errors: kAlreadyExists where there is such a file by
  /// now, and those of Append.
  absl::Status Commit();

 private:
  void Abandon();

  int fd_ = -1;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

}  // namespace stoker::sys
