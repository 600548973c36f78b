#include "gibbsite/ledger/ledger_json.hpp"

#include <nlohmann/json.hpp>

#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {
namespace {

nlohmann::json json_of(const PrivacyCost& charge) {
  return {{"mu_squared", charge.mu_squared.text()},
          {"reveal", charge.delta0.text()},
          {"tv", charge.tv.text()}};
}

}  // namespace

nlohmann::json to_json(const LedgerState& state) {
  const LedgerTerms& terms = state.terms;
  const Guarantee guarantee = terms.guarantee();
  nlohmann::json out = {{"format", "gibbsite-ledger/1"},
                        {"id", terms.id},
                        {"created", terms.created},
                        {"guarantee",
                         {{"epsilon", terms.epsilon},
                          {"delta", terms.delta},
                          {"mu", guarantee.mu},
                          {"reveal", guarantee.delta0},
                          {"tv", guarantee.tv},
                          {"adjacency", to_string(terms.who.adjacency)},
                          {"rows_per_person", terms.who.rows_per_person}}},
                        {"caps", json_of(terms.caps)},
                        {"spent", json_of(state.spent())},
                        {"releases", nlohmann::json::array()},
                        {"software", {{"name", "gibbsite"}, {"version", GIBBSITE_VERSION}}}};
  if (of_people(terms.who)) {
    out["guarantee"].erase("rows_per_person");
    out["guarantee"]["unit"] = "person";  // with any number of rows
  }
  if (state.is_whole()) {  // the caps are not what that release was held to
    for (const char* name : {"mu", "reveal", "tv"}) out["guarantee"].erase(name);
    out["whole"] = true;
  }
  for (const LedgerEntry& e : state.entries) {
    nlohmann::json entry = json_of(e.charge);
    entry.update({{"number", e.number},
                  {"time", e.time},
                  {"command", e.command},
                  {"key_hash", e.key_hash},
                  {"digest", e.digest},
                  {"chain", e.chain}});
    out["releases"].push_back(entry);
  }
  return out;
}

}  // namespace gibbsite
