#pragma once
// Ranks that hang: each tells the next one every second that it lives, and ends all where the one
// before it has said nothing for long. A process that lives and does not get on is not told from
// one that works. A flag that one rank sets, as a signal to it does, is set at all by the way.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace gibbsite::mpi {

/// A flag that its sharers see (mpi_plugin.hpp).
struct SharedFlag {
  void* flag = nullptr;
  int (*is_set)(void*) = nullptr;
  void (*set)(void*) = nullptr;
};

class Heartbeat {
 public:
  /// MPI must have been begun for several threads; stderr as it is now is where it speaks.
  explicit Heartbeat(MPI_Comm all) : stderr_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    MPI_Comm_dup(all, &ranks_);
    thread_ = std::thread([this] { beat(); });
  }
  /// On all ranks together: one whose work is long goes on beating until all have come.
  ~Heartbeat() {
    MPI_Barrier(ranks_);
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
    MPI_Comm_free(&ranks_);
    ::close(stderr_);
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void share(const SharedFlag& flag) {
    const std::lock_guard lock(mutex_);
    flag_ = flag;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds turn{200}, between{1000}, most{8000};
  static constexpr int tag = 1, tag_of_flag = 2;

  // Tells all, or is told, once.
  class Flag {
   public:
    Flag(MPI_Comm ranks, int rank, int size) : ranks_(ranks), rank_(rank), size_(size) {
      MPI_Irecv(&told_, 1, MPI_CHAR, MPI_ANY_SOURCE, tag_of_flag, ranks_, &hearing_);
    }
    void look(const SharedFlag& own) {
      if (done_ || own.flag == nullptr) return;
      int heard = 0;
      MPI_Test(&hearing_, &heard, MPI_STATUS_IGNORE);
      if (heard != 0) {
        own.set(own.flag);
      } else if (own.is_set(own.flag) != 0) {
        for (int to = 0; to < size_; ++to) {
          if (to == rank_) continue;
          MPI_Request& sending = sendings_.emplace_back();
          MPI_Isend(&told_, 1, MPI_CHAR, to, tag_of_flag, ranks_, &sending);
        }
      } else {
        return;
      }
      done_ = true;
    }
    std::vector<MPI_Request*> requests() {
      std::vector<MPI_Request*> out{&hearing_};
      for (MPI_Request& sending : sendings_) out.push_back(&sending);
      return out;
    }

   private:
    MPI_Comm ranks_;
    int rank_, size_;
    char told_ = 0;
    bool done_ = false;
    MPI_Request hearing_ = MPI_REQUEST_NULL;
    std::vector<MPI_Request> sendings_;
  };

  void beat() {
    int rank = 0, size = 0;
    MPI_Comm_rank(ranks_, &rank);
    MPI_Comm_size(ranks_, &size);
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    char sent = 0, heard = 0;
    MPI_Request sending = MPI_REQUEST_NULL, hearing = MPI_REQUEST_NULL;
    MPI_Irecv(&heard, 1, MPI_CHAR, before, tag, ranks_, &hearing);
    Flag flag(ranks_, rank, size);
    auto now = Clock::now(), last_heard = now, last_sent = now - between;
    for (std::unique_lock lock(mutex_); !stop_;) {
      const auto previous = now;
      now = Clock::now();
      // It was this process that had no turn: it knows nothing of the other.
      if (now - previous > 4 * turn) last_heard += now - previous;
      int done = 0;
      MPI_Test(&sending, &done, MPI_STATUS_IGNORE);
      if (done != 0 && now - last_sent >= between) {
        MPI_Isend(&sent, 1, MPI_CHAR, after, tag, ranks_, &sending);
        last_sent = now;
      }
      MPI_Test(&hearing, &done, MPI_STATUS_IGNORE);
      if (done != 0) {
        MPI_Irecv(&heard, 1, MPI_CHAR, before, tag, ranks_, &hearing);
        last_heard = now;
      }
      if (now - last_heard > most) {
        ::dprintf(stderr_,
                  "gibbsite: rank %d: has said nothing for 8 s: it hangs, or its machine is gone; "
                  "all ranks end and nothing is released\n",
                  before);
        MPI_Abort(MPI_COMM_WORLD, failed);
      }
      flag.look(flag_);
      changed_.wait_for(lock, turn, [this] { return stop_; });
    }
    std::vector<MPI_Request*> requests = flag.requests();
    requests.insert(requests.end(), {&sending, &hearing});
    for (MPI_Request* const request : requests) {
      if (*request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(request);
      MPI_Request_free(request);
    }
  }

  static constexpr int failed = 3;  // Status::backend_unavailable

  int stderr_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  std::mutex mutex_;
  std::condition_variable changed_;
  SharedFlag flag_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gibbsite::mpi
