#pragma once
// What every private run from Python has in common: its key, its ledger, warnings, Ctrl-C and
// progress.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/run/fit_options.hpp"
#include "gibbsite/run/look.hpp"
#include "watch.hpp"

namespace gibbsite::python {

/// A plan of a network, a family or moments with the request that it follows from.
template <class PlanOfKind>
struct Requested : PlanOfKind {
  PlanRequest request;
};

/// What a run is given beside its plan.
struct RunArguments {
  std::optional<std::uint64_t> seed{};
  const Ledger* ledger = nullptr;
  nb::object progress = nb::none();
};

/// Throws BadInput where such a run has no meaning.
inline void require_private_run(const RunArguments& of) {
  require_one_process();
  if (of.ledger != nullptr && of.seed)
    throw BadInput("ledger: a run with a seed has no guarantee to enter; leave one of them out");
}

/// Hands look(note)'s lines to that function of the package, which warns at the line that called
/// the package, once it has ended. Without the interpreter's lock meanwhile.
template <class Look>
void warn_of(const Look& look, const char* by = "warn_of_fit") {
  std::vector<std::string> lines;
  {
    const nb::gil_scoped_release unlocked;
    look([&](const Message& line) { lines.push_back(in_arguments(line)); });
  }
  for (const std::string& line : lines) nb::module_::import_("gibbsite._ledger").attr(by)(line);
}

/// Likewise with what only a release tells, which is paid for: raises nothing, whatever filters
/// say.
template <class Look>
void warn_of_release(const Look& look) {
  warn_of(look, "warn_after_run");
}

/// run(key, options): a key from the operating system, or from a seed, whose release is void.
template <class Run>
auto private_run(const RunArguments& of, FitOptions options, Run&& run) {
  require_private_run(of);
  options.ledger = of.ledger;
  return watched(of.progress, [&](Watch& watch) {
    options.stop = watch.stop();
    options.progress = watch.reporter();
    return run(of.seed ? Key::from_seed(*of.seed) : Key::from_os(), options);
  });
}

/// Runs a plan: what a ledger has no room for, and what there is to warn of, comes first.
template <class PlanOfKind, class Run>
auto private_run(const RunArguments& of, const Requested<PlanOfKind>& plan, Run&& run) {
  require_private_run(of);
  warn_of([&](const Note& warn) {
    const PlanOfKind& made = plan;
    look_at(plan.request, made, of.ledger, warn);
  });
  return private_run(of, FitOptions{}, std::forward<Run>(run));
}

}  // namespace gibbsite::python
