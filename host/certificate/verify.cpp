#include "gibbsite/certificate/verify.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "certificate/verifier.hpp"

namespace gibbsite {

using nlohmann::json;

void Verifier::same(const std::string& path, const json& expected, const json& claimed) {
  if (expected.is_object() && claimed.is_object()) {
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& item : expected.items()) {
      const std::string name = prefix + item.key();
      if (claimed.contains(item.key())) {
        same(name, item.value(), claimed.at(item.key()));
      } else {
        check(false, name + ": is missing");
      }
    }
    for (const auto& item : claimed.items()) {
      if (!expected.contains(item.key())) {
        check(false, prefix + item.key() + ": is no field that belongs there");
      }
    }
  } else if (expected.is_array() && claimed.is_array() && expected.size() == claimed.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      same(fmt::format("{}[{}]", path, i), expected[i], claimed[i]);
    }
  } else if (expected == claimed) {
    check(true, fmt::format("{} = {}", path, claimed.dump()));
  } else {
    check(false,
          fmt::format("{}: claimed {}, recomputed {}", path, claimed.dump(), expected.dump()));
  }
}

void Verifier::check_parts(const json& file) {
  check(is_release(file), is_release(file)
                              ? fmt::format("format = {}", format_names[format_of(file)])
                              : fmt::format("format: none of gibbsite-release/{} to {}",
                                            oldest_format, Claims::newest_format));
  if (!file.is_object()) return;
  for (const auto& item : file.items()) {
    const bool known =
        item.key() == "format" || item.key() == "model" || item.key() == "certificate";
    if (!known) check(false, item.key() + ": is no field of a model file");
  }
}

void Verifier::check_claims(const Claims& c, const Analysis& found) {
  if (c.is_void())
    return check(false, "guarantee: void by its own account: the noise follows from a seed");
  std::vector<double> recomputed;
  Guarantee::fields(found.guarantee,
                    [&](const char*, double value) { recomputed.push_back(value); });
  auto least = recomputed.begin();
  Guarantee::fields(c.claimed, [&](const char* name, double claimed) {
    check(claimed >= *least,
          fmt::format("guarantee.{}: claimed {}, recomputed {}", name, claimed, *least));
    ++least;
  });
  const double delta = delta_up(found.guarantee, c.epsilon);
  check(delta <= c.delta, fmt::format("guarantee.delta: claimed {} at epsilon = {}, recomputed {}",
                                      c.delta, c.epsilon, delta));
}

void Verifier::check_digest(const json& file) {
  const json& certificate = file.at("certificate");
  const std::string digest = file_digest(file);
  if (certificate.contains("digest") && certificate["digest"] == digest)
    return check(true, "digest of the file = " + digest);
  check(false,
        std::string("certificate.digest: the file was changed after it was written: this is not "
                    "the digest of its contents") +
            (digest.starts_with(digest_of_spelling)
                 ? " (this older kind is of how numbers are spelled: a program that wrote the "
                   "file anew, 1.0 as 1, breaks it without another change)"
                 : ""));
}

void Verifier::same_problem(const json& model, const json& claimed) {
  json all = claimed;
  all.update(model);
  for (const auto& item : all.items()) {
    const json has = model.value(item.key(), json()), says = claimed.value(item.key(), json());
    if (has != says) {
      check(false, fmt::format("constants.{}: claimed {}, the model has {}", item.key(),
                               says.dump(), has.dump()));
    }
  }
  if (model == claimed) check(true, "constants: those of the model");
}

bool refuses_cells(const json& file) {
  const json::json_pointer invalid("/model/preprocessing/invalid");
  return !file.contains(invalid) || file.at(invalid) != "middle";
}

Verification verify(const json& model) {
  const json certificate = model.is_object() ? model.value("certificate", json()) : json();
  return with_kind(certificate,
                   [&]<class Kind>(std::type_identity<Kind>) { return verify_as<Kind>(model); });
}

}  // namespace gibbsite
