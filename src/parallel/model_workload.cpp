#include "src/parallel/model_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/kernels/node_launch.h"
#include "src/parallel/kernel_times.h"
#include "src/parallel/model_tasks.h"

namespace xflow::parallel {
namespace {

// Makes the workload of one model.
class WorkloadOfModel {
 public:
  WorkloadOfModel(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena,
                  const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs)
      : document_(document), model_(model), arena_(arena), sizes_(sizes), costs_(costs) {}

  Result<ModelWorkload> make() {
    ModelTasks tasks = tasks_of(document_, model_, arena_);
    order_ = std::move(tasks.order);
    tasks_ = std::move(tasks.task_of);
    result_.nodes = std::move(tasks.nodes);
    result_.without_kernel = std::move(tasks.without_kernel);
    result_.workload.nodes.assign(result_.nodes.size(), {std::vector<double>(costs_.size(), 0), 0});
    for (const onnx_io::OpaqueNode& node : model_.opaque) opaque_.emplace(node.node, node.reason);
    for (const ir::NodeId id : order_) {
      if (tasks_.contains(id)) XFLOW_CHECK(add_times(id));
    }
    for (const auto& [task, constants] : constants_) {
      for (const ir::ValueId value : constants) result_.workload.nodes[task].bytes += bytes_of(arena_, value, sizes_).value_or(0);
    }
    add_tensors();
    XFLOW_CHECK(check_workload(result_.workload, static_cast<std::uint32_t>(costs_.size())));
    return std::move(result_);
  }

 private:
  void note(std::uint32_t task, const std::string& reason) {
    const EstimatedTask estimated{task, reason};
    auto& all = result_.estimated;
    const auto at = std::upper_bound(all.begin(), all.end(), task, [](std::uint32_t t, const EstimatedTask& e) { return t < e.task; });
    if (std::find(all.begin(), at, estimated) == at) all.insert(at, estimated);
  }

  // The kernel that stands for a node without one: it moves the bytes of its operands and results.
  ops::KernelSpec stand_in_of(ir::NodeId id, std::uint32_t task) {
    const ir::Node& node = arena_.node(id);
    double bytes = 0;
    std::size_t unknown = 0;
    const auto add = [&](ir::ValueId value) {
      if (arena_.is_absent(value)) return;
      const auto own = bytes_of(arena_, value, sizes_);
      bytes += own.value_or(0);
      unknown += own ? 0 : 1;
    };
    for (const ir::ValueId operand : node.operands) add(operand);
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) add({id, output});
    if (unknown > 0) note(task, fmt::format("{} of its tensors have no known size and count as empty", unknown));
    return stand_in(bytes);
  }

  Result<double> estimate(ir::NodeId id, std::uint32_t task, cost::KernelCosts& costs) {
    const cost::DatabaseEntry& entry = cost_of(costs, stand_in_of(id, task));
    if (!entry.ran) {
      return fail(ErrorCode::unsupported,
                  fmt::format("{} cannot be estimated: {}", describe(document_, result_.nodes[task]), entry.ran.reason));
    }
    return entry.cost.median.count();
  }

  Result<void> add_times(ir::NodeId id) {
    const std::uint32_t task = tasks_[id];
    const ir::Node& node = arena_.node(id);
    for (const ir::ValueId operand : node.operands) {
      if (arena_.is_constant(operand) && !arena_.is_absent(operand)) constants_[task].insert(operand);
    }
    std::optional<cost::NodeLaunch> launch;
    if (node.kind == ir::NodeKind::opaque) {
      const auto reason = opaque_.find(onnx_io::NodeId{node.serial});
      note(task, reason == opaque_.end() ? "it is opaque" : reason->second);
    } else {
      auto kernel = cost::kernel_of(arena_, id, sizes_);
      if (kernel)
        launch = *std::move(kernel);
      else
        note(task, kernel.error().message);
    }
    if (launch && launch->spec.is(ops::KernelFamily::none)) return {};
    std::map<cost::KernelCosts*, double> known;  // nanoseconds
    for (std::size_t device = 0; device < costs_.size(); ++device) {
      cost::KernelCosts* costs = costs_[device];
      auto found = known.find(costs);
      if (found == known.end()) {
        const cost::DatabaseEntry* entry = launch ? &cost_of(*costs, launch->spec) : nullptr;
        double time = 0;
        if (entry != nullptr && entry->ran) {
          time = entry->cost.median.count();
        } else {
          if (entry != nullptr) note(task, entry->ran.reason);
          XFLOW_TRY(time, estimate(id, task, *costs));
        }
        found = known.emplace(costs, time).first;
      }
      result_.workload.nodes[task].seconds[device] += found->second / kNanosecondsPerSecond;
    }
    return {};
  }

  std::string name_of(ir::ValueId value, std::uint32_t task) const {
    const auto name = model_.names.find(value);
    if (name != model_.names.end()) return std::string(name->second);
    return fmt::format("a value in {}", describe(document_, result_.nodes[task]));
  }

  void add_tensors() {
    std::map<ir::ValueId, std::set<std::uint32_t>> readers;
    for (const auto& [id, task] : tasks_) {
      for (const ir::ValueId operand : arena_.node(id).operands) {
        const auto source = tasks_.find(operand.node);
        if (source != tasks_.end() && source->second != task) readers[operand].insert(task);
      }
    }
    for (const ir::ValueId output : model_.graph.outputs) {
      if (tasks_.contains(output.node)) readers[output];
    }
    // In the order of the tasks, then in that of the graph.
    std::vector<ir::NodeId> sources;
    for (const ir::NodeId id : order_) {
      if (tasks_.contains(id)) sources.push_back(id);
    }
    std::ranges::stable_sort(sources, {}, [&](ir::NodeId id) { return tasks_.at(id); });
    for (const ir::NodeId id : sources) {
      for (std::uint32_t output = 0; output < arena_.node(id).outputs.size(); ++output) {
        const auto found = readers.find({id, output});
        if (found == readers.end()) continue;
        const std::uint32_t task = tasks_[id];
        const auto bytes = bytes_of(arena_, found->first, sizes_);
        if (!bytes) note(task, fmt::format("the size of '{}' is not known and counts as 0", name_of(found->first, task)));
        result_.workload.tensors.push_back({task, bytes.value_or(0), {found->second.begin(), found->second.end()}});
        result_.tensors.push_back(name_of(found->first, task));
      }
    }
  }

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& model_;
  const ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  std::span<cost::KernelCosts* const> costs_;
  std::vector<ir::NodeId> order_;
  std::unordered_map<ir::NodeId, std::uint32_t> tasks_;
  std::map<std::uint32_t, std::set<ir::ValueId>> constants_;  // that a task reads
  std::map<onnx_io::NodeId, std::string> opaque_;
  ModelWorkload result_;
};

}  // namespace

Result<ModelWorkload> workload_of(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena,
                                  const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs) {
  return WorkloadOfModel(document, model, arena, sizes, costs).make();
}

}  // namespace xflow::parallel
