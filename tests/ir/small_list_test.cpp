#include "src/ir/small_list.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace xflow::ir {
namespace {

using List = SmallList<std::string, 2>;

std::vector<std::string> elements(const List& list) { return {list.begin(), list.end()}; }

TEST(SmallList, DoesWhatAVectorDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    List list;
    std::vector<std::string> expected;
    for (int step = 0; step < 12; ++step) {
      const std::string value(random() % 40, static_cast<char>('a' + random() % 26));
      const std::size_t at = random() % (expected.size() + 1);
      switch (random() % 4) {
        case 0:
          if (at == expected.size()) break;
          list.erase(list.begin() + at);
          expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          list.push_back(value);
          expected.push_back(value);
          break;
        default:
          list.insert(list.begin() + at, value);
          expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), value);
          break;
      }
      ASSERT_EQ(elements(list), expected);
    }
  }
}

TEST(SmallList, IsCopiedAndMovedInsideAndOnTheHeap) {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 9U}) {
    List list;
    for (std::size_t k = 0; k < size; ++k) list.push_back("a string of more than a few letters, number " + std::to_string(k));
    const std::vector<std::string> expected = elements(list);
    for (const std::size_t before : {0U, 2U, 5U}) {
      List copy;
      for (std::size_t k = 0; k < before; ++k) copy.push_back("another string of more than a few letters");
      List target = copy;
      copy = list;
      EXPECT_EQ(elements(copy), expected);
      EXPECT_EQ(copy, list);
      target = std::move(copy);
      EXPECT_EQ(elements(target), expected);
      EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move): a list that was moved from is empty
      copy.push_back("b");
      EXPECT_EQ(elements(copy), std::vector<std::string>{"b"});
    }
    EXPECT_EQ(elements(list), expected);
  }
}

TEST(SmallList, ComparesLikeAVector) {
  const List one = {"a", "b"};
  const List two = {"a", "b", "c"};
  const List other = {"a", "c"};
  EXPECT_LT(one, two);
  EXPECT_LT(two, other);
  EXPECT_FALSE(one == two);
}

}  // namespace
}  // namespace xflow::ir
