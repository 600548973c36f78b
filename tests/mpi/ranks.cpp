// What MPI says between ranks, and an engine on them beside one process:
//   mpirun -n P mpi_ranks [fails]
// Each rank checks all, and ends the job where something is wrong. `fails`: rank 1 cannot go on.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "gibbsite/machine/communicator.hpp"

using namespace gibbsite;

namespace {

Communicator* ranks = nullptr;

void check(bool holds, const std::string& what) {
  if (!holds) ranks->abort(what + " is wrong", Status::bad_input);
}

void check_messages() {
  const std::size_t rank = ranks->rank(), size = ranks->size();
  std::vector<double> mine(rank == 1 ? 0 : 3 * rank + 1, 0.5 + static_cast<double>(rank));
  std::vector<double> all = ranks->gather(std::span<const double>(mine)), expected;
  for (std::size_t p = 0; p < size; ++p) {
    expected.insert(expected.end(), p == 1 ? 0 : 3 * p + 1, 0.5 + static_cast<double>(p));
  }
  check(all == expected, "gather of doubles");
  const std::vector<std::string> words = ranks->gather(std::string(rank, 'a') + "b");
  for (std::size_t p = 0; p < size; ++p) check(words[p] == std::string(p, 'a') + "b", "gather");
  check(ranks->broadcast(rank == size - 1 ? "told" : "", size - 1) == "told", "broadcast");

  // q sends p the number 100 q + p, p + q times.
  std::vector<std::uint64_t> out, in, wanted;
  std::vector<std::size_t> to, from;
  for (std::size_t p = 0; p < size; ++p) {
    out.insert(out.end(), p + rank, 100 * rank + p);
    wanted.insert(wanted.end(), p + rank, 100 * p + rank);
    to.push_back((p + rank) * sizeof(std::uint64_t));
    from.push_back((p + rank) * sizeof(std::uint64_t));
  }
  in.resize(wanted.size());
  ranks->exchange(std::as_bytes(std::span(out)), to, std::as_writable_bytes(std::span(in)), from);
  check(in == wanted, "exchange");

  std::uint64_t sum = 0;
  const auto bytes = std::as_writable_bytes(std::span(&sum, 1));
  if (rank > 0) ranks->receive(bytes, rank - 1);
  sum = 10 * sum + rank;
  if (rank + 1 < size) ranks->send(bytes, rank + 1);
  ranks->broadcast(bytes, size - 1);
  std::uint64_t relayed = 0;
  for (std::size_t p = 0; p < size; ++p) relayed = 10 * relayed + p;
  check(sum == relayed, "relay");

  ranks->agree({});
  try {
    ranks->together([&] {
      if (rank + 1 == ranks->size()) throw Infeasible("epsilon: too small");
    });
    check(false, "agreement");
  } catch (const Infeasible& error) {
    check(error.what() ==
              (size == 1 ? "" : fmt::format("rank {}: ", size - 1)) + "epsilon: too small",
          "the error's text");
  }
}

void check_engine() {
  constexpr std::size_t n = 20 * 1024 + 7, d = 6, chains = 5;
  std::mt19937 bits(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(n * d), y(n);
  for (float& v : x) v = normal(bits);
  for (float& v : y) v = bits() % 2 == 0 ? 1.0F : -1.0F;
  const auto run = [&](Engine& engine, std::uint64_t seed) {
    std::vector<ChainSpec> specs;
    for (std::uint32_t c = 0; c < chains; ++c) {
      specs.push_back({.inverse_temperature = 1e-3,
                       .iterations = 20,
                       .key = StreamKey::from_seed(seed),
                       .stream = c});
    }
    Ensemble ensemble = start(std::move(specs), d);
    engine.advance(ensemble, 20);
    std::vector<double> out = ensemble.theta;
    out.push_back(engine.plain_value(ensemble.chain(0)));
    return out;
  };
  const Loss& loss = loss_named("logistic");
  const std::vector<double> whole =
      run(*make_backend("cpu", {.threads = 1})->load(Rows(x.data(), n, d), y, loss), 1);
  const auto bounds = share_bounds(n, ranks->size());
  const std::size_t first = bounds[ranks->rank()], rows = bounds[ranks->rank() + 1] - first;
  const auto backend = shard(make_backend("cpu", {.threads = 1}), *ranks);
  const auto engine =
      backend->load(Rows(x.data() + first * d, rows, d), std::span(y).subspan(first, rows), loss);
  const std::vector<double> sharded = run(*engine, 1 + ranks->rank());
  for (std::size_t k = 0; k < whole.size(); ++k) {
    check(std::bit_cast<std::uint64_t>(whole[k]) == std::bit_cast<std::uint64_t>(sharded[k]),
          "a bit of the engine");
  }
}

}  // namespace

int main(int argc, char** /*argv*/) {
  try {
    const auto all = make_communicator();
    ranks = all.get();
    if (argc > 1) {
      if (ranks->rank() == 1) ranks->abort("disk full", Status::infeasible);
      static_cast<void>(ranks->gather(std::uint64_t{0}));  // waits for who does not come
      return 0;
    }
    check_messages();
    check_engine();
    if (ranks->rank() == 0) {
      std::printf("%zu ranks by %s\n", ranks->size(), std::string(ranks->name()).c_str());
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gibbsite: %s\n", error.what());
    return 2;
  }
}
