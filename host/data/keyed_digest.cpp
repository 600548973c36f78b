#include "data/keyed_digest.hpp"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "core/digest.hpp"

namespace gibbsite {
namespace {

/// A hash whose input comes from rank after rank, and of each in several turns.
class RelayedHash {
 public:
  RelayedHash(std::span<const unsigned char> key, Communicator& ranks) : ranks_(ranks) {
    crypto_generichash_init(&state_, key.data(), key.size(), Digest::bytes);
  }
  RelayedHash(const RelayedHash&) = delete;
  RelayedHash& operator=(const RelayedHash&) = delete;
  ~RelayedHash() { sodium_memzero(&state_, sizeof state_); }

  template <class T>
  void add(const T* values, std::size_t count) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(values),
                              count * sizeof(*values));
  }
  /// f adds this rank's part, behind those of the ranks before it and of the turn before.
  template <class F>
  void turn(const F& f) {
    const std::size_t last = ranks_.size() - 1;
    if (ranks_.rank() > 0) ranks_.receive(bytes(), ranks_.rank() - 1);
    if (ranks_.rank() == 0 && std::exchange(begun_, true) && last > 0)
      ranks_.receive(bytes(), last);
    f();
    if (ranks_.rank() < last) ranks_.send(bytes(), ranks_.rank() + 1);
    if (ranks_.rank() == last && last > 0) ranks_.send(bytes(), 0);
  }
  std::string finish() {
    const std::size_t last = ranks_.size() - 1;
    if (ranks_.rank() == 0 && last > 0) ranks_.receive(bytes(), last);
    std::array<unsigned char, Digest::bytes> hash{};
    crypto_generichash_final(&state_, hash.data(), hash.size());
    ranks_.broadcast(std::as_writable_bytes(std::span(hash)), 0);
    return {hash.begin(), hash.end()};
  }

 private:
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(&state_, 1)); }

  Communicator& ranks_;
  crypto_generichash_state state_{};
  bool begun_ = false;
};

}  // namespace

std::string keyed_digest(std::span<const unsigned char> key, std::string_view text,
                         const Dataset& data) {
  const std::unique_ptr<Communicator> alone = one_process();
  return keyed_digest(key, text, data, *alone);
}

std::string keyed_digest(std::span<const unsigned char> key, std::string_view text,
                         const Dataset& data, Communicator& ranks) {
  const Rows x = data.view();
  const std::vector<std::uint64_t> entries =
      ranks.gather(x.is_sparse() && x.rows > 0 ? x.sparse.entries() + 1 : 0);
  const bool sparse = std::accumulate(entries.begin(), entries.end(), std::uint64_t{0}) > 0;
  RelayedHash hash(key, ranks);
  const bool first = ranks.rank() == 0;
  hash.turn([&] {
    if (first) hash.add(text.data(), text.size());
    if (!sparse) return hash.add(x.dense, x.rows * x.cols);
    std::uint64_t before = 0;
    for (std::size_t rank = 0; rank < ranks.rank(); ++rank)
      before += entries[rank] - (entries[rank] > 0 ? 1 : 0);
    std::vector<std::uint64_t> ends;
    if (first) ends.push_back(0);
    for (std::size_t i = 0; i < x.rows; ++i)
      ends.push_back(before + x.sparse.begin[i + 1] - x.sparse.begin[0]);
    hash.add(ends.data(), ends.size());
  });
  if (sparse) {
    const std::uint64_t from = x.rows > 0 ? x.sparse.begin[0] : 0,
                        count = x.rows > 0 ? x.sparse.entries() : 0;
    hash.turn([&] { hash.add(x.sparse.feature + from, count); });
    hash.turn([&] { hash.add(x.sparse.value + from, count); });
  }
  hash.turn([&] { hash.add(data.y.data(), data.y.size()); });
  hash.turn([&] { hash.add(data.offset.data(), data.offset.size()); });
  hash.turn([&] { hash.add(data.weight.data(), data.weight.size()); });
  hash.turn([&] { hash.add(data.person.data(), data.person.size()); });
  return hash.finish();
}

}  // namespace gibbsite
