// Searches of the graphs of bench/search with the shipped rules end at their optimum.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/search/cases.h"
#include "bench/search/roofline.h"
#include "src/cost/cost_model.h"
#include "src/optimizer/load_rules.h"
#include "src/search/rule_rewriter.h"
#include "src/search/search.h"

namespace xflow {
namespace {

const rules::VerifiedRules& shipped() {
  static const rules::VerifiedRules rules = api::load_rules({}).value();
  return rules;
}

// The result's time above that of the cheapest known graph, in %.
double off_by(const bench::NamedCase& which, int size, bool copies_are_free, bool prices_are_known, std::uint64_t states = 2'000) {
  bench::Case made = which.make(size, 1);
  const auto device = bench::roofline(copies_are_free);
  cost::Database database = cost::Database::open("", device->info());
  cost::CostModel model(*made.arena, *device, database, [](ir::SymbolId) { return std::int64_t{128}; });
  double best = model.cost(made.graph)->time.count();
  for (const ir::Graph& other : made.equivalents) best = std::min(best, model.cost(other)->time.count());
  search::RuleRewriter rewriter(shipped(), {});
  search::Options options;
  options.max_states = states;
  options.max_growth = 10;
  options.prices_are_known = prices_are_known;
  const search::Outcome outcome = search::search(
      *made.arena, made.graph, rewriter, [&](const ir::WorkGraph& work) { return model.follow(work); }, options);
  return 100 * (outcome.after.count() / best - 1);
}

class EachSearchCase : public ::testing::TestWithParam<bench::NamedCase> {};

TEST_P(EachSearchCase, EndsAtTheOptimum) {
  constexpr int kSmall = 5;
  std::vector<int> sizes = GetParam().sizes;
  if (sizes.front() <= kSmall) std::erase_if(sizes, [](int size) { return size > kSmall; });
  for (const int size : sizes)
    for (const bool copies_are_free : {true, false})
      EXPECT_LT(off_by(GetParam(), size, copies_are_free, true), 0.1) << "size " << size << (copies_are_free ? ", free copies" : "");
}

std::string name_of(const ::testing::TestParamInfo<bench::NamedCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Cases, EachSearchCase, ::testing::ValuesIn(bench::cases()), name_of);

// A merge of rows saves time at once; where copies are free, hundreds of graphs of the same time surround it,
// and the way to the optimum begins with a step without gain.
TEST(SearchCases, OldestGraphsAreNotLeftForACheaperPlateau) {
  const auto blocks = std::ranges::find(bench::cases(), "blocks", &bench::NamedCase::name);
  EXPECT_LT(off_by(*blocks, 2, true, false), 0.1);
  EXPECT_LT(off_by(*blocks, 8, true, false, 12'000), 2) << "windows of 8 operations find the gain of all blocks but one";
}

}  // namespace
}  // namespace xflow
