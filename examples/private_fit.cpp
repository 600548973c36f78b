// A model of people's data that may be published, and its certificate.
// private_fit TABLE.csv SCHEMA.toml MODEL.json
#include <cstdio>
#include <gibbsite/gibbsite.hpp>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "private_fit TABLE.csv SCHEMA.toml MODEL.json\n");
    return 2;
  }
  const auto schema = gibbsite::read_schema(argv[2]);  // public
  const auto data = gibbsite::read_csv(argv[1], schema);
  const auto model = gibbsite::logistic_regression();
  // Sees public numbers only.
  const auto plan =
      gibbsite::plan(model.constants(schema, data.rows()), {.epsilon = 1.0, .delta = 1e-6});
  const auto backend = gibbsite::make_backend("auto");
  const auto release = gibbsite::fit(model, data, plan, *backend, gibbsite::Key::from_os());
  gibbsite::write_release(argv[3], release);
  std::printf("gibbsite %s: %llu rows, %s\n", GIBBSITE_VERSION,
              static_cast<unsigned long long>(data.rows()), argv[3]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
