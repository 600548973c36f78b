#include "arguments.hpp"

#include <fmt/format.h>
#include <nanobind/stl/variant.h>

#include <string_view>
#include <type_traits>
#include <variant>

namespace gibbsite::python {

namespace {
bool is_budget(std::string_view name) {
  return name == "epsilon" || name == "delta" || name == "rho" || name == "rdp";
}
}  // namespace

PlanRequest Arguments::request(unsigned kinds) {
  const auto rho = take<double>("rho");
  const auto epsilon = rho ? take<double>("epsilon") : need<double>("epsilon");
  PlanRequest out = request_without_budget(kinds);
  out.rho = rho;
  out.epsilon = epsilon;
  out.rdp = take<double>("rdp");
  return out;
}

PlanRequest Arguments::request_without_budget(unsigned kinds) {
  PlanRequest out;
  out.delta = need<double>("delta");
  visit_request(out, [&](const char* name, auto& field, unsigned of) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if ((of & kinds) == 0 || is_budget(name)) return;
    if constexpr (std::is_same_v<Field, std::optional<PositiveShare>>) {
      using Bounds = std::pair<double, double>;
      const auto given = take<std::variant<double, Bounds>>(name);
      if (!given) return;
      const auto* const one = std::get_if<double>(&*given);
      const Bounds bounds = one != nullptr ? Bounds(*one, *one) : std::get<Bounds>(*given);
      field = PositiveShare{bounds.first, bounds.second};
      require_positive_share(*field, name);
    } else if constexpr (std::is_same_v<Field, std::optional<std::vector<double>>>) {
      const auto given = take<std::variant<double, std::vector<double>>>(name);
      if (!given) return;
      const auto* const one = std::get_if<double>(&*given);
      field = one != nullptr ? std::vector{*one} : std::get<std::vector<double>>(*given);
    } else if constexpr (requires {
                           typename Field::value_type;
                           field.value();
                         }) {
      if (const auto given = take<typename Field::value_type>(name)) field = *given;
    } else {
      field = take<Field>(name, field);
    }
  });
  return out;
}

void Arguments::finish() const {
  for (const auto& [name, value] : left_) {
    throw nb::type_error(fmt::format("{}: gibbsite.{} has no such argument; leave it out",
                                     nb::cast<std::string>(name), function_)
                             .c_str());
  }
}

void Arguments::missing(const char* name) const {
  throw nb::type_error(fmt::format("{}: gibbsite.{} needs it; give it", name, function_).c_str());
}

void Arguments::wrong_type(const char* name, const std::string& kind, const nb::object& value) {
  const bool is_number = kind.starts_with("a whole") && PyLong_Check(value.ptr()) != 0;
  std::string got;
  if (is_number) {
    got = nb::str(value).c_str();
  } else {
    const nb::handle type = value.type();
    const auto library = nb::cast<std::string>(type.attr("__module__"));
    got = library == "builtins" ? "" : library.substr(0, library.find('.')) + ".";
    got += nb::cast<std::string>(type.attr("__name__"));
  }
  throw nb::type_error(fmt::format("{}: must be {}, got {}", name, kind, got).c_str());
}

}  // namespace gibbsite::python
