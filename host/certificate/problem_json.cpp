#include "certificate/problem_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

// A problem, const where it is written. Which fields there are depends on those before.
template <class P, class Of>
concept Either = std::same_as<std::remove_const_t<P>, Of>;
enum class Shown { always, unless_none };  // none: 0 or empty
struct Words {
  const char *no, *yes;  // of a flag
};
struct Otherwise {
  std::uint64_t value;  // of a count that a file does not have
};

template <Either<Problem> P, class Visit>
void fields(P& p, const Mechanism& /*mechanism*/, const Visit& visit) {
  visit("rows_of_person", p.rows_of_person, Otherwise{0});
  visit(p.of_people() ? "people" : "rows", p.rows);
  visit("features", p.features);
  visit("row_norm", p.row_norm);
  visit("intercept", p.intercept);
  visit("loss", p.loss);
  if (loss_named(p.loss).label() == LabelKind::amount) visit("label_bound", p.label_bound);
  visit("offset_bound", p.offset_bound, Shown::unless_none);
  visit("weighted", p.weighted, Shown::unless_none);
  visit("center_norm", p.center_norm, Shown::unless_none);
}

template <Either<PublicCounts> P, class Visit>
void fields(P& known, const Visit& visit) {
  visit("counts", known.counts);
  visit("weight", known.weight);
  visit("file", known.file);
  visit("sha256", known.sha256);
  visit("rows", known.rows);
}

template <Either<FamilyProblem> P, class Visit>
void fields(P& p, const FamilyMechanism& /*mechanism*/, const Visit& visit) {
  visit("family", p.family);
  visit("rows", p.rows);
  visit("prior", p.prior);
  visit("public_counts", p.public_counts, Shown::unless_none);
  if (p.has_levels()) {
    visit("levels", p.levels);
  } else {
    visit("range", std::tie(p.lo, p.hi));
  }
  if (p.family == Family::mean) visit("variance", p.variance);
  if (p.is_centered()) visit("center", p.center);
  visit("trim", p.trim, p.has_levels() ? 1 : 2);
}

template <Either<StructureLimits> L, class Visit>
void fields(L& limits, const Visit& visit) {
  visit("parents", limits.parents);
  visit("cells", limits.cells);
}

template <Either<NetworkProblem> P, class Visit>
void fields(P& p, const NetworkMechanism& mechanism, const Visit& visit) {
  visit("rows_of_person", p.rows_of_person, Otherwise{0});
  visit(p.of_people() ? "people" : "rows", p.rows);
  visit("weighted", p.weighted, Shown::unless_none);
  visit("levels", p.levels);
  bool chosen = p.chooses_structure();
  visit("network", chosen, Words{"given", "private"});
  if (chosen) {
    visit("limits", p.limits);
  } else {
    visit("parents", p.parents);
  }
  if (draws_tables(mechanism)) {
    visit("prior", p.prior);
    visit("trim", p.trim, Shown::unless_none);
  }
}

template <Either<HistogramProblem> P, class Visit>
void fields(P& p, const HistogramMechanism& /*mechanism*/, const Visit& visit) {
  visit("rows", p.rows);
  visit("histogram", p.cells);
}

template <Either<SchemaProblem> P, class Visit>
void fields(P& p, const SchemaMechanism& /*mechanism*/, const Visit& visit) {
  visit("rows_of_person", p.rows_of_person, Otherwise{0});
  visit(p.of_people() ? "people" : "rows", p.rows);
  visit("asked_columns", p.columns);
  visit("questions", p.questions, Otherwise{first_questions});
}

template <Either<SelectProblem> P, class Visit>
void fields(P& p, const SelectMechanism& /*mechanism*/, const Visit& visit) {
  visit("rows", p.rows);
  visit("candidates", p.candidates);
}

template <Either<CovarianceProblem> P, class Visit>
void fields(P& p, const CovarianceMechanism& /*mechanism*/, const Visit& visit) {
  visit("rows_of_person", p.rows_of_person, Otherwise{0});
  visit(p.of_people() ? "people" : "rows", p.rows);
  visit("weighted", p.weighted, Shown::unless_none);
  visit("covariance_columns", p.columns);
}

struct Writer {
  json& out;
  void operator()(const char* name, const auto& value, Shown shown = Shown::always) const {
    const json one = value;
    if (shown == Shown::always || (one != 0 && one != false)) out[name] = one;
  }
  void operator()(const char* name, std::uint64_t value, Otherwise unsaid) const {
    if (value != unsaid.value) out[name] = value;
  }
  void operator()(const char* name, Family value) const { out[name] = to_string(value); }
  void operator()(const char* name, bool value, Words words) const {
    out[name] = value ? words.yes : words.no;
  }
  void operator()(const char* name, const StructureLimits& value) const {
    fields(value, Writer{out[name]});
  }
  void operator()(const char* name, const PublicCounts& value) const {
    fields(value, Writer{out[name]});
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value,
                  Shown /*none is not there*/ = Shown::always) const {
    if (value) (*this)(name, *value);
  }
  void operator()(const char* name, const std::optional<std::pair<double, double>>& value,
                  int numbers) const {
    if (!value) return;
    out[name] = {value->first};
    if (numbers == 2) out[name].push_back(value->second);
  }
};

struct Reader {
  const json& object;
  std::string source = "constants";

