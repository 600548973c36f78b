#pragma once
// Chains in a private metric (docs/theory/metric.md): noisy second moments become coordinates in
// which no direction pays for the worst one; chains then run on rows in these coordinates.
#include <type_traits>

#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/mechanism/proximal.hpp"

namespace gibbsite {

/// `Chain` on rows v_i = P^T x_i scaled down to norm 1, with P a function of one noisy sum of
/// second moments; what is released is P omega for a draw omega. P is paid for once, whatever the
/// number of draws. Settings of `chain` are those of its own certificate for rows of norm 1.
template <class Chain>
struct InMetric {
  static constexpr bool is_path = std::is_same_v<Chain, Path>;
  static constexpr std::string_view name = is_path ? "metric-path" : "metric-proximal";
  static constexpr std::string_view theorem = "docs/metric.md";
  static constexpr SupportedOptions takes{.iterations = is_path,
                                          .padded = !is_path,
                                          .tv = !is_path,
                                          .loss_of_chains = is_path,
                                          .people = is_path};

  double moments_mu = 0;   ///< of the question for moments
  double first_clip = 0;   ///< R1: norm that rows are scaled down to in it
  double clip_factor = 0;  ///< kappa: v_i has norm 1 where P^T x_i has kappa sqrt(d_eff)
  Chain chain{};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("moments_mu", self.moments_mu, Legal::positive);
    visit("first_clip", self.first_clip, Legal::positive);
    visit("clip_factor", self.clip_factor, Legal::positive);
    Chain::fields(self.chain, visit);
  }
};
using MetricPath = InMetric<Path>;
using MetricProximal = InMetric<Proximal>;

/// What the chain of such a run knows of its rows: norm 1, no intercept, n and d as they are.
Problem in_metric(const Problem& problem);

Candidate candidate(std::type_identity<MetricPath>, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options);
Candidate candidate(std::type_identity<MetricProximal>, const Problem& problem,
                    const Budget& budget, const PlanOptions& plan_options);
Analysis analyze(const MetricPath& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
Analysis analyze(const MetricProximal& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const MetricPath& settings);
std::string_view run_time_tells(const MetricPath& settings);
std::string basis_of(const MetricPath& settings);
std::string procedure_of(const MetricPath& settings, const Cost& cost);
std::string assumption_of(const MetricProximal& settings);
std::string_view run_time_tells(const MetricProximal& settings);
std::string basis_of(const MetricProximal& settings);
std::string procedure_of(const MetricProximal& settings, const Cost& cost);

}  // namespace gibbsite
