#pragma once
// `bench --ranks`: what ranks take, here by measurement and on 1 to 1,024 by the model of
// gibbsite/speed/cluster.hpp; with --fit, a fit of made-up rows that nobody keeps.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "options.hpp"

namespace gibbsite::cli {

struct RanksBench {
  bool wanted = false, fits = false;
  std::optional<double> latency, bandwidth;
  std::vector<double> rates;

  void add_to(CLI::App& app);
  /// Throws BadInput on what has a meaning with --ranks alone.
  void require_wanted() const;
  void run(const ShapeArguments& shape, const PlanArguments& plan, const std::string& backend,
           bool json) const;
};

}  // namespace gibbsite::cli
