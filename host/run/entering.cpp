#include "run/entering.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/digest.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/ledger/ledger.hpp"

namespace gibbsite {

std::string key_hash(const StreamKey& key) {
  constexpr std::string_view words = "gibbsite noise key of a ledger's entry";
  Digest digest;
  digest.add(words.data(), words.size());
  digest.add(key.bytes.data(), key.bytes.size());
  return digest.hex();
}

void require_room(const FitOptions& options, NoiseKind noise, const LedgerPrice& price) {
  if (options.ledger == nullptr) return;
  if (noise != NoiseKind::chacha20) {
    throw BadInput(Field{"ledger"},
                   format_message("a run from a {} has no guarantee to enter", Field{"seed"}),
                   "leave one of them out");
  }
  options.ledger->require_room(price.added, price.own);
}

void enter(const FitOptions& options, std::string_view mechanism, const LedgerPrice& price,
           const std::string& key_hash, const nlohmann::json& file) {
  enter(options, "fit", mechanism, price, key_hash, file);
}

void enter(const FitOptions& options, std::string_view command, std::string_view mechanism,
           const LedgerPrice& price, const std::string& key_hash, const nlohmann::json& file) {
  if (options.ledger == nullptr) return;
  static_cast<void>(
      options.ledger->enter({fmt::format("{} {}", command, mechanism), price.added, key_hash,
                             file.at("certificate").at("digest").get<std::string>(), price.own}));
}

}  // namespace gibbsite
