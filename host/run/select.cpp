#include "gibbsite/run/select.hpp"

#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "run/certified.hpp"
#include "run/network_structure.hpp"

namespace gibbsite {
namespace {

constexpr int score_bits = 30;

void require_planned(const SelectionModel& shape, const ScoreSums& sums, const SelectPlan& plan) {
  const bool replaced = plan.budget.adjacency == Adjacency::replace_one;
  const std::uint64_t n = sums.rows(), planned = plan.problem.rows;
  if (plan.problem.candidates != shape.candidates.size() ||
      sums.steps().size() != shape.candidates.size() || sums.lo() != shape.lo ||
      sums.hi() != shape.hi || (replaced ? n != planned : n > planned)) {
    throw BadInput("data: its rows, candidates or range are not the plan's; plan again for it");
  }
}

}  // namespace

ScoreSums::ScoreSums(std::size_t candidates, double lo, double hi)
    : lo_(lo), hi_(hi), steps_(candidates) {
  if (!(lo < hi) || !std::isfinite(hi - lo))
    throw BadInput(Field{"range"}, "must be two rising numbers");
}

void ScoreSums::add(std::span<const double> scores) {
  if (scores.size() != steps_.size())
    throw BadInput("scores: a row has not one for each candidate");
  if (++rows_ > most_select_rows) throw BadInput("rows: there are too many");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double share = std::isnan(scores[i]) ? 0.5 : (scores[i] - lo_) / (hi_ - lo_);
    steps_[i] +=
        static_cast<std::uint64_t>(std::round(std::ldexp(std::clamp(share, 0.0, 1.0), score_bits)));
  }
}

SelectRelease release_selection(const SelectionModel& shape, const ScoreSums& sums,
                                const SelectPlan& plan, Key&& key, const FitOptions& options) {
  return certified<SelectKind>(
      plan, std::move(key), options,
      {.require_planned =
           [&](const SelectPlan& is) {
             shape.validate();
             require_planned(shape, sums, is);
           },
       .make_model =
           [&](const SelectPlan& is, const StreamKey& stream, const Analysis&) {
             std::vector<Wide> scores;
             for (const std::uint64_t steps : sums.steps())
               scores.push_back(ldexp(Wide(steps), -score_bits));
             SelectionModel model = shape;
             model.chosen = exponential_pick(scores, std::get<ExponentialPick>(is.mechanism).weight,
                                             stream, 0);
             return model;
           }});
}

}  // namespace gibbsite
