#include "src/ir/small_list.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace xflow::ir {
namespace {

// Elements that own memory, and elements that are copied as bytes.
std::string element(const std::string& text, const std::string&) { return text; }
std::size_t element(const std::string& text, std::size_t) { return std::hash<std::string>()(text); }

template <typename T>
class SmallListOf : public testing::Test {
 public:
  using List = SmallList<T, 2>;
  static T make(const std::string& text) { return element(text, T()); }
  static std::vector<T> elements(const List& list) { return {list.begin(), list.end()}; }
};
using Elements = testing::Types<std::string, std::size_t>;
TYPED_TEST_SUITE(SmallListOf, Elements);

TYPED_TEST(SmallListOf, DoesWhatAVectorDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    typename TestFixture::List list;
    std::vector<TypeParam> expected;
    for (int step = 0; step < 12; ++step) {
      const TypeParam value = this->make(std::string(random() % 40, static_cast<char>('a' + random() % 26)));
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
      ASSERT_EQ(this->elements(list), expected);
    }
  }
}

TYPED_TEST(SmallListOf, IsCopiedAndMovedInsideAndOnTheHeap) {
  using List = typename TestFixture::List;
  for (const std::size_t size : {0U, 1U, 2U, 3U, 9U}) {
    List list;
    for (std::size_t k = 0; k < size; ++k) list.push_back(this->make("a string of more than a few letters, number " + std::to_string(k)));
    const std::vector<TypeParam> expected = this->elements(list);
    for (const std::size_t before : {0U, 2U, 5U}) {
      List copy;
      for (std::size_t k = 0; k < before; ++k) copy.push_back(this->make("another string of more than a few letters"));
      List target = copy;
      copy = list;
      EXPECT_EQ(this->elements(copy), expected);
      EXPECT_EQ(copy, list);
      target = std::move(copy);
      EXPECT_EQ(this->elements(target), expected);
      EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move): a list that was moved from is empty
      copy.push_back(this->make("b"));
      EXPECT_EQ(this->elements(copy), std::vector<TypeParam>{this->make("b")});
    }
    EXPECT_EQ(this->elements(list), expected);
  }
}

TEST(SmallList, ComparesLikeAVector) {
  using List = SmallList<std::string, 2>;
  const List one = {"a", "b"};
  const List two = {"a", "b", "c"};
  const List other = {"a", "c"};
  EXPECT_LT(one, two);
  EXPECT_LT(two, other);
  EXPECT_FALSE(one == two);
}

}  // namespace
}  // namespace xflow::ir
