#include "engine/sharded/gpus.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "core/format_message.hpp"
#include "engine/cuda/cuda.hpp"
#include "engine/cuda/why_not.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"

namespace gibbsite {
namespace sharded {
namespace {

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this machine";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
  }
  return out;
}

// What a rank sees before it says anything.
struct Seen {
  std::vector<cuda::VisibleGpu> gpus;
  std::optional<Message> why_not;  // none of them can be used
};
Seen look() {
  try {
    return {cuda::usable_gpus(), {}};
  } catch (const BackendUnavailable& error) {
    return {{}, error.message()};
  }
}

std::unique_ptr<Backend> on_gpus(const Seen& seen, const BackendOptions& options,
                                 Communicator& ranks, const std::atomic<bool>* stop) {
  ranks.agree(seen.why_not, Status::backend_unavailable);
  std::vector<std::string> ids;
  for (const cuda::VisibleGpu& gpu : seen.gpus) ids.push_back(gpu.id);
  const int index = seen.gpus[own_gpu(ranks, ids, machine_name())].index;
  std::unique_ptr<Backend> local;
  ranks.together([&] { local = cuda::make_cuda_backend(cuda::make_device(index), options); });
  const auto found = ranks.gather(std::uint64_t{device_ranks_are_there()});
  const bool talk = std::ranges::all_of(found, [](std::uint64_t there) { return there != 0; });
  return shard(std::move(local), ranks, stop, talk ? make_device_ranks(ranks) : nullptr);
}

}  // namespace

std::size_t own_gpu(Communicator& ranks, std::span<const std::string> ids,
                    const std::string& machine) {
  std::string mine = machine + '\n';
  for (const std::string& id : ids) mine += id + '\n';
  const std::vector<std::string> all = ranks.gather(mine);
  std::vector<std::string> taken;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::vector<std::string> lines = lines_of(all[p]);
    const auto gpu = std::find_if(lines.begin() + 1, lines.end(), [&](const std::string& id) {
      return std::ranges::find(taken, id) == taken.end();
    });
    if (gpu == lines.end()) {
      const auto here = std::ranges::count_if(
          all, [&](const std::string& other) { return lines_of(other)[0] == lines[0]; });
      throw NoDevice(
          format_message("rank {}: {} cuda", p, Field{"backend"}),
          fmt::format("{} shows it {} card{} for {} rank{}", lines[0], lines.size() - 1,
                      lines.size() == 2 ? "" : "s", here, here == 1 ? "" : "s"),
          format_message("start one rank for each card there, or use {} cpu", Field{"backend"}));
    }
    taken.push_back(*gpu);
  }
  return static_cast<std::size_t>(std::ranges::find(ids, taken[ranks.rank()]) - ids.begin());
}

}  // namespace sharded

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options,
                                      Communicator& ranks, const Note& note,
                                      const std::atomic<bool>* stop) {
  if (ranks.size() == 1) return make_backend(name, options, note);
  if (name == "cuda") return sharded::on_gpus(sharded::look(), options, ranks, stop);
  if (name != "auto") return shard(make_backend(name, options), ranks, stop);
  const auto cpu = [options, &ranks, stop] {
    return shard(make_backend("cpu", options), ranks, stop);
  };
  const sharded::Seen seen = sharded::look();
  const auto gpus = ranks.gather(std::uint64_t{seen.gpus.size()});
  try {
    return make_automatic_backend(
        sharded::on_gpus(seen, options, ranks, stop),
        [&ranks](const Loss& loss, bool more) {  // which a rank without rows does not see
          const auto all = ranks.gather(std::uint64_t{more});
          return cuda::why_no_kernels(
              loss, std::ranges::any_of(all, [](std::uint64_t some) { return some != 0; }));
        },
        cpu, note);
  } catch (const BackendUnavailable& error) {
    if (note && std::ranges::any_of(gpus, [](std::uint64_t count) { return count > 0; })) {
      note(format_message("{} auto: {}: {}; this runs on cpu", Field{"backend"}, error.about(),
                          error.wrong()));
    }
    return cpu();
  }
}

}  // namespace gibbsite
