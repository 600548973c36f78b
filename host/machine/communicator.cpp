#include "gibbsite/machine/communicator.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <system_error>

#include "core/format_message.hpp"
#include "gibbsite/core/text.hpp"
#include "machine/mpi_plugin.hpp"
#include "machine/plugin.hpp"

namespace gibbsite {
namespace {

template <class T>
std::vector<T> gather_numbers(Communicator& ranks, std::span<const T> mine) {
  std::vector<std::uint64_t> numbers = ranks.gather(std::uint64_t{mine.size()});
  std::vector<std::size_t> bytes(numbers.size());
  std::ranges::transform(numbers, bytes.begin(), [](std::uint64_t n) { return n * sizeof(T); });
  std::vector<T> out(std::accumulate(numbers.begin(), numbers.end(), std::size_t{0}));
  ranks.gather(std::as_bytes(mine), bytes, std::as_writable_bytes(std::span(out)));
  return out;
}

[[noreturn]] void throw_as(Status status, const Message& message) {
  switch (status) {
    case Status::bad_input:
      throw BadInput(message);
    case Status::infeasible:
      throw Infeasible(message);
    case Status::budget_spent:
      throw BudgetSpent(message);
    case Status::interrupted:
      throw Interrupted(message);
    case Status::backend_unavailable:
      throw BackendUnavailable(message);
    case Status::ok:
      break;
  }
  throw Error(status, message);
}

class OneProcess final : public Communicator {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t size() const override { return 1; }
  [[nodiscard]] std::string_view name() const override { return "none"; }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> /*counts*/,
              std::span<std::byte> out) override {
    std::ranges::copy(mine, out.begin());
  }
  void broadcast(std::span<std::byte> /*bytes*/, std::size_t /*root*/) override {}
  void exchange(std::span<const std::byte> mine, std::span<const std::size_t> /*to*/,
                std::span<std::byte> received, std::span<const std::size_t> /*from*/) override {
    std::ranges::copy(mine, received.begin());
  }
  void send(std::span<const std::byte> /*bytes*/, std::size_t to) override { nobody(to); }
  void receive(std::span<std::byte> /*bytes*/, std::size_t from) override { nobody(from); }
  [[noreturn]] void abort(const std::string& message, Status status) override {
    throw_as(status, message);
  }

 private:
  [[noreturn]] static void nobody(std::size_t rank) {
    throw std::logic_error(fmt::format("rank {} of one process", rank));
  }
};

constexpr const char* plugin_name = "libgibbsite_mpi.so";
constexpr const char* slurm = "SLURM";

class Mpi final : public Communicator {
 public:
  explicit Mpi(const gibbsite_mpi_functions_2& functions) : mpi_(functions) {}
  ~Mpi() override { mpi_.close(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  [[nodiscard]] std::size_t rank() const override { return mpi_.rank; }
  [[nodiscard]] std::size_t size() const override { return mpi_.size; }
  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
              std::span<std::byte> out) override {
    check([&](char* error) {
      return mpi_.gather(mine.data(), mine.size(), counts.data(), out.data(), error);
    });
  }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    check([&](char* error) { return mpi_.broadcast(bytes.data(), bytes.size(), root, error); });
  }
  void exchange(std::span<const std::byte> mine, std::span<const std::size_t> to,
                std::span<std::byte> received, std::span<const std::size_t> from) override {
    check([&](char* error) {
      return mpi_.exchange(mine.data(), to.data(), received.data(), from.data(), error);
    });
  }
  void send(std::span<const std::byte> bytes, std::size_t to) override {
    check([&](char* error) { return mpi_.send(bytes.data(), bytes.size(), to, error); });
  }
  void receive(std::span<std::byte> bytes, std::size_t from) override {
    check([&](char* error) { return mpi_.receive(bytes.data(), bytes.size(), from, error); });
  }
  void share(std::atomic<bool>& flag) override {
    mpi_.share(
        &flag, [](void* at) { return static_cast<std::atomic<bool>*>(at)->load() ? 1 : 0; },
        [](void* at) { static_cast<std::atomic<bool>*>(at)->store(true); });
  }
  [[noreturn]] void abort(const std::string& message, Status status) override {
    // What ranks agreed about names the one that it came from.
    const std::string by = message.starts_with("rank") ? "" : fmt::format("rank {}: ", mpi_.rank);
    fmt::print(stderr, "gibbsite: {}{}\n", by, shown(message));
    std::fflush(stderr);
    mpi_.abort(static_cast<int>(status));
    std::_Exit(static_cast<int>(status));
  }

 private:
  template <class F>
  void check(const F& call) const {
    std::array<char, 512> error{};
    if (call(error.data()) != 0) {
      throw Error(Status::backend_unavailable,
                  fmt::format("rank {}: MPI: {}; start the job again", mpi_.rank, error.data()));
    }
  }

  gibbsite_mpi_functions_2 mpi_;
};

std::optional<std::size_t> number_of(const char* variable) {
  const char* const text = std::getenv(variable);  // NOLINT: before threads
  if (text == nullptr) return {};
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), out);
  if (error != std::errc() || *end != 0) return {};
  return out;
}

