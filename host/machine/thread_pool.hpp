#pragma once
// Threads that help the one that calls, as far as they run.
//
// Tasks are taken one by one. The caller takes them too and could do all of them alone: it waits
// for no helper that has not begun a task, and for work that may be done twice (`each_twice`) not
// even for one that has. So a helper that lost its processor costs the caller one task at most,
// where a team with a barrier would wait for a turn of the scheduler every step. Who does a task
// changes no bit of it.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace gibbsite {

/// One caller (member 0) and its helpers (1, 2, ...), which start with the first work and sleep
/// between. There are fewer helpers, down to none, if the system gives no more threads. All calls
/// come from one thread. Tasks must not throw.
class ThreadPool {
 public:
  static constexpr std::size_t most_members = 64, most_results = 128;
  static constexpr std::size_t most_tasks = 1 << 16;

  /// members in [1, most_members].
  explicit ThreadPool(std::size_t members);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t members() const { return members_; }

  /// f(task, member) once for each of fewer than most_tasks tasks; returns when all are done.
  template <class F>
  void each(std::size_t tasks, const F& f) {
    const auto run = [](void* context, std::size_t, std::size_t task, std::size_t member) {
      (*static_cast<const F*>(context))(task, member);
    };
    // Read only; the pointer is void* for both kinds of work.
    once(tasks, run, const_cast<void*>(static_cast<const void*>(&f)));
  }

  /// Runs long tasks in slices: slice(task, member) until it returns true, the task's end. Between
  /// two slices a helper gives its task to a caller that has none left.
  template <class F>
  void each_in_slices(std::size_t tasks, const F& slice) {
    reset_turns(tasks);
    each(std::min(tasks, members_), [&](std::size_t, std::size_t member) {
      for (std::size_t task = take_turn(member); task != none; task = take_turn(member)) {
        bool end = false;
        do end = slice(task, member);
        while (!end && (member == 0 || !caller_waits_.load(std::memory_order_relaxed)));
        end_turn(task, end);
        if (!end) return;
      }
    });
  }

  /// What a task may read while it is done twice is kept per place, of which there are `members`.
  /// This one nobody reads: fill it, then each_twice.
  [[nodiscard]] std::size_t free_place() const;
  /// work.run(place, task, member) for each of at most most_results tasks: reads what was put in
  /// that place and writes result spare(member) of its own. result(task) is then the one that
  /// counts; a late helper may still read its place and write its spare, until `settle`.
  template <class Work>
  void each_twice(std::size_t place, std::size_t tasks, Work& work) {
    const auto run = [](void* context, std::size_t at, std::size_t task, std::size_t member) {
      static_cast<Work*>(context)->run(at, task, member);
    };
    twice(place, tasks, run, &work);
  }
  [[nodiscard]] std::size_t results() const { return most_results + members_; }
  [[nodiscard]] std::size_t spare(std::size_t member) const { return spares_[member]; }
  [[nodiscard]] std::size_t result(std::size_t task) const {
    return index(results_[task].load(std::memory_order_acquire));
  }
  /// Returns when no helper is at work.
  void settle() const;

 private:
  using Run = void (*)(void* context, std::size_t place, std::size_t task, std::size_t member);
  struct alignas(64) Place {
    Run run = nullptr;
    void* context = nullptr;
    std::uint64_t epoch = 0;
    std::size_t tasks = 0;
    bool twice = false;
    std::atomic<std::uint32_t> done = 0;  // tasks, of those done once
  };
  struct alignas(64) Pin {
    std::atomic<std::size_t> place = none;
  };
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  // A ticket: number of the work, its place, its tasks that nobody took.
  static constexpr std::uint64_t ticket(std::uint64_t epoch, std::size_t place, std::size_t left) {
    return epoch << 24 | place << 16 | left;
  }
  static std::size_t left(std::uint64_t ticket) { return ticket & 0xffff; }
  static std::size_t place(std::uint64_t ticket) { return ticket >> 16 & 0xff; }
  // A result: number of the work it is of, index.
  static std::size_t index(std::uint64_t result) { return result & 0xff; }
  static std::uint64_t epoch(std::uint64_t result) { return result >> 8; }

  enum class Turn : std::uint8_t { free, taken, ended };

  void start();
  void open(std::size_t place, std::size_t tasks, Run run, void* context, bool twice);
  double take_all(Place& at);
  void once(std::size_t tasks, Run run, void* context);
  void twice(std::size_t place, std::size_t tasks, Run run, void* context);
  void publish(const Place& at, std::size_t task, std::size_t member);
  void help(std::size_t member);
  [[nodiscard]] std::uint64_t next_work();
  void reset_turns(std::size_t tasks);
  std::size_t take_turn(std::size_t member);
  void end_turn(std::size_t task, bool end);

  std::size_t members_;
  std::vector<Place> places_;
  std::vector<Pin> pinned_;  // place that a helper reads
  std::array<std::atomic<std::uint64_t>, most_results> results_{};
  std::array<std::size_t, most_members> spares_{};
  std::uint64_t epoch_ = 0;
  std::vector<std::atomic<Turn>> turns_;  // of tasks in slices
  std::size_t turn_count_ = 0;
  std::atomic<std::size_t> turns_left_ = 0;  // not ended
  std::atomic<std::uint32_t> turns_given_ = 0;
  std::atomic<bool> caller_waits_ = false;
  alignas(64) std::atomic<std::uint64_t> ticket_ = 0;
  alignas(64) std::atomic<std::uint32_t> bell_ = 0;
  std::atomic<std::uint32_t> sleepers_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> helpers_;
  bool started_ = false;
};

}  // namespace gibbsite
