#pragma once
// Ranks that do one job together: what they say to each other, and nothing about what it means.
//
// Every function but rank(), size(), name(), send, receive, share and abort is collective: all
// ranks call it, in one order. Nothing here adds: a sum is of those who gather its parts, in an
// order of their own, so that no library chooses one (docs/how-to/cluster.md).
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

class Communicator {
 public:
  virtual ~Communicator() = default;
  /// In [0, size()).
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// "none", "mpi".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// out = the bytes of rank 0, of rank 1, ...: counts[p] of rank p, the same on every rank.
  /// mine.size() is counts[rank()], out.size() their sum.
  virtual void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                      std::span<std::byte> out) = 0;
  /// Every rank has what `root` has; bytes.size() is the same everywhere.
  virtual void broadcast(std::span<std::byte> bytes, std::size_t root) = 0;
  /// Bytes for each rank one after another, `to[p]` for rank p; received: those of rank 0, 1, ...,
  /// `from[p]` of rank p. to[p] of rank q is from[q] of rank p.
  virtual void exchange(std::span<const std::byte> mine, std::span<const std::size_t> to,
                        std::span<std::byte> received, std::span<const std::size_t> from) = 0;
  /// In order between two ranks; not collective. The receiver knows how many.
  virtual void send(std::span<const std::byte> bytes, std::size_t to) = 0;
  virtual void receive(std::span<std::byte> bytes, std::size_t from) = 0;
  /// From here on a flag that one rank sets is set at all that share theirs, within half a second.
  /// Where threads of a rank may not speak it stays the rank's own. It must outlive this.
  virtual void share(std::atomic<bool>& /*flag*/) {}
  /// Ends all ranks with that status, after one line on the screen, from a rank that cannot go on
  /// while others wait for it. Does not return, but for one that throws on all ranks instead.
  [[noreturn]] virtual void abort(const std::string& message, Status status) = 0;

  // Made of these.

  /// All numbers in the order of ranks; counts may differ, and may be 0.
  [[nodiscard]] std::vector<double> gather(std::span<const double> mine);
  [[nodiscard]] std::vector<std::uint64_t> gather(std::span<const std::uint64_t> mine);
  /// Of every rank one.
  [[nodiscard]] std::vector<std::uint64_t> gather(std::uint64_t mine);
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine);
  /// The text of `root` on every rank.
  [[nodiscard]] std::string broadcast(std::string text, std::size_t root);
  /// Throws, on every rank the same, where at least one rank has an error: that of the first one,
  /// "rank 2: ..."; of its status: BadInput, Infeasible, BudgetSpent, Interrupted,
  /// BackendUnavailable or Error.
  void agree(const std::optional<Message>& my_error, Status status = Status::bad_input);
  /// f() on every rank, then `agree` about what it threw: an Error, or another exception (of
  /// status bad_input). Nothing in f may be collective.
  void together(const std::function<void()>& f);
};

/// One process.
[[nodiscard]] std::unique_ptr<Communicator> one_process();

/// What started this process as one of several, by its environment: "Open MPI", "PMI", "SLURM",
/// ...; empty where nothing did. A job of one rank is none.
[[nodiscard]] std::string launcher();

/// That of the ranks an MPI launcher started, by libgibbsite_mpi.so; one process where nothing
/// started several. To be made once, before threads. Throws BadInput where several were started and
/// the library is not there, or is of another version: each would do all of the job.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator();

}  // namespace gibbsite
