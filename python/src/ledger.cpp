// The account of what was released about the same people.
#include "gibbsite/ledger/ledger.hpp"

#include <fmt/format.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/privacy/budget.hpp"

namespace gibbsite::python {
namespace {

nb::dict dict_of(const PrivacyCost& charge) {
  nb::dict out;
  out["mu_squared"] = charge.mu_squared.text();
  out["reveal"] = charge.delta0.text();
  out["tv"] = charge.tv.text();
  return out;
}

nb::dict state_of(const Ledger& ledger) {
  const LedgerState state = ledger.read();
  nb::dict out;
  out["id"] = state.terms.id;
  out["created"] = state.terms.created;
  out["epsilon"] = state.terms.epsilon;
  out["delta"] = state.terms.delta;
  out["adjacency"] = std::string(to_string(state.terms.who.adjacency));
  const Neighbors& who = state.terms.who;
  out["rows_per_person"] = of_people(who) ? nb::none() : nb::cast(who.rows_per_person);
  out["caps"] = dict_of(state.terms.caps);
  out["spent"] = dict_of(state.spent());
  out["left"] = dict_of(state.left());
  out["whole"] = state.is_whole();
  nb::list releases;
  for (const LedgerEntry& e : state.entries) {
    nb::dict entry = dict_of(e.charge);
    entry["number"] = e.number;
    entry["time"] = e.time;
    entry["command"] = e.command;
    entry["key_hash"] = e.key_hash;
    entry["digest"] = e.digest;
    releases.append(entry);
  }
  out["releases"] = releases;
  return out;
}

std::uint64_t rows_of(Arguments& given) {
  const auto rows = given.take<std::uint64_t>("rows_per_person");
  if (!given.take("people", false)) return rows.value_or(1);
  if (!rows) return any_rows;
  throw BadInput(Field{"rows_per_person"}, "a ledger of people counts them whatever rows they have",
                 format_message("leave it out, or leave out {}", Field{"people"}));
}

}  // namespace

void bind_ledger(nb::module_& m) {
  nb::class_<Ledger>(
      m, "Ledger",
      "The account of all that is released about the same people, in a file with a fixed budget "
      "(docs/how-to/ledger.md). A fit that gets a ledger enters its release before it returns, "
      "and raises BudgetSpent if the budget has no room for it.")
      .def(
          "__init__", [](Ledger* l, const Path& path) { new (l) Ledger(path.string()); }, "path"_a)
      .def_static(
          "create",
          [](const Path& path, const nb::kwargs& arguments) {
            Arguments given("create", arguments);
            const auto epsilon = given.need<double>("epsilon"), delta = given.need<double>("delta");
            const Neighbors who{
                adjacency_from_string(given.take<std::string>("adjacency", "replace-one")),
                rows_of(given)};
            const DeltaShares shares{given.take("reveal_share", DeltaShares{}.delta0),
                                     given.take("tv_share", DeltaShares{}.tv)};
            given.finish();
            return Ledger::create(path.string(), epsilon, delta, who, shares);
          },
          "path"_a, "arguments"_a,
          nb::sig(
              "def create(path: str | os.PathLike, *, epsilon: float, delta: float, "
              "adjacency: str = 'replace-one', rows_per_person: int | None = None, "
              "people: bool = False, reveal_share: float = ..., tv_share: float = ...) -> Ledger"),
          "Creates a ledger file with the budget (epsilon, delta), which never changes. "
          "reveal_share and tv_share are the parts of delta for additive failure probability and "
          "for total variation; the Gaussian part has the rest. people=True counts people, "
          "whatever rows they have, and takes fits with `groups` alone. "
          "Raises FileExistsError if the file exists, BadInput if an argument is not as it must "
          "be.")
      .def_prop_ro("path", &Ledger::path, "Path of the file.")
      .def_prop_ro("has_memory", &Ledger::has_memory,
                   "Whether this machine would notice that an older copy of the file was put "
                   "back.")
      .def("read", &state_of,
           "Returns the ledger as a dict: the budget (caps), what is spent, what is left, and "
           "every release. Amounts are exact decimals in text. whole is True if one release "
           "took the whole budget: it keeps to that epsilon and delta by its own certificate.")
      .def("__repr__",
           [](const Ledger& l) { return fmt::format("<gibbsite.Ledger: {}>", shown(l.path())); });
}

}  // namespace gibbsite::python
