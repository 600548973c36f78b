#include "gibbsite/release/joint_test.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/interaction.hpp"
#include "gibbsite/release/effects.hpp"
#include "release/csv_text.hpp"

namespace gibbsite {
namespace {

using Combinations = std::vector<std::vector<double>>;

// Directions whose variance is so small a part of the largest one are none: B of contrasts that
// depend on each other gives them by rounding alone.
constexpr double least_part = 1e-13;

// The mean of the coefficients [n] and their covariance [n x n], with what intervals have further.
struct Moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};
Moments moments_of(const Estimates& of) {
  const auto n = static_cast<Eigen::Index>(of.prior_deviation.size());
  Moments out{Eigen::VectorXd::Zero(n), Eigen::MatrixXd(n, n)};
  std::size_t at = 0;
  for (Eigen::Index a = 0; a < n; ++a)
    for (Eigen::Index b = 0; b <= a; ++b)
      out.covariance(a, b) = out.covariance(b, a) = of.covariance.at(at++);
  const auto component = [&](std::size_t m) {
    return Eigen::Map<const Eigen::VectorXd>(of.means[m].data(), n);
  };
  for (std::size_t m = 0; m < of.means.size(); ++m) out.mean += of.weights[m] * component(m);
  for (std::size_t m = 0; m < of.means.size(); ++m) {
    const Eigen::VectorXd away = component(m) - out.mean;
    out.covariance += of.weights[m] * away * away.transpose();
  }
  if (of.further_above.size() != of.prior_deviation.size()) return out;
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto place = static_cast<std::size_t>(j);
    const double further = std::max(of.further_above[place], of.further_below[place]);
    const double deviation = std::min(further / two_sided_95, of.prior_deviation[place]);
    out.covariance(j, j) += deviation * deviation;
  }
  return out;
}

JointTest test_of(const Moments& moments, std::span<const std::vector<double>> combinations) {
  const Eigen::Index n = moments.mean.size();
  if (combinations.empty()) throw BadInput("combinations: there are none; give one at least");
  Eigen::MatrixXd c(combinations.size(), n);
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    if (combinations[i].size() != static_cast<std::size_t>(n))
      throw BadInput(
          fmt::format("combinations: must be of {} numbers, got {}; give one for each "
                      "coefficient of the estimates",
                      n, combinations[i].size()));
    c.row(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::RowVectorXd>(combinations[i].data(), n);
  }
  const Eigen::VectorXd estimate = c * moments.mean;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(c * moments.covariance *
                                                              c.transpose());
  const Eigen::VectorXd along = solver.eigenvectors().transpose() * estimate;
  const Eigen::VectorXd& variance = solver.eigenvalues();
  JointTest out;
  for (Eigen::Index i = 0; i < variance.size(); ++i) {
    if (!(variance[i] > least_part * variance[variance.size() - 1])) continue;
    out.statistic += along[i] * along[i] / variance[i];
    ++out.degrees;
  }
  if (out.degrees > 0)
    out.p_value = boost::math::gamma_q(0.5 * static_cast<double>(out.degrees), 0.5 * out.statistic);
  return out;
}

// A term of the model: a column, or an interaction behind them.
struct TestedTerm {
  Column column;
  const Interaction* interaction = nullptr;
  std::size_t first = 0, features = 0;
};

std::vector<TestedTerm> terms_of_rows(const Schema& schema) {
  std::vector<TestedTerm> out;
  const std::vector<Column> terms = schema.terms();
  std::size_t first = 0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::size_t features = schema.features_of(terms[t]);
    const Interaction* const interaction =
        t < schema.columns.size() ? nullptr : &schema.interactions[t - schema.columns.size()];
    if (features > 0) out.push_back({terms[t], interaction, first, features});
    first += features;
  }
  return out;
}

// The levels of a column, or the knots alone of a curve: rows without the number say nothing of
// whether it is flat.
std::size_t levels_of(const TestedTerm& term) {
  return !term.column.has_levels() ? 1
         : term.column.is_curve()  ? term.column.knots.size()
                                   : term.features;
}

// Combinations [d] that are all 0 exactly where the term says nothing.
Combinations contrasts_of(const Schema& schema, const TestedTerm& term) {
  Combinations out;
  const auto next = [&]() -> std::vector<double>& {
    return out.emplace_back(schema.features(), 0.0);
  };
  if (term.interaction != nullptr) {
    const InteractionContrasts contrasts(schema, *term.interaction);
    for (std::size_t c = 0; c < contrasts.coordinates(); ++c) {
      std::vector<double>& one = next();
      for (std::size_t f = 0; f < term.features; ++f)
        one[term.first + f] = contrasts.at(f, c, false);
    }
    return out;
  }
  if (!term.column.has_levels()) {  // a missing cell's feature aside
    next()[term.first] = 1;
    return out;
  }
  for (std::size_t l = 1; l < levels_of(term); ++l) {
    std::vector<double>& one = next();
    one[term.first + l] = 1;
    one[term.first] = -1;
  }
  return out;
}

