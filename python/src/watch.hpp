#pragma once
// Long work beside a Python that stays awake: Ctrl-C is heeded and progress is handed on.
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "gibbsite/core/error.hpp"

namespace gibbsite::python {

namespace nb = nanobind;

/// What work shares with the thread that waits for it.
class Watch {
 public:
  [[nodiscard]] const std::atomic<bool>* stop() const { return &stop_; }
  [[nodiscard]] bool stopped() const { return stop_.load(); }
  void ask_to_stop() { stop_ = true; }
  void report(std::uint64_t done, std::uint64_t total) {
    total_.store(total);
    done_.store(done);
  }
  /// What the library's options call `progress`.
  [[nodiscard]] auto reporter() {
    return [this](std::uint64_t done, std::uint64_t total) { report(done, total); };
  }
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> reported() const {
    return {done_.load(), total_.load()};
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> done_{0}, total_{0};
};

/// Adds what the engine says of an interrupt, such as that it is paid, to the error that a user's
/// signal or function raised, which hides it. With the interpreter's lock.
inline void note_interrupt(const std::exception_ptr& raised, const std::exception_ptr& failed) {
  std::string words;
  try {
    std::rethrow_exception(failed);
  } catch (const Interrupted& error) {
    words = error.what();
  } catch (...) {
    return;
  }
  try {
    std::rethrow_exception(raised);
  } catch (nb::python_error& error) {
    error.value().attr("add_note")(("gibbsite: " + words).c_str());
  } catch (...) {
    // No error of Python's, which could carry a note.
  }
}

/// work(watch) on a thread of its own, without the interpreter's lock. This thread looks at
/// Python's signals ten times a second and calls progress(done, total) where it is not None; what
/// either raises stops the work and is raised here once it has ended. Raises TypeError at once if
/// progress is another thing.
template <class Work>
auto watched(const nb::object& progress, Work&& work) {
  using Result = std::invoke_result_t<Work, Watch&>;
  static_assert(!std::is_void_v<Result>);
  if (!progress.is_none() && PyCallable_Check(progress.ptr()) == 0)
    throw nb::type_error("progress: must be a function, or None");
  Watch watch;
  std::optional<Result> result;
  std::exception_ptr failed, raised;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::atomic<unsigned long> identity{0};
  std::thread worker([&] {
    identity = PyThread_get_thread_ident();
    try {
      result.emplace(work(watch));
    } catch (...) {
      failed = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_one();
  });
  std::pair<std::uint64_t, std::uint64_t> told{0, 0};
  for (bool waiting = true; waiting;) {
    {
      const nb::gil_scoped_release unlocked;
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return ended; });
      waiting = !ended;
    }
    if (raised) {
      // Python code that the work calls, a generator of batches say, ends too.
      if (waiting) PyThreadState_SetAsyncExc(identity, PyExc_KeyboardInterrupt);
      continue;
    }
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      const auto now = watch.reported();
      if (!progress.is_none() && now != told) {
        told = now;
        progress(now.first, now.second);
      }
    } catch (...) {
      raised = std::current_exception();
      watch.ask_to_stop();
    }
  }
  worker.join();
  if (raised && failed) note_interrupt(raised, failed);
  if (raised) std::rethrow_exception(raised);
  if (failed) std::rethrow_exception(failed);
  return std::move(*result);
}

}  // namespace gibbsite::python
