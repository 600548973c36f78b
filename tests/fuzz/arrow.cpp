// A stream of batches that lies in as many ways as can be told. First byte: schema and options;
// then, behind a byte each, the table's columns, whose formats and lengths the input chooses; then
// batches. Buffers have the size that lengths, offsets and the type ask for, to the byte: sizes are
// no part of the interface, everything else is arbitrary. What was lent must be given back once.
#include "gibbsite/data/arrow.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "table.hpp"

namespace gibbsite::fuzz {
namespace {

/// The rest of the input; zeros behind its end.
class Bytes {
 public:
  explicit Bytes(std::string_view in) : in_(in) {}
  unsigned byte() { return take_byte(in_); }
  [[nodiscard]] bool empty() const { return in_.empty(); }
  void fill(std::vector<unsigned char>& out) {
    const std::size_t some = std::min(out.size(), in_.size());
    if (some > 0) std::memcpy(out.data(), in_.data(), some);
    in_.remove_prefix(some);
  }
  std::string word() {
    const std::size_t wanted = byte() % 16, size = std::min(wanted, in_.size());  // in this order
    std::string out(in_.substr(0, size));
    in_.remove_prefix(size);
    return out.substr(0, out.find('\0'));
  }
  /// Mostly what it should be.
  std::int64_t near(std::int64_t right) {
    static constexpr std::int64_t odd[] = {-1, 0, 1, 2, 7, -2, INT32_MAX, INT64_MAX, INT64_MIN};
    const unsigned how = byte();
    if (how < 200) return right;
    return how < 220 ? right + static_cast<std::int64_t>(how) - 210 : odd[how % std::size(odd)];
  }

 private:
  std::string_view in_;
};

/// Everything that one stream lends: freed at the end, counted when it is released.
class Lender {
 public:
  explicit Lender(Bytes& in) : in_(in) {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  ~Lender() { require(lent_ == 0, "what was lent and not given back"); }

  ArrowArrayStream stream() {
    ++lent_;
    ArrowArrayStream out{};
    out.get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
      return of(self->private_data).get_schema(*schema);
    };
    out.get_next = [](ArrowArrayStream* self, ArrowArray* array) {
      return of(self->private_data).get_next(*array);
    };
    out.get_last_error = [](ArrowArrayStream* self) -> const char* {
      return of(self->private_data).error_;
    };
    out.release = released<ArrowArrayStream>;
    out.private_data = this;
    return out;
  }

 private:
  struct Column {
    std::string name, format, listed;
  };

  static Lender& of(void* self) { return *static_cast<Lender*>(self); }
  template <class Struct>
  static void released(Struct* self) {
    require(self->release != nullptr, "released twice");
    --of(self->private_data).lent_;
    self->release = nullptr;
  }
  template <class T>
  T* keep(T value) {
    auto held = std::make_shared<T>(std::move(value));
    kept_.push_back(held);
    return held.get();
  }
  template <class Struct>
  void lend(Struct& out) {
    ++lent_;
    out.private_data = this;
    out.release = released<Struct>;
  }
  /// One that belongs to another: released with it, by whoever lent it.
  template <class Struct>
  void hold(Struct& out) {
    out.private_data = this;
    out.release = [](Struct*) { require(false, "a part was released by itself"); };
  }

  static constexpr const char* union_format = "+us:0,1,2";
  static constexpr const char* members[] = {"u", "g", "b"};  // of unions

  static std::string pick_format(Bytes& in) {
    static constexpr const char* known[] = {
        "g", "u", "vu", "i", "U", "f",     "b",           "n",        "c",  "C",  "s",
        "S", "I", "l",  "L", "e", "d:9,2", "d:38,-3,256", "d:5,1,32", "+s", "tdD"};
    const unsigned byte = in.byte();
    return byte < 245 ? known[byte % std::size(known)] : byte < 250 ? union_format : in.word();
  }

