#include "src/cost/cost_model.h"

#include <map>

#include "src/cost/incremental_cover.h"
#include "src/cost/kernel_costs.h"
#include "src/cost/regions.h"

namespace xflow::cost {

class CostModel::Implementation {
 public:
  Implementation(const ir::Arena& model_arena, Device& device, Database& database, ir::Symbols::Valuation sizes, KernelEstimates* estimates)
      : arena(model_arena), costs(device, database, estimates), sizes(std::move(sizes)) {
    forget();
  }
  // The kernels on which the cover of the graph depends.
  KernelCosts::Names kernels_of(const ir::Graph& graph) {
    KernelCosts::Names names;
    costs.record(&names);
    Regions now(costs, sizes);
    const ir::WorkGraph work(arena, graph);
    const IncrementalCover cover(work, now);
    costs.record(nullptr);
    return names;
  }
  void forget() { regions = std::make_unique<Regions>(costs, sizes); }

  const ir::Arena& arena;
  KernelCosts costs;
  ir::Symbols::Valuation sizes;
  std::unique_ptr<Regions> regions;
};

CostModel::CostModel(const ir::Arena& arena, Device& device, Database& database, ir::Symbols::Valuation sizes, KernelEstimates* estimates)
    : implementation_(std::make_unique<Implementation>(arena, device, database, std::move(sizes), estimates)) {}
CostModel::~CostModel() = default;

Result<Cost> CostModel::cost(const ir::Graph& graph) {
  const ir::WorkGraph work(implementation_->arena, graph);
  const IncrementalCover cover(work, *implementation_->regions);
  return Cost{nanoseconds(cover.time()), cover.kernels(), cover.unmeasured()};
}

std::unique_ptr<IncrementalCost> CostModel::follow(const ir::WorkGraph& graph) {
  auto cover = std::make_unique<IncrementalCover>(graph, *implementation_->regions);
  cover->accept(cover->refusals());
  return cover;
}

Result<std::vector<CoveredRegion>> CostModel::explain(const ir::Graph& graph) {
  const ir::WorkGraph work(implementation_->arena, graph);
  std::vector<CoveredRegion> regions = IncrementalCover(work, *implementation_->regions).explain();
  for (CoveredRegion& region : regions)
    for (ir::NodeId& node : region.nodes) node = *work.source_of(node);
  return regions;
}

void CostModel::allow_remeasuring(double seconds) { implementation_->costs.seconds_for_remeasuring = seconds; }

bool CostModel::remeasure(std::span<const ir::Graph> graphs) {
  Implementation& model = *implementation_;
  if (model.costs.statistics().provisional == 0) return false;
  std::map<std::string, std::size_t> asked;  // by how many of the graphs
  for (const ir::Graph& graph : graphs) {
    for (const std::string& name : model.kernels_of(graph)) ++asked[name];
  }
  KernelCosts::Names deciding;
  for (const auto& [name, count] : asked)
    if (count < graphs.size()) deciding.insert(name);
  return model.costs.remeasure(deciding);
}

void CostModel::expect_costs(std::optional<double> deviations) { implementation_->costs.expect_costs(deviations); }

bool CostModel::time_kernels(std::span<const ir::Graph> graphs) {
  bool timed = false;
  // What was timed may change the covers.
  while (implementation_->costs.statistics().left_out > 0) {
    KernelCosts::Names names;
    for (const ir::Graph& graph : graphs) names.merge(implementation_->kernels_of(graph));
    if (!implementation_->costs.time(names)) break;
    timed = true;
  }
  return timed;
}

bool CostModel::is_timed(const ir::Graph& graph) {
  return implementation_->costs.statistics().left_out == 0 || implementation_->costs.are_timed(implementation_->kernels_of(graph));
}

bool CostModel::is_outdated() const { return implementation_->regions->is_outdated(); }
void CostModel::forget() { implementation_->forget(); }

Result<std::vector<CoveredLaunch>> CostModel::launches(const ir::Graph& graph) {
  const ir::WorkGraph work(implementation_->arena, graph);
  std::vector<CoveredLaunch> launches = IncrementalCover(work, *implementation_->regions).launches();
  const auto put_back = [&](ir::NodeId& node) { node = *work.source_of(node); };
  for (CoveredLaunch& launch : launches) {
    for (ir::NodeId& node : launch.nodes) put_back(node);
    for (ir::ValueId& value : launch.operands) put_back(value.node);
    for (ir::ValueId& value : launch.results) put_back(value.node);
  }
  return launches;
}

void CostModel::on_measure(std::function<void(const std::string&)> callback) { implementation_->costs.on_measure = std::move(callback); }
const CostStatistics& CostModel::statistics() const { return implementation_->costs.statistics(); }

}  // namespace xflow::cost
