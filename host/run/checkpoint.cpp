// The file: "gibbsite-checkpoint/1\n", then (little-endian) noise kind u32, key [32], length u64
// and text of the fingerprint, C u64, steps u64 [C], d u64, theta f64 [C x d]; of chains in a
// metric also length u64 and f64 of the answers, length u64 and text of the arithmetic;
// BLAKE2b-256 of all before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "core/digest.hpp"
#include "core/secret.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "run/run_plan.hpp"

namespace gibbsite {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "gibbsite-checkpoint/1\n";

std::array<unsigned char, Digest::bytes> raw_digest_of(std::string_view bytes) {
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  return digest.raw();
}

template <class T>
void put(SecretBytes& out, const T* values, std::size_t count) {
  const std::size_t at = out.size();
  out.resize(at + count * sizeof(T));
  if (count != 0) std::memcpy(out.data() + at, values, count * sizeof(T));
}

void put_size(SecretBytes& out, std::uint64_t size) { put(out, &size, 1); }

// Takes values off the front; false when there are too few bytes.
template <class T>
bool take(std::string_view& in, T* values, std::size_t count) {
  if (in.size() / sizeof(T) < count) return false;
  if (count != 0) std::memcpy(values, in.data(), count * sizeof(T));
  in.remove_prefix(count * sizeof(T));
  return true;
}

// Takes as many values for each of the `items` as the count before them says.
template <class Container>
bool take_sized(std::string_view& in, Container& out, std::uint64_t items = 1) {
  std::uint64_t size = 0;
  constexpr std::size_t width = sizeof(typename Container::value_type);
  if (!take(in, &size, 1) || size > in.size() / width / items) return false;
  out.resize(size * items);
  return take(in, out.data(), out.size());
}

}  // namespace

std::optional<Checkpoint> checkpoint_of(std::string_view in) {
  if (in.size() < magic.size() + Digest::bytes || !in.starts_with(magic)) return std::nullopt;
  const std::string_view stored = in.substr(in.size() - Digest::bytes);
  in.remove_suffix(Digest::bytes);
  if (std::memcmp(stored.data(), raw_digest_of(in).data(), stored.size()) != 0) return std::nullopt;
  in.remove_prefix(magic.size());

  Checkpoint checkpoint{{NoiseKind::chacha20, {}}, {}, {}, {}};
  std::uint32_t kind = 0;
  if (!take(in, &kind, 1) || kind > static_cast<std::uint32_t>(NoiseKind::philox) ||
      !take(in, checkpoint.key.bytes.data(), checkpoint.key.bytes.size()) ||
      !take_sized(in, checkpoint.fingerprint) || !take_sized(in, checkpoint.step) ||
      checkpoint.step.empty() || !take_sized(in, checkpoint.theta, checkpoint.step.size())) {
    return std::nullopt;
  }
  const bool more = !in.empty();
  if (more && (!take_sized(in, checkpoint.answers) || !take_sized(in, checkpoint.arithmetic) ||
               checkpoint.answers.empty() || !in.empty())) {
    return std::nullopt;
  }
  checkpoint.key.kind = static_cast<NoiseKind>(kind);
  return checkpoint;
}

SecretBytes bytes_of(const Checkpoint& checkpoint) {
  SecretBytes out(magic.begin(), magic.end());
  const auto kind = static_cast<std::uint32_t>(checkpoint.key.kind);
  const std::size_t chains = checkpoint.step.size();
  put(out, &kind, 1);
  put(out, checkpoint.key.bytes.data(), checkpoint.key.bytes.size());
  put_size(out, checkpoint.fingerprint.size());
  put(out, checkpoint.fingerprint.data(), checkpoint.fingerprint.size());
  put_size(out, chains);
  put(out, checkpoint.step.data(), chains);
  put_size(out, chains == 0 ? 0 : checkpoint.theta.size() / chains);
  put(out, checkpoint.theta.data(), checkpoint.theta.size());
  if (!checkpoint.answers.empty()) {
    put_size(out, checkpoint.answers.size());
    put(out, checkpoint.answers.data(), checkpoint.answers.size());
    put_size(out, checkpoint.arithmetic.size());
    put(out, checkpoint.arithmetic.data(), checkpoint.arithmetic.size());
  }
  const auto digest = raw_digest_of({out.data(), out.size()});
  put(out, digest.data(), digest.size());
  return out;
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  const SecretBytes bytes = bytes_of(checkpoint);
  write_file_atomically(path, {bytes.data(), bytes.size()}, private_file);
}

void discard_checkpoint(const std::string& path) {
  remove_abandoned(path);
  namespace fs = std::filesystem;
  std::error_code error, absent;
  if (fs::is_symlink(path, absent) && fs::exists(path, absent)) {
    fs::remove(fs::canonical(path, error), error);
  }
  if (!error) fs::remove(path, error);
  if (error) {
    throw BadInput(
        fmt::format("{}: this checkpoint cannot be removed: {}; remove it yourself, it holds the "
                    "noise key of the model",
                    path, error.message()));
  }
}

Checkpoint read_checkpoint(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);  // a buffer of its own would keep the key
  if (!error) {
    errno = 0;
    file.open(path, std::ios::binary);
    if (!file) error = {errno, std::generic_category()};
  }
  SecretBytes bytes;
  if (!error) {
    bytes.resize(size);
    file.read(bytes.data(), static_cast<std::streamsize>(size));
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (error) {
    throw BadInput(fmt::format("{}: cannot read the checkpoint: {}; make it readable, or remove it",
                               path, error.message()));
  }
  auto checkpoint = checkpoint_of({bytes.data(), bytes.size()});
  if (checkpoint && checkpoint->key.kind == NoiseKind::chacha20 &&
      std::ranges::all_of(checkpoint->key.bytes, [](std::uint8_t byte) { return byte == 0; })) {
    throw BadInput(fmt::format(
        "{}: its key is all zeros, which no operating system gave; remove it and start again",
        path));
  }
  if (!checkpoint) {
    throw BadInput(fmt::format(
        "{}: not a whole gibbsite checkpoint (cut short, edited, or another kind of file); remove "
        "it and start again",
        path));
  }
  return *std::move(checkpoint);
}

}  // namespace gibbsite
