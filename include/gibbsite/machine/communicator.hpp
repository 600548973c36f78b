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
  /// The number of this rank, in [0, size()).
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// The name of the transport: "none" or "mpi".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Gathers the bytes of all ranks on every rank: out = those of rank 0, rank 1, ..., with
  /// counts[p] bytes of rank p. counts is the same on every rank; mine.size() is counts[rank()],
  /// and out.size() is their sum.
  virtual void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                      std::span<std::byte> out) = 0;
  /// Copies the bytes of `root` to every rank; bytes.size() is the same everywhere.
  virtual void broadcast(std::span<std::byte> bytes, std::size_t root) = 0;
  /// Sends bytes from every rank to every other: `mine` has to[p] bytes for rank p, one after
  /// another. `received` gets from[p] bytes of rank p. to[p] of rank q equals from[q] of rank p.
  virtual void exchange(std::span<const std::byte> mine, std::span<const std::size_t> to,
                        std::span<std::byte> received, std::span<const std::size_t> from) = 0;
  /// Sends bytes to one rank, in order; not collective. The receiver knows how many there are.
  virtual void send(std::span<const std::byte> bytes, std::size_t to) = 0;
  virtual void receive(std::span<std::byte> bytes, std::size_t from) = 0;
  /// Shares a flag: once one rank sets it, it is set at all that share theirs, within half a
  /// second. It stays the rank's own if threads of a rank may not communicate. The flag must
  /// outlive this.
  virtual void share(std::atomic<bool>& /*flag*/) {}
  /// Ends all ranks with this status, after one line on the screen, from a rank that cannot go on
  /// while others wait for it. It does not return; some implementations throw on all ranks instead.
  [[noreturn]] virtual void abort(const std::string& message, Status status) = 0;

  // Made of these.

  /// Gathers the numbers of all ranks, in their order; counts may differ, and may be 0.
  [[nodiscard]] std::vector<double> gather(std::span<const double> mine);
  [[nodiscard]] std::vector<std::uint64_t> gather(std::span<const std::uint64_t> mine);
  /// Gathers one number from every rank.
  [[nodiscard]] std::vector<std::uint64_t> gather(std::uint64_t mine);
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine);
  /// The text of `root` on every rank.
  [[nodiscard]] std::string broadcast(std::string text, std::size_t root);
  /// Throws, on every rank alike, if at least one rank has an error: that of the first one, "rank
  /// 2: ...", with its status. The type is BadInput, Infeasible, BudgetSpent, Interrupted,
  /// BackendUnavailable or Error.
  void agree(const std::optional<Message>& my_error, Status status = Status::bad_input);
  /// Calls f() on every rank, then `agree` about what it threw: an Error, or another exception (of
  /// status bad_input). Nothing in f may be collective.
  void together(const std::function<void()>& f);
};

/// The communicator of a single process.
[[nodiscard]] std::unique_ptr<Communicator> one_process();

/// The launcher that started this process as one of several, by its environment: "Open MPI", "PMI",
/// "SLURM", ... Empty if there is none, or the job has one rank.
[[nodiscard]] std::string launcher();

/// The communicator of the ranks that an MPI launcher started, by libgibbsite_mpi.so; one_process()
/// if none did. Call it once, before threads start. Throws BadInput if several ranks were started
/// and the library is missing or of another version: each rank would do the whole job.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator();

}  // namespace gibbsite
