#include "sys/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace stoker::sys {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::uint64_t ReadNumber(const std::string& path, std::uint64_t fallback) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t value = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &value)) return fallback;
  return value;
}

// "MemAvailable:   23456 kB" in /proc/meminfo.
std::uint64_t MemAvailable() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

// What the tightest memory limit on the path of our version-2 control group still leaves; page
// cache that the group could drop counts as free.
std::uint64_t CgroupHeadroom() {
  constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  std::ifstream membership("/proc/self/cgroup");
  std::string line;
  std::string group;
  while (std::getline(membership, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  std::uint64_t headroom = kUnlimited;
  while (!group.empty() && group != "/") {
    const std::string base = "/sys/fs/cgroup" + group + "/";
    const std::uint64_t limit = ReadNumber(base + "memory.max", kUnlimited);
    if (limit != kUnlimited) {
      const std::uint64_t used = ReadNumber(base + "memory.current", 0);
      std::uint64_t cache = 0;
      std::ifstream stat(base + "memory.stat");
      std::string key;
      std::uint64_t value = 0;
      while (stat >> key >> value) {
        if (key == "inactive_file") cache = value;
      }
      const std::uint64_t held = used > cache ? used - cache : 0;
      headroom = std::min(headroom, limit > held ? limit - held : 0);
    }
    group.resize(group.rfind('/'));
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

std::uint64_t AvailableMemoryBytes() {
  return std::min(MemAvailable(), CgroupHeadroom());
}

std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace stoker::sys
