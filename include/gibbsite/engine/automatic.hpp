#pragma once
// What `backend` auto is on a machine with a GPU: the GPU, or the CPU for what it has no kernels
// of.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gibbsite/core/message.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// Takes a line for people.
using Note = std::function<void(const Message&)>;

/// Makes a backend as the other make_backend does. With "auto", tells `note` why the fastest one
/// that exists is not used.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options,
                                      Note note);

/// Settles a backend made with "auto" on a machine with a GPU: it chooses for rows of this loss,
/// with offsets or without. Its name and description are then of the one that runs. Its `load` does
/// so too. Has no effect on other backends.
void settle(Backend& backend, const Loss& loss, bool more);

/// A backend that is `gpu` until it is asked for rows that the GPU has no kernels for.
/// why_not(loss, offsets) tells: "has no kernels of ...", or empty. From then on it is what `other`
/// makes, with one line to `note`.
std::unique_ptr<Backend> make_automatic_backend(
    std::unique_ptr<Backend> gpu, std::function<std::string(const Loss&, bool)> why_not,
    std::function<std::unique_ptr<Backend>()> other, Note note);

}  // namespace gibbsite
