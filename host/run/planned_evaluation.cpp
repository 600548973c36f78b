#include "gibbsite/run/planned_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "core/format_message.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/run/look.hpp"

namespace gibbsite {
namespace {

constexpr std::uint64_t most_rows = std::uint64_t{1} << 38;  // of any table's counts

Budget evaluation_budget(const EvaluationRequest& request) {
  Budget out{.epsilon = request.epsilon,
             .delta = request.delta,
             .adjacency = request.adjacency,
             .rows_per_person = request.rows_per_person};
  out.validate();
  const bool replaced = request.adjacency == Adjacency::replace_one;
  if (replaced && request.rows_cap)
    throw BadInput(Field{"rows_cap"},
                   format_message("has a meaning with {} add-remove", Field{"adjacency"}),
                   "leave it out");
  if (!replaced && !request.rows_cap)
    throw BadInput(
        Field{"rows_cap"},
        "is missing; under add-remove the number of rows is not public, give a bound that "
        "holds");
  if (request.rows_cap && *request.rows_cap > most_rows)
    throw BadInput(Field{"rows_cap"},
                   fmt::format("must be from 1 to 2^38, got {}", *request.rows_cap),
                   "give a bound nearer to the number of rows");
  return out;
}

// Returns the source: a network is no model with a wrong budget.
std::string require_no_network(const std::string& text, std::string source) {
  if (holds<GraphicalKind>(text, source))
    throw BadInput(Field{"epsilon"},
                   fmt::format("is for a model of classes, {} holds a network", source),
                   "leave it out");
  return source;
}

Release evaluated_release(const std::string& text, const std::string& source) {
  const auto refuse = [&](const std::string& what, const char* how = "leave it out") {
    throw BadInput(Field{"epsilon"}, what, how);
  };
  Release out = parse_release(text, source);
  const Schema& schema = out.model().schema;
  if (number_of(schema.label) != nullptr)
    refuse(fmt::format("is for a model of classes, {} predicts {}", source,
                       is<Count>(schema.label) ? "counts" : "amounts"));
  if (schema.person() != nullptr)
    refuse(fmt::format("{} is a model of people, and a released evaluation counts rows", source),
           "leave it out for private figures, which count people, or give a model without a column "
           "of people");
  return out;
}

}  // namespace

PlannedEvaluation::PlannedEvaluation(const std::string& text, std::string source,
                                     const EvaluationRequest& request)
    : source_(require_no_network(text, std::move(source))),
      request_(request),
      budget_(evaluation_budget(request)),
      release_(evaluated_release(text, source_)) {
  static_cast<void>(decision_threshold(request_.threshold, model().schema.label, source_));
  const auto file = nlohmann::json::parse(text);
  const Verification check = verify(file);
  // A void model is as public as another: its noise guards the people that it was fitted to.
  of_void_ = check.void_run && check.failures.size() == 1;
  if (!check.valid && !of_void_) {
    throw BadInput(fmt::format(
        "{}: its certificate does not hold ({}); verifying it says more, use the file as fit wrote "
        "it",
        source_, check.failures.front()));
  }
  digest_ = file.at("certificate").at("digest").get<std::string>();
  static_cast<void>(bins_of(request_.bins.value_or(least_evaluation_bins)));
  static_cast<void>(
      planned(request_.rows_cap.value_or(std::min(budget_.rows_per_person, most_rows)), budget_));
}

void PlannedEvaluation::require_read(const Dataset& data) const {
  const auto numbers = [](const Schema& schema) {  // columns that become features
    std::vector<std::tuple<std::string, double, double, std::vector<std::string>>> out;
    for (const Column& c : schema.columns)
      if (c.type == ColumnType::number || c.type == ColumnType::category)
        out.emplace_back(c.name, c.lo, c.hi, c.levels);
    return out;
  };
  const Schema &own = model().schema, &read = data.schema;
  if (numbers(own) == numbers(read) && class_names(own.label) == class_names(read.label)) return;
  throw BadInput(Field{"data"},
                 "was read by another schema than the model's: by other ranges, levels or classes "
                 "its figures would be those of other rows",
                 "read the table with the model's own schema");
}

void PlannedEvaluation::warn_of_void(const Note& warn) const {
  if (of_void_)
    warn(
        format_message("{}: {} is void: what it tells of these rows, where it was fitted to some, "
                       "no certificate covers",
                       Field{"model"}, source_));
}

EvaluationBins PlannedEvaluation::bins_of(std::uint64_t bins) const {
  return evaluation_bins(bins, class_names(model().schema.label).size(),
                         request_.threshold.value_or(0.5));
}

HistogramPlan PlannedEvaluation::planned(std::uint64_t rows, const Budget& budget) const {
  const double deviation =
      plan_histogram({.rows = rows, .cells = 2 * least_evaluation_bins}, budget).deviation;
  const std::uint64_t cut = request_.bins.value_or(default_evaluation_bins(rows, deviation));
  return plan_histogram({.rows = rows, .cells = 2 * cut}, budget);
}

HistogramPlan PlannedEvaluation::plan(std::uint64_t rows) const {
  if (request_.rows_cap && rows > *request_.rows_cap)
    throw BadInput(Field{"rows_cap"},
                   fmt::format("the table has more than {} rows", *request_.rows_cap),
                   "give a public bound that holds (private: how many rows there are is not "
                   "public)");
  return planned(request_.rows_cap.value_or(rows), budget_);
}

void PlannedEvaluation::look_at(const HistogramPlan& plan, const Ledger* ledger,
                                const Note& warn) const {
  gibbsite::look_at(
      plan, budget_, [&](const Budget& smaller) { return planned(plan.problem.rows, smaller); },
      ledger, warn);
  warn_of_uncounted_rows(budget_, PeopleBy::nobody, warn);
}

EvaluationModel PlannedEvaluation::shape(const HistogramPlan& plan) const {
  return {.schema = model().schema,
          .of = digest_,
          .of_void = of_void_,
          .bins = bins_of(plan.problem.cells / 2),
          .rows = {},
          .counts = {}};
}

}  // namespace gibbsite
