#pragma once
// Ranks that hang: each tells the next one every second that it lives, and ends all where the one
// before it has said nothing for long. A process that lives and does not get on is not told from
// one that works.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace gibbsite::mpi {

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
    stop_ = true;
    thread_.join();
    MPI_Comm_free(&ranks_);
    ::close(stderr_);
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds turn{200}, between{1000}, most{8000};
  static constexpr int tag = 1;

  void beat() {
    int rank = 0, size = 0;
    MPI_Comm_rank(ranks_, &rank);
    MPI_Comm_size(ranks_, &size);
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    char sent = 0, heard = 0;
    MPI_Request sending = MPI_REQUEST_NULL, hearing = MPI_REQUEST_NULL;
    MPI_Irecv(&heard, 1, MPI_CHAR, before, tag, ranks_, &hearing);
    auto now = Clock::now(), last_heard = now, last_sent = now - between;
    while (!stop_) {
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
      std::this_thread::sleep_for(turn);
    }
    MPI_Request* const requests[] = {&sending, &hearing};
    for (MPI_Request* const request : requests) {
      if (*request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(request);
      MPI_Request_free(request);
    }
  }

  static constexpr int failed = 3;  // Status::backend_unavailable

  int stderr_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gibbsite::mpi
