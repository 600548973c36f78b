#include "gibbsite/model/selection.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>
#include <tuple>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

constexpr std::string_view log_likelihood = "log-likelihood";

// What follows from the ball. Another library's exp may differ in its last place.
void require_of_ball(const SelectionModel& model) {
  constexpr const char* other = "ball: its points are not the candidates; use the file as written";
  model.ball->validate();
  const std::size_t c = model.candidates.size();
  if (model.ball->points(c) != c) throw BadInput(other);  // before they are listed
  const SelectionModel is = selection_in_ball(*model.ball);
  const auto near = [](double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); };
  if (model.candidates != is.candidates || !near(model.lo, is.lo) || !near(model.hi, is.hi) ||
      !(model.schema == is.schema)) {
    throw BadInput(other);
  }
}

}  // namespace

SelectionModel selection_in_ball(const CoefficientBall& ball) {
  SelectionModel out{.candidates = {}, .score = std::string(log_likelihood), .ball = ball};
  for (const auto& z : ball.lattice()) out.candidates.push_back(CoefficientBall::name_of(z));
  std::tie(out.lo, out.hi) = ball.log_likelihoods();
  out.schema = {ball.schema.invalid, ball.schema.bought, ball.schema.from_public};
  return out;
}

std::optional<std::vector<double>> SelectionModel::coefficients() const {
  if (!ball) return {};
  return ball->coefficients(ball->lattice().at(chosen));
}

void SelectionModel::validate() const {
  constexpr std::size_t longest = 256;
  const std::set<std::string> names(candidates.begin(), candidates.end());
  if (candidates.size() < 2) {
    throw BadInput(Field{"candidates"},
                   fmt::format("there must be two at least, got {}", candidates.size()));
  }
  if (names.size() != candidates.size()) {
    throw BadInput(Field{"candidates"}, "one is named twice", "give each a name of its own");
  }
  for (const std::string& name : candidates) {
    if (name.empty() || name.size() > longest || shown(name) != name) {
      throw BadInput(Field{"candidates"},
                     fmt::format("a name must be plain text of 1 to {} bytes, got {}", longest,
                                 gibbsite::quoted(name)));
    }
  }
  if (!of.empty() && of.size() != candidates.size()) {
    throw BadInput("of: must be a digest for each candidate; use the file as it was written");
  }
  if (score != "given" && score != "accuracy" && score != "brier" && score != log_likelihood) {
    throw BadInput(Field{"score"},
                   fmt::format("{} is none of accuracy, brier", gibbsite::quoted(score)));
  }
  if ((score == log_likelihood) != ball.has_value())
    throw BadInput("score: log-likelihood is of the points of a ball; use the file as written");
  if (ball) require_of_ball(*this);
  if ((score == "given" || ball) != of.empty()) {
    throw BadInput("of: is of candidates that are models; use the file as it was written");
  }
  if (!(std::isfinite(lo) && std::isfinite(hi) && lo < hi && std::isfinite(hi - lo))) {
    throw BadInput(Field{"range"}, fmt::format("must be two rising numbers, got {}, {}", lo, hi));
  }
  if (chosen >= candidates.size()) {
    throw BadInput("chosen: is none of the candidates; use the file as it was written");
  }
}

}  // namespace gibbsite
