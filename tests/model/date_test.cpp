// Days as text: every day of four centuries against a calendar that is walked day by day, and what
// is no day.
#include "gibbsite/model/date.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gibbsite/model/boolean.hpp"

namespace gibbsite {
namespace date_test {

using ::testing::HasSubstr;

bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
int days_of(int year, int month) {
  return month == 2 ? (is_leap(year) ? 29 : 28)
                    : (month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31);
}

TEST(Dates, CountTheDaysOfTheCalendar) {
  double day = 0;
  for (int year = 1970; year < 2370; ++year)
    for (int month = 1; month <= 12; ++month)
      for (int d = 1; d <= days_of(year, month); ++d, ++day) {
        const std::string text = fmt::format("{}-{:02}-{:02}", year, month, d);
        ASSERT_EQ(parse_date(text), day) << text;
        ASSERT_EQ(date_text(day), text);
      }
  day = 0;
  for (int year = 1969; year > 1569; --year)
    for (int month = 12; month > 0; --month)
      for (int d = days_of(year, month); d > 0; --d) {
        const std::string text = fmt::format("{}-{:02}-{:02}", year, month, d);
        ASSERT_EQ(parse_date(text), --day) << text;
        ASSERT_EQ(date_text(day), text);
      }
  EXPECT_EQ(parse_date("0001-01-01"), first_day);
  EXPECT_EQ(parse_date("9999-12-31"), last_day);
}

TEST(Dates, CutTheirTimes) {
  for (const char* const time :
       {"T00:00", "T23:59:59", " 23:59:59.123456789", "T24:00:00Z", "T07", "T23:30:00-05:00",
        " 23:30:00 +0100", "T12:00:60,5+01", " 1200 UTC"}) {
    const bool legal = std::string_view(time) != " 1200 UTC";
    EXPECT_EQ(parse_date(std::string("2020-02-29") + time).has_value(), legal) << time;
  }
  EXPECT_EQ(parse_date("2020-02-29T23:59:59Z"), parse_date("2020-02-29"));
  EXPECT_EQ(parse_date("29.2.2020 23:59", "%d.%m.%Y"), parse_date("2020-02-29"));
}

TEST(Dates, ThatAreNoDays) {
  for (const char* const text : {"",
                                 "1900-02-29",
                                 "2100-02-29",
                                 "2021-02-29",
                                 "2020-13-01",
                                 "2020-00-10",
                                 "2020-01-00",
                                 "2020-01-32",
                                 "20-01-01",
                                 "020-01-01",
                                 "0000-01-01",
                                 "12020-01-01",
                                 "2020-1-",
                                 "2020-01-01x",
                                 "2020-01-01T",
                                 " 2020-01-01",
                                 "2020-01-01 ",
                                 "2020-01-01T25:00",
                                 "2020-01-01T23:60",
                                 "2020-01-01T23:59:",
                                 "2020/01/01",
                                 "2020-01",
                                 "20200101",
                                 "18262",
                                 "2020-01-01T23:59:59.",
                                 "2020-01-01T23:59:59+1",
                                 "-2020-01-01",
                                 "2020-01-01T23:59:59.1234567890",
                                 "2020-01-01Z",
                                 "+2020-01-01",
                                 "2020--1-01"})
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  EXPECT_EQ(parse_date(std::string("2020-01-01\0", 11)), std::nullopt);
}

TEST(Dates, InEveryFormat) {
  const double day = *parse_date("2004-03-09");
  for (const auto& [format, text] :
       {std::pair("%d.%m.%Y", "09.03.2004"), std::pair("%m/%d/%Y", "03/09/2004"),
        std::pair("%d%b%Y", "09Mar2004"), std::pair("%Y%m%d", "20040309"),
        std::pair("%b %d, %Y", "Mar 09, 2004"), std::pair("%Y年%m月%d日", "2004年03月09日")}) {
    EXPECT_EQ(date_format_fault(format), "") << format;
    EXPECT_EQ(parse_date(text, format), day) << text;
    EXPECT_EQ(date_text(day, format), text);
    for (double other = day; other < day + 1500; other += 7)
      ASSERT_EQ(parse_date(date_text(other, format), format), other) << date_text(other, format);
  }
  EXPECT_EQ(parse_date("9.3.2004", "%d.%m.%Y"), day);
  EXPECT_EQ(parse_date("9MAR2004", "%d%b%Y"), std::nullopt) << "a digit may follow";
  EXPECT_EQ(parse_date("09mar2004", "%d%b%Y"), day);
  EXPECT_EQ(parse_date("2004039", "%Y%m%d"), std::nullopt);
  EXPECT_EQ(parse_date("31.04.2004", "%d.%m.%Y"), std::nullopt);
}

TEST(Dates, SayWhatIsWrongWithAFormat) {
  EXPECT_THAT(date_format_fault("%d.%m.%y"), HasSubstr("no century"));
  EXPECT_THAT(date_format_fault("%d.%m"), HasSubstr("once each"));
  EXPECT_THAT(date_format_fault("%d.%m.%Y.%d"), HasSubstr("once each"));
  EXPECT_THAT(date_format_fault("%Y-%m-%b"), HasSubstr("once each"));
  EXPECT_THAT(date_format_fault("%Y-%m-%d %H"), HasSubstr("neither"));
  EXPECT_THAT(date_format_fault("%Y-%m-%d%"), HasSubstr("neither"));
  EXPECT_THAT(date_format_fault("1%Y-%m-%d"), HasSubstr("digit"));
  EXPECT_THAT(date_format_fault(""), HasSubstr("once each"));
}

TEST(Booleans, AreSpelledInPairs) {
  EXPECT_EQ(boolean_spellings(true).size(), 11U);
  EXPECT_EQ(boolean_spellings(false).size(), 11U);
  EXPECT_TRUE(are_booleans({"TRUE", "f", "0"}));
  EXPECT_TRUE(are_booleans({"yes", "no"}));
  EXPECT_FALSE(are_booleans({"yes", "Yes"}));
  EXPECT_FALSE(are_booleans({"yes", "no", "maybe"}));
  EXPECT_FALSE(are_booleans({"M", "F"}));
  EXPECT_FALSE(are_booleans({}));
}

// Against a calendar that is walked day by day, over all years that there are.
TEST(PartsOfDates, AreThoseOfTheCalendar) {
  double day = first_day;
  int weekday = 0;  // 0001-01-01 was a Monday, in the calendar that goes back before its day
  for (int year = 1; year <= 9999; ++year)
    for (int month = 1; month <= 12; ++month)
      for (int d = days_of(year, month); d > 0; --d, ++day, weekday = (weekday + 1) % 7) {
        ASSERT_EQ(part_of_day(DatePart::year, day), year);
        ASSERT_EQ(part_of_day(DatePart::month, day), month - 1);
        ASSERT_EQ(part_of_day(DatePart::weekday, day), weekday);
      }
  EXPECT_EQ(day, last_day + 1);
  // A Friday, late in the evening and before 1970.
  EXPECT_EQ(part_of_day(DatePart::weekday, *parse_date("2026-11-27") + .999), 4);
  EXPECT_EQ(part_of_day(DatePart::month, *parse_date("1969-12-31") + .5), 11);
  EXPECT_EQ(part_levels(DatePart::weekday)[4], "Fri");
  EXPECT_EQ(part_levels(DatePart::month)[11], "Dec");
  EXPECT_TRUE(part_levels(DatePart::year).empty());
  for (const DatePart part : {DatePart::year, DatePart::month, DatePart::weekday})
    EXPECT_EQ(date_part_named(to_string(part)), part);
  EXPECT_EQ(date_part_named("day"), std::nullopt);
  EXPECT_EQ(date_part_named(""), std::nullopt);
}

}  // namespace date_test
}  // namespace gibbsite
