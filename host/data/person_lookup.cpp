#include "data/person_lookup.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace gibbsite {

PersonLookup::PersonLookup(PersonIds& ids, bool has_helper) : ids_(ids), has_helper_(has_helper) {}

PersonLookup::~PersonLookup() {
  if (!helper_.joinable()) return;
  // One step from what was seen to `stop`: the helper may take a block at any time, and ends it.
  Turn seen = turn_;
  while (seen == Turn::taken || !turn_.compare_exchange_strong(seen, Turn::stop)) {
    turn_.wait(Turn::taken);
    seen = turn_;
  }
  turn_.notify_one();
  helper_.join();
}

void PersonLookup::look_up(Block& of) {
  const std::size_t known = of.places.size();
  of.places.resize(of.hashes.size());
  ids_.places(std::span(of.hashes).subspan(known), std::span(of.places).subspan(known));
}

void PersonLookup::help() {
  for (;;) {
    turn_.wait(Turn::none);
    Turn turn = Turn::offered;
    if (turn_.compare_exchange_strong(turn, Turn::taken)) {
      try {
        look_up(*before_);
      } catch (...) {
        refusal_ = std::current_exception();
      }
      turn_ = Turn::none;
      turn_.notify_one();
    } else if (turn == Turn::stop) {
      return;
    }
  }
}

void PersonLookup::offer_block() {
  if (!has_helper_) return look_up(*before_);
  turn_ = Turn::offered;
  turn_.notify_one();
  if (helper_.joinable()) return;
  try {
    helper_ = std::thread([this] { help(); });
  } catch (const std::system_error&) {
    has_helper_ = false;  // the system has no more threads; `end_block` takes the block
  }
}

void PersonLookup::end_block() {
  Turn turn = Turn::offered;
  if (turn_.compare_exchange_strong(turn, Turn::none)) return look_up(*before_);
  turn_.wait(Turn::taken);
  if (refusal_) std::rethrow_exception(std::exchange(refusal_, nullptr));
}

void PersonLookup::settle(Block& of, std::span<std::uint32_t> person) {
  for (const std::uint64_t row : of.rows) person[row] = of.places[person[row]];
  of.hashes.clear();
  of.places.clear();
  of.rows.clear();
}

void PersonLookup::next_block(std::span<std::uint32_t> person) {
  end_block();
  settle(*before_, person);
  std::swap(filling_, before_);
  offer_block();
}

void PersonLookup::finish(std::span<std::uint32_t> person) {
  end_block();
  settle(*before_, person);
  look_up(*filling_);
  settle(*filling_, person);
}

std::uint32_t PersonLookup::place_now(std::size_t number) {
  end_block();
  look_up(*filling_);
  return filling_->places[number];
}

}  // namespace gibbsite
