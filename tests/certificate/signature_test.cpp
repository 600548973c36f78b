// Signatures of released files: one flipped bit, another key, another passphrase are refused.
#include "gibbsite/certificate/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace signature_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* passphrase = "a passphrase";

template <class Thrown, class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Thrown& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// A hash of a passphrase takes a second: one key for all tests.
const SigningKeyFiles& key() {
  static const SigningKeyFiles made = make_signing_key(passphrase);
  return made;
}
NamedText secret() { return {"k", key().secret_part}; }
NamedText shown() { return {"k.pub", key().public_part}; }

TEST(Signature, HoldsForEveryByteAndNoOther) {
  const std::string file = "{\"format\": \"gibbsite-release/3\", \"model\": {}}\n";
  const NamedText signature{"m.sig", sign(file, secret(), passphrase)};
  require_signed("m", file, signature, shown());
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(require_signed("m", flipped, signature, shown()), Infeasible) << bit;
  }
  for (const std::string& other : {file + "\n", file.substr(1), std::string{}}) {
    EXPECT_THAT(error_of<Infeasible>([&] { require_signed("m", other, signature, shown()); }),
                StartsWith("m: NOT SIGNED by k.pub: m.sig is no signature of these bytes; "));
  }
  // Signed again it is the same: nothing of the signature is left to chance.
  EXPECT_EQ(sign(file, secret(), passphrase), signature.text);
}

TEST(Signature, IsRefusedWhereItWasChanged) {
  const std::string file = "file";
  const std::string text = sign(file, secret(), passphrase);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int bit : {0, 1, 2, 3, 4, 5, 6, 7}) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      // A blank may become another one; every byte that says something must be what it was.
      if (nlohmann::json::parse(flipped, nullptr, false) == nlohmann::json::parse(text)) continue;
      EXPECT_ANY_THROW(require_signed("m", file, {"m.sig", flipped}, shown())) << flipped;
      ++refused;
    }
  }
  EXPECT_GT(refused, 8 * (88 + 44));
  EXPECT_THAT(error_of<BadInput>([&] {
                require_signed("m", file, {"m.sig", ""}, shown());
              }),
              StartsWith("m.sig: is no gibbsite-signature/1 file; "));
  EXPECT_THAT(error_of<BadInput>([&] {
                require_signed("m", file, {"m.sig", text}, secret());
              }),
              StartsWith("k: is no gibbsite-public-key/1 file; "));
}

// The public part bit by bit; of the secret part a bit of every field, as each takes a second.
TEST(Signature, IsRefusedWhereAKeyWasChanged) {
  const NamedText signature{"m.sig", sign("file", secret(), passphrase)};
  const std::string& text = key().public_part;
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    if (nlohmann::json::parse(flipped, nullptr, false) == nlohmann::json::parse(text)) continue;
    EXPECT_ANY_THROW(require_signed("m", "file", signature, {"k.pub", flipped})) << flipped;
    ++refused;
  }
  EXPECT_GT(refused, 8U * 44);
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (const char* const field : {"public_key", "salt", "nonce", "box"}) {
    nlohmann::json changed = nlohmann::json::parse(key().secret_part);
    std::string bytes = changed[field].get<std::string>();
    bytes[0] = digits[digits.find(bytes[0]) ^ 1U];
    changed[field] = bytes;
    EXPECT_THAT(error_of<BadInput>([&] {
                  sign("file", {"k", changed.dump()}, passphrase);
                }),
                StartsWith(field == std::string("public_key") ? "k: public_key: is not that of"
                                                              : "k: the passphrase does not"))
        << field;
  }
}

TEST(Signature, NeedsThePassphraseAndTheKey) {
  EXPECT_THAT(error_of<BadInput>([] { sign("file", secret(), "a passphrasf"); }),
              StartsWith("k: the passphrase does not open it; "));
  EXPECT_THAT(error_of<BadInput>([] { make_signing_key("seven b"); }),
              AllOf(StartsWith("passphrase: has 7 bytes"), HasSubstr("at least 8")));
  const SigningKeyFiles other = make_signing_key(passphrase);
  const NamedText signature{"m.sig", sign("file", {"o", other.secret_part}, passphrase)};
  EXPECT_THAT(error_of<Infeasible>([&] { require_signed("m", "file", signature, shown()); }),
              StartsWith("m: NOT SIGNED by k.pub: m.sig is of another key; "));
  // Whoever writes the signer's name into it has no signature either.
  nlohmann::json forged = nlohmann::json::parse(signature.text);
  forged["public_key"] = nlohmann::json::parse(key().public_part)["public_key"];
  EXPECT_THROW(require_signed("m", "file", {"m.sig", forged.dump()}, shown()), Infeasible);
  // A secret part with the public part of another.
  nlohmann::json mixed = nlohmann::json::parse(key().secret_part);
  mixed["public_key"] = nlohmann::json::parse(other.public_part)["public_key"];
  EXPECT_THAT(error_of<BadInput>([&] {
                sign("file", {"k", mixed.dump()}, passphrase);
              }),
              StartsWith("k: public_key: is not that of the key in the box; "));
  EXPECT_THAT(error_of<BadInput>([] { read_key_file("/nowhere/k"); }), StartsWith("/nowhere/k: "));
  EXPECT_THAT(error_of<BadInput>([] { read_key_file("/dev/zero"); }),
              StartsWith("/dev/zero: is longer than any key or signature; "));
}

}  // namespace signature_test
}  // namespace gibbsite
