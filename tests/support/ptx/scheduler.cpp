// Runs grids: some blocks at once, their warps in turns of random length, lanes apart where they
// diverge.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "support/ptx/copies.hpp"
#include "support/ptx/matrix.hpp"
#include "support/ptx/races.hpp"

namespace gibbsite::ptx {

Counts& counts() {
  static Counts value;
  return value;
}
Options& options() {
  static Options value;
  return value;
}

void fault(const Warp& warp, const std::string& why, int lane) {
  throw std::runtime_error(fmt::format("{} [{}:{}, kernel {:.90}, block {} warp {} lane {}]", why,
                                       warp.kernel->module->name,
                                       warp.at != nullptr ? warp.at->line : -1, warp.kernel->name,
                                       warp.block->index, warp.id, lane));
}

namespace {

// ---- A warp

enum class Progress { turn_over, waits, done };

class WarpRun {
 public:
  WarpRun(Warp& warp, std::mt19937_64& random, int turn)
      : warp_(warp), code_(warp.kernel->code), random_(random), turn_(turn) {}
  Progress run();

 private:
  // What a step of some lanes leads to.
  enum class Next { go_on, choose_again, turn_over, waits };

  std::optional<std::size_t> choose();
  void split_at_random();
  void merge();
  Next step();
  Next branch(const Instruction& in, u32 taken);
  Next exit(u32 lanes);
  Next converge(const Instruction& in);
  u32 member_mask(const Instruction& in, u32 lanes);
  Next arrive(const Instruction& in, u32 lanes);
  void execute(const Instruction& in, u32 lanes);
  [[noreturn]] void stuck();

  [[nodiscard]] u32 guarded(const Instruction& in, u32 mask) {
    if (in.guard < 0) return mask;
    const u32 guard = warp_.predicate(in.guard);
    return mask & (in.guard_negated ? ~guard : guard);
  }
  [[nodiscard]] Lanes& current() { return warp_.groups[current_]; }
  [[nodiscard]] int others_pc() const;

