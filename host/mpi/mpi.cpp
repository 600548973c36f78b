// libgibbsite_mpi.so: bytes between ranks by MPI. It adds nothing: sums are made by who gathers
// their parts.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "machine/mpi_plugin.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/meeting.hpp"

namespace {

constexpr std::size_t most = std::size_t{1} << 30;  // MPI counts with ints
constexpr std::size_t error_bytes = 512;

bool began_here = false;
MPI_Comm ranks = MPI_COMM_NULL;
gibbsite::mpi::Heartbeat* heartbeat = nullptr;  // ended by close_all, or not at all

struct Failure {
  int code;
};
void check(int code) {
  if (code != MPI_SUCCESS) throw Failure{code};
}

int count_of(std::size_t bytes) { return static_cast<int>(bytes); }

// f(first, count) over pieces that MPI can count.
template <class F>
void pieces(std::size_t bytes, const F& f) {
  for (std::size_t first = 0; first < bytes; first += most) f(first, std::min(most, bytes - first));
}

template <class F>
int guarded(char* error, const F& f) {
  try {
    f();
    return 0;
  } catch (const Failure& failure) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(failure.code, text, &length) != MPI_SUCCESS) text[0] = 0;
    std::snprintf(error, error_bytes, "%s", text);
  } catch (...) {
    std::snprintf(error, error_bytes, "out of memory");
  }
  return 1;
}

std::size_t size_of_world() {
  int size = 0;
  check(MPI_Comm_size(ranks, &size));
  return static_cast<std::size_t>(size);
}

// Counts and places as ints, where all fit; the sum of the counts.
struct Places {
  std::vector<int> counts, first;
  std::size_t sum = 0;
  Places(const std::size_t* bytes, std::size_t size) {
    for (std::size_t p = 0; p < size; ++p) {
      counts.push_back(count_of(std::min(bytes[p], most)));
      first.push_back(count_of(std::min(sum, most)));
      sum += bytes[p];
    }
  }
};

void broadcast_bytes(void* bytes, std::size_t count, std::size_t root) {
  pieces(count, [&](std::size_t first, std::size_t n) {
    check(MPI_Bcast(static_cast<std::byte*>(bytes) + first, count_of(n), MPI_BYTE, count_of(root),
                    ranks));
  });
}

int gather(const void* mine, size_t bytes, const size_t* counts, void* out, char* error) {
  return guarded(error, [&] {
    const std::size_t size = size_of_world();
    if (std::all_of(counts, counts + size, [&](size_t n) { return n == bytes; }) &&
        bytes * size <= most) {
      check(MPI_Allgather(mine, count_of(bytes), MPI_BYTE, out, count_of(bytes), MPI_BYTE, ranks));
      return;
    }
    const Places places(counts, size);
    if (places.sum <= most) {
      check(MPI_Allgatherv(mine, count_of(bytes), MPI_BYTE, out, places.counts.data(),
                           places.first.data(), MPI_BYTE, ranks));
      return;
    }
    int rank = 0;
    check(MPI_Comm_rank(ranks, &rank));
    auto* at = static_cast<std::byte*>(out);
    for (std::size_t p = 0; p < size; ++p) {
      if (static_cast<int>(p) == rank) std::copy_n(static_cast<const std::byte*>(mine), bytes, at);
      broadcast_bytes(at, counts[p], p);
      at += counts[p];
    }
  });
}

int broadcast(void* bytes, size_t count, size_t root, char* error) {
  return guarded(error, [&] { broadcast_bytes(bytes, count, root); });
}

int exchange(const void* mine, const size_t* to, void* received, const size_t* from, char* error) {
  return guarded(error, [&] {
    const std::size_t size = size_of_world();
    const Places out(to, size), in(from, size);
    // Whoever asks cuts what is larger; so is every rank's, or none finds its partner.
    if (out.sum > most || in.sum > most) throw Failure{MPI_ERR_COUNT};
    check(MPI_Alltoallv(mine, out.counts.data(), out.first.data(), MPI_BYTE, received,
                        in.counts.data(), in.first.data(), MPI_BYTE, ranks));
  });
}

int send(const void* bytes, size_t count, size_t to, char* error) {
  return guarded(error, [&] {
    pieces(count, [&](std::size_t first, std::size_t n) {
      check(MPI_Send(static_cast<const std::byte*>(bytes) + first, count_of(n), MPI_BYTE,
                     count_of(to), 0, ranks));
    });
  });
}

int receive(void* bytes, size_t count, size_t from, char* error) {
  return guarded(error, [&] {
    pieces(count, [&](std::size_t first, std::size_t n) {
      check(MPI_Recv(static_cast<std::byte*>(bytes) + first, count_of(n), MPI_BYTE, count_of(from),
                     0, ranks, MPI_STATUS_IGNORE));
    });
  });
}

void share(void* flag, int (*is_set)(void*), void (*set)(void*)) {
  if (heartbeat != nullptr) heartbeat->share({flag, is_set, set});
}

void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

void close_all() {
  int ended = 0;
  if (MPI_Finalized(&ended) != MPI_SUCCESS || ended != 0) return;
  delete std::exchange(heartbeat, nullptr);
  if (ranks != MPI_COMM_NULL) MPI_Comm_free(&ranks);
  if (began_here) MPI_Finalize();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int gibbsite_mpi_open_2(
    gibbsite_mpi_functions_2* out, char* error) {
  return guarded(error, [&] {
    int begun = 0, provided = 0, rank = 0;
    const gibbsite::mpi::Meeting meeting;
    check(MPI_Initialized(&begun));
    if (begun == 0) {
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
      began_here = true;
    } else {
      check(MPI_Query_thread(&provided));
    }
    if (provided < MPI_THREAD_FUNNELED) throw Failure{MPI_ERR_OTHER};
    check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks));
    check(MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(ranks, &rank));
    if (provided == MPI_THREAD_MULTIPLE && size_of_world() > 1)
      heartbeat = new gibbsite::mpi::Heartbeat(ranks);
    *out = {static_cast<std::size_t>(rank),
            size_of_world(),
            gather,
            broadcast,
            exchange,
            send,
            receive,
            share,
            abort_all,
            close_all};
  });
}
