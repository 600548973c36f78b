#include "gibbsite/engine/automatic.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/format_message.hpp"

namespace gibbsite {
namespace {

class AutomaticBackend final : public Backend {
 public:
  AutomaticBackend(std::unique_ptr<Backend> gpu,
                   std::function<std::string(const Loss&, bool)> why_not,
                   std::function<std::unique_ptr<Backend>()> other, Note note)
      : chosen_(std::move(gpu)),
        why_not_(std::move(why_not)),
        other_(std::move(other)),
        note_(std::move(note)) {}

  [[nodiscard]] std::string_view name() const override { return chosen_->name(); }
  [[nodiscard]] std::string description() const override { return chosen_->description(); }
  [[nodiscard]] std::string arithmetic() const override { return chosen_->arithmetic(); }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    choose(loss, x.has_more_than_labels());
    return chosen_->load(x, y, loss);
  }

  void choose(const Loss& loss, bool more) {
    if (!other_) return;
    const std::string why = why_not_(loss, more);
    if (why.empty()) return;
    auto other = other_();
    other_ = nullptr;
    if (note_) {
      note_(format_message("{} auto: {} {}; this runs on {}", Field{"backend"}, chosen_->name(),
                           why, other->name()));
    }
    chosen_ = std::move(other);
  }

 private:
  std::unique_ptr<Backend> chosen_;
  std::function<std::string(const Loss&, bool)> why_not_;
  std::function<std::unique_ptr<Backend>()> other_;  // null once it was made
  Note note_;
};

}  // namespace

std::unique_ptr<Backend> make_automatic_backend(
    std::unique_ptr<Backend> gpu, std::function<std::string(const Loss&, bool)> why_not,
    std::function<std::unique_ptr<Backend>()> other, Note note) {
  return std::make_unique<AutomaticBackend>(std::move(gpu), std::move(why_not), std::move(other),
                                            std::move(note));
}

void settle(Backend& backend, const Loss& loss, bool more) {
  if (auto* const automatic = dynamic_cast<AutomaticBackend*>(&backend)) {
    automatic->choose(loss, more);
  }
}

}  // namespace gibbsite
