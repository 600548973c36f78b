// An exponential family of one's own, p(x) = h(x) exp(eta . T(x) - A(eta)): its statistic T within
// public bounds is all that a table tells of eta. Sums of T get noise and a certificate, and eta
// follows. Here the von Mises law of directions: at what time of day people arrive.
// own_family MODEL.json
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <gibbsite/gibbsite.hpp>
#include <gibbsite/release/covariance.hpp>
#include <gibbsite/run/fit_covariance.hpp>
#include <random>

namespace {

constexpr double pi = 3.141592653589793;

// T(x) = (cos x, sin x), each in [-1, 1], and A(eta) = log I_0(kappa), kappa = |eta|.
struct VonMises {
  static constexpr const char* schema = R"([columns]
cos = {type = "number", range = [-1, 1]}
sin = {type = "number", range = [-1, 1]}
)";
  static std::array<double, 2> statistic(double x) { return {std::cos(x), std::sin(x)}; }
  // |grad A| = I_1/I_0 grows from 0 to 1: where it is `length`.
  static double concentration(double length) {
    double low = 0, high = 500;
    for (int step = 0; step < 60; ++step) {
      const double k = (low + high) / 2;
      (std::cyl_bessel_i(1, k) < length * std::cyl_bessel_i(0, k) ? low : high) = k;
    }
    return (low + high) / 2;
  }
};

// Angle and length of all vectors in a box: they hold those of the mean of T 95 % of the time or
// more, as the sides of the box do, each its own.
struct Polar {
  double angle, length;
};
Polar polar(double x, double y) { return {std::atan2(y, x), std::hypot(x, y)}; }

void print(const gibbsite::MomentEstimate& x, const gibbsite::MomentEstimate& y) {
  const Polar mean = polar(x.value, y.value);
  const double near = std::hypot(std::max({x.low, -x.high, 0.0}), std::max({y.low, -y.high, 0.0}));
  double early = 0, late = 0, far = 0;
  for (const double a : {x.low, x.high}) {
    for (const double b : {y.low, y.high}) {
      const Polar corner = polar(a, b);
      const double turn = std::remainder(corner.angle - mean.angle, 2 * pi);
      early = std::min(early, turn), late = std::max(late, turn);
      far = std::max(far, corner.length);
    }
  }
  const auto hour = [](double angle) { return std::fmod(angle / (2 * pi) * 24 + 48, 24); };
  if (near == 0) {
    std::printf("hour: any, noise hides it\n");
  } else {
    std::printf("hour %.2f (%.2f to %.2f)\n", hour(mean.angle), hour(mean.angle + early),
                hour(mean.angle + late));
  }
  std::printf("concentration %.2f (%.2f to %.2f)\n",
              VonMises::concentration(std::min(mean.length, 1.0)), VonMises::concentration(near),
              VonMises::concentration(std::min(far, 1.0)));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "own_family MODEL.json\n");
    return 2;
  }
  const auto schema = gibbsite::parse_covariance_schema(
      VonMises::schema, "own_family.cpp", {"cos", "sin"}, gibbsite::Adjacency::replace_one);
  gibbsite::RowEncoder rows(schema);
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 5000; ++i) {  // about half past eight
    const double x = (8.5 + 1.5 * normal(bits)) / 24 * 2 * pi;
    rows.add(VonMises::statistic(x));
  }
  const auto data = rows.finish();
  const auto plan =
      gibbsite::plan_covariance({data.rows(), data.features()}, {.epsilon = 1.0, .delta = 1e-6});
  const auto release = gibbsite::fit_covariance(data, plan, gibbsite::Key::from_os());
  gibbsite::write_release(argv[1], release);
  const auto of = gibbsite::covariance_estimates(release);
  print(of.means[0], of.means[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
