#include "engine/cuda/design.hpp"

#include <fmt/format.h>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cuda {
namespace {

constexpr Design all_designs[] = {Design::resident,     Design::cooperative, Design::one_pass,
                                  Design::tiled,        Design::warp_group,  Design::blocked,
                                  Design::double_matrix};

// Design G takes eight chains in the time of one; from this many on design C takes longer.
std::size_t fewest_chains_of_double_matrix(std::size_t features) {
  if (features <= 8) return 9;  // rows this short are four to a warp in C
  return features > 64 && features <= 128 ? 2 : 3;
}

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
    case Design::double_matrix:
      return "double-matrix";
  }
  return "";
}

Design design_named(std::string_view name) {
  std::string known;
  for (const Design design : all_designs) {
    if (name == to_string(design)) return design;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(design));
  }
  throw BadInput(Field{"design"}, fmt::format("none is called '{}'", name),
                 fmt::format("there is: auto, {}", known));
}

std::size_t cache_for_all(const Gpu& gpu) {
  const int generation = gpu.capability / 10;
  const bool halves = gpu.capability == 80 || generation == 9 || generation == 10;
  return halves ? gpu.l2_bytes / 2 : gpu.l2_bytes;
}

std::string why_not(Design design, const Shape& shape, Arithmetic arithmetic, const Gpu& gpu) {
  if (shape.outputs > 1 && design != Design::blocked) {
    return fmt::format(
        "takes a row's slope from one predictor as soon as it is there, the loss has {}",
        shape.outputs);
  }
  if (!shape.logistic && design != Design::blocked && design != Design::one_pass) {
    return "has kernels of the logistic losses alone";
  }
  switch (design) {
    case Design::resident:
      if (arithmetic == Arithmetic::bfloat16) return "computes in float64 or float32";
      if (shape.features > kernels::resident_most_features) {
        return fmt::format("takes at most {} features, there are {}",
                           kernels::resident_most_features, shape.features);
      }
      if (const std::size_t bytes = kernels::resident_pool(shape.rows, shape.features, 1,
                                                           arithmetic != Arithmetic::float64)
                                        .bytes;
          bytes > gpu.shared_bytes) {
        return fmt::format("needs {} bytes of shared memory in a block for X, the card has {}",
                           bytes, gpu.shared_bytes);
      }
      return "";
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
      if (const std::size_t cache = cache_for_all(gpu); bytes > cache) {
        return fmt::format("takes rows that fit the card's cache, {} KiB; there are {} KiB",
                           cache >> 10, (bytes >> 10) + 1);
      }
      if (kernels::cooperative_depth(shape.rows, leaf_rows(shape.rows), shape.features) >
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
    case Design::tiled:
      if (arithmetic != Arithmetic::float32) {
        return fmt::format("computes in float32, asked for is {}", to_string(arithmetic));
      }
      if (shape.features > kernels::tiled_most_features) {
        return fmt::format("takes at most {} features, there are {}", kernels::tiled_most_features,
                           shape.features);
      }
      if (const std::size_t bytes = kernels::tiled_shared_bytes(shape.features, shape.chains, 1);
          bytes > gpu.shared_bytes) {
        return fmt::format("needs {} bytes of shared memory in a block, the card has {}", bytes,
                           gpu.shared_bytes);
      }
      return "";
    case Design::warp_group: {
      if (arithmetic == Arithmetic::float64) {
        return "computes in bfloat16, or in float32 by pairs of them; float64 is asked for";
      }
      if (gpu.capability / 10 != 9) return "needs a Hopper card (compute capability 9.0)";
      const std::size_t most =
          kernels::warp_group_most_features(arithmetic == Arithmetic::float32 ? 2 : 1);
      if (shape.features > most) {
        return fmt::format("takes at most {} features, there are {}", most, shape.features);
      }
      if (shape.chains < kernels::matrix_rows) {
        return fmt::format("needs at least {} chains, there are {}", kernels::matrix_rows,
                           shape.chains);
      }
      return "";
    }
    case Design::blocked:
      return "";
    case Design::double_matrix:
      if (arithmetic != Arithmetic::float64) {
        return fmt::format("computes in float64, asked for is {}", to_string(arithmetic));
      }
      if (shape.features > kernels::double_matrix_most_features) {
        return fmt::format("takes at most {} features, there are {}",
                           kernels::double_matrix_most_features, shape.features);
      }
      if (const std::size_t bytes =
              kernels::double_matrix_shared_bytes(shape.features, shape.chains, 1);
          bytes > gpu.shared_bytes) {
        return fmt::format("needs {} bytes of shared memory in a block, the card has {}", bytes,
                           gpu.shared_bytes);
      }
      return "";
    default:
      return "is not in this version";
  }
}

Choice choose_design(const Shape& shape, Arithmetic arithmetic, const Gpu& gpu,
                     std::optional<Design> asked) {
  if (asked) {
    const std::string why = why_not(*asked, shape, arithmetic, gpu);
    if (!why.empty()) throw BadInput(Field{"design"}, fmt::format("{} {}", to_string(*asked), why));
    return {*asked, "asked for"};
  }
  const auto takes = [&](Design design) { return why_not(design, shape, arithmetic, gpu).empty(); };
  if (takes(Design::resident)) {
    return {Design::resident, "X fits the shared memory of one block: a launch makes all steps"};
  }
  // The crossings are those that an H200 measured (docs/reference/cuda.md, "Crossings").
  const std::size_t d = shape.features;
  const bool matrix_units =
      takes(Design::double_matrix) && shape.chains >= fewest_chains_of_double_matrix(d);
  const std::size_t most_of_loop = matrix_units ? (d <= 32 ? 2 : 4) : ~std::size_t{0};
  if (takes(Design::cooperative) && shape.chains <= most_of_loop) {
    return {Design::cooperative, "few chains and X fits the cache: a launch makes all steps"};
  }
  if (takes(Design::warp_group)) {
    return {Design::warp_group,
            arithmetic == Arithmetic::bfloat16
                ? "bfloat16 and many chains: matrix instructions"
                : "float and many chains: matrix instructions, a float as two bfloat16"};
  }
  if (matrix_units && (d <= 128 || shape.chains <= 96)) {
    return {Design::double_matrix,
            "double: both products on the matrix units, from one pass over X"};
  }
  const std::size_t most_chains = d <= 8 ? 64 : 16;
  if (takes(Design::one_pass) && shape.chains <= most_chains) {
    return {Design::one_pass, "few chains: bound by reading X, which it does once"};
  }
  if (takes(Design::tiled)) {
    return {Design::tiled, "many chains in float: both products from one tile of X"};
  }
  if (shape.outputs > 1) {
    return {Design::blocked, fmt::format("{} outputs: the library's matrix products and a pass "
                                         "over a row's predictors between them",
                                         shape.outputs)};
  }
  return {Design::blocked, "many chains or features: the library's matrix products"};
}

Design gradient_design(Design design, const Shape& shape) {
  if (design != Design::resident && design != Design::cooperative) return design;
  return shape.features <= kernels::one_pass_most_features ? Design::one_pass : Design::blocked;
}

std::unique_ptr<GradientSource> make_source(Design design, const DeviceProblem& problem) {
  switch (design) {
    case Design::one_pass:
      return make_one_pass_source(problem);
    case Design::warp_group:
      return make_warp_group_source(problem);
    case Design::blocked:
      return make_blocked_source(problem);
    case Design::tiled:
      return make_tiled_source(problem);
    case Design::double_matrix:
      return make_double_matrix_source(problem);
    default:
      return nullptr;
  }
}

std::unique_ptr<StepLoop> make_loop(Design design, const DeviceProblem& problem) {
  switch (design) {
    case Design::resident:
      return make_resident_loop(problem);
    case Design::cooperative:
      return make_cooperative_loop(problem);
    default:
      return nullptr;
  }
}

}  // namespace gibbsite::cuda
