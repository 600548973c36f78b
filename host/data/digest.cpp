#include "data/digest.hpp"

#include <array>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

Digest::Digest() {
  static const bool ready = sodium_init() >= 0;  // chooses the vector code
  if (!ready) throw BadInput("libsodium: does not start; install it again");
  crypto_generichash_init(&state_, nullptr, 0, bytes);
}

void Digest::add(const void* data, std::size_t size) {
  crypto_generichash_update(&state_, static_cast<const unsigned char*>(data), size);
}

std::string Digest::hex() {
  std::array<unsigned char, bytes> digest{};
  crypto_generichash_final(&state_, digest.data(), digest.size());
  std::array<char, 2 * bytes + 1> text{};
  return sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
}

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text.data(), text.size());
  return digest.hex();
}

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
  crypto_generichash_final(&state, hash.data(), hash.size());
  return {hash.begin(), hash.end()};
}

}  // namespace gibbsite