  Warp& warp_;
  const std::vector<Instruction>& code_;
  std::mt19937_64& random_;
  int turn_;
  std::size_t current_ = 0;
};

// The lanes that are furthest behind, now and then any.
std::optional<std::size_t> WarpRun::choose() {
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < warp_.groups.size(); ++i) {
    if (!warp_.groups[i].blocked) ready.push_back(i);
  }
  if (ready.empty()) return std::nullopt;
  if (options().lanes_apart || random_() % 64 == 0) return ready[random_() % ready.size()];
  return *std::min_element(ready.begin(), ready.end(), [&](std::size_t a, std::size_t b) {
    return warp_.groups[a].pc < warp_.groups[b].pc;
  });
}

void WarpRun::stuck() {
  std::string where;
  for (const Lanes& group : warp_.groups) {
    warp_.at = &code_[static_cast<std::size_t>(group.pc)];
    where += fmt::format(" line {} lanes {:08x};", warp_.at->line, group.mask);
  }
  fault(warp_, "lanes of a warp wait for each other at different places:" + where);
}

void WarpRun::split_at_random() {
  const u32 mask = current().mask, part = mask & static_cast<u32>(random_());
  if (random_() % 3 != 0 || part == 0 || part == mask) return;
  const int pc = current().pc;
  current().mask = mask & ~part;
  warp_.groups.push_back({pc, part, false});
  current_ = warp_.groups.size() - 1;
}

// Lanes at the same place go on together.
void WarpRun::merge() {
  for (std::size_t i = 0; i < warp_.groups.size();) {
    if (i == current_ || warp_.groups[i].pc != current().pc) {
      ++i;
      continue;
    }
    current().mask |= warp_.groups[i].mask;
    warp_.groups.erase(warp_.groups.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < current_) --current_;
  }
}

int WarpRun::others_pc() const {
  int least = INT_MAX;
  for (std::size_t i = 0; i < warp_.groups.size(); ++i) {
    if (i != current_ && !warp_.groups[i].blocked) least = std::min(least, warp_.groups[i].pc);
  }
  return least;
}

Progress WarpRun::run() {
  if (warp_.barrier >= 0) return Progress::waits;
  while (!warp_.groups.empty()) {
    const std::optional<std::size_t> chosen = choose();
    if (!chosen) stuck();
    current_ = *chosen;
    const bool apart = options().lanes_apart;
    if (apart) split_at_random();
    const int limit = apart ? INT_MAX : others_pc();
    int lane_turn = apart ? static_cast<int>(random_() % 200) + 1 : INT_MAX;
    Next next = Next::go_on;
    while (next == Next::go_on) {
      if (--turn_ < 0) return Progress::turn_over;
      if (--lane_turn < 0) break;
      next = step();
      if (next == Next::go_on && current().pc >= limit) {
        merge();
        break;
      }
    }
    if (next == Next::waits) return Progress::waits;
  }
  return Progress::done;
}

void WarpRun::execute(const Instruction& in, u32 lanes) {
  if (lanes == 0) return;
  if (in.tracked) track_matrix_registers(warp_, in);
  in.execute(warp_, in, lanes);
}

WarpRun::Next WarpRun::step() {
  Lanes& group = current();
  const auto index = static_cast<std::size_t>(group.pc);
  const Instruction& in = code_[index];
  warp_.at = &in;
  const u32 lanes = guarded(in, group.mask);
  ++counts().warp_instructions;
  ++warp_.block->grid->kernel->executed[index];
  switch (in.control) {
    case Control::normal:
      execute(in, lanes);
      ++group.pc;
      return Next::go_on;
    case Control::branch:
      return branch(in, lanes);
    case Control::exit:
      return exit(lanes);
    case Control::trap:
      fault(warp_, "trap");
    default:
      return converge(in);
  }
}

WarpRun::Next WarpRun::branch(const Instruction& in, u32 taken) {
  Lanes& group = current();
  const u32 staying = group.mask & ~taken;
  if (staying == 0 || taken == 0) {
    group.pc = taken == 0 ? group.pc + 1 : in.target;
    return Next::go_on;
  }
  const int next = group.pc + 1;
  group = {next, staying, false};
  warp_.groups.push_back({in.target, taken, false});
  return Next::choose_again;
}

WarpRun::Next WarpRun::exit(u32 lanes) {
  Lanes& group = current();
  ++group.pc;
  if (lanes == 0) return Next::go_on;
  warp_.alive &= ~lanes;
  group.mask &= ~lanes;
  for (Lanes& other : warp_.groups) other.blocked = false;
  if (group.mask != 0) return Next::go_on;
  warp_.groups.erase(warp_.groups.begin() + static_cast<std::ptrdiff_t>(current_));
  return Next::choose_again;
}

// The lanes that an instruction with a member mask has to wait for.
u32 WarpRun::member_mask(const Instruction& in, u32 lanes) {
  const u64* masks = warp_.source(in.s[3]);
  const u32 members = static_cast<u32>(masks[std::countr_zero(lanes)]);
  for_each_lane(lanes, [&](int l) {
    const u32 own = static_cast<u32>(masks[l]);
    if (!has_lane(own, l)) fault(warp_, "a lane is not in its own member mask", l);
    if (own != members && has_lane(members, l))
      fault(warp_, "lanes of a member mask have different masks", l);
  });
  return members;
}

// An instruction that lanes execute together: waits until all that it needs are there.
WarpRun::Next WarpRun::converge(const Instruction& in) {
  merge();
  Lanes& group = current();
  u32 lanes = guarded(in, group.mask), needed = warp_.alive;
  if (lanes == 0) {
    ++group.pc;
    return Next::go_on;
  }
  if (in.control == Control::converge_mask) {
    const u32 members = member_mask(in, lanes);
    needed &= members;
    if ((group.mask & needed) == needed && (lanes & needed) != needed)
      fault(warp_, "a predicate keeps a lane of the member mask away");
    lanes &= members;
  } else if (lanes != group.mask) {
    fault(warp_, "the predicate of an aligned instruction differs between lanes");
  }
  if ((group.mask & needed) != needed) {
    group.blocked = true;
    return Next::choose_again;
  }
  if (in.control == Control::barrier) return arrive(in, lanes);
  execute(in, lanes);
  ++group.pc;
  return Next::go_on;
}

WarpRun::Next WarpRun::arrive(const Instruction& in, u32 lanes) {
  const int lane = std::countr_zero(lanes);
  const u64 number = warp_.source(in.s[0])[lane];
  const u32 count = in.s[1] == none ? 0 : static_cast<u32>(warp_.source(in.s[1])[lane]);
  if (number > 15) fault(warp_, "a barrier's number is over 15");
  if (count % warp_size != 0) fault(warp_, "a barrier's count is no multiple of 32");
  Barrier& barrier = warp_.block->barriers[number];
  if (barrier.arrived == 0) barrier.expected = count;
  if (barrier.expected != count) fault(warp_, "warps come to a barrier with different counts");
  warp_.reduction = in.option != 0 ? &in : nullptr;
  if (warp_.reduction != nullptr) {
    const u32 p = warp_.predicate(in.p);
    warp_.reduction_lanes = lanes;
    warp_.reduction_true = (in.p_negated ? ~p : p) & lanes;
  }
  barrier.arrived += warp_size;
  barrier.warps.push_back(warp_.id);
  warp_.barrier = static_cast<int>(number);
  ++current().pc;
  return Next::waits;
}

// ---- Barriers of a block

void reduce(Block& block, const Barrier& barrier) {
  u32 holds = 0, takes_part = 0;
  for (const u32 w : barrier.warps) {
    const Warp& warp = *block.warps[w];
    if (warp.reduction == nullptr) continue;
    holds += static_cast<u32>(std::popcount(warp.reduction_true));
    takes_part += static_cast<u32>(std::popcount(warp.reduction_lanes));
  }
  for (const u32 w : barrier.warps) {
    Warp& warp = *block.warps[w];
    if (warp.reduction == nullptr) continue;
    const Instruction& in = *warp.reduction;
    if (in.option == 3) {
      for_each_lane(warp.reduction_lanes, [&](int l) { warp.destination(in.d)[l] = holds; });
    } else {
      const bool result = in.option == 1 ? holds != 0 : holds == takes_part;
      u32& d = warp.predicate(in.d);
      d = result ? d | warp.reduction_lanes : d & ~warp.reduction_lanes;
    }
    warp.reduction = nullptr;
  }
}

void open_barrier(Block& block, Barrier& barrier, bool of_all) {
  if (of_all) {
    begin_generation(block);
  } else {
    std::vector<u32> threads;
    for (const u32 w : barrier.warps) {
      for_each_lane(block.warps[w]->lanes,
                    [&](int l) { threads.push_back(block.warps[w]->thread(l)); });
    }
    join_threads(block, threads);
  }
  reduce(block, barrier);
  block.grid->failed_waits = 0;
  for (const u32 w : barrier.warps) block.warps[w]->barrier = -1;
  barrier.arrived = 0;
  barrier.warps.clear();
}

void open_barriers(Block& block) {
  u32 alive = 0;
  for (const auto& warp : block.warps) alive += warp->alive != 0 ? warp_size : 0;
  for (Barrier& barrier : block.barriers) {
    if (barrier.arrived == 0) continue;
    const u32 needed = barrier.expected != 0 ? barrier.expected : alive;
    if (barrier.arrived > needed)
      fault(*block.warps[barrier.warps.back()], "more threads come to a barrier than it counts");
    if (barrier.arrived == needed) open_barrier(block, barrier, barrier.arrived == alive);
  }
}

// ---- Blocks

void reset_warp(Warp& warp, const Grid& grid, u32 threads) {
  const Kernel& kernel = *grid.kernel;
  const u32 lanes = std::min(warp_size, threads - warp.id * warp_size);
  warp.kernel = &kernel;
  warp.lanes = warp.alive = lanes == warp_size ? all_lanes : (1U << lanes) - 1;
  const std::size_t registers = static_cast<std::size_t>(kernel.registers) * warp_size;
  if (warp.registers.size() < registers) warp.registers.resize(registers, 0xfff7badbadbad777U);
  const auto predicates = static_cast<std::size_t>(kernel.predicates);
  if (warp.predicates.size() < predicates) warp.predicates.resize(predicates, 0xa5a5a5a5U);
  warp.local.assign(std::size_t{kernel.local_bytes} * warp_size, 0xcb);
  warp.constants = kernel.lane_constants.data();
  warp.groups.assign(1, {0, warp.alive, false});
  warp.barrier = -1;
  warp.at = nullptr;
  warp.matrix = {};
  if (kernel.uses_wgmma) {
    const auto count = static_cast<std::size_t>(kernel.registers);
    warp.matrix.written.assign(count, 1);
    warp.matrix.group.assign(count, 0);
    warp.matrix.accumulates.assign(count, 0);
  }
}

// Records of races that a block left are of generations before its successor's first one.
void reset_block(Block& block, Grid& grid, u32 index) {
  const Launch& launch = *grid.launch;
  const u32 bytes = (grid.kernel->dynamic_at + launch.dynamic_shared + 15) / 16 * 16;
  block.grid = &grid;
  block.index = index;
  block.id = {index % launch.grid[0], index / launch.grid[0] % launch.grid[1],
              index / launch.grid[0] / launch.grid[1]};
  block.first_generation = ++block.generation;
  block.shared.assign(bytes, 0xcb);
  block.state.assign(bytes, ByteState::unwritten);
  const std::size_t words = bytes / 4 + 8;
  if (block.writes.size() < words) block.writes.resize(words);
  if (block.reads.size() < words * block.warps.size())
    block.reads.resize(words * block.warps.size());
  block.mbarriers.clear();
  block.copy_clock = 0;
  block.matrix_log.assign(block.warps.size() / 4 + 1, {});
  block.clock.assign(block.threads + warp_size, 1);
  block.proxy_fence.assign(block.threads + warp_size, 0);
  block.seen_generation.assign(block.threads + warp_size, 0);
  block.ordered.clear();
  block.orders.clear();
  for (const auto& warp : block.warps) reset_warp(*warp, grid, block.threads);
}

std::unique_ptr<Block> make_block(u32 threads) {
  auto block = std::make_unique<Block>();
  block->threads = threads;
  for (u32 i = 0; i * warp_size < threads; ++i) {
    block->warps.push_back(std::make_unique<Warp>());
    block->warps.back()->id = i;
    block->warps.back()->block = block.get();
  }
  block->seen.resize(threads + warp_size);
  return block;
}

// Blocks that ended well are used again, by later grids too: much of a small grid's time is their
// memory.
class SpareBlocks {
 public:
  std::unique_ptr<Block> take(u32 threads) {
    const auto fits = [&](const auto& block) { return block->threads == threads; };
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
    if (found == blocks_.end()) return make_block(threads);
    std::unique_ptr<Block> block = std::move(*found);
    blocks_.erase(found);
    return block;
  }
  void put_back(std::unique_ptr<Block> block) {
    blocks_.insert(blocks_.begin(), std::move(block));
    if (blocks_.size() > most) blocks_.pop_back();
  }

