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
                                            const std::string& design = "auto");

/// That of the rows of all ranks where there are several: of shares, on the CPU, and of questions
/// that `stop` ends (engine/sharded.hpp). Throws BadInput on another one.
std::unique_ptr<Backend> make_backend_of_ranks(const std::string& name, bool quiet,
                                               const std::string& design = "auto",
                                               const std::atomic<bool>* stop = nullptr);
/// Throws BadInput where several ranks are to compute by what they cannot.
void require_cpu_of_ranks(const std::string& name, const std::string& design = "auto");

}  // namespace gibbsite::cli
