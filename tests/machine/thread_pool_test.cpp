// Helpers that come late, or stay away: whoever does a task, each is done, and the caller waits for
// no helper that it can do without. A test that fails here by waiting is ended by its time limit.
#include "machine/thread_pool.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace gibbsite {
namespace pool_test {

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

TEST(ThreadPool, EachTaskIsDoneOnce) {
  for (const std::size_t members : {1u, 2u, 3u, 7u, 64u}) {
    ThreadPool pool(members);
    for (const std::size_t tasks : {0u, 1u, 2u, 100u, 65'535u}) {
      std::vector<std::atomic<int>> times(tasks);
      std::atomic<bool> stranger = false;
      pool.each(tasks, [&](std::size_t task, std::size_t member) {
        ++times[task];
        if (member >= members) stranger = true;
      });
      for (const auto& count : times) ASSERT_EQ(count, 1) << members << " members, " << tasks;
      EXPECT_FALSE(stranger);
    }
  }
}

TEST(ThreadPool, ManySmallWorksInTurn) {
  ThreadPool pool(3);
  std::vector<std::uint64_t> sums(5);
  for (std::uint64_t work = 0; work < 20'000; ++work) {
    pool.each(sums.size(), [&](std::size_t task, std::size_t) { sums[task] += work; });
    // Long enough for helpers to fall asleep, now and then.
    if (work % 4000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, 19'999u * 20'000u / 2);
}

// Writes input of its place + task. A helper is held in its first task until `release`.
struct Held {
  explicit Held(std::size_t members) : pool(members), input(members), out(pool.results()) {}
  ~Held() { pool.settle(); }  // a late helper still reads

  void run(std::size_t place, std::size_t task, std::size_t member) {
    const std::uint64_t seen = input[place];
    if (member != 0 && hold && !begun.exchange(true)) {
      wait_for(release);
      EXPECT_EQ(input[place], seen) << "the place of a late helper was filled again";
    }
    if (member == 0 && hold) wait_for(begun);
    out[pool.spare(member)] = input[place] + task;
  }
  void advance(std::uint64_t value, std::size_t tasks) {
    const std::size_t place = pool.free_place();
    input[place] = value;
    pool.each_twice(place, tasks, *this);
    for (std::size_t task = 0; task < tasks; ++task) {
      ASSERT_EQ(out[pool.result(task)], value + task) << task;
    }
  }

  ThreadPool pool;
  std::vector<std::uint64_t> input, out;
  bool hold = true;
  std::atomic<bool> begun = false, release = false;
};

TEST(ThreadPool, ACallerDoesNotWaitForAHelperThatIsHeld) {
  for (const std::size_t members : {2u, 4u}) {
    Held work(members);
    for (std::uint64_t value = 1; value < 2000; ++value) work.advance(1000 * value, 20);
    EXPECT_TRUE(work.begun);
    work.release = true;  // what it comes with now is of a work long done
    work.pool.settle();
    for (std::size_t task = 0; task < 20; ++task) {
      EXPECT_EQ(work.out[work.pool.result(task)], 1'999'000 + task);
    }
    for (std::uint64_t value = 1; value < 2000; ++value) work.advance(value, 20);
  }
}

TEST(ThreadPool, ResultsAreThoseOfTheirWork) {
  for (const std::size_t members : {2u, 3u, 7u}) {
    Held work(members);
    work.hold = false;
    for (std::uint64_t value = 1; value < 4000; ++value) {
      work.advance(1000 * value, 1 + value % ThreadPool::most_results);
    }
  }
}

TEST(ThreadPool, SlicesOfATaskAreInOrder) {
  for (const std::size_t members : {1u, 2u, 5u}) {
    ThreadPool pool(members);
    for (const std::size_t tasks : {1u, 2u, 3u, 40u}) {
      std::vector<int> slices(tasks);  // not atomic: a task has one member at a time
      pool.each_in_slices(tasks, [&](std::size_t task, std::size_t) {
        std::this_thread::yield();
        return ++slices[task] == 50 + static_cast<int>(task);
      });
      for (std::size_t task = 0; task < tasks; ++task) {
        EXPECT_EQ(slices[task], 50 + static_cast<int>(task));
      }
    }
  }
}

// The helper would never end its task by itself.
TEST(ThreadPool, AHelperGivesItsTaskToACallerThatWaits) {
  ThreadPool pool(2);
  std::atomic<bool> begun = false, given = false;
  std::atomic<std::size_t> of_helper = 2;
  pool.each_in_slices(2, [&](std::size_t task, std::size_t member) {
    if (member == 1) {
      of_helper = task;
      begun = true;
      return task != of_helper;
    }
    wait_for(begun);
    if (task == of_helper) given = true;
    return true;
  });
  EXPECT_TRUE(given);
}

}  // namespace pool_test
}  // namespace gibbsite