 private:
  static constexpr std::size_t most = 16;
  std::vector<std::unique_ptr<Block>> blocks_;  // the last one used first
};
SpareBlocks& spare_blocks() {
  static SpareBlocks blocks;
  return blocks;
}

// What must be over when a block has ended.
void check_end(const Block& block) {
  const Warp& first = *block.warps[0];
  if (!block.bulk_copies.empty()) {
    fault(first, fmt::format("the block ended with a bulk copy under way, issued at line {}",
                             block.bulk_copies[0].line));
  }
  for (const auto& warp : block.warps) {
    if (has_open_copies(*warp)) fault(*warp, "the block ended with cp.async under way");
    if (!warp->matrix.reads.empty()) fault(*warp, "the block ended with wgmma under way");
    if (warp->matrix.executed != block.warps[warp->id / 4 * 4]->matrix.executed) {
      fault(*warp, "warps of a group executed different numbers of wgmma");
    }
  }
  for (const Barrier& barrier : block.barriers) {
    if (barrier.arrived != 0) fault(first, "the block ended with threads at a barrier");
  }
}

// ---- The grid

class GridRun {
 public:
  GridRun(Kernel& kernel, const Launch& launch);
  ~GridRun();
  GridRun(const GridRun&) = delete;
  GridRun& operator=(const GridRun&) = delete;
  void run();

