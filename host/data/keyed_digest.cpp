#include "data/keyed_digest.hpp"

#include <array>

#include "core/digest.hpp"

namespace gibbsite {

std::string keyed_digest(std::span<const unsigned char> key, std::string_view text,
                         const Dataset& data) {
  std::array<unsigned char, Digest::bytes> hash{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), hash.size());
  const auto update = [&](const auto* values, std::size_t count) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(values),
                              count * sizeof(*values));
  };
  update(text.data(), text.size());
  const Rows x = data.view();
  if (x.is_sparse()) {
    update(x.sparse.begin, x.rows + 1);
    update(x.sparse.feature, x.sparse.entries());
    update(x.sparse.value, x.sparse.entries());
  } else {
    update(x.dense, x.rows * x.cols);
  }
  update(data.y.data(), data.y.size());
  update(data.offset.data(), data.offset.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  return {hash.begin(), hash.end()};
}

}  // namespace gibbsite
