#include "support/ptx/streams.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace gibbsite::ptx {

Stream* Streams::create(bool blocking) {
  auto* stream = new Stream;
  stream->blocking = blocking;
  all_.insert(stream);
  return stream;
}

void Streams::destroy(Stream* stream) {
  finish(*stream);
  all_.erase(stream);
  delete stream;
}

bool Streams::is_ready(const Stream& stream) {
  if (stream.operations.empty()) return false;
  const Operation& next = stream.operations.front();
  return next.wait == nullptr || next.wait->reached >= next.version;
}

void Streams::fail(const std::string& why) {
  if (!fault_.empty()) return;
  fault_ = why;
  std::fprintf(stderr, "PTX in software: %s\n", why.c_str());
}

void Streams::run_one(Stream& stream) {
  const Operation next = std::move(stream.operations.front());
  stream.operations.pop_front();
  if (next.run && fault_.empty()) {
    try {
      next.run();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  if (next.record != nullptr) next.record->reached = std::max(next.record->reached, next.version);
}

void Streams::run_until(const std::function<bool()>& holds) {
  while (!holds() && fault_.empty()) {
    std::vector<Stream*> ready;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(ready),
                 [](const Stream* s) { return is_ready(*s); });
    if (ready.empty())
      return fail("streams wait for each other, or for an event that nothing records");
    run_one(*ready[random_() % ready.size()]);
  }
}

void Streams::finish(Stream& stream) {
  run_until([&] { return stream.operations.empty(); });
}

void Streams::finish_all() {
  for (Stream* stream : all_) finish(*stream);
}

void Streams::enqueue(Stream& stream, std::function<void()> run) {
  if (stream.capture != nullptr) {
    stream.capture->operations.push_back(std::move(run));
    return;
  }
  if (&stream == &default_) {
    for (Stream* other : all_) {
      if (other != &stream && other->blocking) finish(*other);
    }
  }
  stream.operations.push_back({.run = std::move(run)});
  if (random_() % 3 != 0) return;
  for (Stream* other : all_) {
    if (random_() % 2 == 0 && is_ready(*other)) run_one(*other);
  }
}

void Streams::enqueue_record(Stream& stream, Event& event) {
  stream.operations.push_back({.record = &event, .version = ++event.recorded});
}

void Streams::enqueue_wait(Stream& stream, Event& event) {
  stream.operations.push_back({.wait = &event, .version = event.recorded});
}

}  // namespace gibbsite::ptx
