#include "sample_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "text.hpp"

namespace gibbsite::cli {
namespace {
constexpr std::size_t most_in_table = 20;

// A number in the digits that its error leaves, and one more.
std::string in_digits(double value, double error) {
  const double first = std::floor(std::log10(error));
  if (!std::isfinite(first) || first > 0) return fmt::format("{:.4g}", value);
  return fmt::format("{:.{}f}", value, std::min(12, 1 - static_cast<int>(first)));
}
}  // namespace

std::string SampleReport::csv() const {
  std::string text =
      "variable,feature,mean,sd,q5,q50,q95,mcse_mean,mcse_q5,mcse_q50,mcse_q95,r_hat,ess_bulk,"
      "ess_tail";
  if (is_controlled()) text += ",controlled_mean,mcse_controlled_mean";
  text += mode.empty() ? "\n" : ",mode\n";
  for (std::size_t j = 0; j < summaries.size(); ++j) {
    const Summary& s = summaries[j];
    const std::vector<Quantile>& q = s.quantiles;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", columns[j],
                        csv_cell(features[j]), s.mean, s.deviation, q[0].value, q[1].value,
                        q[2].value, s.mean_standard_error, q[0].standard_error, q[1].standard_error,
                        q[2].standard_error, s.r_hat, s.ess_bulk, s.ess_tail);
    if (is_controlled()) {
      text += fmt::format(",{},{}", drawn.controlled_mean[j], drawn.controlled_error[j]);
    }
    text += mode.empty() ? "\n" : fmt::format(",{}\n", mode[j]);
  }
  return text;
}

std::string SampleReport::table(std::vector<std::size_t> order) const {
  const bool all = order.size() <= most_in_table;
  if (all) {
    std::ranges::sort(order);
  } else {
    order.resize(most_in_table);
  }
  const auto figure = [](double value) { return fmt::format("{:.4g}", value); };
  std::vector<std::vector<std::string>> lines{{"parameter", "mean", "sd", "5 %", "50 %", "95 %",
                                               "error of mean", "R-hat", "ESS bulk", "ESS tail"}};
  if (is_controlled()) {
    lines[0].insert(lines[0].end(), {"controlled mean", "error of it"});
  }
  if (!mode.empty()) lines[0].insert(lines[0].begin() + 1, "mode");
  for (const std::size_t j : order) {
    const Summary& s = summaries[j];
    const std::vector<Quantile>& q = s.quantiles;
    lines.push_back({features[j], figure(s.mean), figure(s.deviation), figure(q[0].value),
                     figure(q[1].value), figure(q[2].value),
                     fmt::format("{:.2g}", s.mean_standard_error), fmt::format("{:.4f}", s.r_hat),
                     human_count(std::floor(s.ess_bulk)), human_count(std::floor(s.ess_tail))});
    if (is_controlled()) {
      lines.back().insert(lines.back().end(),
                          {in_digits(drawn.controlled_mean[j], drawn.controlled_error[j]),
                           fmt::format("{:.2g}", drawn.controlled_error[j])});
    }
    if (!mode.empty()) lines.back().insert(lines.back().begin() + 1, figure(mode[j]));
  }
  return gibbsite::cli::table(lines) +
         (all ? ""
              : fmt::format("  the {} that mixed worst; the other {} are in {}/summary.csv\n",
                            order.size(), summaries.size() - order.size(), out));
}

double SampleReport::least_bulk() const {
  return std::ranges::min(summaries, {}, &Summary::ess_bulk).ess_bulk;
}
double SampleReport::transitions() const {
  return static_cast<double>(drawn.draws) * static_cast<double>(facts.thinning) *
         static_cast<double>(drawn.chains);
}
double SampleReport::gradients() const {
  return static_cast<double>(drawn.gradients) * static_cast<double>(drawn.chains);
}
double SampleReport::acceptance() const {
  return std::accumulate(drawn.acceptance.begin(), drawn.acceptance.end(), 0.0) /
         static_cast<double>(drawn.acceptance.size());
}

std::string SampleReport::speed() const {
  const double seconds = drawn.sampling_seconds;
  if (drawn.tv_gap > 0) {
    return fmt::format(
        "proximal: every draw is within {} (total variation) of the posterior, after {} "
        "iterations\nwarm-up {}, sampling {}: {} iterations/s, {} gradients/s, {} effective "
        "draws/s of the slowest parameter\nstep size {:.3g}, {:.2f} of the proposals accepted\n",
        drawn.tv_gap, drawn.burn_in, human_time(drawn.warm_up_seconds), human_time(seconds),
        human_count(std::round(transitions() / seconds)),
        human_count(std::round(gradients() / seconds)),
        human_count(std::round(least_bulk() / seconds)), drawn.step_size, acceptance());
  }
  const std::string moves =
      drawn.transition == Transition::split
          ? fmt::format("kicks and a rotation by {:.2f} π about the mode",
                        drawn.step_size / std::numbers::pi)
          : fmt::format("step size {:.3g}, {} leapfrog {}", drawn.step_size, drawn.leapfrog_steps,
                        drawn.leapfrog_steps == 1 ? "step" : "steps");
  return fmt::format(
      "{}: warm-up {}, sampling {}: {} transitions/s, {} gradients/s, {} effective draws/s of "
      "the slowest parameter\n{}, acceptance {:.2f}\n",
      to_string(facts.transition), human_time(drawn.warm_up_seconds), human_time(seconds),
      human_count(std::round(transitions() / seconds)),
      human_count(std::round(gradients() / seconds)),
      human_count(std::round(least_bulk() / seconds)), moves, acceptance());
}