  int get_schema(ArrowSchema& out) {
    static constexpr const char* names[] = {"y", "a", "b", "c", "x1", "x2", "x3", "x4"};
    const std::size_t count = in_.byte() % 8;
    for (std::size_t j = 0; j < count; ++j) {
      const unsigned byte = in_.byte();
      Column column;
      column.name = byte < 240 ? names[byte % std::size(names)] : in_.word();
      column.format = pick_format(in_);
      if ((byte & 8) != 0) column.listed = pick_format(in_);
      columns_.push_back(column);
    }
    std::vector<ArrowSchema*> children;
    for (const Column& column : columns_) {
      ArrowSchema* const child = keep(ArrowSchema{});
      hold(*child);
      child->format = keep(column.format)->c_str();
      if (column.format == union_format) add_members(*child);
      child->name = in_.near(1) == 1 ? keep(column.name)->c_str() : nullptr;
      if (!column.listed.empty()) {
        child->dictionary = keep(ArrowSchema{});
        hold(*child->dictionary);
        child->dictionary->format = keep(column.listed)->c_str();
      }
      children.push_back(in_.near(1) == 1 ? child : nullptr);
    }
    out = {};
    out.format = in_.near(1) == 1 ? "+s" : nullptr;
    out.n_children = static_cast<std::int64_t>(children.size());
    out.children = in_.near(1) == 1 ? keep(children)->data() : nullptr;
    return hand_over(out);
  }

  void add_members(ArrowSchema& out) {
    std::vector<ArrowSchema*> children;
    for (const char* const format : members) {
      ArrowSchema* const child = keep(ArrowSchema{});
      hold(*child);
      child->format = in_.near(1) == 1 ? format : "+us:";
      children.push_back(in_.near(1) == 1 ? child : nullptr);
    }
    out.n_children = below(in_.near(std::ssize(children)), std::ssize(children));
    out.children = in_.near(1) == 1 ? keep(children)->data() : nullptr;
  }

  int get_next(ArrowArray& out) {
    out = {};
    if (in_.empty() || ++batches_ > 6) return 0;
    const std::int64_t rows = in_.byte() % 40, offset = in_.byte() % 4;
    std::vector<ArrowArray*> children;
    for (const Column& column : columns_) {
      const std::int64_t length = in_.near(rows + offset);
      ArrowArray* const child =
          array(column.format, length < 0 || length > 100 ? rows + offset : length);
      if (!column.listed.empty() && in_.near(1) == 1)
        child->dictionary = array(column.listed, in_.byte() % 8);
      // What is said of it may be less than there is, or nonsense: never more. Where text ends is
      // what the last offset says: it stays the last.
      const std::int64_t said = below(in_.near(child->length), child->length);
      const bool is_text = column.format == "u" || column.format == "U";
      if (!is_text || said < 0 || said > INT64_MAX / 64) child->length = said;
      children.push_back(in_.near(1) == 1 ? child : nullptr);
    }
    const auto count = static_cast<std::int64_t>(children.size());
    out.length = below(in_.near(rows), rows);
    out.offset = below(in_.near(offset), offset);
    std::vector<const void*> buffers{in_.byte() % 4 == 3 ? bits(rows + offset) : nullptr};
    out.null_count = in_.near(buffers[0] == nullptr ? 0 : -1);
    out.n_children = below(in_.near(count), count);
    out.children = in_.near(1) == 1 ? keep(children)->data() : nullptr;
    out.n_buffers = below(in_.near(1), 1);
    out.buffers = in_.near(1) == 1 ? keep(buffers)->data() : nullptr;
    if (in_.near(1) != 1) out.dictionary = array("u", 1);
    return hand_over(out);
  }

  /// A lie that memory would have to bear is none that the reader can tell.
  static std::int64_t below(std::int64_t said, std::int64_t there) {
    return said > there && said <= INT64_MAX / 64 ? there : said;
  }

  template <class Struct>
  int hand_over(Struct& out) {
    const unsigned how = in_.byte();
    if (how > 250) return 0;  // not filled in, and without a word
    if (how > 240) {          // an error, with or without text, over what looks like a struct
      error_ = (how & 1) != 0 ? keep(in_.word())->c_str() : nullptr;
      hold(out);
      return (how & 2) != 0 ? EIO : -5;
    }
    lend(out);
    return 0;
  }

