#include "backend/cuda/design.hpp"

#include <fmt/format.h>

#include "backend/cuda/source.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/schedule/map_error.hpp"

namespace gibbsite::cuda {
namespace {

constexpr Design all_designs[] = {Design::resident, Design::cooperative, Design::one_pass,
                                  Design::tiled,    Design::warp_group,  Design::blocked};

}  // namespace

std::string_view to_string(Design design) {
  switch (design) {
    case Design::resident:
      return "resident";
    case Design::cooperative:
      return "cooperative";
    case Design::one_pass:
      return "one-pass";
    case Design::tiled:
      return "tiled";
    case Design::warp_group:
      return "warp-group";
    case Design::blocked:
      return "blocked";
  }
  return "";
}

Design design_named(std::string_view name) {
  std::string known;
  for (const Design design : all_designs) {
    if (name == to_string(design)) return design;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(design));
  }
  throw BadInput(fmt::format("design: none is called '{}'; there is: auto, {}", name, known));
}

std::string why_not(Design design, const Shape& shape, Arithmetic /*arithmetic*/,
                    const Card& card) {
  switch (design) {
    case Design::cooperative: {
      if (shape.features > kernels::leaf_most_features) {
        return fmt::format("takes at most {} features, there are {}", kernels::leaf_most_features,
                           shape.features);
      }
      if (shape.chains > kernels::cooperative_most_chains) {
        return fmt::format("takes at most {} chains, there are {}",
                           kernels::cooperative_most_chains, shape.chains);
      }
      const std::size_t bytes = shape.rows * shape.features * sizeof(float);
      if (bytes > card.l2_bytes) {
        return fmt::format("takes rows that fit the card's cache, {} KiB; there are {} KiB",
                           card.l2_bytes >> 10, (bytes >> 10) + 1);
      }
      if (kernels::cooperative_depth(shape.rows, leaf_rows(shape.rows)) >
          accumulation_depth(shape.rows)) {
        return fmt::format("takes fewer rows than {}", shape.rows);
      }
      return "";
    }
    case Design::one_pass:
      if (shape.features > kernels::one_pass_most_features) {
        return fmt::format("takes at most {} features, there are {}",
                           kernels::one_pass_most_features, shape.features);
      }
      return "";
    case Design::blocked:
      return "";
    default:
      return "is not in this version";
  }
}

Choice choose_design(const Shape& shape, Arithmetic arithmetic, const Card& card,
                     std::optional<Design> asked) {
  if (asked) {
    const std::string why = why_not(*asked, shape, arithmetic, card);
    if (!why.empty()) throw BadInput(fmt::format("design: {} {}", to_string(*asked), why));
    return {*asked, "asked for"};
  }
  if (why_not(Design::one_pass, shape, arithmetic, card).empty() && shape.chains <= 8) {
    return {Design::one_pass, "few chains: bound by reading X, which it does once"};
  }
  return {Design::blocked, "a shape that no other design takes"};
}

Design gradient_design(Design design, const Shape& shape) {
  if (design != Design::resident && design != Design::cooperative) return design;
  return shape.features <= kernels::one_pass_most_features ? Design::one_pass : Design::blocked;
}

std::unique_ptr<GradientSource> make_source(Design design, const Problem& problem) {
  switch (design) {
    case Design::one_pass:
      return make_one_pass_source(problem);
    case Design::blocked:
      return make_blocked_source(problem);
    default:
      return nullptr;
  }
}

std::unique_ptr<StepLoop> make_loop(Design design, const Problem& problem) {
  switch (design) {
    case Design::cooperative:
      return make_cooperative_loop(problem);
    default:
      return nullptr;
  }
}

}  // namespace gibbsite::cuda
