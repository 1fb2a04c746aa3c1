#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/origin_text.h"

namespace stoker::text::jinja {

struct List;
class Dict;
class Object;
class Runtime;

enum class Type : std::uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kDict,
  kObject,
};

/// What an expression evaluates to. A small handle: texts, lists, dicts and objects belong to the
/// Heap of the running render (or, for literals, to the template) and outlive every handle.
class Value {
 public:
  Value() = default;  ///< undefined, with nothing to say about why
  /// Undefined; `why` is the error message of an operation that needs a value.
  static Value Undefined(const std::string* why) { return Value(Type::kUndefined, {.why = why}); }
  static Value None() { return Value(Type::kNone, {}); }
  static Value Bool(bool value) { return Value(Type::kBool, {.boolean = value}); }
  static Value Int(std::int64_t value) { return Value(Type::kInt, {.integer = value}); }
  static Value Float(double value) { return Value(Type::kFloat, {.real = value}); }
  static Value Of(const OriginText* text) { return Value(Type::kString, {.text = text}); }
  static Value Of(List* list) { return Value(Type::kList, {.list = list}); }
  static Value Of(Dict* dict) { return Value(Type::kDict, {.dict = dict}); }
  static Value Of(Object* object) { return Value(Type::kObject, {.object = object}); }

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool IsUndefined() const { return type_ == Type::kUndefined; }
  [[nodiscard]] bool IsNone() const { return type_ == Type::kNone; }
  [[nodiscard]] bool IsBool() const { return type_ == Type::kBool; }
  [[nodiscard]] bool IsInt() const { return type_ == Type::kInt; }
  [[nodiscard]] bool IsFloat() const { return type_ == Type::kFloat; }
  [[nodiscard]] bool IsString() const { return type_ == Type::kString; }
  [[nodiscard]] bool IsList() const { return type_ == Type::kList; }
  [[nodiscard]] bool IsDict() const { return type_ == Type::kDict; }
  [[nodiscard]] bool IsObject() const { return type_ == Type::kObject; }
  /// Bool, int or float: what Python's arithmetic takes as a number.
  [[nodiscard]] bool IsNumber() const { return IsBool() || IsInt() || IsFloat(); }

  // Each is for values of its own type only.
  [[nodiscard]] const std::string* why_undefined() const { return data_.why; }
  [[nodiscard]] bool boolean() const { return data_.boolean; }
  [[nodiscard]] std::int64_t integer() const { return data_.integer; }
  [[nodiscard]] double real() const { return data_.real; }
  [[nodiscard]] const OriginText& text() const { return *data_.text; }
  [[nodiscard]] const std::string& bytes() const { return data_.text->bytes(); }
  [[nodiscard]] List& list() const { return *data_.list; }
  [[nodiscard]] Dict& dict() const { return *data_.dict; }
  [[nodiscard]] Object& object() const { return *data_.object; }

  /// Bools and ints as an int, for values of those types.
  [[nodiscard]] std::int64_t AsInt() const { return IsBool() ? (boolean() ? 1 : 0) : integer(); }
  /// Any number as a float.
  [[nodiscard]] double AsFloat() const { return IsFloat() ? real() : static_cast<double>(AsInt()); }

  /// A string marked by the filters `safe` and `escape`: what is joined to it gets HTML-escaped,
  /// as markupsafe does.
  [[nodiscard]] bool is_markup() const { return markup_; }
  [[nodiscard]] Value Markup() const {
    Value marked = *this;
    marked.markup_ = true;
    return marked;
  }

 private:
  union Data {
    const std::string* why = nullptr;
    bool boolean;
    std::int64_t integer;
    double real;
    const OriginText* text;
    List* list;
    Dict* dict;
    Object* object;
  };
  Value(Type type, Data data) : type_(type), data_(data) {}

  Type type_ = Type::kUndefined;
  bool markup_ = false;
  Data data_;
};

