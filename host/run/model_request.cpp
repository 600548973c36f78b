#include "gibbsite/run/model_request.hpp"

#include <fmt/format.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/losses.hpp"

namespace gibbsite {
namespace {

Model glm_of(const ModelRequest& request, const std::string& loss) {
  return glm(loss, {.prior_precision = request.prior_precision, .center = {}});
}

Problem constants_of(const ModelRequest& request, const std::string& loss,
                     const FeatureSpace& space, std::uint64_t rows) {
  if (request.rows_cap && rows > *request.rows_cap) {
    throw BadInput(
        fmt::format("`rows_cap`: the table has more than {} rows; give a public bound "
                    "that holds (private: how many rows there are is not public)",
                    *request.rows_cap));
  }
  return glm_of(request, loss).constants(space, request.rows_cap.value_or(rows));
}

}  // namespace

std::string loss_of(const ModelRequest& request, const FeatureSpace& space) {
  return full_loss_name(request.model == "auto" ? default_loss(space.label) : request.model, space);
}

std::string loss_of_chains(const ModelRequest& request, const FeatureSpace& space) {
  const std::string model = loss_of(request, space);
  const bool logistic = unweighted_name(model) == losses::logistic::name;
  const double capped = losses::logistic_capped::max_abs_residual;
  const std::optional<double>& cap = request.loss_cap;
  if (cap && !(logistic && (*cap == capped || *cap == 1))) {
    throw BadInput(
        fmt::format("`loss_cap`: must be 0.5 or, for none, 1, of the model logistic; got {} with "
                    "{}; leave it out, or give one of them",
                    *cap, shown(model)));
  }
  std::string loss = logistic && cap.value_or(capped) == capped
                         ? full_loss_name(losses::logistic_capped::name, space)
                         : model;
  static_cast<void>(glm_of(request, loss));
  return loss;
}

Problem constants(const ModelRequest& request, const FeatureSpace& space, std::uint64_t rows) {
  return constants_of(request,
                      request.loss_cap ? loss_of_chains(request, space) : loss_of(request, space),
                      space, rows);
}

Plan plan(const ModelRequest& request, const FeatureSpace& space, std::uint64_t rows,
          const Budget& budget, const Wishes& wishes) {
  require_cap(request, budget.adjacency);
  return plan(constants(request, space, rows),
              constants_of(request, loss_of_chains(request, space), space, rows), budget, wishes);
}

Model model_of(const ModelRequest& request, const Plan& plan) {
  return glm_of(request, plan.problem.loss);
}

void require_cap(const ModelRequest& request, Adjacency adjacency) {
  const bool needs_cap = adjacency == Adjacency::add_remove;
  if (needs_cap && !request.rows_cap) {
    throw BadInput(
        "`adjacency`: the number of rows is private under add-remove; give a public upper bound, "
        "`rows_cap`");
  }
  if (!needs_cap && request.rows_cap) {
    throw BadInput("`rows_cap`: has a meaning under the adjacency add-remove only; leave it out");
  }
}

}  // namespace gibbsite
