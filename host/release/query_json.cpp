#include "gibbsite/release/query_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/joint_test.hpp"

namespace gibbsite {

nlohmann::json effect_json(const LinearModel& model, const std::string& effect,
                           const EffectClasses& classes) {
  nlohmann::json out = {{"effect", effect}};
  if (!classes.of.empty()) out["class"] = classes.of;
  if (!classes.against.empty()) out["against"] = classes.against;
  if (const auto test = ask_column(model, effect, classes)) {
    out.update({{"chi_squared", test->statistic},
                {"degrees_of_freedom", test->degrees},
                {"p_value", test->p_value}});
    return out;
  }
  const EffectEstimate is = ask_effect(model, effect, classes);
  const EffectTable words = effect_table(model);
  out.update({{"unit", words.unit},
              {"estimate", is.estimate},
              {"std_err", is.standard_error},
              {"lower", is.lower},
              {"upper", is.upper},
              {"level", Estimates::level},
              {"p_value", is.p_value},
              {"hidden", is.hidden},
              {"collinear", is.collinear}});
  if (!words.ratio.empty()) {
    const std::string name = words.ratio_key();
    out[name] = std::exp(is.estimate);
    out[name + "_lower"] = std::exp(is.lower);
    out[name + "_upper"] = std::exp(is.upper);
  }
  return out;
}

nlohmann::json question_json(const NetworkModel& model, const NetworkQuestion& question) {
  const std::vector<double> all = answer(model, question);
  nlohmann::json out = {{"question", question.text},
                        {"probability", std::accumulate(all.begin(), all.end(), 0.0) /
                                            static_cast<double>(all.size())},
                        {"draws", all}};
  if (const auto noise = question_noise(model, question)) out["noise_deviation"] = *noise;
  if (const auto reach = question_reach(model, question)) out["reach"] = *reach;
  return out;
}

}  // namespace gibbsite
