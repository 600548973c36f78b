// Stan's bernoulli_logit_glm and its reverse mode, for stan_gradient.py; scripts/bench-peers builds
// it against the headers of a Python package. Stan takes one chain at a time; chains are shared
// among threads.
#include <algorithm>
#include <cstddef>
#include <stan/math.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Table {
  Eigen::MatrixXd x;
  std::vector<int> y;
};

void gradient(const Table& table, const double* theta, double* out) {
  using stan::math::var;
  const stan::math::nested_rev_autodiff tape;
  Eigen::Matrix<var, Eigen::Dynamic, 1> weights(table.x.cols());
  for (Eigen::Index j = 0; j < weights.size(); ++j) weights[j] = theta[j];
  var loss = -stan::math::bernoulli_logit_glm_lpmf(table.y, table.x, 0.0, weights);
  loss.grad();
  for (Eigen::Index j = 0; j < weights.size(); ++j) out[j] = weights[j].adj();
}

}  // namespace

extern "C" {

// x by rows; y 0 or 1. The table lives as long as the process.
const void* stan_table(const double* x, const int* y, std::ptrdiff_t rows,
                       std::ptrdiff_t features) {
  using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return new Table{Eigen::Map<const ByRows>(x, rows, features), std::vector<int>(y, y + rows)};
}

void stan_gradients(const void* table, const double* theta, std::ptrdiff_t chains, int threads,
                    double* out) {
  const auto& t = *static_cast<const Table*>(table);
  const std::ptrdiff_t used = std::min<std::ptrdiff_t>(threads, chains), d = t.x.cols();
  const auto share = [&](std::ptrdiff_t k) {
    const stan::math::ChainableStack tape;  // of this thread
    for (std::ptrdiff_t c = chains * k / used; c < chains * (k + 1) / used; ++c)
      gradient(t, theta + c * d, out + c * d);
  };
  std::vector<std::thread> others;
  for (std::ptrdiff_t k = 1; k < used; ++k) others.emplace_back(share, k);
  share(0);
  for (std::thread& other : others) other.join();
}

const char* stan_version() {
  static const std::string version =
      stan::math::MAJOR_VERSION + "." + stan::math::MINOR_VERSION + "." + stan::math::PATCH_VERSION;
  return version.c_str();
}
}
