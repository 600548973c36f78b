// Runs of proximal and rejection: they propose until a proposal is accepted.
#include "gibbsite/chains/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "run/mechanism_run.hpp"

namespace gibbsite {
namespace {

template <bool exact>
class ProximalRun final : public MechanismRun {
 public:
  ProximalRun(const ProximalDraw<exact>& settings, const Task& task)
      : settings_(settings),
        task_(task),
        potential_(task.potential(settings.beta, settings.prior_precision)) {}

  void begin() override {
    const double beta = potential_.beta, m = potential_.prior_precision;
    if (!settings_.padded()) {
      center_ = task_.minimizer(beta, m, settings_.start_gradient_norm);
    } else {  // padded: public, and so is the number of passes
      center_ =
          task_.model.center.empty() ? std::vector<double>(features(), 0.0) : task_.model.center;
    }
    make_chains();
    if (!exact) chains_->start_at_random(1 / std::sqrt(task_.problem.smoothness_up(beta, m)));
  }
  void advance(std::uint64_t /*steps*/) override { chains_->advance(iterations()); }
  [[nodiscard]] std::uint64_t done() const override {
    const auto done = chains_->iterations();
    return std::accumulate(done.begin(), done.end(), std::uint64_t{0});
  }
  [[nodiscard]] std::uint64_t total() const override { return task_.draws * iterations(); }
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    std::vector<std::vector<double>> out;
    for (std::size_t c = 0; c < task_.draws; ++c) {
      const auto theta = chains_->theta(c);
      out.emplace_back(theta.begin(), theta.end());
    }
    return out;
  }
  // Saves each chain's position, a pair, and the center that all started from.
  void save(Checkpoint& checkpoint) const override {
    const auto positions = chains_->positions();
    const std::size_t pair = 2 * features();
    checkpoint.theta.clear();
    for (std::size_t c = 0; c < task_.draws; ++c) {
      const auto* const position = positions.data() + c * pair;
      checkpoint.theta.insert(checkpoint.theta.end(), position, position + pair);
      checkpoint.theta.insert(checkpoint.theta.end(), center_.begin(), center_.end());
    }
    checkpoint.step = chains_->iterations();
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    return checkpoint.theta.size() == 3 * task_.draws * features() &&
           checkpoint.step.size() == task_.draws &&
           std::ranges::all_of(checkpoint.step,
                               [&](std::uint64_t step) { return step <= iterations(); });
  }
  void restore(const Checkpoint& checkpoint) override {
    const std::span<const double> theta = checkpoint.theta;
    const std::size_t d = features();
    const auto center = theta.last(d);
    center_.assign(center.begin(), center.end());
    make_chains();
    std::vector<double> positions;
    for (std::size_t c = 0; c < task_.draws; ++c) {
      const auto pair = theta.subspan(3 * c * d, 2 * d);
      positions.insert(positions.end(), pair.begin(), pair.end());
    }
    chains_->restore(positions, checkpoint.step);
  }

 private:
  void make_chains() {
    chains_ = std::make_unique<ProximalChains>(potential_, settings_.schedule, center_, task_.draws,
                                               task_.key);
  }
  [[nodiscard]] std::uint64_t iterations() const {
    return static_cast<std::uint64_t>(settings_.schedule.iterations);
  }
  [[nodiscard]] std::size_t features() const { return task_.features(); }

  ProximalDraw<exact> settings_;
  Task task_;
  Potential potential_;
  std::vector<double> center_;  // [d]
  std::unique_ptr<ProximalChains> chains_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const Rejection& settings, const Task& task) {
  return std::make_unique<ProximalRun<true>>(settings, task);
}
std::unique_ptr<MechanismRun> sampler_of(const Proximal& settings, const Task& task) {
  return std::make_unique<ProximalRun<false>>(settings, task);
}

}  // namespace gibbsite
