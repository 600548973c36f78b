#pragma once
// What `backend` auto is on a machine with a card: the card, or the CPU for what it has no kernels
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

/// make_backend, whose "auto" tells `note` why another backend runs than the fastest there is.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options,
                                      Note note);

/// Where the backend is "auto" on a machine with a card, chooses for rows of that loss, with
/// offsets or without, so that its name and description are of the one that runs; its `load` does
/// so too. Does nothing to others.
void settle(Backend& backend, const Loss& loss, bool offsets);

/// `card` until it is asked for rows that it has no kernels of, by `why_not(loss, offsets)`: "has
/// no kernels of ...", or empty; from then on what `other` makes, with one line to `note`.
std::unique_ptr<Backend> make_automatic_backend(
    std::unique_ptr<Backend> card, std::function<std::string(const Loss&, bool)> why_not,
    std::function<std::unique_ptr<Backend>()> other, Note note);

}  // namespace gibbsite
