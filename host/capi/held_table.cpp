#include "capi/held_table.hpp"

#include <cerrno>

#include "gibbsite/core/error.hpp"

namespace gibbsite::capi {
namespace {

using Holder = std::shared_ptr<HeldTable>;

// A copy whose release lets go of the table alone.
template <class Part>
Part lent(const Part& part, const Holder& holder) {
  Part out = part;
  out.private_data = new Holder(holder);
  out.release = [](Part* copy) {
    delete static_cast<Holder*>(copy->private_data);
    copy->release = nullptr;
  };
  return out;
}

[[noreturn]] void fail(ArrowArrayStream& stream) {
  const char* const why = stream.get_last_error(&stream);
  throw BadInput(Word{"table"}, std::string("its stream ended early: ") +
                                    (why == nullptr ? "it does not say why" : why));
}

}  // namespace

struct HeldTable::Cursor {
  Holder table;
  std::size_t at = 0;

  // What a stream's functions do with its cursor; memory that runs out is an error of the stream.
  template <class F>
  static int with(ArrowArrayStream* stream, const F& f) noexcept {
    try {
      f(*static_cast<Cursor*>(stream->private_data));
      return 0;
    } catch (...) {
      return ENOMEM;
    }
  }
};

std::shared_ptr<HeldTable> HeldTable::read(ArrowArrayStream& stream) {
  std::shared_ptr<HeldTable> out(new HeldTable);
  if (stream.get_schema(&stream, &out->schema_) != 0) fail(stream);
  for (;;) {
    out->batches_.emplace_back();
    ArrowArray& batch = out->batches_.back();
    if (stream.get_next(&stream, &batch) != 0) fail(stream);
    if (batch.release != nullptr) continue;
    out->batches_.pop_back();
    return out;
  }
}

HeldTable::~HeldTable() {
  for (ArrowArray& batch : batches_)
    if (batch.release != nullptr) batch.release(&batch);
  if (schema_.release != nullptr) schema_.release(&schema_);
}

std::vector<std::string> HeldTable::names() const {
  std::vector<std::string> out;
  for (std::int64_t k = 0; k < schema_.n_children; ++k) {
    const char* const name = schema_.children[k]->name;
    out.emplace_back(name == nullptr ? "" : name);
  }
  return out;
}

ArrowArrayStream HeldTable::open() {
  ArrowArrayStream out{};
  out.get_schema = [](ArrowArrayStream* stream, ArrowSchema* schema) {
    return Cursor::with(stream, [&](Cursor& c) { *schema = lent(c.table->schema_, c.table); });
  };
  out.get_next = [](ArrowArrayStream* stream, ArrowArray* batch) {
    return Cursor::with(stream, [&](Cursor& c) {
      *batch =
          c.at < c.table->batches_.size() ? lent(c.table->batches_[c.at++], c.table) : ArrowArray{};
    });
  };
  out.get_last_error = [](ArrowArrayStream*) -> const char* { return "memory ran out"; };
  out.release = [](ArrowArrayStream* stream) {
    delete static_cast<Cursor*>(stream->private_data);
    stream->release = nullptr;
  };
  out.private_data = new Cursor{shared_from_this()};
  return out;
}

}  // namespace gibbsite::capi
