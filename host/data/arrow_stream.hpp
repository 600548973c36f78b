#pragma once
// A stream of Arrow's C interface that is owned, and what it hands over.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "data/arrow_column.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/arrow_abi.hpp"

namespace gibbsite::arrow_rows {

/// Released at the end, unless it was not given or is released already.
template <class Struct>
struct Released {
  Struct it{};
  Released() = default;
  ~Released() { release(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  void release() {
    if (it.release != nullptr) it.release(&it);
    it = {};
  }
};

/// A stream, released with this object.
class Stream {
 public:
  Stream(ArrowArrayStream& stream, std::string source)
      : stream_(stream), source_(std::move(source)) {
    if (stream_.release != nullptr && stream_.get_schema != nullptr && stream_.get_next != nullptr)
      return;
    release();
    fail("the stream was consumed already, or is none; make another");
  }
  ~Stream() { release(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void get_schema(ArrowSchema& out) {
    check(stream_.get_schema(&stream_, &out), out);
    if (out.release == nullptr) malformed({"no schema"});
    if (out.n_children < 0 || (out.n_children > 0 && out.children == nullptr))
      malformed({"columns that are not there"});
    if (out.format == nullptr || std::string_view(out.format) != "+s")
      fail("not a table: its batches are no structs of columns; give a table or data frame");
    for (std::int64_t j = 0; j < out.n_children; ++j)
      if (out.children[j] == nullptr) malformed({"a column that is not there"});
  }
  /// False after the last one.
  bool get_next(ArrowArray& out) {
    check(stream_.get_next(&stream_, &out), out);
    return out.release != nullptr;
  }
  [[noreturn]] void malformed(const MalformedArrow& error) const {
    fail(fmt::format("the stream is malformed: {}; it breaks the Arrow C interface", error.what));
  }

 private:
  void release() {
    if (stream_.release != nullptr) stream_.release(&stream_);
    stream_.release = nullptr;
  }
  [[noreturn]] void fail(const std::string& what) const { throw BadInput(source_ + ": " + what); }
  template <class Struct>
  void check(int error, Struct& out) const {
    if (error == 0) return;
    out.release = nullptr;  // after an error nothing was handed over, whatever lies there
    const char* const said =
        stream_.get_last_error != nullptr ? stream_.get_last_error(&stream_) : nullptr;
    fail(fmt::format(
        "cannot be read: {} (private: this line may quote the table)",
        said != nullptr && *said != 0 ? shown(said) : std::generic_category().message(error)));
  }

  ArrowArrayStream& stream_;
  std::string source_;
};

/// A stream whose batches are those of another one, changed. Owns the other one.
class StreamOver {
 public:
  explicit StreamOver(ArrowArrayStream inner) : inner_(inner) {}
  virtual ~StreamOver() {
    if (inner_.release != nullptr) inner_.release(&inner_);
  }
  StreamOver(const StreamOver&) = delete;
  StreamOver& operator=(const StreamOver&) = delete;

  /// As a stream of the C interface, which owns it.
  static ArrowArrayStream handed_over(std::unique_ptr<StreamOver> stream) {
    ArrowArrayStream out{};
    out.get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
      return of(self).schema(*schema);
    };
    out.get_next = [](ArrowArrayStream* self, ArrowArray* batch) { return of(self).next(*batch); };
    out.get_last_error = [](ArrowArrayStream* self) {
      ArrowArrayStream& in = of(self).inner_;
      return in.get_last_error != nullptr ? in.get_last_error(&in) : nullptr;
    };
    out.release = [](ArrowArrayStream* self) {
      delete &of(self);
      self->release = nullptr;
    };
    out.private_data = stream.release();
    return out;
  }

 protected:
  /// As get_schema and get_next of the C interface.
  virtual int schema(ArrowSchema& out) { return inner_.get_schema(&inner_, &out); }
  virtual int next(ArrowArray& batch) = 0;
  ArrowArrayStream inner_;

 private:
  static StreamOver& of(ArrowArrayStream* self) {
    return *static_cast<StreamOver*>(self->private_data);
  }
};

inline std::vector<std::string> names_in(const ArrowSchema& schema) {
  std::vector<std::string> names;
  for (std::int64_t j = 0; j < schema.n_children; ++j) {
    const char* const name = schema.children[j]->name;
    names.emplace_back(name != nullptr ? name : "");
  }
  return names;
}

}  // namespace gibbsite::arrow_rows
