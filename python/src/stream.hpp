#pragma once
// Arrow streams of Python's objects.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/arrow_abi.hpp"

namespace gibbsite::python {

/// Releases what the stream of a PyCapsule has not been read of.
class Stream {
 public:
  /// Takes it out of what has __arrow_c_stream__; the capsule keeps none.
  explicit Stream(const nb::object& table) {
    if (!nb::hasattr(table, "__arrow_c_stream__")) {
      throw BadInput(fmt::format(
          "table: {} has no Arrow stream (__arrow_c_stream__); give a table of pandas, polars, "
          "pyarrow or DuckDB, or a stream of one",
          shown(nb::cast<std::string>(table.type().attr("__name__")))));
    }
    const nb::object capsule = table.attr("__arrow_c_stream__")();
    constexpr const char* name = "arrow_array_stream";
    if (!PyCapsule_IsValid(capsule.ptr(), name)) {
      throw BadInput(fmt::format(
          "table: __arrow_c_stream__ of {} gave no capsule of a stream ({}); give a table of "
          "pandas, polars, pyarrow or DuckDB",
          shown(nb::cast<std::string>(table.type().attr("__name__"))), name));
    }
    auto* const held = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), name));
    stream_ = std::exchange(*held, ArrowArrayStream{});
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_.release != nullptr) stream_.release(&stream_);
  }
  ArrowArrayStream& get() { return stream_; }
  ArrowArrayStream release() { return std::exchange(stream_, ArrowArrayStream{}); }

 private:
  ArrowArrayStream stream_{};
};

}  // namespace gibbsite::python
