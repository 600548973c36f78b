#pragma once
// Arrow streams that C gives.
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/arrow_abi.hpp"

namespace gibbsite::capi {

/// Takes a stream over and releases what is not read of it.
class OwnedStream {
 public:
  explicit OwnedStream(ArrowArrayStream* table) noexcept {
    if (table != nullptr) stream_ = std::exchange(*table, ArrowArrayStream{});
  }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() {
    if (stream_.release != nullptr) stream_.release(&stream_);
  }
  /// Throws BadInput where none was given, or one that was read before.
  [[nodiscard]] ArrowArrayStream& get() {
    if (stream_.release == nullptr)
      throw BadInput(Word{"table"}, "is no stream, or one that was read before", "give another");
    return stream_;
  }

 private:
  ArrowArrayStream stream_{};
};

}  // namespace gibbsite::capi
