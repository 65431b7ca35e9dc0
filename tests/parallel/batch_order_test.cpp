// The order of micro-batches on a device.
#include "src/parallel/batch_order.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace xflow::parallel {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Two operators of two batches on one device, one after the other.
BatchOrder two_operators(std::uint32_t second_reads) {
  BatchOrder order;
  for (const std::uint32_t batch : {1U, 2U}) {
    order.begin_batch(batch);
    order.add(0);
  }
  order.end_operator(0);
  for (const std::uint32_t batch : {1U, 2U}) {
    order.begin_batch(batch);
    order.add(0);
    order.connect(second_reads == 0 ? batch - 1 : second_reads - 1, batch + 1);
  }
  order.end_operator(2);
  return order;
}

TEST(BatchOrder, EndsABatchBeforeTheNextOne) {
  const BatchOrder order = two_operators(0);
  // The second batch of the first operator waits for the first one of the second operator.
  EXPECT_EQ(order.edges(), (Edges{{2, 1}}));
  EXPECT_EQ(order.positions(), (std::vector<std::uint32_t>{0, 2, 1, 3}));
}

// The second operator reads the second batch in both of its own, so that both wait for all of the first
// operator anyway.
TEST(BatchOrder, BeginsAPhaseWhereBatchesMix) {
  const BatchOrder order = two_operators(2);
  EXPECT_EQ(order.phase(), 1U);
  EXPECT_EQ(order.edges(), (Edges{{0, 1}, {2, 3}}));
  EXPECT_EQ(order.positions(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(BatchOrder, IsThatOfTheNumbersWithoutBatches) {
  BatchOrder order;
  order.add(0);
  order.end_operator(0);
  order.add(0);
  order.connect(0, 1);
  order.end_operator(1);
  EXPECT_EQ(order.edges(), Edges());
  EXPECT_TRUE(order.positions().empty());
}

// What all batches read comes first, and what reads all of them is in a phase of its own.
TEST(BatchOrder, HasWholeOperatorsBeforeAndAfterBatches) {
  BatchOrder order;
  order.begin_batch(BatchOrder::kBefore);
  order.add(0);
  order.end_operator(0);
  for (const std::uint32_t batch : {1U, 2U}) {
    order.begin_batch(batch);
    order.add(1);
    order.connect(0, batch);
  }
  order.end_operator(1);
  EXPECT_EQ(order.phase(), 0U);
  order.begin_batch(BatchOrder::kBefore);
  order.add(1);
  order.connect(1, 3);
  order.connect(2, 3);
  order.end_operator(3);
  EXPECT_EQ(order.phase(), 1U);
  EXPECT_EQ(order.edges(), (Edges{{1, 2}}));
}

// Batches on two devices do not wait for each other.
TEST(BatchOrder, LooksAtEachDevice) {
  BatchOrder order;
  for (const std::uint32_t device : {0U, 1U}) {
    order.begin_batch(device + 1);
    order.add(device);
  }
  order.end_operator(0);
  EXPECT_EQ(order.edges(), Edges());
}

}  // namespace
}  // namespace xflow::parallel
