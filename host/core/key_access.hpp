#pragma once
// The only way to the bytes of a Key: for the run that uses it up, and for tests.
#include "gibbsite/core/random.hpp"

namespace gibbsite {

struct KeyAccess {
  /// Uses the key up. Throws BadInput when it is already.
  static StreamKey take(Key&& key);
  /// For tests that compare a run with its streams.
  static Key make(const StreamKey& stream) { return Key(stream); }
};

}  // namespace gibbsite
