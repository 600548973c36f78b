#include "core/digest.hpp"

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

std::array<unsigned char, Digest::bytes> Digest::raw() {
  std::array<unsigned char, bytes> digest{};
  crypto_generichash_final(&state_, digest.data(), digest.size());
  return digest;
}

std::string Digest::hex() {
  const auto digest = raw();
  std::array<char, 2 * bytes + 1> text{};
  return sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
}

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text.data(), text.size());
  return digest.hex();
}

}  // namespace gibbsite
