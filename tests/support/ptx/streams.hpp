#pragma once
// Streams and events of the CUDA runtime in software. Operations of a stream run in order, later
// than
// they are enqueued; those of different streams interleave at random, as far as events allow.
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

struct Event {
  u64 recorded = 0;  // records enqueued
  u64 reached = 0;   // records that have run
};

struct Operation {
  std::function<void()> run = {};
  Event* record = nullptr;
  Event* wait = nullptr;
  u64 version = 0;  // of the record
};

struct Graph {
  std::vector<std::function<void()>> operations;
};

struct Stream {
  std::deque<Operation> operations;
  std::unique_ptr<Graph> capture;  // where one is under way
  bool blocking = true;            // the default stream waits for it
};

/// All streams. The first fault of a kernel ends everything, as on a GPU.
class Streams {
 public:
  Streams() : all_{&default_} {}
  Stream* create(bool blocking);
  void destroy(Stream* stream);
  Stream& default_stream() { return default_; }

  /// Appends, or captures; some operations run at once.
  void enqueue(Stream& stream, std::function<void()> run);
  void enqueue_record(Stream& stream, Event& event);
  void enqueue_wait(Stream& stream, Event& event);
  /// Runs operations of any stream until it holds, or a fault ends everything.
  void run_until(const std::function<bool()>& holds);
  void finish(Stream& stream);
  void finish_all();

  void seed(u64 seed) { random_.seed(seed); }
  /// What the first fault said; empty: there was none.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  static bool is_ready(const Stream& stream);
  void run_one(Stream& stream);
  void fail(const std::string& why);

  Stream default_;
  std::set<Stream*> all_;
  std::mt19937_64 random_{12345};
  std::string fault_;
};

}  // namespace gibbsite::ptx
