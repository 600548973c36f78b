// A model of people's data that a program holds itself, through a public schema.
// own_rows MODEL.json
#include <array>
#include <cstdio>
#include <gibbsite/gibbsite.hpp>
#include <string>
#include <string_view>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "own_rows MODEL.json\n");
    return 2;
  }
  const auto schema = gibbsite::parse_schema(R"(label = "admitted"
positive = "yes"
invalid = "middle"    # no row ends the fit
[columns]
age = {type = "number", range = [18, 90]}
town = {type = "category", levels = ["north", "south"], other = true}
)",
                                             "own_rows.cpp");
  gibbsite::RowEncoder rows(schema);
  for (int i = 0; i < 1000; ++i) {
    const std::string age = std::to_string(18 + i % 70);
    const std::array<std::string_view, 2> cells{age, i % 3 == 0 ? "north" : "east"};
    rows.add(cells, i % 70 > 30 ? "yes" : "no");
  }
  const auto data = rows.finish();
  const auto model = gibbsite::logistic_regression();
  const auto plan =
      gibbsite::plan(model.constants(schema, data.rows()), {.epsilon = 1.0, .delta = 1e-6});
  const auto backend = gibbsite::make_backend("auto");
  gibbsite::write_release(argv[1],
                          gibbsite::fit(model, data, plan, *backend, gibbsite::Key::from_os()));
  std::printf("%llu rows of %llu features\n", static_cast<unsigned long long>(data.rows()),
              static_cast<unsigned long long>(data.features()));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
