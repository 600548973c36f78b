#include "gibbsite/model/loss.hpp"

#include <string>
#include <tuple>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses.hpp"

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

}  // namespace

const Loss& loss_named(std::string_view name) {
  std::string known;
  for (const Loss* loss : all_losses()) {
    if (loss->name() == name) return *loss;
    known += (known.empty() ? "" : ", ") + std::string(loss->name());
  }
  throw BadInput("`model`: no loss is called '" + std::string(name) + "'; there is: " + known);
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
      break;
  }
  return losses::poisson::name;
}

std::vector<std::string_view> loss_names(LabelKind label) {
  std::vector<std::string_view> names;
  for (const Loss* loss : all_losses()) {
    if (loss->label() == label) names.push_back(loss->name());
  }
  return names;
}

void set_loss(Problem& problem, const Loss& loss) {
  problem.loss = loss.name();
  problem.max_abs_residual = loss.max_abs_residual();
  problem.curvature = loss.curvature();
  problem.self_concordance = loss.self_concordance();
  problem.drop_from_zero = loss.drop_from_zero(problem.label_bound);
  problem.one_signed = loss.one_signed();
}

}  // namespace gibbsite
