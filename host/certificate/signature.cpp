#include "gibbsite/certificate/signature.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/secret.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

constexpr std::size_t longest_file = 4096;
constexpr const char* secret_format = "gibbsite-secret-key/1";
constexpr const char* public_format = "gibbsite-public-key/1";
constexpr const char* signature_format = "gibbsite-signature/1";
// A file that asks for more is not of ours, and would only take memory.
constexpr std::uint64_t passes = crypto_pwhash_argon2id_OPSLIMIT_MODERATE;
constexpr std::uint64_t memory = crypto_pwhash_argon2id_MEMLIMIT_MODERATE;

template <std::size_t n>
using Bytes = std::array<unsigned char, n>;
using PublicKey = Bytes<crypto_sign_PUBLICKEYBYTES>;
using Signature = Bytes<crypto_sign_BYTES>;
using Salt = Bytes<crypto_pwhash_SALTBYTES>;
using Nonce = Bytes<crypto_secretbox_NONCEBYTES>;
using Box = Bytes<crypto_sign_SEEDBYTES + crypto_secretbox_MACBYTES>;

void require_sodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) throw BadInput("libsodium: does not start; install it again");
}

template <std::size_t n>
std::string base64(const Bytes<n>& bytes) {
  std::array<char, sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL)> text;
  return sodium_bin2base64(text.data(), text.size(), bytes.data(), n,
                           sodium_base64_VARIANT_ORIGINAL);
}

std::string text_of(const json& object) { return object.dump(1) + "\n"; }

// The object of such a file. `hint` says where one comes from.
json object_of(const NamedText& file, const char* format, const char* hint) {
  json object = json::parse(file.text, nullptr, false);
  if (!object.is_object() || object.value("format", json()) != format) {
    throw BadInput(fmt::format("{}: is no {} file; {}", file.path, format, hint));
  }
  return object;
}

template <std::size_t n>
Bytes<n> bytes_of(const json& object, const char* field, const NamedText& file) {
  Bytes<n> out{};
  const std::string text =
      object.contains(field) && object[field].is_string() ? object[field].get<std::string>() : "";
  std::size_t count = 0;
  const char* end = nullptr;
  const bool read = sodium_base642bin(out.data(), n, text.data(), text.size(), nullptr, &count,
                                      &end, sodium_base64_VARIANT_ORIGINAL) == 0;
  if (!read || count != n || end != text.data() + text.size()) {
    throw BadInput(fmt::format("{}: {}: must be {} bytes in base64; use the file as it was written",
                               file.path, field, n));
  }
  return out;
}

PublicKey public_key_of(const NamedText& file) {
  return bytes_of<crypto_sign_PUBLICKEYBYTES>(
      object_of(file, public_format, "give the public part of a key"), "public_key", file);
}

// Argon2id of the passphrase: what opens the box.
SecretBytes box_key_of(std::string_view passphrase, const Salt& salt) {
  SecretBytes key(crypto_secretbox_KEYBYTES);
  if (crypto_pwhash(reinterpret_cast<unsigned char*>(key.data()), key.size(), passphrase.data(),
                    passphrase.size(), salt.data(), passes, memory,
                    crypto_pwhash_ALG_ARGON2ID13) != 0) {
    throw Error(Status::backend_unavailable,
                "passphrase: its hash takes 256 MiB of memory, which this machine does not give; "
                "close other programs");
  }
  return key;
}

unsigned char* data_of(SecretBytes& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

std::string message_of(std::string_view file) {
  return fmt::format("{}\n{}", signature_format, file);
}

}  // namespace

NamedText read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw BadInput(path + ": cannot be read; give a file of a key or a signature that is there");
  }
  std::string text(longest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > longest_file) {
    throw BadInput(path + ": is longer than any key or signature; give another file");
  }
  return {path, std::move(text)};
}

SigningKeyFiles make_signing_key(std::string_view passphrase) {
  require_sodium();
  if (passphrase.size() < shortest_passphrase) {
    throw BadInput(fmt::format("passphrase: has {} bytes; give at least {}", passphrase.size(),
                               shortest_passphrase));
  }
  SecretBytes seed(crypto_sign_SEEDBYTES);
  Salt salt;
  Nonce nonce;
  randombytes_buf(seed.data(), seed.size());
  randombytes_buf(salt.data(), salt.size());
  randombytes_buf(nonce.data(), nonce.size());
  PublicKey public_key;
  SecretBytes secret_key(crypto_sign_SECRETKEYBYTES);
  crypto_sign_seed_keypair(public_key.data(), data_of(secret_key), data_of(seed));
  SecretBytes box_key = box_key_of(passphrase, salt);
  Box box;
  crypto_secretbox_easy(box.data(), data_of(seed), seed.size(), nonce.data(), data_of(box_key));
  return {text_of({{"format", secret_format},
                   {"public_key", base64(public_key)},
                   {"salt", base64(salt)},
                   {"nonce", base64(nonce)},
                   {"box", base64(box)}}),
          text_of({{"format", public_format}, {"public_key", base64(public_key)}})};
}

std::string sign(std::string_view file, const NamedText& key, std::string_view passphrase) {
  require_sodium();
  const json object = object_of(key, secret_format, "give the secret part of a key");
  const auto shown = bytes_of<crypto_sign_PUBLICKEYBYTES>(object, "public_key", key);
  const auto salt = bytes_of<crypto_pwhash_SALTBYTES>(object, "salt", key);
  const auto nonce = bytes_of<crypto_secretbox_NONCEBYTES>(object, "nonce", key);
  const auto box = bytes_of<std::tuple_size_v<Box>>(object, "box", key);
  SecretBytes box_key = box_key_of(passphrase, salt), seed(crypto_sign_SEEDBYTES);
  if (crypto_secretbox_open_easy(data_of(seed), box.data(), box.size(), nonce.data(),
                                 data_of(box_key)) != 0) {
    throw BadInput(
        key.path +
        ": the passphrase does not open it; give the one it was made with, and the file as "
        "it was written");
  }
  PublicKey public_key;
  SecretBytes secret_key(crypto_sign_SECRETKEYBYTES);
  crypto_sign_seed_keypair(public_key.data(), data_of(secret_key), data_of(seed));
  if (public_key != shown) {
    throw BadInput(key.path +
                   ": public_key: is not that of the key in the box; use the file as it was "
                   "written");
  }
  const std::string message = message_of(file);
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr,
                       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                       data_of(secret_key));
  return text_of({{"format", signature_format},
                  {"public_key", base64(public_key)},
                  {"signature", base64(signature)}});
}

void require_signed(const std::string& path, std::string_view file, const NamedText& signature,
                    const NamedText& signer) {
  require_sodium();
  const PublicKey key = public_key_of(signer);
  const json object =
      object_of(signature, signature_format, "give the signature as it was written");
  const auto shown = bytes_of<crypto_sign_PUBLICKEYBYTES>(object, "public_key", signature);
  const auto bytes = bytes_of<crypto_sign_BYTES>(object, "signature", signature);
  if (shown != key) {
    throw Infeasible(
        fmt::format("{}: NOT SIGNED by {}: {} is of another key; ask its holder for "
                    "theirs",
                    path, signer.path, signature.path));
  }
  const std::string message = message_of(file);
  if (crypto_sign_verify_detached(bytes.data(),
                                  reinterpret_cast<const unsigned char*>(message.data()),
                                  message.size(), key.data()) != 0) {
    throw Infeasible(
        fmt::format("{}: NOT SIGNED by {}: {} is no signature of these bytes; get "
                    "both files as they were published",
                    path, signer.path, signature.path));
  }
}

}  // namespace gibbsite
