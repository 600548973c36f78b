#pragma once
// What every private run from Python has in common: its key, its ledger, Ctrl-C and progress.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/run/fit_options.hpp"
#include "watch.hpp"

namespace gibbsite::python {

/// run(key, options): a key from the operating system, or from a seed, whose release is void.
template <class Run>
auto private_run(const nb::object& progress, const Ledger* ledger,
                 std::optional<std::uint64_t> seed, FitOptions options, Run&& run) {
  if (const std::string by = launcher(); !by.empty()) {
    throw BadInput(
        "ranks: " + by +
        " started several processes, each of which would fit the whole table with noise of its "
        "own; start one, or ranks by mpirun and the program");
  }
  if (ledger != nullptr && seed) {
    throw BadInput("ledger: a run with a seed has no guarantee to enter; leave one of them out");
  }
  options.ledger = ledger;
  return watched(progress, [&](Watch& watch) {
    options.stop = watch.stop();
    options.progress = watch.reporter();
    return run(seed ? Key::from_seed(*seed) : Key::from_os(), options);
  });
}

}  // namespace gibbsite::python
