#pragma once
// The order that privacy rests on, the same of every kind of release. Not a public header.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "certificate/certify.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "run/entering.hpp"

namespace gibbsite {

/// What a kind's own run is made of.
template <class Kind>
struct RunSteps {
  using Plan = typename Kind::Plan;
  using Model = typename Kind::Model;

  /// Throws BadInput where the data is not what was planned for, on all ranks alike.
  std::function<void(const Plan&)> require_planned;
  /// The model to publish, its numbers on the release grid. A key of a checkpoint takes the place
  /// of the one given.
  std::function<Model(const Plan&, StreamKey&, const Analysis&)> make_model;
  /// Whether progress, or what ends the run, may tell of noisy answers, so that an end without a
  /// release is paid: without a price, who tries again could wait for answers that he likes.
  bool ends_are_paid = false;
  std::string backend = "reference";
  Communicator* ranks = nullptr;  ///< null: one process
};

/// Runs the plan on private data, certifies what it made and enters it in the ledger. Nothing is
/// read before the plan is known to be within the budget; and once there is noise nothing is
/// refused before the release is entered: a refusal may tell of the data, so it is paid. Uses the
/// key up, also when it throws.
template <class Kind>
ReleaseOf<Kind> certified(const typename Kind::Plan& asked, Key&& key, const FitOptions& options,
                          const RunSteps<Kind>& steps) {
  const StandardArithmetic arithmetic;
  // A copy: a callback may change what the caller holds.
  const typename Kind::Plan plan = asked;
  const std::unique_ptr<Communicator> alone = one_process();
  Communicator& ranks = steps.ranks != nullptr ? *steps.ranks : *alone;
  const bool first_rank = ranks.rank() == 0;
  StreamKey stream = key_of_first_rank(std::move(key), ranks);
  steps.require_planned(plan);
  Analysis analysis;
  LedgerPrice price;
  ranks.together([&] {
    // Throws on settings that no plan has, before anything is drawn with them.
    analysis = analysis_of_plan(plan);
    if (!first_rank || options.ledger == nullptr) return;
    price = {ledger_guarantee(plan), in_a_ledger(analysis.guarantee, counts_people(plan.problem))};
    require_room(options, stream.kind, price);
  });

  const std::string run = fmt::format("{} {}", Kind::command, name_of(chosen_of(plan).mechanism));
  const auto make_model = [&] { return steps.make_model(plan, stream, analysis); };
  typename Kind::Model model =
      steps.ends_are_paid && first_rank && options.ledger != nullptr
          ? paid_if_refused(options, run + ", ended without a release", price, stream, make_model)
          : make_model();
  std::optional<std::string> changed;  // a callback may have changed the arithmetic meanwhile
  try {
    StandardArithmetic::require();
  } catch (const BadInput& error) {
    changed = error.what();
  }
  const StandardArithmetic again;
  const RunFacts facts{stream.kind, steps.backend, model.schema.invalid == Invalid::refuse,
                       model.schema.bought, model.schema.from_public};
  auto certificate =
      certify<Kind>(plan, facts, std::move(analysis), Kind::extra_of(std::as_const(model)));
  ReleaseOf<Kind> out = ReleaseAccess::make(std::move(model), std::move(certificate));
  ranks.together([&] {
    const bool counts = first_rank && !out.certificate().is_void();
    if (counts) {
      enter(options, run, price, key_hash(stream), to_json(out));
    }
    if (changed) throw BadInput(*changed);
    if (!counts) return;
    // A plan is open to its caller.
    if (const Verification check = verify(out); !check.valid) {
      throw BadInput(
          fmt::format("plan: its certificate does not verify ({}); use the plan as {} made it",
                      check.failures.front(), Kind::plan_maker));
    }
  });
  return out;
}

}  // namespace gibbsite
