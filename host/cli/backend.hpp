#pragma once
// The backend that a sub-command is asked for.
#include <atomic>
#include <memory>
#include <string>

#include "gibbsite/engine/automatic.hpp"

namespace gibbsite::cli {

/// make_backend, and where auto takes another than the fastest there is, a line on stderr, unless
/// `quiet`.
std::unique_ptr<Backend> make_noted_backend(const std::string& name, bool quiet,
                                            const BackendOptions& options = {});

/// That of the rows of all ranks where there are several, whose questions `stop` then ends
/// (engine/sharded.hpp).
std::unique_ptr<Backend> make_backend_of_ranks(const std::string& name, bool quiet,
                                               const std::string& design = "auto",
                                               const std::atomic<bool>* stop = nullptr);

}  // namespace gibbsite::cli
