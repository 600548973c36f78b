#pragma once
// Ranks that are threads of one process: what a test of several ranks runs on without a launcher.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gibbsite/machine/communicator.hpp"

namespace gibbsite::support {

/// What the ranks share. A rank that ends with an exception, or aborts, wakes the others.
class ThreadRanks {
 public:
  explicit ThreadRanks(std::size_t size) : given_(size), pieces_(size), size_(size) {}

  /// f(ranks) on `size` threads; the first exception that ended one.
  static void run(std::size_t size, const std::function<void(Communicator&)>& f) {
    ThreadRanks shared(size);
    std::vector<std::thread> threads;
    for (std::size_t p = 0; p < size; ++p) {
      threads.emplace_back([&shared, &f, p] {
        Rank rank(shared, p);
        try {
          f(rank);
        } catch (...) {
          shared.end(std::current_exception());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (shared.failure_) std::rethrow_exception(shared.failure_);
  }

 private:
  using Bytes = std::vector<std::byte>;
  struct Ended {};

  class Rank final : public Communicator {
   public:
    Rank(ThreadRanks& shared, std::size_t rank) : shared_(shared), rank_(rank) {}
    [[nodiscard]] std::size_t rank() const override { return rank_; }
    [[nodiscard]] std::size_t size() const override { return shared_.size_; }
    [[nodiscard]] std::string_view name() const override { return "threads"; }

    void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                std::span<std::byte> out) override {
      require(mine.size() == counts[rank_] &&
              out.size() == std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
      shared_.given_[rank_] = mine;
      shared_.meet();
      std::size_t at = 0;
      for (std::size_t p = 0; p < size(); ++p) {
        require(shared_.given_[p].size() == counts[p]);
        std::ranges::copy(shared_.given_[p], out.begin() + static_cast<std::ptrdiff_t>(at));
        at += counts[p];
      }
      shared_.meet();
    }
    void broadcast(std::span<std::byte> bytes, std::size_t root) override {
      shared_.given_[rank_] = bytes;
      shared_.meet();
      require(shared_.given_[root].size() == bytes.size());
      if (rank_ != root) std::ranges::copy(shared_.given_[root], bytes.begin());
      shared_.meet();
    }
    void exchange(std::span<const std::byte> mine, std::span<const std::size_t> to,
                  std::span<std::byte> received, std::span<const std::size_t> from) override {
      shared_.given_[rank_] = mine;
      shared_.pieces_[rank_].assign(to.begin(), to.end());
      shared_.meet();
      std::size_t at = 0;
      for (std::size_t p = 0; p < size(); ++p) {
        const auto& pieces = shared_.pieces_[p];
        const auto end = pieces.begin() + static_cast<std::ptrdiff_t>(rank_);
        const auto first = std::accumulate(pieces.begin(), end, std::size_t{0});
        require(pieces[rank_] == from[p]);
        std::ranges::copy(shared_.given_[p].subspan(first, from[p]),
                          received.begin() + static_cast<std::ptrdiff_t>(at));
        at += from[p];
      }
      require(at == received.size());
      shared_.meet();
    }
    void send(std::span<const std::byte> bytes, std::size_t to) override {
      const std::scoped_lock lock(shared_.mutex_);
      shared_.sent_[{rank_, to}].emplace_back(bytes.begin(), bytes.end());
      shared_.changed_.notify_all();
    }
    void receive(std::span<std::byte> bytes, std::size_t from) override {
      std::unique_lock lock(shared_.mutex_);
      auto& queue = shared_.sent_[{from, rank_}];
      shared_.changed_.wait(lock, [&] { return !queue.empty() || shared_.ended_; });
      if (queue.empty()) throw Ended();
      require(queue.front().size() == bytes.size());
      std::ranges::copy(queue.front(), bytes.begin());
      queue.pop_front();
    }
    [[noreturn]] void abort(const std::string& message, Status status) override {
      throw Error(status, "rank " + std::to_string(rank_) + ": " + message);
    }

   private:
    static void require(bool holds) {
      if (!holds) throw std::logic_error("ranks say different numbers of bytes");
    }
    ThreadRanks& shared_;
    std::size_t rank_;
  };

  void meet() {
    std::unique_lock lock(mutex_);
    const std::size_t turn = turn_;
    if (++here_ == size_) {
      here_ = 0;
      ++turn_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return turn_ != turn || ended_; });
    if (turn_ == turn) throw Ended();
  }
  void end(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!ended_) failure_ = std::move(failure);
    ended_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::span<const std::byte>> given_;
  std::vector<std::vector<std::size_t>> pieces_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Bytes>> sent_;
  std::size_t size_, here_ = 0, turn_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace gibbsite::support