/// Python's sequences and iterators. Iterators are filled at once but can be read only once.
struct List {
  enum class Kind : std::uint8_t { kList, kTuple, kRange, kView, kIterator };
  Kind kind = Kind::kList;
  bool consumed = false;                          ///< of an iterator: it has been read
  std::array<std::int64_t, 3> range = {0, 0, 1};  ///< of a range: its start, stop and step
  std::vector<Value> items;

  /// Whether it can be indexed and has a length in the way of Python's sequences.
  [[nodiscard]] bool IsSequence() const { return kind != Kind::kView && kind != Kind::kIterator; }
};

/// Python's dict: keeps the order of insertion; 1, 1.0 and True are the same key.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// The value under a key, or null. Fails for keys that cannot be hashed (lists, dicts). Counts
  /// the steps that a long or nested key costs, as do the next two.
  [[nodiscard]] const Value* Find(Runtime& runtime, const Value& key) const;
  [[nodiscard]] const Value* Find(std::string_view key) const;
  /// Counts the memory of a new entry too.
  void Set(Runtime& runtime, const Value& key, const Value& value);
  /// Removes a key if it is there, in time linear in the size.
  void Erase(Runtime& runtime, const Value& key);
  void Clear();

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // canonical key → position
};

/// An argument given by name. The name is a string that remembers who wrote it, since a callee such
/// as `dict` or a macro with `kwargs` can print it: what **mapping gives keeps the key's origin.
struct NamedArgument {
  Value name;
  Value value;
};

/// What a call was given.
struct Arguments {
  std::vector<Value> positional;
  std::vector<NamedArgument> named;
};

/// Functions, macros, namespaces and `loop`.
class Object {
 public:
  Object() = default;
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// Python's name of the type, for messages.
  [[nodiscard]] virtual std::string_view TypeName() const = 0;
  /// The attribute, or null where there is none.
  virtual const Value* Attribute(Runtime& runtime, std::string_view name);
  [[nodiscard]] virtual bool IsCallable() const { return false; }
  virtual Value Call(Runtime& runtime, const Arguments& arguments);
};

/// Owns everything that one render makes, so that values need no reference counts, cycles cannot
/// leak and deep values need no deep destructors. What it has given out is counted against a limit.
class Heap {
 public:
  explicit Heap(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Counts bytes about to be allocated. Fails with kResourceExhausted beyond the limit.
  void Charge(std::size_t bytes);
  /// Fails as Charge does, but counts nothing: for memory that is given back before the next
  /// charge.
  void Require(std::size_t bytes) const;
  /// Takes back a charge whose memory has been freed.
  void Release(std::size_t bytes) { used_bytes_ -= bytes; }

  Value NewText(OriginText text);
  /// Text that the template, or this interpreter on its behalf, has written.
  Value NewText(std::string_view text) { return NewText(OriginText(std::string(text), true)); }
  Value NewMarkupLike(const Value& model, OriginText text) {
    const Value made = NewText(std::move(text));
    return model.is_markup() ? made.Markup() : made;
  }
  Value NewList(std::vector<Value> items, List::Kind kind = List::Kind::kList);
  /// What can be read once.
  Value NewIterator(std::vector<Value> items) {
    return NewList(std::move(items), List::Kind::kIterator);
  }
  Dict& NewDict();
  Value NewUndefined(std::string why);
  void Append(List& list, const Value& value);

  template <typename T, typename... Args>
  T& New(Args&&... args) {
    Charge(sizeof(T) + kObjectOverheadBytes);
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T& object = *made;
    objects_.push_back(std::move(made));
    return object;
  }

 private:
  // Of the allocator, and the pointer in objects_, roughly.
  static constexpr std::size_t kObjectOverheadBytes = 32;

  std::size_t limit_bytes_;
  std::size_t used_bytes_ = 0;
  std::deque<OriginText> texts_;
  std::deque<List> lists_;
  std::deque<Dict> dicts_;
  std::deque<std::string> reasons_;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace stoker::text::jinja
