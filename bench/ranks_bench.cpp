// What ranks cost and give: the time of a step on few rows (messages alone) and on many, beside one
// process. `mpirun -n P bench_ranks [rows features]`; rank 0 prints.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "gibbsite/engine/sharded.hpp"

using namespace gibbsite;

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Share {
  std::size_t d;
  std::vector<float> x, y;
  // Made up by block, the same whatever the ranks.
  Share(std::uint64_t first, std::uint64_t last, std::size_t features) : d(features) {
    std::mt19937_64 bits(first / 1024);
    for (std::uint64_t i = first; i < last; ++i) {
      if (i % 1024 == 0) bits.seed(i / 1024);
      for (std::size_t j = 0; j < d; ++j) {
        x.push_back(static_cast<float>(bits() >> 40) * 0x1p-23F - 1);
      }
      y.push_back((bits() & 1) != 0 ? 1.0F : -1.0F);
    }
  }
};

// The best of five: seconds of a step.
double time_of(Engine& engine, std::size_t chains, std::uint64_t steps) {
  double best = 1e30;
  for (int k = 0; k < 5; ++k) {
    std::vector<ChainSpec> specs;
    for (std::uint32_t c = 0; c < chains; ++c) {
      specs.push_back({.inverse_temperature = 1e-6,
                       .iterations = steps + 1,
                       .key = StreamKey::from_seed(1),
                       .stream = c});
    }
    Ensemble ensemble = start(std::move(specs), engine.features());
    engine.advance(ensemble, 1);  // lays out
    const double begin = seconds();
    engine.advance(ensemble, steps);
    best = std::min(best, (seconds() - begin) / static_cast<double>(steps));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = make_communicator();
  const auto many = argc > 2 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  const auto features = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  const Loss& loss = loss_named("logistic");
  struct Job {
    std::uint64_t rows;
    std::size_t d, chains;
    std::uint64_t steps;
  };
  for (const auto& [rows, d, chains, steps] :
       {Job{1024 * ranks->size(), 108, 1, 500}, Job{many, features, 1, 10},
        Job{many, features, 16, 3}}) {
    const auto bounds = share_bounds(rows, ranks->size());
    const Share share(bounds[ranks->rank()], bounds[ranks->rank() + 1], d);
    const auto backend = shard(make_backend("cpu", {.threads = 1}), *ranks);
    const auto engine = backend->load(Rows(share.x.data(), share.y.size(), d), share.y, loss);
    const double step = time_of(*engine, chains, steps);
    // What a block alone costs, on each rank at once.
    double local = 0;
    if (rows == 1024 * ranks->size()) {
      const auto alone = make_backend("cpu", {.threads = 1})
                             ->load(Rows(share.x.data(), share.y.size(), d), share.y, loss);
      local = time_of(*alone, chains, steps);
    }
    if (ranks->rank() != 0) continue;
    std::printf("%llu x %zu, %zu chain%s, %zu rank%s: %.1f us a step",
                static_cast<unsigned long long>(rows), d, chains, chains == 1 ? "" : "s",
                ranks->size(), ranks->size() == 1 ? "" : "s", 1e6 * step);
    if (local > 0) std::printf(", %.1f us of them not for the rows", 1e6 * (step - local));
    std::printf("\n");
  }
  return 0;
}
