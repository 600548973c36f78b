#include "machine/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>

#include "gibbsite/core/floating_point.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// A helper looks for the next work that long before it sleeps, longer than what a caller does
// between two steps: waking a sleeper costs as much.
constexpr double patience = 50e-6;

double seconds_since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `ready` within that many seconds of running or not.
template <class F>
bool spin(double seconds, F ready) {
  const auto begin = Clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (seconds_since(begin) < seconds);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(std::size_t members)
    : members_(members), places_(members), pinned_(members) {
  for (std::size_t task = 0; task < most_results; ++task) results_[task] = task;
  for (std::size_t member = 0; member < most_members; ++member) {
    spares_[member] = most_results + member;
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  bell_.fetch_add(1);
  bell_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

// Where the system gives no more threads, those that are there do the work, the caller at least.
void ThreadPool::start() {
  if (started_) return;
  started_ = true;
  try {
    helpers_.reserve(members_ - 1);
    for (std::size_t member = 1; member < members_; ++member) {
      helpers_.emplace_back([this, member] { help(member); });
    }
  } catch (const std::system_error&) {
  }
}

std::size_t ThreadPool::free_place() const {
  // A helper pins one place at most, so one of `members` is free.
  for (std::size_t p = 0;; p = (p + 1) % members_) {
    if (std::ranges::none_of(pinned_, [&](const Pin& pin) { return pin.place.load() == p; })) {
      return p;
    }
  }
}

void ThreadPool::settle() const {
  for (const Pin& pin : pinned_) {
    while (!spin(patience, [&] { return pin.place.load() == none; })) std::this_thread::yield();
  }
}

void ThreadPool::open(std::size_t place, std::size_t tasks, Run run, void* context, bool twice) {
  start();
  Place& at = places_[place];
  at.run = run;
  at.context = context;
  at.epoch = ++epoch_;
  at.tasks = tasks;
  at.twice = twice;
  at.done.store(0, std::memory_order_relaxed);
  // In one order with the helpers' `sleepers_`, then `ticket_`: one of the two sees the other.
  ticket_.store(ticket(epoch_, place, tasks));
  const auto wake = std::min<std::size_t>(sleepers_.load(), tasks - 1);
  if (wake == 0) return;
  bell_.fetch_add(1);
  for (std::size_t i = 0; i < wake; ++i) bell_.notify_one();
}

// Takes tasks until none is left. The least seconds that one of them took, or patience.
double ThreadPool::take_all(Place& at) {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint64_t seen = ticket_.load(std::memory_order_relaxed); left(seen) > 0;) {
    if (!ticket_.compare_exchange_weak(seen, seen - 1)) continue;
    const auto begin = Clock::now();
    const std::size_t task = at.tasks - left(seen);
    at.run(at.context, place(seen), task, 0);
    if (at.twice) {
      publish(at, task, 0);
    } else {
      at.done.fetch_add(1, std::memory_order_relaxed);
    }
    least = std::min(least, seconds_since(begin));
    seen = ticket_.load(std::memory_order_relaxed);
  }
  return std::isfinite(least) ? least : patience;
}

void ThreadPool::once(std::size_t tasks, Run run, void* context) {
  if (tasks <= 1 || members_ == 1) {
    for (std::size_t task = 0; task < tasks; ++task) run(context, 0, task, 0);
    return;
  }
  const std::size_t p = free_place();
  open(p, tasks, run, context, false);
  Place& at = places_[p];
  take_all(at);
  const auto all_done = [&] { return at.done.load(std::memory_order_acquire) == tasks; };
  if (spin(patience, all_done)) return;
  for (auto done = at.done.load(std::memory_order_acquire); done != tasks;
       done = at.done.load(std::memory_order_acquire)) {
    at.done.wait(done);
  }
}

void ThreadPool::twice(std::size_t p, std::size_t tasks, Run run, void* context) {
  open(p, tasks, run, context, true);
  Place& at = places_[p];
  const double least = take_all(at);
  for (std::size_t task = 0; task < tasks; ++task) {
    const auto published = [&] {
      return epoch(results_[task].load(std::memory_order_acquire)) == at.epoch;
    };
    // A helper that runs is done within the time of a task.
    if (published() || spin(least, published)) continue;
    at.run(context, p, task, 0);
    publish(at, task, 0);
  }
}

// The first to be done with a task puts its spare where the result belongs.
void ThreadPool::publish(const Place& at, std::size_t task, std::size_t member) {
  std::uint64_t now = results_[task].load(std::memory_order_acquire);
  while (epoch(now) < at.epoch) {
    if (!results_[task].compare_exchange_weak(now, at.epoch << 8 | spares_[member],
                                              std::memory_order_acq_rel)) {
      continue;
    }
    spares_[member] = index(now);
    return;
  }
}

void ThreadPool::reset_turns(std::size_t tasks) {
  if (turns_.size() < tasks) turns_ = std::vector<std::atomic<Turn>>(tasks);
  for (std::size_t task = 0; task < tasks; ++task) turns_[task] = Turn::free;
  turn_count_ = tasks;
  turns_left_ = tasks;
  caller_waits_ = false;
}

// A task that nobody has, or none: a helper then leaves, the caller waits until all have ended.
std::size_t ThreadPool::take_turn(std::size_t member) {
  const auto take = [&] {
    for (std::size_t k = 0; k < turn_count_; ++k) {
      const std::size_t task = (member * turn_count_ / members_ + k) % turn_count_;
      Turn free = Turn::free;
      if (turns_[task].load(std::memory_order_relaxed) == Turn::free &&
          turns_[task].compare_exchange_strong(free, Turn::taken)) {
        return task;
      }
    }
    return none;
  };
  std::size_t task = take();
  if (task != none || member != 0) return task;
  caller_waits_ = true;
  while (turns_left_.load() > 0) {
    const std::uint32_t before = turns_given_.load();
    task = take();
    if (task != none) break;
    if (turns_left_.load() == 0) break;
    if (!spin(patience, [&] { return turns_given_.load() != before; })) turns_given_.wait(before);
  }
  caller_waits_ = false;
  return task;
}

void ThreadPool::end_turn(std::size_t task, bool end) {
  turns_[task] = end ? Turn::ended : Turn::free;
  if (end) --turns_left_;
  ++turns_given_;
  turns_given_.notify_one();
}

// A ticket with tasks left, or 0 at the end.
std::uint64_t ThreadPool::next_work() {
  std::uint64_t seen = 0;
  const auto open = [&] {
    seen = ticket_.load();
    return left(seen) > 0 || stop_.load(std::memory_order_relaxed);
  };
  while (!spin(patience, open)) {
    const std::uint32_t before = bell_.load();
    sleepers_.fetch_add(1);
    if (!open()) bell_.wait(before);
    sleepers_.fetch_sub(1);
  }
  return stop_.load() ? 0 : seen;
}

void ThreadPool::help(std::size_t member) {
  set_standard_arithmetic();  // a thread begins with what its maker has
  std::atomic<std::size_t>& pinned = pinned_[member].place;
  while (std::uint64_t seen = next_work()) {
    // Pinned before it is taken: a caller that goes on sees the pin, or the ticket is stale.
    pinned.store(place(seen));
    if (ticket_.compare_exchange_strong(seen, seen - 1)) {
      Place& at = places_[place(seen)];
      const std::size_t task = at.tasks - left(seen);
      at.run(at.context, place(seen), task, member);
      if (at.twice) {
        publish(at, task, member);
      } else if (at.done.fetch_add(1, std::memory_order_acq_rel) + 1 == at.tasks) {
        at.done.notify_one();
      }
    }
    pinned.store(none);
  }
}

}  // namespace gibbsite
