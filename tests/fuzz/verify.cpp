// The input is model.json. Verification finds failures and throws nothing; what is valid is a
// release, and reads back to itself.
#include "gibbsite/certificate/verify.hpp"

#include <nlohmann/json.hpp>

#include "fuzz.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  const std::string& path = file.holding(in);
  nlohmann::json model;
  if (!accepts([&] { model = read_release_json(path); })) return;
  const Verification out = verify(model);
  require(out.valid == out.failures.empty(), "valid");
  require(!(out.valid && out.void_run), "a void run is no guarantee");
  const bool told = accepts([&] { static_cast<void>(in_words(model.at("certificate"))); });
  const bool whole = accepts([&] { static_cast<void>(read_release(path)); });
  if (out.valid) {
    nlohmann::json again = to_json(release_from_json(model, "model"));
    // A digest of spelling is written anew as one of values.
    const bool valid = verify(again).valid;
    if (valid) again["certificate"]["digest"] = model["certificate"]["digest"];
    require(told && whole && again == model, "a valid model");
  }
}