 private:
  void start_blocks();
  bool advance(Block& block);  // whether it has ended
  void check_progress();
  [[noreturn]] void deadlock();

  Grid grid_;
  std::vector<u32> workspace_;
  std::vector<std::unique_ptr<Block>> live_;
  u64 next_ = 0, total_ = 0;
  u64 started_at_ = 0;
  bool moved_ = false;
  int quiet_rounds_ = 0;
};

GridRun::GridRun(Kernel& kernel, const Launch& launch) {
  grid_.kernel = &kernel;
  grid_.launch = &launch;
  grid_.number = static_cast<u32>(++counts().launches);
  grid_.random.seed(options().seed + counts().launches);
  total_ = u64{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  started_at_ = counts().warp_instructions;
  if (launch.cooperative) {
    workspace_.assign(64, 0);
    grid_.workspace = reinterpret_cast<u64>(workspace_.data());
    global_memory().add(grid_.workspace, workspace_.size() * 4);
  }
}
GridRun::~GridRun() {
  if (grid_.workspace != 0) global_memory().remove(grid_.workspace);
}

void GridRun::start_blocks() {
  while (next_ < total_ && (grid_.launch->cooperative || live_.size() < options().blocks_at_once)) {
    const auto& size = grid_.launch->block;
    live_.push_back(spare_blocks().take(size[0] * size[1] * size[2]));
    reset_block(*live_.back(), grid_, static_cast<u32>(next_++));
  }
}

bool GridRun::advance(Block& block) {
  bool ended = true;
  const std::size_t warps = block.warps.size();
  for (std::size_t i = 0; i < warps; ++i) {
    Warp& warp = *block.warps[(i + block.index) % warps];
    if (warp.alive == 0) continue;
    const u64 before = counts().warp_instructions;
    const int turn = 64 + static_cast<int>(grid_.random() % 4096);
    if (WarpRun(warp, grid_.random, turn).run() != Progress::done) ended = false;
    open_barriers(block);
    moved_ = moved_ || counts().warp_instructions != before;
    if (!block.bulk_copies.empty() && grid_.random() % 4 == 0) {
      finish_bulk_copy(block, grid_.random() % block.bulk_copies.size());
      moved_ = true;
    }
  }
  return ended;
}

void GridRun::deadlock() {
  std::string where = "deadlock:";
  for (const auto& block : live_) {
    for (const auto& warp : block->warps) {
      if (warp->alive == 0 || where.size() > 600) continue;
      where += fmt::format(" block {} warp {} line {}", block->index, warp->id,
                           warp->at != nullptr ? warp->at->line : 0);
      if (warp->barrier >= 0) where += fmt::format(" at barrier {}", warp->barrier);
      where += ";";
    }
  }
  fault(*live_[0]->warps[0], where);
}

void GridRun::check_progress() {
  quiet_rounds_ = moved_ ? 0 : quiet_rounds_ + 1;
  if (quiet_rounds_ > 4 && !live_.empty()) deadlock();
  if (counts().warp_instructions - started_at_ > options().most_instructions) {
    fault(*live_.at(0)->warps[0],
          "the kernel does not end: more instructions than GIBBSITE_PTX_MOST allows");
  }
}

void GridRun::run() {
  while (next_ < total_ || !live_.empty()) {
    start_blocks();
    moved_ = false;
    for (std::size_t i = 0; i < live_.size();) {
      if (!advance(*live_[i])) {
        ++i;
        continue;
      }
      check_end(*live_[i]);
      moved_ = true;
      spare_blocks().put_back(std::move(live_[i]));
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    check_progress();
  }
}

}  // namespace

void run(Kernel& kernel, const Launch& launch) { GridRun(kernel, launch).run(); }

}  // namespace gibbsite::ptx
