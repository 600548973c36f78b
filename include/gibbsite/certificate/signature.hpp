#pragma once
// A signature beside a released file: whose it is. What the file guarantees follows from the file
// alone, signed or not.
#include <cstddef>
#include <string>
#include <string_view>

namespace gibbsite {

/// A small file that was read, and the path that errors call it by.
struct NamedText {
  std::string path, text;
};

/// Reads the file of a key or a signature. Throws BadInput "PATH: ..." where there is none, it
/// cannot be read, or it is longer than any such file.
NamedText read_key_file(const std::string& path);

/// The texts of the two files of a key. `secret_part` is of no use without the passphrase.
struct SigningKeyFiles {
  std::string secret_part, public_part;
};

inline constexpr std::size_t shortest_passphrase = 8;  ///< in bytes

/// A new Ed25519 key (RFC 8032) from 32 bytes of the operating system. They are in the secret part
/// in a box (XSalsa20-Poly1305) that opens by Argon2id of the passphrase, 256 MiB and three
/// passes: a guess costs about a second. Throws BadInput on a passphrase that is too short, Error
/// where there is too little memory.
SigningKeyFiles make_signing_key(std::string_view passphrase);

/// The text of a signature of all bytes of `file`, behind "gibbsite-signature/1\n". Throws BadInput
/// "PATH: ..." where `key` is no secret part, was changed, or has another passphrase.
std::string sign(std::string_view file, const NamedText& key, std::string_view passphrase);

/// Throws Infeasible unless `signature` is one of all bytes of `file` (whose path is `path`) by the
/// key whose public part is `signer`, and BadInput where one of them is no such file.
void require_signed(const std::string& path, std::string_view file, const NamedText& signature,
                    const NamedText& signer);

}  // namespace gibbsite
