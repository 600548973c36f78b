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
  std::size_t broken = 0;    ///< the byte, from 1, at which it stops being JSON

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
  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    broken = at;
    return false;
  }

 private:
  bool enter() { return !(deep = ++depth_ > 32); }
  bool leave() { return --depth_ >= 0; }

  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> names_;  // of the objects that are open
};

// What to say of a text that is not JSON from that byte on. It may be a private table in place of a
// model, so nothing of it is quoted.
std::string no_json(const std::string& text, std::size_t at, const std::string& source) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos)
    return source + ": is empty, so it is no gibbsite model file; give one that fit wrote";
  if (text[first] != '{') {
    return source +
           ": is no gibbsite model file, or its beginning is damaged; give one that fit wrote";
  }
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size() - 1));
  return fmt::format(
      "{}: is no gibbsite model file, or is cut off or damaged (at line {} of {}); copy it whole "
      "from where fit wrote it",
      source, 1 + std::count(text.begin(), end, '\n'),
      1 + std::count(text.begin(), text.end() - 1, '\n'));
}

// A name given twice would show a reader one value and a program the other. The parser takes a NUL
// byte for the end of the text: what is behind it would travel with the file, unread.
json parse_strict(const std::string& text, const std::string& source) {
  if (text.starts_with("SQLite format 3")) {
    throw BadInput(source + ": is a ledger, no model file; give a model file that fit wrote");
  }
  if (const std::size_t at = text.find('\0'); at != std::string::npos) {
    throw BadInput(fmt::format(
        "{}: has a NUL byte at byte {}, and no JSON holds one: what follows would go unread; use "
        "the file as it was written",
        source, at));
  }
  Watch watch;
  const bool whole = json::sax_parse(text, &watch);
  if (watch.deep)
    throw BadInput(source + ": is nested too deeply; give a model file that fit wrote");
  if (!whole) throw BadInput(no_json(text, watch.broken, source));
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
  return fmt::format("{}: is JSON, but no {} file; give a model file that fit wrote", source,
                     release_format);
}

}  // namespace

void require_release(const json& object, const std::string& source) {
  if (!is_release(object)) throw BadInput(no_release(object, source));
}

std::string text_of(const std::string& path, const char* hint) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (status.type() == std::filesystem::file_type::not_found)
    throw BadInput(FilePosition{path}, "there is no such file", hint);
  if (std::filesystem::is_directory(status))
    throw BadInput(FilePosition{path}, "is a folder", hint);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadInput(path + ": cannot be read; check its permissions");
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
