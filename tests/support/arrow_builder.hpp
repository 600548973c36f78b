#pragma once
// Arrow arrays by hand: buffers as the interface has them, each of its own size so that a sanitizer
// sees every byte too many, and a count of what was not released.
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/data/arrow_abi.hpp"

namespace gibbsite::testing {

using ArrowBytes = std::vector<unsigned char>;

struct ArrowColumn {
  std::string name, format;
  std::vector<std::optional<ArrowBytes>> buffers;  // none: a null pointer
  std::int64_t length = 0, offset = 0, null_count = 0;
  std::vector<ArrowColumn> children;
  std::shared_ptr<ArrowColumn> dictionary;

  /// Without the first rows: the same buffers from an offset on.
  [[nodiscard]] ArrowColumn slice(std::int64_t first, std::int64_t count) const {
    ArrowColumn out = *this;
    out.offset += first;
    out.length = count;
    out.null_count = null_count == 0 ? 0 : null_count == length ? count : -1;
    return out;
  }
  [[nodiscard]] ArrowColumn named(const std::string& other) const {
    ArrowColumn out = *this;
    out.name = other;
    return out;
  }
};

template <class T>
ArrowBytes arrow_bytes(const std::vector<T>& values) {
  ArrowBytes out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

/// One bit a value; of values that are all there no buffer.
template <class T>
std::optional<ArrowBytes> arrow_validity(const std::vector<std::optional<T>>& values) {
  ArrowBytes bits((values.size() + 7) / 8);
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) bits[i / 8] = static_cast<unsigned char>(bits[i / 8] | 1U << (i % 8));
    all = all && values[i];
  }
  if (all) return std::nullopt;
  return bits;
}

template <class T>
ArrowColumn arrow_column(const std::string& name, const std::string& format,
                         const std::vector<std::optional<T>>& values) {
  ArrowColumn out{name, format, {arrow_validity(values)}, {}, 0, 0, {}, nullptr};
  out.length = static_cast<std::int64_t>(values.size());
  for (const auto& value : values) out.null_count += value ? 0 : 1;
  return out;
}

/// Numbers as they lie: T fits the format.
template <class T>
ArrowColumn arrow_numbers(const std::string& name, const std::string& format,
                          const std::vector<std::optional<T>>& values) {
  ArrowColumn out = arrow_column(name, format, values);
  std::vector<T> plain;
  for (const auto& value : values) plain.push_back(value.value_or(T(77)));
  out.buffers.emplace_back(arrow_bytes(plain));
  return out;
}

inline ArrowColumn arrow_bools(const std::string& name,
                               const std::vector<std::optional<bool>>& values) {
  ArrowColumn out = arrow_column(name, "b", values);
  ArrowBytes bits((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].value_or(true))
      bits[i / 8] = static_cast<unsigned char>(bits[i / 8] | 1U << (i % 8));
  out.buffers.emplace_back(bits);
  return out;
}

inline ArrowColumn arrow_nulls(const std::string& name, std::int64_t count) {
  return {name, "n", {}, count, 0, count, {}, nullptr};
}

using Texts = std::vector<std::optional<std::string>>;

template <class Offset>
ArrowColumn arrow_text_with(const std::string& name, const std::string& format,
                            const Texts& values) {
  ArrowColumn out = arrow_column(name, format, values);
  std::vector<Offset> offsets{0};
  std::string all;
  for (const auto& value : values) {
    all += value.value_or("");
    offsets.push_back(static_cast<Offset>(all.size()));
  }
  out.buffers.emplace_back(arrow_bytes(offsets));
  out.buffers.emplace_back(ArrowBytes(all.begin(), all.end()));
  return out;
}

