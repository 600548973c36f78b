#include "gibbsite/core/message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace message_test {

using ::testing::ElementsAre;
using Kind = Message::Kind;
using Piece = Message::Piece;

const Message& example() {
  static const Message message =
      format_message("{}: {:.2f} is above {}{{}}; give {} or {} in {}", Field{"epsilon"}, 1.5,
                     "all", Field{"rows_cap"}, Word{"classes"}, FilePosition{"a.toml", 3});
  return message;
}

TEST(Message, KeepsWhatIsTypedApart) {
  EXPECT_THAT(
      example().pieces(),
      ElementsAre(Piece{Kind::field, "epsilon"}, Piece{Kind::text, ": 1.50 is above all{}; give "},
                  Piece{Kind::field, "rows_cap"}, Piece{Kind::text, " or "},
                  Piece{Kind::word, "classes"}, Piece{Kind::text, " in "},
                  Piece{Kind::file, "a.toml"}, Piece{Kind::text, ":3"}));
}

TEST(Message, IsWrittenByEachFrontEnd) {
  EXPECT_EQ(example().text(),
            "`epsilon`: 1.50 is above all{}; give `rows_cap` or `classes` in a.toml:3");
  EXPECT_EQ(example().plain(),
            "epsilon: 1.50 is above all{}; give rows_cap or classes in a.toml:3");
  EXPECT_EQ(example().written([](const Piece& piece) { return '<' + piece.text + '>'; }),
            "<epsilon>: 1.50 is above all{}; give <rows_cap> or <classes> in <a.toml>:3");
  std::ostringstream out;
  out << example();
  EXPECT_EQ(out.str(), example().text());
}

// What looks like a field in a text, as a name of a file may, is none.
TEST(Message, NothingIsReadOutOfText) {
  const Message message = format_message("{}: {}", FilePosition{"`epsilon`"}, "`delta` {}");
  EXPECT_EQ(message.plain(), "`epsilon`: `delta` {}");
  EXPECT_EQ(BadInput(message, "is odd").field(), "");
}

TEST(Message, IsBuiltOfOthers) {
  Message message = "a " + Message(Field{"b"}) + std::string(" c");
  message += message;
  EXPECT_EQ(message.text(), "a `b` ca `b` c");
  EXPECT_EQ(format_message("[{}] {}", message, Message()).text(), "[a `b` ca `b` c] ");
  EXPECT_TRUE(Message().empty());
  EXPECT_TRUE(Message("").empty());
  EXPECT_EQ(Message("a") + "b", Message("ab"));
}

TEST(Message, CrossesToAnotherProcess) {
  for (const Message& message :
       {example(), Message(), Message("12:t3:abc"), Message(Word{":\n"})}) {
    EXPECT_EQ(Message::unpacked(message.packed()), message) << message;
  }
  const std::string whole = example().packed();
  for (std::size_t length = 0; length < whole.size(); ++length)  // never beyond the end
    EXPECT_NE(Message::unpacked(std::string_view(whole).substr(0, length)), example());
}

TEST(ErrorParts, AreKept) {
  const BadInput error(Field{"rows_cap"}, "must be above 0",
                       format_message("see {}", Field{"rows"}));
  EXPECT_STREQ(error.what(), "`rows_cap`: must be above 0; see `rows`");
  EXPECT_EQ(error.field(), "rows_cap");
  EXPECT_EQ(error.wrong(), "must be above 0");
  EXPECT_EQ(error.hint().plain(), "see rows");
  EXPECT_EQ(error.status(), Status::bad_input);
  const Infeasible about(format_message("{} path", Field{"mechanism"}), "too much");
  EXPECT_STREQ(about.what(), "`mechanism` path: too much");
  EXPECT_EQ(about.field(), "mechanism");
  EXPECT_EQ(about.status(), Status::infeasible);
  const BudgetSpent plain("a line");
  EXPECT_STREQ(plain.what(), "a line");
  EXPECT_EQ(plain.field(), "");
}

TEST(ErrorParts, ValidatorsNameTheirField) {
  try {
    require_between(2, 0, 1, Field{"tv"});
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_EQ(error.field(), "tv");
    EXPECT_EQ(error.message().plain(), "tv: must lie strictly between 0 and 1, got 2; give one");
  }
  try {
    require_finite_positive(-1, "lipschitz");
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_EQ(error.field(), "");
    EXPECT_STREQ(error.what(), "lipschitz: must be a finite number above 0, got -1; give one");
  }
}

}  // namespace message_test
}  // namespace gibbsite
