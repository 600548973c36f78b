// Places of people who wait in blocks, with a helper and without one.
#include "data/person_lookup.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace gibbsite {
namespace {

// Places of rows in the order in which their ids came first, as a map gives them.
std::vector<std::uint32_t> in_order(const std::vector<std::string>& ids) {
  std::map<std::string, std::uint32_t> places;
  std::vector<std::uint32_t> out;
  for (const std::string& id : ids)
    out.push_back(places.emplace(id, static_cast<std::uint32_t>(places.size())).first->second);
  return out;
}

// What rows get that read their ids one by one. Of every `now`-th row, if any, the place is asked
// for at once.
std::vector<std::uint32_t> looked_up(const std::vector<std::string>& ids, bool has_helper,
                                     std::size_t now = 0) {
  PersonIds table;
  PersonLookup lookup(table, has_helper);
  std::vector<std::uint32_t> person;
  for (const std::string& id : ids) {
    const std::size_t number = lookup.add(id);
    if (now != 0 && person.size() % now == 0) {
      person.push_back(lookup.place_now(number));
    } else {
      lookup.add_row(person.size());
      person.push_back(static_cast<std::uint32_t>(number));
    }
    if (lookup.is_full()) lookup.next_block(person);
  }
  lookup.finish(person);
  return person;
}

TEST(PersonLookup, GivesPlacesInTheOrderOfIds) {
  std::mt19937_64 random(1);
  // Ids of few people and of many, who grow the table within a block; one id below and beyond the
  // ends of blocks, and none.
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, PersonLookup::block - 1, PersonLookup::block,
        PersonLookup::block + 1, 5 * PersonLookup::block + 77}) {
    for (const std::uint64_t people :
         {std::uint64_t{1}, std::uint64_t{50}, std::uint64_t{1} << 60}) {
      std::vector<std::string> ids(count);
      for (std::string& id : ids) {
        id = fmt::format("{}", std::uniform_int_distribution<std::uint64_t>(1, people)(random));
        if (people == 50) id.resize(std::stoul(id) % 7, 'x');  // of length 0 too
      }
      const std::vector<std::uint32_t> expected = in_order(ids);
      for (const bool has_helper : {false, true}) {
        EXPECT_EQ(looked_up(ids, has_helper), expected) << count << ' ' << people;
        EXPECT_EQ(looked_up(ids, has_helper, 1000), expected) << count << ' ' << people;
      }
    }
  }
}

// Who reads rows may stop in the middle, at a row that is refused.
TEST(PersonLookup, MayBeLeftWhileTheHelperWorks) {
  for (int turn = 0; turn < 5; ++turn) {
    PersonIds table;
    std::vector<std::uint32_t> person(2 * PersonLookup::block);
    PersonLookup lookup(table, true);
    for (std::size_t i = 0; i < person.size(); ++i) {
      lookup.add(fmt::format("{}", i));
      if (lookup.is_full()) lookup.next_block(person);
    }
  }
}

}  // namespace
}  // namespace gibbsite