/// Views: text of up to 12 bytes in place, others in buffers of at most two each.
inline ArrowColumn arrow_views(const std::string& name, const Texts& values) {
  ArrowColumn out = arrow_column(name, "vu", values);
  std::vector<ArrowBytes> texts;
  ArrowBytes views(values.size() * 16);
  std::size_t in_last = 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string text = values[i].value_or("");
    unsigned char* const at = views.data() + i * 16;
    const auto size = static_cast<std::int32_t>(text.size());
    std::memcpy(at, &size, 4);
    if (text.size() <= 12) {
      if (!text.empty()) std::memcpy(at + 4, text.data(), text.size());
      continue;
    }
    if (in_last == 2) texts.emplace_back(), in_last = 0;
    ++in_last;
    const std::int32_t place[2] = {static_cast<std::int32_t>(texts.size() - 1),
                                   static_cast<std::int32_t>(texts.back().size())};
    std::memcpy(at + 4, text.data(), 4);
    std::memcpy(at + 8, place, 8);
    texts.back().insert(texts.back().end(), text.begin(), text.end());
  }
  out.buffers.emplace_back(views);
  std::vector<std::int64_t> sizes;
  for (const ArrowBytes& text : texts) {
    out.buffers.emplace_back(text);
    sizes.push_back(static_cast<std::int64_t>(text.size()));
  }
  out.buffers.emplace_back(arrow_bytes(sizes));
  return out;
}

inline ArrowColumn arrow_text(const std::string& name, const std::string& format,
                              const Texts& values) {
  if (format == "vu") return arrow_views(name, values);
  return format == "U" ? arrow_text_with<std::int64_t>(name, format, values)
                       : arrow_text_with<std::int32_t>(name, format, values);
}

template <class T>
ArrowColumn arrow_dictionary(const std::string& name, const std::string& format,
                             const std::vector<std::optional<T>>& indices,
                             const ArrowColumn& values) {
  ArrowColumn out = arrow_numbers(name, format, indices);
  out.dictionary = std::make_shared<ArrowColumn>(values);
  return out;
}

/// A sparse union whose i-th cell is that of members[kinds[i]].
inline ArrowColumn arrow_union(const std::string& name, const ArrowBytes& kinds,
                               const std::vector<ArrowColumn>& members) {
  ArrowColumn out{name, "+us:", {kinds}, std::ssize(kinds), 0, 0, members, nullptr};
  for (std::size_t k = 0; k < members.size(); ++k)
    out.format += (k == 0 ? "" : ",") + std::to_string(k);
  return out;
}

/// A stream of batches, each a list of columns; the first batch gives the types.
class ArrowTable {
 public:
  using Batch = std::vector<ArrowColumn>;

  explicit ArrowTable(std::vector<Batch> batches) : batches_(std::move(batches)) {}

  std::vector<Batch>& batches() { return batches_; }
  /// get_next returns 5 with this text in place of batch `at`.
  void fail_at(std::size_t at, std::string error) { fail_at_ = at, error_ = std::move(error); }
  /// What may be changed in a batch or in the schema before it is handed out.
  std::function<void(ArrowArray&)> spoil_array;
  std::function<void(ArrowSchema&)> spoil_schema;
  /// The offset of the struct itself in all batches, and which of its rows are valid.
  std::int64_t struct_offset = 0;
  std::optional<ArrowBytes> struct_validity;

  /// What this table lent and nobody released.
  [[nodiscard]] int lent() const { return *lent_; }

