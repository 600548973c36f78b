#include "run/entering.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/digest.hpp"
#include "core/format_message.hpp"
#include "core/key_access.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/ledger/ledger.hpp"

namespace gibbsite {

StreamKey key_of_first_rank(Key&& key, Communicator& ranks) {
  StreamKey out = KeyAccess::take(std::move(key));
  auto kind = static_cast<std::uint64_t>(out.kind);
  ranks.broadcast(std::as_writable_bytes(std::span(&kind, 1)), 0);
  ranks.broadcast(std::as_writable_bytes(std::span(out.bytes)), 0);
  out.kind = static_cast<NoiseKind>(kind);
  return out;
}

std::string key_hash(const StreamKey& key) {
  constexpr std::string_view words = "gibbsite noise key of a ledger's entry";
  Digest digest;
  digest.add(words.data(), words.size());
  digest.add(key.bytes.data(), key.bytes.size());
  return digest.hex();
}

void require_room(const FitOptions& options, NoiseKind noise, const LedgerPrice& price) {
  if (noise != NoiseKind::chacha20) {
    throw BadInput(Field{"ledger"},
                   format_message("a run from a {} has no guarantee to enter", Field{"seed"}),
                   "leave one of them out");
  }
  options.ledger->require_room(price.added, price.own);
}

void enter(const FitOptions& options, const std::string& run, const LedgerPrice& price,
           const std::string& key_hash, const nlohmann::json& file) {
  if (options.ledger == nullptr) return;
  static_cast<void>(
      options.ledger->enter({run, price.added, key_hash,
                             file.at("certificate").at("digest").get<std::string>(), price.own}));
}

void enter_refused(const FitOptions& options, const std::string& run, const LedgerPrice& price,
                   const StreamKey& key) {
  if (key.kind != NoiseKind::chacha20) return;
  const std::string hash = key_hash(key);
  enter(options, run, price, hash, {{"certificate", {{"digest", hash}}}});
}

}  // namespace gibbsite