// RTLD_GLOBAL: Open MPI opens parts of its own, which look its symbols up.
decltype(&gibbsite_mpi_open_2) load_plugin() {
  return reinterpret_cast<decltype(&gibbsite_mpi_open_2)>(plugin_function(
      plugin_name, "gibbsite_mpi_open_2", RTLD_NOW | RTLD_GLOBAL,
      [](const std::string& place, const std::string& why) {
        throw BadInput(fmt::format("{}: what talks to other ranks cannot be loaded: {}",
                                   shown(place), shown(why)));
      }));
}

}  // namespace

std::vector<double> Communicator::gather(std::span<const double> mine) {
  return gather_numbers(*this, mine);
}
std::vector<std::uint64_t> Communicator::gather(std::span<const std::uint64_t> mine) {
  return gather_numbers(*this, mine);
}
std::vector<std::uint64_t> Communicator::gather(std::uint64_t mine) {
  const std::vector<std::size_t> counts(size(), sizeof mine);
  std::vector<std::uint64_t> out(size());
  gather(std::as_bytes(std::span(&mine, 1)), counts, std::as_writable_bytes(std::span(out)));
  return out;
}
std::vector<std::string> Communicator::gather(const std::string& mine) {
  const std::vector<std::uint64_t> sizes = gather(std::uint64_t{mine.size()});
  const std::vector<std::size_t> counts(sizes.begin(), sizes.end());
  std::string all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), ' ');
  gather(std::as_bytes(std::span(mine)), counts, std::as_writable_bytes(std::span(all)));
  std::vector<std::string> out;
  std::size_t at = 0;
  for (const std::size_t count : counts) {
    out.push_back(all.substr(at, count));
    at += count;
  }
  return out;
}
std::string Communicator::broadcast(std::string text, std::size_t root) {
  std::uint64_t bytes = text.size();
  broadcast(std::as_writable_bytes(std::span(&bytes, 1)), root);
  text.resize(bytes);
  broadcast(std::as_writable_bytes(std::span(text)), root);
  return text;
}

void Communicator::agree(const std::optional<Message>& my_error, Status status) {
  const auto mine = static_cast<std::uint64_t>(status) + 1;
  const std::vector<std::uint64_t> all = gather(my_error ? mine : std::uint64_t{0});
  const auto first = std::ranges::find_if(all, [](std::uint64_t v) { return v != 0; });
  if (first == all.end()) return;
  const auto root = static_cast<std::size_t>(first - all.begin());
  const Message message = Message::unpacked(broadcast(my_error.value_or(Message()).packed(), root));
  throw_as(static_cast<Status>(static_cast<int>(*first) - 1),
           size() == 1 ? message : format_message("rank {}: {}", root, message));
}

void Communicator::together(const std::function<void()>& f) {
  if (size() == 1) return f();
  std::optional<Message> error;
  Status status = Status::bad_input;
  try {
    f();
  } catch (const Error& failure) {
    error = failure.message();
    status = failure.status();
  } catch (const std::bad_alloc&) {
    error = "out of memory; use a machine with more, or a smaller table";
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  agree(error, status);
}

std::unique_ptr<Communicator> one_process() { return std::make_unique<OneProcess>(); }

std::string launcher() {
  struct Known {
    const char *name, *size;
  };
  for (const Known& known : {Known{"Open MPI", "OMPI_COMM_WORLD_SIZE"}, Known{"PMI", "PMI_SIZE"},
                             Known{"MPICH", "MPI_LOCALNRANKS"}}) {
    if (number_of(known.size).value_or(1) > 1) return known.name;
  }
  if (number_of("OMPI_COMM_WORLD_SIZE")) return "";
  const std::optional<std::size_t> tasks = number_of("SLURM_STEP_NUM_TASKS");
  // It names no size; a process that only looks like a rank is told so by MPI.
  if (number_of("PMIX_RANK")) return tasks == 1 ? "" : "PMIx";
  if (number_of("PMI_SIZE") || number_of("MPI_LOCALNRANKS")) return "";
  // mpirun's own daemons are tasks of a step too, so this comes last.
  return tasks.value_or(1) > 1 && number_of("SLURM_PROCID") ? slurm : "";
}

std::unique_ptr<Communicator> make_communicator() {
  const std::string by = launcher();
  if (by.empty()) return one_process();
  if (by == slurm) {
    throw BadInput(
        "ranks: srun started several without MPI, so none knows of the others; start them by "
        "mpirun or srun --mpi=pmix, or start one process");
  }
  const auto open = load_plugin();
  if (open == nullptr) {
    throw BadInput(
        fmt::format("ranks: {} started several, and nothing here talks to them; build gibbsite "
                    "where MPI is ({}), or start one process",
                    by, plugin_name));
  }
  gibbsite_mpi_functions_2 functions{};
  std::array<char, 512> error{};
  if (open(&functions, error.data()) != 0) {
    throw BadInput(fmt::format("ranks: MPI does not start: {}; check the launcher", error.data()));
  }
  auto mpi = std::make_unique<Mpi>(functions);
  if (mpi->size() == 1) {
    if (number_of("PMIX_RANK").value_or(0) == 0 && by == "PMIx") return mpi;
    throw BadInput(
        fmt::format("ranks: {} started several, and each is alone in its MPI: it is another one's "
                    "than the launcher's; build gibbsite with the launcher's",
                    by));
  }
  return mpi;
}

}  // namespace gibbsite
