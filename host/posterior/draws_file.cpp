#include "gibbsite/posterior/draws_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"

namespace gibbsite {
namespace {

constexpr unsigned private_mode = 0600;
constexpr std::size_t chunk = 1 << 20;  // bytes that are written at once

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes of UTF-8 beyond ASCII are parts of letters.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

std::string plain(const std::string& feature) {
  std::string out;
  for (const char c : feature) {
    if (is_plain(c)) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (out.ends_with('_')) out.pop_back();
  if (out.empty()) return "x";
  return is_digit(out.front()) ? fmt::format("x_{}", out) : out;
}

// The nesting and the keys of CmdStan 2.3x; `max_depth` is there because readers look for it.
std::string comments_before(const PosteriorDraws& draws, std::size_t chain,
                            const DrawsFacts& facts) {
  const auto one_line = [](std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 32; }, '?');
    return text;
  };
  std::string priors;
  for (const std::string& line : facts.priors) priors += "#   prior " + one_line(line) + "\n";
  return fmt::format(
      "# stan_version_major = 2\n# stan_version_minor = 32\n# stan_version_patch = 0\n"
      "# model = {}\n# gibbsite\n#   gibbsite_version = {}\n"
      "#   gibbsite_sampler = {}\n#   gibbsite_metric = {}\n#   gibbsite_tv_gap = {}\n"
      "#   backend = {}\n#   beta = {}\n"
      "#   prior_precision = {}\n{}# method = sample (Default)\n#   sample\n#     num_samples = {}\n"
      "#     num_warmup = {}\n#     save_warmup = 0 (Default)\n#     thin = {}\n#     adapt\n"
      "#       engaged = 1 (Default)\n#       delta = {}\n#     algorithm = hmc (Default)\n"
      "#       hmc\n#         engine = static\n#           static\n#             max_depth = 10\n"
      "#         metric = unit_e\n#         stepsize = {}\n#     num_chains = 1 (Default)\n"
      "# id = {}\n# data\n#   file = {}\n# random\n#   seed = {}\n",
      facts.loss == "logistic" ? "logistic_regression" : facts.loss, facts.version,
      to_string(facts.transition), to_string(facts.metric),
      draws.tv_gap > 0 ? fmt::format("{}", draws.tv_gap) : "not certified", facts.backend,
      facts.beta, facts.prior_precision > 0 ? fmt::format("{}", facts.prior_precision) : "none",
      priors, draws.draws * facts.thinning, facts.warm_up, facts.thinning, facts.target_acceptance,
      draws.step_size, chain + 1, one_line(facts.data), facts.seed);
}

void require_shape(const PosteriorDraws& draws) {
  const std::size_t states = draws.draws * draws.chains;
  if (draws.values.size() != states * draws.parameters || draws.log_density.size() != states ||
      draws.energy.size() != states || draws.acceptance.size() != states ||
      draws.divergent.size() != states) {
    throw BadInput("draws: arrays of another size than N, C and d; give those of sample_posterior");
  }
}

}  // namespace

std::vector<std::string> column_names(const std::vector<std::string>& features) {
  // Dimensions of ArviZ's tables and columns of posterior's.
  std::set<std::string> taken{"chain", "draw", "iteration", "sample", "variable"};
  std::vector<std::string> out;
  out.reserve(features.size());
  for (const std::string& feature : features) {
    const std::string base = plain(feature);
    std::string name = base;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    out.push_back(name);
  }
  return out;
}

void write_cmdstan_csv(const std::string& path, const PosteriorDraws& draws, std::size_t chain,
                       const std::vector<std::string>& columns, const DrawsFacts& facts) {
  require_shape(draws);
  if (columns.size() != draws.parameters || chain >= draws.chains) {
    throw BadInput(fmt::format("draws: {} columns for {} parameters, chain {} of {}; give one each",
                               columns.size(), draws.parameters, chain + 1, draws.chains));
  }
  NewFile file(path, private_mode);
  std::string text = comments_before(draws, chain, facts);
  text += "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__";
  for (const std::string& name : columns) text += fmt::format(",{}", name);
  // Step sizes are those of the whitened parameters, where the metric is the unit one.
  text += fmt::format("\n# Adaptation terminated\n# Step size = {}\n", draws.step_size);
  text += "# No free parameters for unit metric\n";
  const auto out = std::back_inserter(text);
  for (std::size_t n = 0; n < draws.draws; ++n) {
    const std::size_t i = n * draws.chains + chain;
    // A trajectory has a length of its own and no tree: depth 0.
    fmt::format_to(out, "{},{},{},0,{},{},{}", draws.log_density[i], draws.acceptance[i],
                   draws.step_size, draws.leapfrog_steps, draws.divergent[i], draws.energy[i]);
    for (std::size_t j = 0; j < draws.parameters; ++j) {
      fmt::format_to(out, ",{}", draws.values[i * draws.parameters + j]);
    }
    text += '\n';
    if (text.size() >= chunk) {
      file.append(text.data(), text.size());
      text.clear();
    }
  }
  text += fmt::format(
      "# \n#  Elapsed Time: {:.3f} seconds (Warm-up)\n#                {:.3f} seconds (Sampling)\n"
      "#                {:.3f} seconds (Total)\n# \n",
      draws.warm_up_seconds, draws.sampling_seconds,
      draws.warm_up_seconds + draws.sampling_seconds);
  file.append(text.data(), text.size());
  file.sync();
}

void write_npy(const std::string& path, const PosteriorDraws& draws) {
  static_assert(std::endian::native == std::endian::little);  // '<f8'
  require_shape(draws);
  NewFile file(path, private_mode);
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
                  draws.chains, draws.draws, draws.parameters);
  // Format 1.0: 10 bytes, then the text, up to a multiple of 64.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto size = static_cast<std::uint16_t>(header.size());
  file.append("\x93NUMPY\x01\x00", 8);
  file.append(&size, 2);
  file.append(header.data(), header.size());
  std::vector<double> rows;
  for (std::size_t c = 0; c < draws.chains; ++c) {
    for (std::size_t n = 0; n < draws.draws; ++n) {
      const auto row = draws.values.begin() +
                       static_cast<std::ptrdiff_t>((n * draws.chains + c) * draws.parameters);
      rows.insert(rows.end(), row, row + static_cast<std::ptrdiff_t>(draws.parameters));
      if (rows.size() * sizeof(double) >= chunk) {
        file.append(rows.data(), rows.size() * sizeof(double));
        rows.clear();
      }
    }
  }
  file.append(rows.data(), rows.size() * sizeof(double));
  file.sync();
}

}  // namespace gibbsite
