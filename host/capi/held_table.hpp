#pragma once
// An Arrow table that is read several times: to buy a schema, and to fit by it.
#include <memory>
#include <string>
#include <vector>

#include "gibbsite/data/arrow_abi.hpp"

namespace gibbsite::capi {

/// All batches of a stream, held as they are; no cell is copied.
class HeldTable : public std::enable_shared_from_this<HeldTable> {
 public:
  /// Reads the stream to its end. Throws BadInput where it fails.
  static std::shared_ptr<HeldTable> read(ArrowArrayStream& stream);
  HeldTable(const HeldTable&) = delete;
  HeldTable& operator=(const HeldTable&) = delete;
  ~HeldTable();

  [[nodiscard]] std::vector<std::string> names() const;
  /// A stream of the whole table, which holds it until it is released.
  [[nodiscard]] ArrowArrayStream open();

 private:
  HeldTable() = default;
  struct Cursor;

  ArrowSchema schema_{};
  std::vector<ArrowArray> batches_;
};

}  // namespace gibbsite::capi
