#include "sys/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace stoker::sys {
namespace {

absl::Status IoError(const std::filesystem::path& path, std::string_view what, int error) {
  const std::string message = fmt::format("{}: {}: {}", path.string(), what, std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

// A file that is open for reading.
struct RegularFile {
  int fd = -1;
  std::size_t size_bytes = 0;
};

// The caller closes it.
absl::StatusOr<RegularFile> OpenRegular(const std::filesystem::path& path) {
  // Non-blocking, so that a fifo does not hang the open; it has no effect on regular files.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return IoError(path, "cannot open", errno);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return InvalidArgument("{}: not a regular file", path.string());
  }
  return RegularFile{.fd = fd, .size_bytes = static_cast<std::size_t>(info.st_size)};
}

// Reads to the end of the file, or to just beyond `max_bytes`. Returns 0 or errno.
int ReadUpTo(int fd, std::uint64_t max_bytes, std::string& text) {
  char bytes[65536];
  while (text.size() <= max_bytes) {
    const ssize_t count = read(fd, bytes, sizeof(bytes));
    if (count == 0) break;
    if (count > 0) {
      text.append(bytes, static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// As rename, but never over another file where the file system can tell.
int RenameToNew(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  return rename(from.c_str(), to.c_str());
}

// Some file systems cannot flush a folder. The file itself is on the disk by then, so that what a
// failure leaves open is its name alone.
void FlushFolderOf(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

MappedFile::~MappedFile() {
  // munmap takes a mutable pointer although it changes nothing that we may see.
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      guard_(std::move(other.guard_)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_, other.guard_);
  std::swap(path_, other.path_);
  return *this;
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  STOKER_ASSIGN_OR_RETURN(const RegularFile open_file, OpenRegular(path));
  MappedFile file;
  file.path_ = path;
  file.size_ = open_file.size_bytes;
  if (file.size_ > 0) {
    void* mapping = mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, open_file.fd, 0);
    if (mapping == MAP_FAILED) {
      const int error = errno;
      close(open_file.fd);
      file.size_ = 0;
      return IoError(path, "cannot map", error);
    }
    file.data_ = static_cast<const std::byte*>(mapping);
    file.guard_ = MappingGuard(file.bytes());
  }
  close(open_file.fd);
  return file;
}

absl::Status MappedFile::CheckIntact() const {
  if (!guard_.failed()) return absl::OkStatus();
  return DataLoss("{}: cannot be read to its end; it was cut short or its disk failed meanwhile",
                  path_.string());
}

absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& path,
                                         std::uint64_t max_bytes) {
  STOKER_ASSIGN_OR_RETURN(const RegularFile file, OpenRegular(path));
  std::string text;
  const int error = file.size_bytes > max_bytes ? 0 : ReadUpTo(file.fd, max_bytes, text);
  close(file.fd);
  if (error != 0) return IoError(path, "cannot read", error);
  const std::size_t bytes = std::max(file.size_bytes, text.size());
  if (bytes > max_bytes) {
    return InvalidArgument("{}: {} bytes, more than the {} that such a file may have",
                           path.string(), bytes, max_bytes);
  }
  return text;
}

FileWriter::~FileWriter() {
  Abandon();
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

absl::StatusOr<FileWriter> FileWriter::Create(const std::filesystem::path& path) {
  FileWriter writer;
  writer.path_ = path;
  writer.temporary_ = path.string() + ".partial";
  writer.fd_ = open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (writer.fd_ < 0 && errno == EEXIST) {
    return absl::AlreadyExistsError(fmt::format(
        "{}: another run is writing this file, or one was killed while it did; then remove it and "
        "try again",
        writer.temporary_.string()));
  }
  if (writer.fd_ < 0) return IoError(writer.temporary_, "cannot create", errno);
  return writer;
}

absl::Status FileWriter::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return IoError(temporary_, "cannot write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Append(std::string_view text) {
  return Append(std::as_bytes(std::span(text.data(), text.size())));
}

absl::Status FileWriter::Commit() {
  if (fsync(fd_) != 0) return IoError(temporary_, "cannot flush", errno);
  if (close(std::exchange(fd_, -1)) != 0) {
    const int error = errno;
    unlink(temporary_.c_str());
    return IoError(temporary_, "cannot close", error);
  }
  if (RenameToNew(temporary_, path_) != 0) {
    const int error = errno;
    unlink(temporary_.c_str());
    return IoError(path_, "cannot put in place", error);
  }
  FlushFolderOf(path_);
  return absl::OkStatus();
}

void FileWriter::Abandon() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  unlink(temporary_.c_str());
}

}  // namespace stoker::sys