  void operator()(const char* name, std::uint64_t& value) const {
    value = count_field(object, name, source);
  }
  void operator()(const char* name, bool& value, Shown shown = Shown::always) const {
    value = (shown == Shown::always || object.contains(name)) && flag_field(object, name, source);
  }
  void operator()(const char* name, std::uint64_t& value, Otherwise unsaid) const {
    value = object.contains(name) ? count_field(object, name, source) : unsaid.value;
  }
  void operator()(const char* name, bool& value, Words words) const {
    const std::string text = text_field(object, name, source);
    if (text != words.no && text != words.yes) {
      throw BadInput(fmt::format("{}.{}: must be {} or {}; use the file as it was written", source,
                                 name, words.no, words.yes));
    }
    value = text == words.yes;
  }
  void operator()(const char* name, std::string& value) const {
    value = text_field(object, name, source);
  }
  void operator()(const char* name, double& value, Shown shown = Shown::always) const {
    if (shown == Shown::unless_none && !object.contains(name)) return;
    value = number_field(object, name, source);
    if (shown == Shown::unless_none) require_finite_positive(value, source + "." + name);
  }
  void operator()(const char* name, std::tuple<double&, double&> value) const {
    const auto numbers = numbers_field(object, name, 2, source);
    value = std::tie(numbers[0], numbers[1]);
  }
  void operator()(const char* name, std::vector<double>& value) const {
    value = numbers_field(object, name, field(object, name, source).size(), source);
  }
  void operator()(const char* name, Family& value) const {
    const std::string text = text_field(object, name, source);
    const auto family = family_named(text);
    if (!family)
      throw BadInput(fmt::format("{}.{}: {} is unknown", source, name, gibbsite::quoted(text)));
    value = *family;
  }
  void operator()(const char* name, StructureLimits& value) const {
    fields(value, Reader{field(object, name, source), source + "." + name});
  }
  void operator()(const char* name, PublicCounts& value) const {
    fields(value, Reader{field(object, name, source), source + "." + name});
  }
  // Reads what columns have: numbers, or lists of them.
  template <class T>
  void operator()(const char* name, std::vector<T>& value) const {
    const json& list = field(object, name, source);
    if (!list.is_array() || list.size() > most_network_columns) {
      throw BadInput(
          fmt::format("{}.{}: must be a list of at most {}; use the file as it was written", source,
                      name, most_network_columns));
    }
    for (const json& one : list) {
      const json alone = {{name, one}};
      Reader{alone, source}(name, value.emplace_back());
    }
  }
  void operator()(const char* name, std::uint32_t& value) const {
    value = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(count_field(object, name, source), ~std::uint32_t{0}));
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value, Shown shown = Shown::always) const {
    if (shown == Shown::always || object.contains(name)) (*this)(name, value.emplace());
  }
  void operator()(const char* name, std::optional<std::pair<double, double>>& value,
                  int numbers) const {
    if (!object.contains(name)) return;
    const auto read = numbers_field(object, name, static_cast<std::size_t>(numbers), source);
    value = {read.front(), numbers == 2 ? read.back() : 0};
  }
};

json fields_json(const auto& problem, const auto& mechanism) {
  json out;
  fields(problem, mechanism, Writer{out});
  return out;
}

template <class P>
P from_fields(const json& constants, const auto& mechanism) {
  P p;
  fields(p, mechanism, Reader{constants});
  p.validate();
  return p;
}

}  // namespace

json problem_json(const Problem& p, const Mechanism& mechanism) {
  json out = fields_json(p, mechanism);
  out["curvature"] = p.curvature;
  const double ball = setting(mechanism, "ball").value_or(0);  // theta is kept in; 0: in none
  if (p.bounded() || ball > 0) {
    out["max_abs_residual"] = p.max_abs_derivative_up(ball);
    out["lipschitz"] = p.lipschitz_up(ball);
  }
  return out;
}

json problem_json(const FamilyProblem& p, const FamilyMechanism& mechanism) {
  return fields_json(p, mechanism);
}

json problem_json(const NetworkProblem& p, const NetworkMechanism& mechanism) {
  return fields_json(p, mechanism);
}

json problem_json(const HistogramProblem& p, const HistogramMechanism& mechanism) {
  return fields_json(p, mechanism);
}

json problem_json(const SchemaProblem& p, const SchemaMechanism& mechanism) {
  return fields_json(p, mechanism);
}

json problem_json(const SelectProblem& p, const SelectMechanism& mechanism) {
  return fields_json(p, mechanism);
}

json problem_json(const CovarianceProblem& p, const CovarianceMechanism& mechanism) {
  return fields_json(p, mechanism);
}

Problem problem_from_json(const json& constants, const Mechanism& mechanism) {
  Problem p;
  fields(p, mechanism, Reader{constants});
  const Loss& loss = loss_named(p.loss);
  if (p.offset_bound != 0 && loss.label() != LabelKind::count) {
    throw BadInput("constants.offset_bound: is a count's; use the file as written");
  }
  set_loss(p, loss);
  p.validate();
  return p;
}

FamilyProblem problem_from_json(const json& constants, const FamilyMechanism& mechanism) {
  return from_fields<FamilyProblem>(constants, mechanism);
}

NetworkProblem problem_from_json(const json& constants, const NetworkMechanism& mechanism) {
  return from_fields<NetworkProblem>(constants, mechanism);
}

HistogramProblem problem_from_json(const json& constants, const HistogramMechanism& mechanism) {
  return from_fields<HistogramProblem>(constants, mechanism);
}

SchemaProblem problem_from_json(const json& constants, const SchemaMechanism& mechanism) {
  return from_fields<SchemaProblem>(constants, mechanism);
}

SelectProblem problem_from_json(const json& constants, const SelectMechanism& mechanism) {
  return from_fields<SelectProblem>(constants, mechanism);
}

CovarianceProblem problem_from_json(const json& constants, const CovarianceMechanism& mechanism) {
  return from_fields<CovarianceProblem>(constants, mechanism);
}

}  // namespace gibbsite
