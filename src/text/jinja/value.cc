#include "text/jinja/value.h"

#include <bit>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/runtime.h"

namespace stoker::text::jinja {
namespace {

constexpr std::size_t kEntryBytes = 160;  // a dict entry with its index node, roughly
constexpr int kDeepestKey = 20;

// A string that is the same for keys which Python finds equal. Strings go unmarked last, so that
// looking a string up needs one character in front of it.
void AppendKey(Runtime& runtime, const Value& key, int depth, std::string& out) {
  runtime.Step();
  switch (key.type()) {
    case Type::kString:
      runtime.StepBytes(key.text().size());
      out += 's';
      out += key.bytes();
      return;
    case Type::kNone:
      out += 'n';
      return;
    case Type::kBool:
    case Type::kInt:
      out += fmt::format("i{}", key.AsInt());
      return;
    case Type::kFloat: {
      const double real = key.real();
      if (std::trunc(real) == real && std::abs(real) < 9e18) {
        out += fmt::format("i{}", static_cast<std::int64_t>(real));
      } else {
        out += fmt::format("f{}", std::bit_cast<std::uint64_t>(real));
      }
      return;
    }
    case Type::kList:
      if (key.list().kind == List::Kind::kTuple && depth < kDeepestKey) {
        out += '(';
        for (const Value& item : key.list().items) {
          std::string part;
          AppendKey(runtime, item, depth + 1, part);
          // Tuples that share their items grow a key far longer than themselves.
          runtime.heap().Charge(part.size());
          out += fmt::format("{}:{}", part.size(), part);
        }
        return;
      }
      break;
    case Type::kUndefined:
    case Type::kDict:
    case Type::kObject:
      break;
  }
  Fail("a {} cannot be the key of a dict", key.IsDict() ? "dict" : "list");
}

std::string CanonicalKey(Runtime& runtime, const Value& key) {
  std::string canonical;
  AppendKey(runtime, key, 0, canonical);
  return canonical;
}

}  // namespace

const Value* Dict::Find(Runtime& runtime, const Value& key) const {
  const auto found = index_.find(CanonicalKey(runtime, key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::Find(std::string_view key) const {
  std::string canonical = "s";
  canonical += key;
  const auto found = index_.find(canonical);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Dict::Set(Runtime& runtime, const Value& key, const Value& value) {
  const auto [found, is_new] = index_.try_emplace(CanonicalKey(runtime, key), entries_.size());
  if (is_new) {
    runtime.heap().Charge(kEntryBytes + found->first.size());
    entries_.emplace_back(key, value);
  } else {
    entries_[found->second].second = value;
  }
}

void Dict::Erase(Runtime& runtime, const Value& key) {
  const auto found = index_.find(CanonicalKey(runtime, key));
  if (found == index_.end()) return;
  const std::size_t position = found->second;
  index_.erase(found);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(position));
  for (auto& [name, at] : index_) {
    if (at > position) --at;
  }
}

void Dict::Clear() {
  entries_.clear();
  index_.clear();
}

const Value* Object::Attribute(Runtime& /*runtime*/, std::string_view /*name*/) {
  return nullptr;
}

Value Object::Call(Runtime& /*runtime*/, const Arguments& /*arguments*/) {
  Fail("'{}' object is not callable", TypeName());
}

void Heap::Require(std::size_t bytes) const {
  if (bytes > limit_bytes_ - used_bytes_) {
    throw Failure{
        .code = absl::StatusCode::kResourceExhausted,
        .message = fmt::format("the template used more than {} MiB of memory", limit_bytes_ >> 20)};
  }
}

void Heap::Charge(std::size_t bytes) {
  Require(bytes);
  used_bytes_ += bytes;
}

Value Heap::NewText(OriginText text) {
  Charge(sizeof(OriginText) + text.memory_bytes());
  return Value::Of(&texts_.emplace_back(std::move(text)));
}

Value Heap::NewList(std::vector<Value> items, List::Kind kind) {
  Charge(sizeof(List) + items.size() * sizeof(Value));
  return Value::Of(&lists_.emplace_back(List{.kind = kind, .items = std::move(items)}));
}

Dict& Heap::NewDict() {
  Charge(sizeof(Dict));
  return dicts_.emplace_back();
}

Value Heap::NewUndefined(std::string why) {
  Charge(sizeof(std::string) + why.size());
  return Value::Undefined(&reasons_.emplace_back(std::move(why)));
}

void Heap::Append(List& list, const Value& value) {
  Charge(2 * sizeof(Value));
  list.items.push_back(value);
}

}  // namespace stoker::text::jinja
