#include "gibbsite/model/loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/model/losses/softmax.hpp"
#include "gibbsite/model/losses/weighted.hpp"

namespace gibbsite {
namespace {

template <class... F>
std::vector<const Loss*> instances(LossList<F...>) {
  static const std::tuple<LossOf<F>...> losses;
  return std::apply([](const auto&... l) { return std::vector<const Loss*>{&l...}; }, losses);
}

const std::vector<const Loss*>& all_losses() {
  static const auto all = instances(Losses{});
  return all;
}

// Bounds of docs/theory/losses.md.
// - huber, smoothed-hinge: f' is the identity held at the ends of an interval of length 2 or 1, so
//   f'' is 0 or 1 and jumps. Huber's f(0, y) = |y| − ½ for |y| ≥ 1 and y²/2 ≤ ½ below, with f = 0
//   at z = y. The hinge's f(0, y) = ½, and 0 is reached.
// - pseudo-huber: f'' = (1+r²)^{−3/2} ≤ 1, f''' = −3r(1+r²)^{−5/2}, and |f'''|/f'' = 3|r|/(1+r²)
//   is largest at r = 1. f(0, y) = √(1+y²) − 1 ≤ |y|.
// - poisson: a count k with mean λ has N(q − y log q) for λ − k log λ up to a constant, N the
//   largest count, q = λ/N = e^u, y = k/N. At u = 0 the mean is N, and beyond f is its tangent. So
//   f' = min(e^u, 1) − y ∈ [−1, 1] and f'' = e^u ≤ 1 or 0. The shift by log 10 puts a prediction
//   of N/10 at θ = 0. f(0, y) − inf f = 1/10 + y log 10 − y + y log y is convex in y: largest at
//   1.

// That of "softmax-K", 2 <= K <= most_classes, in digits without zeros before them; else null.
const Loss* softmax_named(std::string_view name) {
  constexpr std::string_view family = losses::Softmax::family;
  if (!name.starts_with(family) || name.size() < family.size() + 2 || name[family.size()] != '-') {
    return nullptr;
  }
  const std::string_view digits = name.substr(family.size() + 1);
  std::size_t classes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), classes);
  if (error != std::errc() || end != digits.data() + digits.size() || digits[0] == '0' ||
      classes < 2 || classes > losses::Softmax::most_classes) {
    return nullptr;
  }
  static std::mutex mutex;
  static std::map<std::size_t, std::unique_ptr<const Loss>> made;
  const std::scoped_lock lock(mutex);
  auto& loss = made[classes];
  if (loss == nullptr) loss = std::make_unique<losses::Softmax>(classes);
  return loss.get();
}

// The loss named "NAME(w,w,..)", each weight in its shortest digits. Null if the name is no such
// one.
const Loss* weighted_named(std::string_view name) {
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos || !name.ends_with(')')) return nullptr;
  std::vector<float> weights;
  const char* const last = name.data() + name.size() - 1;
  for (const char* at = name.data() + open + 1;; ++at) {
    float w = 0;
    const auto [end, error] = std::from_chars(at, last, w);
    if (error != std::errc() || weights.size() == losses::Softmax::most_classes) return nullptr;
    weights.push_back(w);
    at = end;
    if (at == last) break;
    if (*at != ',') return nullptr;
  }
  if (losses::weighted_name(name.substr(0, open), weights) != name ||
      std::ranges::all_of(weights, [](float w) { return w == 1; })) {
    return nullptr;
  }
  const Loss& of = loss_named(name.substr(0, open));
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Loss>, std::less<>> made;
  const std::scoped_lock lock(mutex);
  const auto found = made.find(name);
  if (found != made.end()) return found->second.get();
  auto loss = std::make_unique<losses::Weighted>(of, std::move(weights));
  return made.emplace(name, std::move(loss)).first->second.get();
}

}  // namespace

std::string full_loss_name(std::string_view name, const FeatureSpace& space) {
  if (name.find('(') != std::string_view::npos) return std::string(name);  // weighted already
  std::string full = full_loss_name(name, space.classes);
  // A loss of another label is refused by its name (Model::constants).
  if (space.class_weights.empty() || loss_named(full).label() != space.label) return full;
  return losses::weighted_name(full, space.class_weights);
}

std::string full_loss_name(std::string_view name, std::uint64_t classes) {
  return name == losses::Softmax::family ? fmt::format("{}-{}", name, classes) : std::string(name);
}

const Loss& loss_named(std::string_view name) {
  if (const Loss* const loss = softmax_named(name)) return *loss;
  if (const Loss* const loss = weighted_named(name)) return *loss;
  std::string known;
  for (const Loss* loss : all_losses()) {
    if (loss->name() == name) return *loss;
    known += (known.empty() ? "" : ", ") + std::string(loss->name());
  }
  std::string families;
  for (int f = 0; f <= static_cast<int>(Family::laplace); ++f)
    families += fmt::format("{}{}", f > 0 ? ", " : "", to_string(static_cast<Family>(f)));
  throw BadInput(
      Field{"model"}, fmt::format("no loss is called '{}'", name),
      fmt::format("there is: {}, {}-K of K = 2 to {} classes; of one column {}; of "
                  "several covariance, and network, of which query asks P(COLUMN < NUMBER) for a "
                  "median",
                  known, losses::Softmax::family, losses::Softmax::most_classes, families));
}

std::vector<std::string_view> loss_names() {
  std::vector<std::string_view> names;
  for (const Loss* loss : all_losses()) names.push_back(loss->name());
  return names;
}

std::string_view default_loss(LabelKind label) {
  switch (label) {
    case LabelKind::two_classes:
      return losses::logistic::name;
    case LabelKind::amount:
      return losses::huber::name;
    case LabelKind::count:
      return losses::poisson::name;
    case LabelKind::classes:
      break;
  }
  return losses::Softmax::family;
}

std::vector<std::string_view> loss_names(LabelKind label) {
  std::vector<std::string_view> names;
  for (const Loss* loss : all_losses()) {
    if (loss->label() == label) names.push_back(loss->name());
  }
  if (label == LabelKind::classes) names.emplace_back(losses::Softmax::family);
  return names;
}

void set_loss(Problem& problem, const Loss& loss) {
  problem.loss = loss.name();
  problem.outputs = loss.outputs();
  problem.max_abs_derivative = loss.max_abs_derivative();
  problem.derivative_at_zero = loss.derivative_at_zero(problem.label_bound);
  problem.curvature = loss.curvature();
  problem.traces = loss.traces();
  problem.self_concordance = loss.self_concordance();
  problem.drop_from_zero = loss.drop_from_zero(problem.label_bound);
  // f(o, y) <= f(0, y) + sup |f'| |o|.
  if (problem.offset_bound > 0) {
    problem.drop_from_zero =
        round_up(Wide(problem.drop_from_zero) +
                 Wide(problem.max_abs_derivative) * Wide(problem.offset_bound));
  }
  problem.one_signed = loss.one_signed();
}

}  // namespace gibbsite