  unsigned char* bytes(std::int64_t size) {
    std::vector<unsigned char> out(static_cast<std::size_t>(size));
    in_.fill(out);
    return keep(std::move(out))->data();
  }
  unsigned char* bits(std::int64_t count) { return bytes((count + 7) / 8); }

  ArrowArray* array(const std::string& format, std::int64_t length) {
    ArrowArray out{};
    out.offset = in_.byte() % 4;
    const std::int64_t all = length + out.offset;
    std::vector<const void*> buffers;
    buffers.push_back(in_.byte() % 3 == 2 ? bits(all) : nullptr);
    const auto text = [&](std::int64_t width) {
      const std::int64_t size = in_.byte() % 32;
      unsigned char* const offsets = bytes((all + 1) * width);
      if (in_.byte() < 250) {  // how far is told: nothing may be read behind it
        const std::int64_t end = size;
        std::memcpy(offsets + all * width, &end, static_cast<std::size_t>(width));
        std::int64_t at = 0;
        for (std::int64_t i = 0; in_.byte() < 128 && i < all; ++i, at += i % 3)
          std::memcpy(offsets + i * width, &at, static_cast<std::size_t>(width));
      }
      buffers.push_back(offsets);
      std::int64_t end = 0;
      std::memcpy(&end, offsets + all * width, static_cast<std::size_t>(width));
      // As many bytes as the last offset says, unless it says what cannot be.
      buffers.push_back(end >= 0 && end < 4096 ? bytes(end) : nullptr);
    };
    if (format == "u") {
      text(4);
    } else if (format == "U") {
      text(8);
    } else if (format == "vu") {
      buffers.push_back(bytes(all * 16));
      const std::int64_t count = in_.byte() % 3;
      std::vector<std::int64_t> sizes;
      for (std::int64_t k = 0; k < count; ++k) {
        sizes.push_back(in_.byte() % 64);
        buffers.push_back(in_.near(1) == 1 ? bytes(sizes.back()) : nullptr);
      }
      buffers.push_back(keep(sizes)->data());
    } else if (format == "b") {
      buffers.push_back(bits(all));
    } else if (format == "n") {
      buffers.clear();
    } else if (format == union_format) {
      std::vector<ArrowArray*> children;
      for (const char* const member : members) children.push_back(array(member, all));
      out.n_children = std::ssize(children);
      out.children = keep(children)->data();
      buffers = {bytes(all)};
      for (std::int64_t i = 0; in_.byte() < 200 && i < all; ++i)
        static_cast<unsigned char*>(const_cast<void*>(buffers[0]))[i] %= std::size(members);
    } else {
      buffers.push_back(bytes(all * 32));  // as wide as any
    }
    if (!buffers.empty() && in_.near(1) != 1) buffers[in_.byte() % buffers.size()] = nullptr;
    const auto count = static_cast<std::int64_t>(buffers.size());
    out.length = length;
    out.null_count = in_.near(buffers.empty() ? length : buffers[0] == nullptr ? 0 : -1);
    out.n_buffers = format == "vu" ? count : below(in_.near(count), count);
    out.buffers = in_.near(1) == 1 ? keep(buffers)->data() : nullptr;
    out.n_children = below(in_.near(out.n_children), out.n_children);
    if (in_.near(1) != 1) out.offset = -out.offset - 1;
    ArrowArray* const held = keep(out);
    hold(*held);
    if (in_.near(1) != 1) held->release = nullptr;
    return held;
  }

  Bytes& in_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<Column> columns_;
  const char* error_ = nullptr;
  int lent_ = 0, batches_ = 0;
};

}  // namespace

void run(std::string_view in) {
  const unsigned byte = take_byte(in);
  Bytes bytes(in);
  Lender lender(bytes);
  ArrowArrayStream stream = lender.stream();
  ReadOptions options = options_of(byte);
  options.threads = 1;
  accepts([&] { require_legal(read_arrow(stream, schema_of(byte), options)); });
  require(stream.release == nullptr, "a stream that was not released");
}

}  // namespace gibbsite::fuzz
