#include "src/optimizer/thread_tools.h"

#include <memory>
#include <utility>

#include "src/cost/cost_model.h"
#include "src/cost/incremental_cost.h"
#include "src/search/rule_rewriter.h"

namespace xflow::api {
namespace {

struct ThreadPrices {
  ThreadPrices(std::unique_ptr<cost::Device> own, const ir::Arena& arena, const ir::Symbols::Valuation& sizes)
      : device(std::move(own)), database(cost::Database::open("", device->info())), model(arena, *device, database, sizes) {}

  std::unique_ptr<cost::Device> device;
  cost::Database database;
  cost::CostModel model;
};

}  // namespace

rules::MatchOptions match_options(Numerics numerics) { return {numerics == Numerics::any, numerics == Numerics::exact}; }

std::function<search::ThreadTools()> thread_tools(const cost::Device& device, const ir::Arena& arena, ir::Symbols::Valuation sizes,
                                                  const rules::VerifiedRules& rules, Numerics numerics) {
  if (device.for_thread() == nullptr) return nullptr;
  return [&device, &arena, sizes = std::move(sizes), &rules, numerics] {
    const auto prices = std::make_shared<ThreadPrices>(device.for_thread(), arena, sizes);
    return search::ThreadTools{std::make_unique<search::RuleRewriter>(rules, match_options(numerics)),
                               [prices](const ir::WorkGraph& graph) { return prices->model.follow(graph); }};
  };
}

}  // namespace xflow::api
