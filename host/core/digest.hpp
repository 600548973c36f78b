#pragma once
// BLAKE2b-256 of bytes as they come.
#include <sodium.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace gibbsite {

class Digest {
 public:
  static constexpr std::size_t bytes = 32;

  Digest();
  void add(const void* data, std::size_t size);
  /// Nothing may be added after either.
  [[nodiscard]] std::array<unsigned char, bytes> raw();
  [[nodiscard]] std::string hex();

 private:
  crypto_generichash_state state_;
};

std::string digest_of(std::string_view text);

}  // namespace gibbsite
