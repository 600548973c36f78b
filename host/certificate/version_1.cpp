#include "certificate/version_1.hpp"

#include <array>
#include <string>
#include <string_view>

#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

void rename(json& object, const char* from, const char* to) {
  if (!object.contains(from) || object.contains(to)) return;
  object[to] = object[from];
  object.erase(from);
}

void drop(json& object, const char* name, const json& value) {
  if (object.contains(name) && object[name] == value) object.erase(name);
}

void fill(json& object, const char* name, const json& value) {
  if (!object.contains(name)) object[name] = value;
}

// Assumptions were spelled otherwise.
void respell(json& texts) {
  constexpr std::array<std::array<std::string_view, 2>, 2> words{
      {{"neighbour", "neighbor"}, {"minimiser", "minimizer"}}};
  for (json& text : texts) {
    if (!text.is_string()) continue;
    auto sentence = text.get<std::string>();
    for (const auto& [was, is] : words) {
      for (std::size_t at = 0; (at = sentence.find(was, at)) != std::string::npos;) {
        sentence.replace(at, was.size(), is);
      }
    }
    text = sentence;
  }
}

}  // namespace

json from_version_1(json c) {
  for (const char* part : {"guarantee", "mechanism", "numerics"}) {
    if (!c.is_object() || !c.contains(part) || !c[part].is_object()) return c;
  }
  if (!c["guarantee"].contains("gdp_mu")) return c;
  json &guarantee = c["guarantee"], &mechanism = c["mechanism"];
  const json& numerics = c["numerics"];
  const json gap = mechanism.value("tv_gap", json());
  const json noise = numerics.value("noise_tv", json());
  const json pure = numerics.value("release_epsilon", json());
  const bool is_void = guarantee.contains("void");
  rename(guarantee, "gdp_mu", "mu");
  if (is_void || !gap.is_number() || !noise.is_number() || !pure.is_number()) {
    for (const char* name : {"pure", "reveal", "tv"}) fill(guarantee, name, nullptr);
  } else {
    fill(guarantee, "pure", pure);
    fill(guarantee, "reveal", 0.0);
    fill(guarantee, "tv", round_up(Wide(gap.get<double>()) + Wide(noise.get<double>())));
  }
  if (c.contains("assumptions") && c["assumptions"].is_array()) respell(c["assumptions"]);
  rename(mechanism, "certificate", "name");
  const json name = mechanism.value("name", json());
  if (name == "path") drop(mechanism, "tv_gap", 0.0);
  if (name == "rejection") {
    drop(mechanism, "step_size", 0.0);
    drop(mechanism, "iterations", 1);
  }
  if (name == "proximal") {
    fill(mechanism, "gradients", 0);
    if (mechanism["gradients"] != 0) fill(mechanism, "start_gradient_norm", 0.0);
  }
  return c;
}

}  // namespace gibbsite
