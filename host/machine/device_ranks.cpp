#include "machine/device_ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

constexpr const char* nccl_name = "libgibbsite_nccl.so";

// Null where it is not there, or of another version.
decltype(&gibbsite_nccl_2) found() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  void* library = nullptr;
  for (const char* const folder : {".", "../lib", "../lib64"}) {
    if (library == nullptr) library = ::dlopen((program / folder / nccl_name).c_str(), RTLD_NOW);
  }
  if (library == nullptr) library = ::dlopen(nccl_name, RTLD_NOW);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<decltype(&gibbsite_nccl_2)>(::dlsym(library, "gibbsite_nccl_2"));
}

using ErrorText = std::array<char, 512>;

class Nccl final : public DeviceRanks {
 public:
  Nccl(const gibbsite_nccl_functions_2& library, std::size_t rank)
      : library_(library), rank_(rank) {}
  ~Nccl() override {
    if (state_ != nullptr) library_.close(state_, std::uncaught_exceptions() > 0 ? 1 : 0);
  }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  [[nodiscard]] std::string_view name() const override { return "nccl"; }
  void gather(const std::byte* mine, std::byte* all, std::size_t bytes, void* stream) override {
    check([&](char* error) { return library_.gather(state_, mine, all, bytes, stream, error); });
  }
  void broadcast(std::byte* data, std::size_t bytes, void* stream) override {
    check([&](char* error) { return library_.broadcast(state_, data, bytes, stream, error); });
  }
  std::optional<Message> open(const unsigned char* id, std::size_t size) {
    ErrorText error{};
    if (library_.open(id, rank_, size, &state_, error.data()) == 0) return {};
    state_ = nullptr;
    return fmt::format("NCCL: {}; give each rank a card of its own", error.data());
  }

 private:
  template <class F>
  void check(const F& call) const {
    ErrorText error{};
    if (call(error.data()) == 0) return;
    throw Error(Status::backend_unavailable,
                fmt::format("rank {}: NCCL: {}; start the job again", rank_, error.data()));
  }

  gibbsite_nccl_functions_2 library_;
  std::size_t rank_;
  void* state_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceRanks> open_device_ranks(Communicator& ranks,
                                               const gibbsite_nccl_functions_2* library) {
  // Each step is agreed about before the next, which waits for all.
  std::optional<Message> failure;
  if (library == nullptr) {
    failure = format_message(
        "{} is not there, so cards cannot talk; build it (GIBBSITE_NCCL=ON) or use {} cpu",
        nccl_name, Field{"backend"});
  }
  ranks.agree(failure, Status::backend_unavailable);
  std::array<unsigned char, gibbsite_nccl_id_bytes> id{};
  if (ranks.rank() == 0) {
    ErrorText error{};
    if (library->make_id(id.data(), error.data()) != 0)
      failure = fmt::format("NCCL: {}", error.data());
  }
  ranks.agree(failure, Status::backend_unavailable);
  ranks.broadcast(std::as_writable_bytes(std::span(id)), 0);
  auto out = std::make_unique<Nccl>(*library, ranks.rank());
  ranks.agree(out->open(id.data(), ranks.size()), Status::backend_unavailable);
  return out;
}

bool device_ranks_are_there() { return found() != nullptr; }

std::unique_ptr<DeviceRanks> make_device_ranks(Communicator& ranks) {
  const auto fill = found();
  if (fill == nullptr) return open_device_ranks(ranks, nullptr);
  gibbsite_nccl_functions_2 functions{};
  fill(&functions);
  return open_device_ranks(ranks, &functions);
}

}  // namespace gibbsite
