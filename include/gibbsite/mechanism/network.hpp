#pragma once
// Mechanisms that release a discrete Bayesian network: public settings, what they cost, and how
// they are chosen (docs/theory/network.md).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/network_tree.hpp"

namespace gibbsite {

/// Counts of every node's table with Gaussian noise. A person moves each table by sqrt(2) rows
/// (replace-one) or 1 (add-remove) in norm; table i has the deviation
///   sigma_i = noise * cells_i^(-1/3) * sqrt(sum_j cells_j^(2/3)),
/// so that sum_i 1/sigma_i^2 = 1/noise^2 whatever the structure.
struct NetworkCounts {
  static constexpr std::string_view name = "network-counts";
  static constexpr std::string_view theorem = "docs/network.md";
  static constexpr bool draws_tables = false;

  double noise = 0;         ///< deviation of one table that cost what all together do
  double score_weight = 0;  ///< b of the structure's picks; 0: the structure was given

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("noise", self.noise, Legal::positive);
    visit("score_weight", self.score_weight, Legal::positive_or_absent);
  }
};

/// Draws of all tables from their posterior cut to shares >= trim, records weighted
/// (docs/theory/trimmed.md).
struct NetworkTrimmed {
  static constexpr std::string_view name = "network-trimmed";
  static constexpr std::string_view theorem = "docs/network.md";
  static constexpr bool draws_tables = true;

  double weight = 1;  ///< r in (0, 1]
  double score_weight = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("weight", self.weight, Legal::positive);
    visit("score_weight", self.score_weight, Legal::positive_or_absent);
  }
};

/// Draws of all tables from their Dirichlet posterior, prior and records scaled, composed over
/// nodes. Its structure must be given.
struct NetworkConjugate {
  static constexpr std::string_view name = "network-conjugate";
  static constexpr std::string_view theorem = "docs/network.md";
  static constexpr bool draws_tables = true;

  double weight = 1;       ///< r in (0, 1]
  double prior_scale = 1;  ///< times the problem's prior
  double epsilon = 0;      ///< where the delta of all draws is taken

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("weight", self.weight, Legal::positive);
    visit("prior_scale", self.prior_scale, Legal::positive);
    visit("epsilon", self.epsilon, Legal::nonnegative);
  }
};

using NetworkMechanism = std::variant<NetworkCounts, NetworkTrimmed, NetworkConjugate, NetworkTree>;

struct NetworkWishes {
  /// Or "counts", "trimmed", "conjugate", "tree", or their whole names.
  std::string mechanism = "auto";
  /// The share of mu^2 for choosing the structure if it is not given; in (0, 1).
  std::optional<double> structure_share{};
};

/// What one mechanism does with the budget.
struct NetworkCandidate {
  NetworkMechanism mechanism;
  Guarantee guarantee{};  ///< of all draws and of the structure
  double deviation = 0;   ///< expected, of a count of one cell, in rows; averaged over cells
  bool feasible = false;
  Message why{};
};

struct NetworkPlan {
  NetworkProblem problem;
  Budget budget;
  std::vector<NetworkCandidate> candidates;  ///< in the order of the variant
  std::size_t chosen = 0;

  [[nodiscard]] const NetworkCandidate& candidate() const { return candidates[chosen]; }
};

/// `auto`: network-tree where the structure is chosen, else the feasible one of the least deviation
/// of the others; a wished one alone is worked out. Throws
/// BadInput on an illegal request, Infeasible where the wished one, or any, keeps the budget with
/// nothing.
NetworkPlan plan_network(const NetworkProblem& problem, const Budget& budget,
                         const NetworkWishes& plan_options = {});

std::string_view name_of(const NetworkMechanism& mechanism);
std::string_view theorem_of(const NetworkMechanism& mechanism);
/// From their posterior; else tables follow from noisy counts.
bool draws_tables(const NetworkMechanism& mechanism);
double score_weight_of(const NetworkMechanism& mechanism);

/// What the settings imply, for `draws` draws of the tables (of counts: 1) and one structure: plan
/// and verify call the same. Throws BadInput when a setting is out of range.
Analysis analyze(const NetworkMechanism& mechanism, const NetworkProblem& problem,
                 const Neighbors& who, std::uint64_t draws);
std::string basis_of(const NetworkMechanism& mechanism, const NetworkProblem& problem);

/// Picks of a structure: K - 1 where it is chosen, else none. Which column is first is public.
/// A network-tree picks none: its structure follows from scores.
std::uint64_t picks_of(const NetworkProblem& problem);
/// No pick's computed law may be further from exp(b score) in total variation.
inline constexpr double pick_tv = 0x1p-100;

/// sigma_i of every table [K], each a double that the answers' noise takes; their costs together
/// are at most that of `noise`, rounded so.
std::vector<double> table_deviations(double noise, const Network& network);
/// Those of tables with these cells.
std::vector<double> table_deviations(double noise, std::span<const std::uint64_t> cells);
/// Deviations that can be expected of an offer whose tables are drawn: its `deviation`.
std::vector<double> table_deviations(const NetworkCandidate& candidate, const Network& network);

/// sup |score - score'| between neighbors, of
///   score(X, Pi) = ||N_{X,Pi} - N_X N_Pi/N||_1 - penalty * cells,
/// N the table's own rows, a score of none 0: 6k replace-one, 4k add-remove
/// (docs/theory/network.md, "Structure"). Both are attained in the limit.
double score_change_up(const NetworkProblem& problem, const Neighbors& who);
/// The public penalty per cell: a quarter of the L1 error that noise adds to a table's cell.
double cell_penalty(const NetworkMechanism& mechanism, const NetworkProblem& problem);

}  // namespace gibbsite