std::string SampleReport::reading(const std::vector<std::string>& files) const {
  if (drawn.superchains > 0) {
    return fmt::format(
        "Written: {}: {}\nNext:\n  Python: numpy.load(\"{}/draws.npy\")  # [chains, draws, "
        "parameters], in the order of summary.csv\n",
        out, fmt::join(files, ", "), out);
  }
  std::string names = files.front();
  const auto chain_files = std::ranges::count_if(
      files, [](const std::string& name) { return name.starts_with("chain-"); });
  if (chain_files > 1) {
    names += fmt::format(" to {}", files[static_cast<std::size_t>(chain_files) - 1]);
  }
  for (auto i = static_cast<std::size_t>(chain_files); i < files.size(); ++i) {
    names += ", " + files[i];
  }
  return fmt::format(
      "Written: {}: {}\nNext:\n  Python: arviz.from_cmdstan(\"{}/chain-*.csv\")\n"
      "  R:      posterior::as_draws(rstan::read_stan_csv(Sys.glob(\"{}/chain-*.csv\")))\n",
      out, names, out, out);
}

nlohmann::json SampleReport::json(bool usable, const std::string& text,
                                  const std::vector<std::string>& files) const {
  nlohmann::json result;
  result["private"] = false;
  result["run"] = {
      {"beta", facts.beta},
      {"prior_precision",
       facts.prior_precision > 0 ? nlohmann::json(facts.prior_precision) : nlohmann::json()},
      {"priors", facts.priors},
      {"sampler", to_string(facts.transition)},
      {"metric", to_string(facts.metric)},
      {"target_acceptance", facts.target_acceptance},
      {"chains", drawn.chains},
      {"superchains", drawn.superchains},
      {"warm_up", facts.warm_up},
      {"draws", drawn.draws},
      {"thinning", facts.thinning},
      {"seed", facts.seed},
      {"backend", facts.backend},
      {"tv_gap", drawn.tv_gap > 0 ? nlohmann::json(drawn.tv_gap) : nlohmann::json()},
      {"step_size", drawn.step_size},
      {"leapfrog_steps", drawn.leapfrog_steps},
      {"acceptance", acceptance()},
      {"divergent", std::ranges::count(drawn.divergent, 1)}};
  result["parameters"] = nlohmann::json::array();
  for (std::size_t j = 0; j < summaries.size(); ++j) {
    const Summary& s = summaries[j];
    const std::vector<Quantile>& q = s.quantiles;
    result["parameters"].push_back({{"variable", columns[j]},
                                    {"feature", features[j]},
                                    {"mean", s.mean},
                                    {"sd", s.deviation},
                                    {"q5", q[0].value},
                                    {"q50", q[1].value},
                                    {"q95", q[2].value},
                                    {"mcse_mean", s.mean_standard_error},
                                    {"mcse_q5", q[0].standard_error},
                                    {"mcse_q50", q[1].standard_error},
                                    {"mcse_q95", q[2].standard_error},
                                    {"r_hat", s.r_hat},  // NaN is written as null
                                    {"r_hat_limit", s.r_hat_limit},
                                    {"ess_bulk", s.ess_bulk},
                                    {"ess_tail", s.ess_tail}});
    if (is_controlled()) {
      result["parameters"].back()["controlled_mean"] = drawn.controlled_mean[j];
      result["parameters"].back()["mcse_controlled_mean"] = drawn.controlled_error[j];
    }
    if (!mode.empty()) result["parameters"].back()["mode"] = mode[j];
  }
  result["verdict"] = {{"usable", usable}, {"text", text}};
  result["speed"] = {{"warm_up_seconds", drawn.warm_up_seconds},
                     {"sampling_seconds", drawn.sampling_seconds},
                     {"transitions_per_second", transitions() / drawn.sampling_seconds},
                     {"gradients_per_second", gradients() / drawn.sampling_seconds},
                     {"least_ess_bulk_per_second", least_bulk() / drawn.sampling_seconds}};
  result["out"] = out;
  result["files"] = files;
  return result;
}

}  // namespace gibbsite::cli