  /// Lives as long as the table.
  ArrowArrayStream stream() {
    ++*lent_;
    next_ = 0;
    ArrowArrayStream out{};
    out.private_data = this;
    out.get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
      return of(self).get_schema(*schema);
    };
    out.get_next = [](ArrowArrayStream* self, ArrowArray* array) {
      return of(self).get_next(*array);
    };
    out.get_last_error = [](ArrowArrayStream* self) -> const char* {
      return of(self).error_.c_str();
    };
    out.release = [](ArrowArrayStream* self) {
      --*of(self).lent_;
      self->release = nullptr;
    };
    return out;
  }

 private:
  struct SchemaHolder {
    std::shared_ptr<int> lent;
    std::string name, format;
    std::vector<ArrowSchema> children;
    std::vector<ArrowSchema*> pointers;
    ArrowSchema dictionary{};
  };
  struct ArrayHolder {
    std::shared_ptr<int> lent;
    std::vector<std::unique_ptr<ArrowBytes>> bytes;
    std::vector<const void*> buffers;
    std::vector<ArrowArray> children;
    std::vector<ArrowArray*> pointers;
    ArrowArray dictionary{};
  };
  static ArrowTable& of(ArrowArrayStream* self) {
    return *static_cast<ArrowTable*>(self->private_data);
  }

  int get_schema(ArrowSchema& out) {
    ArrowColumn table{"", "+s", {}, 0, 0, 0, batches_.empty() ? Batch{} : batches_[0], nullptr};
    lend(table, out);
    if (spoil_schema) spoil_schema(out);
    return 0;
  }
  int get_next(ArrowArray& out) {
    out = {};
    if (next_ == fail_at_) return 5;
    if (next_ == batches_.size()) return 0;
    const Batch& columns = batches_[next_++];
    ArrowColumn table{"", "+s", {struct_validity}, 0, struct_offset, 0, columns, nullptr};
    table.null_count = struct_validity ? -1 : 0;
    if (!columns.empty()) table.length = columns[0].length - struct_offset;
    lend(table, out);
    if (spoil_array) spoil_array(out);
    return 0;
  }

  template <class Struct>
  static void release_all(std::vector<Struct>& parts) {
    for (Struct& part : parts)
      if (part.release != nullptr) part.release(&part);
  }
  void lend(const ArrowColumn& column, ArrowSchema& out) {
    auto* const holder = new SchemaHolder{lent_, column.name, column.format, {}, {}, {}};
    ++*lent_;
    out = {};
    holder->children.resize(column.children.size());
    for (std::size_t j = 0; j < column.children.size(); ++j) {
      lend(column.children[j], holder->children[j]);
      holder->pointers.push_back(&holder->children[j]);
    }
    if (column.dictionary) {
      lend(*column.dictionary, holder->dictionary);
      out.dictionary = &holder->dictionary;
    }
    out.format = holder->format.c_str();
    out.name = holder->name.c_str();
    out.flags = ARROW_FLAG_NULLABLE;
    out.n_children = static_cast<std::int64_t>(holder->pointers.size());
    out.children = holder->pointers.data();
    out.private_data = holder;
    out.release = [](ArrowSchema* self) {
      const std::unique_ptr<SchemaHolder> held(static_cast<SchemaHolder*>(self->private_data));
      release_all(held->children);
      if (held->dictionary.release != nullptr) held->dictionary.release(&held->dictionary);
      --*held->lent;
      self->release = nullptr;
    };
  }
  void lend(const ArrowColumn& column, ArrowArray& out) {
    auto* const holder = new ArrayHolder{lent_, {}, {}, {}, {}, {}};
    ++*lent_;
    out = {};
    holder->children.resize(column.children.size());
    for (std::size_t j = 0; j < column.children.size(); ++j) {
      lend(column.children[j], holder->children[j]);
      holder->pointers.push_back(&holder->children[j]);
    }
    if (column.dictionary) {
      lend(*column.dictionary, holder->dictionary);
      out.dictionary = &holder->dictionary;
    }
    for (const auto& buffer : column.buffers) {
      holder->bytes.push_back(buffer ? std::make_unique<ArrowBytes>(*buffer) : nullptr);
      holder->buffers.push_back(buffer ? static_cast<const void*>(holder->bytes.back()->data())
                                       : nullptr);
    }
    out.length = column.length;
    out.null_count = column.null_count;
    out.offset = column.offset;
    out.n_buffers = static_cast<std::int64_t>(holder->buffers.size());
    out.buffers = holder->buffers.data();
    out.n_children = static_cast<std::int64_t>(holder->pointers.size());
    out.children = holder->pointers.data();
    out.private_data = holder;
    out.release = [](ArrowArray* self) {
      const std::unique_ptr<ArrayHolder> held(static_cast<ArrayHolder*>(self->private_data));
      release_all(held->children);
      if (held->dictionary.release != nullptr) held->dictionary.release(&held->dictionary);
      --*held->lent;
      self->release = nullptr;
    };
  }

  std::vector<Batch> batches_;
  std::size_t next_ = 0, fail_at_ = ~std::size_t{0};
  std::string error_;
  std::shared_ptr<int> lent_ = std::make_shared<int>(0);
};

}  // namespace gibbsite::testing