// Those in the score of each class against that of the first: [K x d].
Combinations of_all_classes(const Combinations& of_one, std::size_t classes) {
  Combinations out;
  for (const std::vector<double>& one : of_one) {
    for (std::size_t k = 1; k < classes; ++k) {
      std::vector<double>& c = out.emplace_back(classes * one.size(), 0.0);
      for (std::size_t j = 0; j < one.size(); ++j) {
        c[j] = -one[j];
        c[k * one.size() + j] = one[j];
      }
    }
  }
  return out;
}

// The term's combinations [K x d] in the classes that are asked about; none where nothing in it can
// differ, as in a column of one level.
Combinations combinations_of(const Schema& schema, const TestedTerm& term,
                             const EffectClasses& classes) {
  Combinations out = contrasts_of(schema, term);
  const auto* const several = std::get_if<Classes>(&schema.label);
  if (several != nullptr && classes.of.empty() && classes.against.empty())
    return of_all_classes(out, several->names.size());
  for (std::vector<double>& one : out) one = in_classes(schema, std::move(one), classes);
  return out;
}

std::string_view hypothesis_of(const TestedTerm& term) {
  if (term.interaction != nullptr) return "no interaction";
  const bool is_number = term.column.is_curve() || !term.column.has_levels();
  return is_number ? "flat" : "all levels alike";
}

// The name without the blanks and the quotes about it.
std::string bare(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  const bool quoted =
      text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  if (!quoted) return std::string(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    out += text[i];
    if (text[i] == text[0] && text[i + 1] == text[0]) ++i;
  }
  return out;
}

// A number's name is its effect per unit, where that is one: of all classes' scores it is a test.
bool is_called(const Schema& schema, const TestedTerm& term, const std::string& name,
               const EffectClasses& classes) {
  const bool of_all = is<Classes>(schema.label) && classes.of.empty() && classes.against.empty();
  if (!term.column.has_levels() && !of_all) return false;
  if (term.interaction == nullptr) return term.column.name == name;
  return std::ranges::count(spellings_of(*term.interaction), name, &InteractionSpelling::name) > 0;
}

}  // namespace

JointTest joint_test(const Estimates& estimates,
                     std::span<const std::vector<double>> combinations) {
  return test_of(moments_of(estimates), combinations);
}

std::vector<ColumnTest> column_tests(const LinearModel& model) {
  std::vector<ColumnTest> out;
  if (!model.estimates) return out;
  const Moments moments = moments_of(*model.estimates);
  for (const TestedTerm& term : terms_of_rows(model.schema)) {
    const Combinations combinations = combinations_of(model.schema, term, {});
    if (combinations.empty()) continue;
    out.push_back(
        {term.column.name, hypothesis_of(term), levels_of(term), test_of(moments, combinations)});
  }
  return out;
}

std::vector<ColumnTest> tests_of_levels(const LinearModel& model) {
  std::vector<ColumnTest> out = column_tests(model);
  std::erase_if(out, [](const ColumnTest& of) { return of.levels <= 2; });
  return out;
}

std::string column_tests_csv(const LinearModel& model) {
  std::string out = "column,chi_squared,degrees_of_freedom,p_value\n";
  for (const ColumnTest& of : column_tests(model))
    out += fmt::format("{},{},{},{}\n", csv_text(of.column), of.test.statistic, of.test.degrees,
                       of.test.p_value);
  return out;
}

std::optional<JointTest> ask_column(const LinearModel& model, std::string_view text,
                                    const EffectClasses& classes) {
  require_testable(model);
  const std::string name = bare(text);
  for (const TestedTerm& term : terms_of_rows(model.schema))
    if (is_called(model.schema, term, name, classes)) {
      const Combinations combinations = combinations_of(model.schema, term, classes);
      if (combinations.empty())
        throw BadInput(format_message("{} {}", Field{"effect"}, quoted(text)),
                       "has one level, so nothing in it can differ",
                       "name a column of two levels or more");
      return joint_test(*model.estimates, combinations);
    }
  return {};
}

std::string_view hypothesis_of(const Schema& schema, std::string_view text,
                               const EffectClasses& classes) {
  const std::string name = bare(text);
  for (const TestedTerm& term : terms_of_rows(schema))
    if (is_called(schema, term, name, classes)) return hypothesis_of(term);
  return "";
}

std::string joint_test_text(const JointTest& test) {
  return fmt::format("chi squared {:.3g} on {} degree{} of freedom, p-value {}", test.statistic,
                     test.degrees, test.degrees == 1 ? "" : "s", p_value_text(test.p_value));
}

}  // namespace gibbsite
