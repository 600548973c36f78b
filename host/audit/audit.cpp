#include "gibbsite/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "audit/experiment.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/run/fit.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t batch =
    2048;  // draws of one fit: memory, and how often `stop` is looked at

// Whether what a run releases beside its draw is noise of the run, so that each draw needs a run.
bool one_draw_a_run(const Mechanism& mechanism) {
  return std::visit(
      [](const auto& m) {
        return requires { m.first_clip; };
      },
      mechanism);
}

[[noreturn]] void interrupted() { throw Interrupted("interrupted; nothing was written"); }

// Noise that neither the pilot nor another batch has.
std::uint64_t seed_of(std::uint64_t seed, bool pilot, std::uint64_t run) {
  std::uint64_t word = 0;
  fill_words(StreamKey::from_seed(seed), pilot ? 0 : 1, run, {&word, 1});
  return word;
}

class Experiment {
 public:
  Experiment(const PairsOfRuns& of, const AuditOptions& options)
      : of_(of), options_(options), ranks_(options.ranks != nullptr ? *options.ranks : *alone_) {}

  PairedSamples run(std::uint64_t pairs, bool pilot) {
    const std::uint64_t runs = (pairs + of_.most - 1) / of_.most;
    // Neighboring runs are one rank's; a run has its own seed, so the bits are of no number of
    // them.
    const std::uint64_t first = runs * ranks_.rank() / ranks_.size(),
                        last = runs * (ranks_.rank() + 1) / ranks_.size();
    PairedSamples mine;
    ranks_.together([&] {
      for (std::uint64_t run = first; run < last; ++run) {
        if (options_.stop != nullptr && *options_.stop) interrupted();
        const std::uint64_t draws = std::min(of_.most, pairs - run * of_.most);
        of_.run(seed_of(options_.seed, pilot, run), draws, mine);
        done_ += draws * ranks_.size();
        const std::uint64_t all = options_.pairs + options_.pilot;
        if (options_.progress) options_.progress(std::min(done_, all), all);
      }
    });
    done_ = pairs;  // of the pilot, which comes first
    return {ranks_.gather(std::span<const double>(mine.of_table)),
            ranks_.gather(std::span<const double>(mine.of_neighbor))};
  }

 private:
  const PairsOfRuns& of_;
  const AuditOptions& options_;
  std::unique_ptr<Communicator> alone_ = one_process();
  Communicator& ranks_;
  std::uint64_t done_ = 0;
};

struct Counts {
  std::uint64_t neighbor_alone = 0, table_alone = 0, table_above = 0;
};
Counts counts_above(const PairedSamples& samples, double threshold) {
  Counts out;
  for (std::size_t j = 0; j < samples.of_table.size(); ++j) {
    const bool table = samples.of_table[j] > threshold;
    const bool neighbor = samples.of_neighbor[j] > threshold;
    out.table_above += table ? 1 : 0;
    out.neighbor_alone += neighbor && !table ? 1 : 0;
    out.table_alone += table && !neighbor ? 1 : 0;
  }
  return out;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Halfway between the medians, the best place for two laws that are each other's shift; elsewhere
// only for a gain that is no chance.
double best_for_advantage(const PairedSamples& pilot, const std::vector<double>& candidates) {
  const auto gain = [&](double threshold) {
    const Counts c = counts_above(pilot, threshold);
    return static_cast<double>(c.neighbor_alone) - static_cast<double>(c.table_alone);
  };
  double best = (median(pilot.of_table) + median(pilot.of_neighbor)) / 2;
  const double least = gain(best);
  double most = least + 3 * std::sqrt(std::max(least, 1.0));
  for (const double threshold : candidates) {
    if (gain(threshold) > most) most = gain(threshold), best = threshold;
  }
  return best;
}

double best_for_epsilon(const PairedSamples& pilot, const std::vector<double>& candidates,
                        double delta, double confidence) {
  double best = candidates.front(), most = -1;
  for (const double threshold : candidates) {
    const Counts c = counts_above(pilot, threshold);
    const double found = coupled_epsilon_down(c.neighbor_alone, c.table_alone, c.table_above,
                                              pilot.of_table.size(), delta, confidence);
    if (found > most) most = found, best = threshold;
  }
  return best;
}

// Quantiles of both together.
std::vector<double> candidates_of(const PairedSamples& pilot) {
  std::vector<double> all = pilot.of_table;
  all.insert(all.end(), pilot.of_neighbor.begin(), pilot.of_neighbor.end());
  std::ranges::sort(all);
  constexpr std::size_t count = 64;
  std::vector<double> out;
  for (std::size_t q = 1; q < count; ++q) out.push_back(all[all.size() * q / count]);
  return out;
}

void require_legal(const AuditOptions& options) {
  require_between(options.confidence, 0, 1, Field{"confidence"});
  if (options.pairs == 0) throw BadInput(Field{"pairs"}, "must be at least 1, got 0", "give more");
  if (options.pilot == 0)
    throw BadInput(format_message("{}: must be at least 1, got 0; give more", Word{"pilot"}));
}

}  // namespace

