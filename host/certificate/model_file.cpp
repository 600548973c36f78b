#include "gibbsite/certificate/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

// Looks for what json::parse lets pass. (Its callback would do, in a time that grows with the
// square of an array's length.)
class Watch final : public nlohmann::json_sax<json> {
 public:
  std::string repeated;      ///< a name that an object gives twice
  bool deep = false;         ///< more than 32 levels
  bool long_number = false;  ///< a number of more digits than a double takes
  std::string broken;        ///< why it is not JSON

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    constexpr std::size_t longest = 64;
    long_number = long_number || text.size() > longest;
    return true;
  }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    names_.emplace_back();
    return enter();
  }
  bool end_object() override {
    names_.pop_back();
    return leave();
  }
  bool start_array(std::size_t /*size*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (!names_.back().insert(name).second) repeated = name;
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const json::exception& error) override {
    const std::string what = error.what();  // "[json.exception....] parse error at line ..."
    broken = what.substr(std::min(what.find("] ") + 2, what.size()));
    return false;
  }

 private:
  bool enter() { return !(deep = ++depth_ > 32); }
  bool leave() { return --depth_ >= 0; }

  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> names_;  // of the objects that are open
};

// A name given twice would show a reader one value and a program the other. The parser takes a NUL
// byte for the end of the text: what is behind it would travel with the file, unread.
json parse_strict(const std::string& text, const std::string& source) {
  if (const std::size_t at = text.find('\0'); at != std::string::npos) {
    throw BadInput(fmt::format(
        "{}: has a NUL byte at byte {}, and no JSON holds one: what follows would go unread; use "
        "the file as it was written",
        source, at));
  }
  Watch watch;
  const bool whole = json::sax_parse(text, &watch);
  if (watch.deep)
    throw BadInput(source + ": is nested too deeply; give a model.json that fit wrote");
  if (!whole) {
    throw BadInput(
        fmt::format("{}: is not JSON: {}; give a model.json that fit wrote", source, watch.broken));
  }
  // Digits that change no value are in no digest.
  if (watch.long_number) {
    throw BadInput(source +
                   ": has a number of more than 64 characters, which no program writes; "
                   "use the file as it was written");
  }
  if (!watch.repeated.empty()) {
    throw BadInput(fmt::format("{}: gives the name '{}' twice; use the file as it was written",
                               source, watch.repeated));
  }
  return json::parse(text);
}

}  // namespace

std::size_t format_of(const json& object) {
  if (!object.is_object() || !object.contains("format")) return 0;
  for (std::size_t format = oldest_format; format <= Claims::newest_format; ++format) {
    if (object["format"] == format_names[format]) return format;
  }
  return 0;
}

bool has_tag(const json& certificate, std::string_view tag) {
  const json::json_pointer at("/constants/" + std::string(tag));
  return certificate.is_object() && certificate.contains(at);
}

bool is_release(const json& object) { return format_of(object) != 0; }

namespace {

// What to say of an object that is no release.
std::string no_release(const json& object, const std::string& source) {
  if (object.is_object() && object.value("format", json()) == "gibbsite-release/1") {
    return fmt::format(
        "{}: is a gibbsite-release/1 file, of before the first release; {} and {} are read: fit "
        "the model again",
        source, format_names[oldest_format], release_format);
  }
  return fmt::format("{}: is not a {} file; give a model.json that fit wrote", source,
                     release_format);
}

}  // namespace

void require_release(const json& object, const std::string& source) {
  if (!is_release(object)) throw BadInput(no_release(object, source));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw BadInput(path + ": cannot read; check the path and its permissions");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

json parse_release_json(const std::string& text, const std::string& path) {
  json out = parse_strict(text, path);
  const auto has = [&](const char* part) { return out.contains(part) && out[part].is_object(); };
  if (!is_release(out) || !has("model") || !has("certificate"))
    throw BadInput(no_release(out, path));
  return out;
}

json read_release_json(const std::string& path) { return parse_release_json(text_of(path), path); }

json untouched_json(const std::string& text, const std::string& path) {
  json file = parse_release_json(text, path);
  const json& certificate = file.at("certificate");
  for (const char* part : {"guarantee", "mechanism", "constants", "numerics", "software"}) {
    if (!field(certificate, part, path).is_object()) {
      throw BadInput(
          fmt::format("{}: certificate.{}: must be an object; use the file as it was "
                      "written",
                      path, part));
    }
  }
  if (text_field(certificate, "digest", path) != file_digest(file)) {
    throw BadInput(path +
                   ": was changed after fit wrote it: certificate.digest is not the digest of its "
                   "contents; use the file as it was written (verifying it says what does not "
                   "hold)");
  }
  return file;
}

std::string read_release_text(const std::string& path) { return text_of(path); }

}  // namespace gibbsite
