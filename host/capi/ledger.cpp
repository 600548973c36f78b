// The account of all releases about the same people.
#include "gibbsite/ledger/ledger.hpp"

#include "capi/call.hpp"
#include "gibbsite/ledger/ledger_json.hpp"
#include "gibbsite/privacy/budget.hpp"
#include "gibbsite/privacy/gdp.hpp"

using namespace gibbsite;
using namespace gibbsite::capi;

gibbsite_status gibbsite_ledger_create(const char* path, double epsilon, double delta,
                                       const char* adjacency, uint64_t rows_per_person,
                                       char** error) {
  return call(error, [&] {
    const Neighbors who{adjacency_from_string(adjacency == nullptr ? "replace-one" : adjacency),
                        rows_per_person};
    static_cast<void>(Ledger::create(text_given(path, "path"), epsilon, delta, who));
  });
}

gibbsite_status gibbsite_ledger_open(const char* path, gibbsite_ledger** ledger, char** error) {
  return call(error, [&] {
    gibbsite_ledger*& out = out_given(ledger, "ledger");
    Ledger opened(text_given(path, "path"));
    static_cast<void>(opened.read());
    out = new gibbsite_ledger{std::move(opened)};
  });
}

gibbsite_status gibbsite_ledger_json(const gibbsite_ledger* ledger, char** json, char** error) {
  return call(error, [&] {
    char*& out = out_given(json, "json");
    out = json_copied(to_json(given(ledger, "ledger").ledger.read()));
  });
}

gibbsite_status gibbsite_ledger_total(const gibbsite_ledger* ledger, double epsilon, double* delta,
                                      char** error) {
  return call(error, [&] {
    double& out = out_given(delta, "delta");
    require_finite_nonnegative(epsilon, Field{"epsilon"});
    const LedgerState state = given(ledger, "ledger").ledger.read();
    out = delta_up(guarantee_of(state.spent(), state.terms.who), epsilon);
  });
}

void gibbsite_ledger_free(gibbsite_ledger* ledger) { delete ledger; }