double AuditResult::reach() const {
  return measure == AuditMeasure::mu ? mu_lower / mu_claimed : epsilon_lower / epsilon_claimed;
}

AuditResult experiment(const PairsOfRuns& of, const AuditOptions& options) {
  require_legal(options);
  const auto begin = Clock::now();
  const Guarantee& claim = of.claim;
  AuditResult out;
  // Fixed by the claim, so before anything is looked at.
  out.measure = claim.epsilon0 > claim.mu ? AuditMeasure::epsilon : AuditMeasure::mu;
  out.pairs = options.pairs;
  out.pilot = options.pilot;
  out.confidence = options.confidence;
  const double delta = delta_up(claim, of.epsilon);

  Experiment runs(of, options);
  const PairedSamples pilot = runs.run(options.pilot, true);
  const std::vector<double> candidates = candidates_of(pilot);
  out.threshold = out.measure == AuditMeasure::mu
                      ? best_for_advantage(pilot, candidates)
                      : best_for_epsilon(pilot, candidates, delta, options.confidence);

  PairedSamples found = runs.run(options.pairs, false);
  const Counts c = counts_above(found, out.threshold);
  out.neighbor_alone = c.neighbor_alone;
  out.table_alone = c.table_alone;
  out.table_above = c.table_above;
  const auto advantage_at = [&](double risk) {
    // Two bounds, or three, that hold together; all that follows is theirs.
    const double level = risk / (out.measure == AuditMeasure::mu ? 2 : 3);
    return std::max(0.0, clopper_pearson_down(c.neighbor_alone, out.pairs, level) -
                             clopper_pearson_up(c.table_alone, out.pairs, level));
  };
  const auto epsilon_at = [&](double confidence) {
    return coupled_epsilon_down(c.neighbor_alone, c.table_alone, c.table_above, out.pairs, delta,
                                confidence);
  };
  out.advantage_lower = advantage_at(1 - options.confidence);
  out.advantage_claimed = advantage_up(claim);
  out.mu_lower = mu_of_advantage_down(out.advantage_lower);
  out.mu_claimed = out.advantage_claimed < 1 ? mu_of_advantage_down(out.advantage_claimed)
                                             : std::numeric_limits<double>::infinity();
  out.epsilon_lower = out.epsilon_claimed = std::numeric_limits<double>::quiet_NaN();
  const double risk = std::min(refutes_wrongly, 1 - options.confidence);
  out.refuted = advantage_at(risk) > out.advantage_claimed;
  if (out.measure == AuditMeasure::epsilon) {
    out.epsilon_claimed = of.epsilon;
    out.epsilon_lower = epsilon_at(options.confidence);
    out.refuted = out.refuted || epsilon_at(1 - risk) > out.epsilon_claimed;
  }
  out.of_table = std::move(found.of_table);
  out.of_neighbor = std::move(found.of_neighbor);
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return out;
}

AuditResult audit(const AuditCase& at, Backend& backend, const AuditOptions& options) {
  if (at.plan.budget.draws != 1)
    throw BadInput(Field{"draws"}, "an audit is of one draw", "leave it out");
  static_cast<void>(require_feasible(at.plan));
  Plan plan = at.plan;
  // What `fit` runs is the mechanism's settings and k draws; who the neighbors are changes nothing
  // in them where zeros can be left out.
  if (at.zeros_left_out)
    plan.candidates[plan.chosen].guarantee.who.adjacency = Adjacency::add_remove;
  // Both tables take one seed, so they have the same noise.
  const auto append = [&](std::vector<double>& out, const Dataset& data, std::uint64_t seed) {
    FitOptions watched;
    watched.stop = options.stop;
    watched.release_answers = true;
    try {
      const Release release = fit(at.model, data, plan, backend, Key::from_seed(seed), watched);
      for (const auto& draw : release.model().draws)
        out.push_back(at.statistic(release.model(), draw));
    } catch (const Interrupted&) {  // it speaks of a checkpoint
      interrupted();
    }
  };
  return experiment({at.plan.candidate().guarantee, at.plan.budget.epsilon,
                     one_draw_a_run(plan.candidate().mechanism) ? 1 : batch,
                     [&](std::uint64_t seed, std::uint64_t pairs, PairedSamples& out) {
                       plan.budget.draws = pairs;
                       append(out.of_table, at.table, seed);
                       append(out.of_neighbor, at.neighbor, seed);
                     }},
                    options);
}

}  // namespace gibbsite
