// Slices that are carried before other operations (Rewrite::carries).
#include <gtest/gtest.h>

#include "src/search/search.h"
#include "tests/search/toy.h"

namespace xflow::search {
namespace {

// s(a(x)) = A(s(x)): the slice 's' moves before an operator with a small letter, which becomes a large one.
class SliceRewriter final : public Rewriter {
 public:
  explicit SliceRewriter(bool carries) : carries_(carries) {}
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads, const std::function<void(Rewrite)>& found) override {
    const ir::Node& slice = graph.arena().node(root);
    if (slice.op != static_cast<ir::OperatorId>('s')) return;
    reads.push_back(slice.operands[0].node);
    const ir::Node& inner = graph.arena().node(slice.operands[0]);
    const auto letter = static_cast<char>(inner.op);
    if (inner.operands.size() != 1 || letter < 'a' || letter > 'd') return;
    const ir::ValueId operand = inner.operands[0];
    Rewrite rewrite{"carry", [=](ir::Arena& in) {
                      const auto large = static_cast<char>(letter - 'a' + 'A');
                      return std::vector<ir::Replacement>{{{root, 0}, apply_toy(in, large, apply_toy(in, 's', operand))}};
                    }};
    rewrite.carries = carries_;
    found(rewrite);
  }

 private:
  bool carries_;
};

class Carry : public Toy {
 protected:
  Carry() { prices = {{'a', 10}, {'A', 60}, {'b', 1000}, {'B', 1}, {'s', 1}}; }
  // The search goes through no graph that costs more than the best one, but for what a slice is carried over.
  double time_after(const std::string& text, bool carries = true) {
    SliceRewriter rewriter(carries);
    Options options;
    options.alpha = 1;
    return run(ir::Graph{{chain(text, x)}}, rewriter, options).after.count();
  }
};

TEST_F(Carry, GoesThroughStepsThatCostTimeToOneThatSavesMore) {
  EXPECT_EQ(time_after("baaaas"), 1 + 4 * 60 + 1);
  EXPECT_EQ(time_after("baaaas", false), 1000 + 4 * 10 + 1) << "what is not marked is not carried";
}

TEST_F(Carry, EndsWhereTheGraphIsCheapest) { EXPECT_EQ(time_after("aaabaaaas"), 3 * 10 + 1 + 4 * 60 + 1); }

TEST_F(Carry, GoesBackWhereItSavesNothing) {
  prices['b'] = 150;
  EXPECT_EQ(time_after("baaaas"), 150 + 4 * 10 + 1);
}

TEST_F(Carry, GoesOnAfterAGain) { EXPECT_EQ(time_after("baaaabaaaas"), 2 * 1 + 8 * 60 + 1); }

TEST_F(Carry, GivesUpAfterStepsInVain) {
  prices['b'] = 100000;
  const auto with = [](int steps) { return "b" + std::string(static_cast<std::size_t>(steps), 'a') + "s"; };
  EXPECT_LT(time_after(with(15)), 100000);
  EXPECT_GT(time_after(with(16)), 100000);
}

}  // namespace
}  // namespace xflow::search
