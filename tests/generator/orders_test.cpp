#include "src/generator/enumerate/orders.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace xflow::generator {
namespace {

using Order = std::vector<std::uint8_t>;

std::vector<Order> all(const std::vector<OrderKey>& keys) {
  std::vector<Order> result;
  Orders orders;
  orders.begin(keys);
  do {
    result.emplace_back(orders.order().begin(), orders.order().end());
  } while (orders.next());
  return result;
}

TEST(Orders, PutKeysInOrder) {
  EXPECT_EQ(all({}), (std::vector<Order>{{}}));
  EXPECT_EQ(all({{1, 3}, {0, 9}, {1, 2}}), (std::vector<Order>{{1, 2, 0}}));
}

TEST(Orders, TryEqualKeysInAllOrders) {
  EXPECT_EQ(all({{0, 5}, {1, 1}, {0, 5}}), (std::vector<Order>{{0, 2, 1}, {2, 0, 1}}));
  const std::vector<Order> found = all({{0, 1}, {0, 1}, {0, 1}, {0, 2}, {1, 7}, {1, 7}});
  EXPECT_EQ(found.size(), 12U);
  EXPECT_EQ(std::set<Order>(found.begin(), found.end()).size(), 12U);
  for (const Order& o : found) {
    EXPECT_LT(std::max({o[0], o[1], o[2]}), 3);
    EXPECT_EQ(o[3], 3);
  }
  // Equal values of other groups are no ties.
  EXPECT_EQ(all({{1, 4}, {0, 4}}).size(), 1U);
}

}  // namespace
}  // namespace xflow::generator
