// The examples of RFC 8785, and what no other program's spelling may change.
#include "certificate/canonical_json.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace gibbsite {
namespace canonical_json_test {

using nlohmann::json;

TEST(CanonicalJson, WritesNumbersAsECMAScriptDoes) {
  using Limits = std::numeric_limits<double>;
  const std::vector<std::pair<double, std::string>> samples{
      {0.0, "0"},
      {-0.0, "0"},
      {Limits::denorm_min(), "5e-324"},
      {-Limits::denorm_min(), "-5e-324"},
      {Limits::max(), "1.7976931348623157e+308"},
      {9007199254740992.0, "9007199254740992"},
      {295147905179352825856.0, "295147905179352830000"},
      {9.999999999999997e22, "9.999999999999997e+22"},
      {1e23, "1e+23"},
      {1.0000000000000001e23, "1.0000000000000001e+23"},
      {999999999999999700000.0, "999999999999999700000"},
      {999999999999999900000.0, "999999999999999900000"},
      {1e21, "1e+21"},
      {9.999999999999997e-7, "9.999999999999997e-7"},
      {0.000001, "0.000001"},
      {1e-7, "1e-7"},
      {333333333.3333332, "333333333.3333332"},
      {333333333.33333325, "333333333.33333325"},
      {-0.0000033333333333333333, "-0.0000033333333333333333"},
      {1424953923781206.2, "1424953923781206.2"},
      {1, "1"},
      {-17.5, "-17.5"},
      {100, "100"}};
  for (const auto& [value, text] : samples) EXPECT_EQ(canonical_number(value), text);
}

TEST(CanonicalJson, SortsByUtf16AndEscapesAsTheSchemeHasIt) {
  const json names = json::parse(
      R"({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7})");
  EXPECT_EQ(canonical_text(names),
            "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
            "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
  const json text = json::parse(R"(["\u000f\nA'\u0042\u0022\u005c\\\"\/€$", null, true, [], {}])");
  EXPECT_EQ(canonical_text(text), R"(["\u000f\nA'B\"\\\\\"/€$",null,true,[],{}])");
}

TEST(CanonicalJson, IsOfValuesAndNotOfTheirSpelling) {
  const std::string one = canonical_text(json::parse(R"({"b": [1.0, -0.0, 1e3, 0.1], "a": 2})"));
  EXPECT_EQ(one, R"({"a":2,"b":[1,0,1000,0.1]})");
  EXPECT_EQ(one, canonical_text(json::parse(R"({"a":2.0,"b":[1,0,1000.0,1e-1]})")));
  EXPECT_NE(one, canonical_text(json::parse(R"({"a":2,"b":[1,0,1000,0.1000000000000001]})")));
  EXPECT_NE(one, canonical_text(json::parse(R"({"a":"2","b":[1,0,1000,0.1]})")));
  // No double tells these apart.
  EXPECT_NE(canonical_text(json::parse("9007199254740993")),
            canonical_text(json::parse("9007199254740994")));
}

}  // namespace canonical_json_test
}  // namespace gibbsite
