// How ranks' GPUs come to talk, by a stand-in for libgibbsite_nccl.so whose GPUs are memory of
// this process and whose ranks are threads.
#include "machine/device_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace device_ranks_test {

using support::ThreadRanks;
using testing::HasSubstr;

// All ranks that were opened with one id.
struct Job {
  explicit Job(std::size_t size) : given(size), meet(static_cast<std::ptrdiff_t>(size)) {}
  std::vector<const void*> given;
  std::barrier<> meet;
};
struct Opened {
  std::shared_ptr<Job> job;
  std::size_t rank, size;
};

std::mutex mutex;
std::map<std::string, std::shared_ptr<Job>> jobs;
std::atomic<int> ids = 0, closed = 0, given_up = 0, failing_rank = -1, failing_gather = -1;

int make_id(unsigned char id[gibbsite_nccl_id_bytes], char* /*error*/) {
  std::fill_n(id, gibbsite_nccl_id_bytes, static_cast<unsigned char>(++ids));
  return 0;
}
int open(const unsigned char id[gibbsite_nccl_id_bytes], size_t rank, size_t size, void** state,
         char* error) {
  if (static_cast<int>(rank) == failing_rank) {
    std::snprintf(error, 512, "unhandled cuda error");
    return 1;
  }
  const std::scoped_lock lock(mutex);
  auto& job = jobs[std::string(reinterpret_cast<const char*>(id), gibbsite_nccl_id_bytes)];
  if (!job) job = std::make_shared<Job>(size);
  *state = new Opened{job, rank, size};
  return 0;
}
int gather(void* state, const void* mine, void* all, size_t bytes, void* /*stream*/, char* error) {
  const Opened& here = *static_cast<Opened*>(state);
  if (static_cast<int>(here.rank) == failing_gather) {
    std::snprintf(error, 512, "remote process exited");
    return 1;
  }
  here.job->given[here.rank] = mine;
  here.job->meet.arrive_and_wait();
  for (std::size_t p = 0; p < here.size; ++p) {
    std::memcpy(static_cast<std::byte*>(all) + p * bytes, here.job->given[p], bytes);
  }
  here.job->meet.arrive_and_wait();
  return 0;
}
int broadcast(void* state, void* data, size_t bytes, void* /*stream*/, char* /*error*/) {
  const Opened& here = *static_cast<Opened*>(state);
  here.job->given[here.rank] = data;
  here.job->meet.arrive_and_wait();
  if (here.rank != 0) std::memcpy(data, here.job->given[0], bytes);
  here.job->meet.arrive_and_wait();
  return 0;
}
void close(void* state, int failed) {
  delete static_cast<Opened*>(state);
  ++closed;
  given_up += failed;
}

constexpr gibbsite_nccl_functions_2 stand_in{make_id, open, gather, broadcast, close};

TEST(DeviceRanks, AllHaveTheIdOfRank0AndGatherInOrder) {
  for (const std::size_t count : {1U, 3U}) {
    closed = 0;
    const int before = ids;
    ThreadRanks::run(count, [&](Communicator& ranks) {
      const auto gpus = open_device_ranks(ranks, &stand_in);
      EXPECT_EQ(gpus->name(), "nccl");
      for (const std::size_t numbers : {1U, 100U}) {
        std::vector<double> mine(numbers, static_cast<double>(ranks.rank())), all(numbers * count);
        gpus->gather(reinterpret_cast<const std::byte*>(mine.data()),
                     reinterpret_cast<std::byte*>(all.data()), numbers * sizeof(double), nullptr);
        for (std::size_t k = 0; k < all.size(); ++k) {
          EXPECT_EQ(all[k], static_cast<double>(k / numbers));
        }
        for (double& v : mine) v += 5;
        gpus->broadcast(reinterpret_cast<std::byte*>(mine.data()), numbers * sizeof(double),
                        nullptr);
        EXPECT_THAT(mine, testing::Each(5.0));
      }
    });
    EXPECT_EQ(ids, before + 1);
    EXPECT_EQ(closed, static_cast<int>(count));
  }
}

// A job that ends well closes; where an error is on its way, nobody is waited for.
TEST(DeviceRanks, GiveUpWhereARankFails) {
  given_up = 0;
  ThreadRanks::run(1, [](Communicator& ranks) {
    { const auto gpus = open_device_ranks(ranks, &stand_in); }
    EXPECT_EQ(given_up, 0);
    EXPECT_THROW(
        {
          const auto gpus = open_device_ranks(ranks, &stand_in);
          throw BadInput("a cell");
        },
        BadInput);
  });
  EXPECT_EQ(given_up, 1);
}

// One that cannot ends all, with its reason, and what was opened is closed.
TEST(DeviceRanks, OneWithoutItsGpuEndsAll) {
  closed = 0;
  failing_rank = 1;
  std::atomic<int> ended = 0;
  ThreadRanks::run(3, [&](Communicator& ranks) {
    try {
      static_cast<void>(open_device_ranks(ranks, &stand_in));
    } catch (const BackendUnavailable& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1: NCCL: unhandled cuda error; give each rank"));
      ++ended;
    }
  });
  failing_rank = -1;
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(closed, 2);
}

TEST(DeviceRanks, OneWithoutTheLibraryEndsAll) {
  std::atomic<int> ended = 0;
  ThreadRanks::run(2, [&](Communicator& ranks) {
    try {
      static_cast<void>(open_device_ranks(ranks, ranks.rank() == 1 ? nullptr : &stand_in));
    } catch (const BackendUnavailable& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1: libgibbsite_nccl.so is not there"));
      ++ended;
    }
  });
  EXPECT_EQ(ended, 2);
}

TEST(DeviceRanks, AFailedGatherSaysWhoAndWhy) {
  ThreadRanks::run(1, [&](Communicator& ranks) {
    const auto gpus = open_device_ranks(ranks, &stand_in);
    failing_gather = 0;
    std::byte one{}, all{};
    try {
      gpus->gather(&one, &all, 1, nullptr);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 0: NCCL: remote process exited"));
      EXPECT_EQ(error.status(), Status::backend_unavailable);
    }
    failing_gather = -1;
  });
}

}  // namespace device_ranks_test
}  // namespace gibbsite
