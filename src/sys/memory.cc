#include "sys/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace stoker::sys {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t ReadNumber(const std::string& path, std::uint64_t fallback) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t value = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &value)) return fallback;
  return value;
}

// "MemAvailable:   23456 kB" in /proc/meminfo.
std::uint64_t MemAvailable(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib * 1024;
  }
  return kUnlimited;
}

// The files of a version of control groups.
struct GroupFiles {
  std::string mount;
  std::string limit;
  std::string used;
  std::string cache;  // page cache that the group could drop, a line of memory.stat
};

// What the limit of one group leaves; page cache that it could drop counts as free.
std::uint64_t GroupHeadroom(const GroupFiles& files, const std::string& group) {
  const std::string base = files.mount + group + "/";
  const std::uint64_t limit = ReadNumber(base + files.limit, kUnlimited);
  if (limit == kUnlimited) return kUnlimited;
  const std::uint64_t used = ReadNumber(base + files.used, 0);
  std::uint64_t cache = 0;
  std::ifstream stat(base + "memory.stat");
  std::string key;
  std::uint64_t value = 0;
  while (stat >> key >> value) {
    if (key == files.cache) cache = value;
  }
  const std::uint64_t held = used > cache ? used - cache : 0;
  return limit > held ? limit - held : 0;
}

// The tightest limit from `group` up to the mount's root, which is our own group in a container.
std::uint64_t PathHeadroom(const GroupFiles& files, std::string group) {
  std::uint64_t headroom = kUnlimited;
  for (;;) {
    headroom = std::min(headroom, GroupHeadroom(files, group == "/" ? "" : group));
    if (group.empty() || group == "/") return headroom;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

// What the memory limits of our control groups still leave: lines "0::/path" (version 2) and
// "7:cpu,memory:/path" (version 1) of /proc/self/cgroup.
std::uint64_t CgroupHeadroom(const std::string& root) {
  const GroupFiles second = {root + "/sys/fs/cgroup", "memory.max", "memory.current",
                             "inactive_file"};
  const GroupFiles first = {root + "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                            "memory.usage_in_bytes", "total_inactive_file"};
  std::uint64_t headroom = kUnlimited;
  std::ifstream membership(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(membership, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    if (fields[1].empty()) headroom = std::min(headroom, PathHeadroom(second, fields[2]));
    if (std::ranges::find(controllers, "memory") != controllers.end()) {
      headroom = std::min(headroom, PathHeadroom(first, fields[2]));
    }
  }
  return headroom;
}

}  // namespace

HugeBuffer::~HugeBuffer() {
  if (data_ != nullptr) munmap(data_, mapped_bytes_);
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

absl::StatusOr<HugeBuffer> HugeBuffer::Allocate(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    return ResourceExhausted("cannot allocate {} bytes", bytes);
  }
  const std::size_t wanted =
      (std::max<std::size_t>(bytes, 1) + kHugePage - 1) / kHugePage * kHugePage;
  // Over-allocate by a huge page, then give back both ends, to get the alignment.
  void* raw = mmap(nullptr, wanted + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) {
    return ResourceExhausted("cannot allocate {} bytes: the system refused the address space",
                             bytes);
  }
  auto* start = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t lead = (kHugePage - address % kHugePage) % kHugePage;
  if (lead > 0) munmap(start, lead);
  munmap(start + lead + wanted, kHugePage - lead);

  HugeBuffer buffer;
  buffer.data_ = start + lead;
  buffer.size_ = bytes;
  buffer.mapped_bytes_ = wanted;
  madvise(buffer.data_, wanted, MADV_HUGEPAGE);  // a hint: without it the pages are small
  return buffer;
}

std::optional<std::uint64_t> AvailableMemoryBytes(const std::string& root) {
  const std::uint64_t available = std::min(MemAvailable(root), CgroupHeadroom(root));
  if (available == kUnlimited) return std::nullopt;
  return available;
}

}  // namespace stoker::sys
