#pragma once
// The CPU backend where rows are sparse and have more features than a block of them has entries:
// text, products of categories. There the sums of blocks would cost more than the entries.
#include <memory>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite::cpu {

/// Whether `x` is such a table.
bool has_many_columns(const Rows& x);
/// In double, whatever is asked for: memory is what binds.
std::unique_ptr<Engine> make_many_columns_engine(const Rows& x, std::span<const float> y,
                                                 const Loss& loss, std::size_t threads);

}  // namespace gibbsite::cpu
