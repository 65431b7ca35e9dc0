#include "src/parallel/placement_program.h"

#include <algorithm>
#include <numeric>

namespace xflow::parallel {
namespace {

std::uint32_t add_column(IntegerProgram& program, const ProgramColumn& column) {
  program.columns.push_back(column);
  return static_cast<std::uint32_t>(program.columns.size() - 1);
}

// larger - smaller <= difference
void add_difference(IntegerProgram& program, std::uint32_t larger, std::uint32_t smaller, std::optional<std::uint32_t> difference) {
  ProgramRow row;
  row.entries = {{larger, 1}, {smaller, -1}};
  if (difference) row.entries.push_back({*difference, -1});
  row.upper = 0;
  program.rows.push_back(std::move(row));
}

void add_tensor(const GroupTensor& tensor, double limit, DeviceColumns& columns, IntegerProgram& program) {
  const std::uint32_t divided = add_column(program, {.upper = tensor.cost > limit ? 0.0 : 1.0});
  columns.of_tensor.push_back(divided);
  if (tensor.groups.size() == 2) {
    const std::uint32_t one = columns.of_group[tensor.groups[0]];
    const std::uint32_t other = columns.of_group[tensor.groups[1]];
    add_difference(program, one, other, divided);
    add_difference(program, other, one, divided);
    return;
  }
  const std::uint32_t most = add_column(program, {});
  const std::uint32_t least = add_column(program, {});
  for (const std::uint32_t group : tensor.groups) {
    add_difference(program, columns.of_group[group], most, std::nullopt);
    add_difference(program, least, columns.of_group[group], std::nullopt);
  }
  add_difference(program, most, least, divided);
}

bool memory_matters(const PlacementProblem& problem) {
  double bytes = 0;
  for (const PlacementGroup& group : problem.groups) bytes += group.on_accelerator ? group.bytes : 0;
  return bytes > problem.memory;
}

// Numbers of devices of one kind in the order in which the groups of `order` first use them.
void order_devices(std::span<const std::uint32_t> order, std::uint32_t begin, std::uint32_t end, GroupDevices& devices) {
  std::vector<std::uint32_t> number(end, end);
  std::uint32_t next = begin;
  for (const std::uint32_t group : order) {
    const std::uint32_t device = devices[group];
    if (device < begin || device >= end) continue;
    if (number[device] == end) number[device] = next++;
    devices[group] = number[device];
  }
}

// The program of solve_placement(). Times are shares of the value of the start.
class PlacementProgram {
 public:
  PlacementProgram(const PlacementProblem& problem, double lower, const BestPlacement& best) : problem_(problem), unit_(best.value) {
    std::vector<double> weights;
    weights.reserve(problem.size());
    for (const PlacementGroup& group : problem.groups) weights.push_back(group.accelerator_time);
    priorities_ = priorities_of(weights);
    order_.resize(problem.size());
    for (std::uint32_t group = 0; group < problem.size(); ++group) order_[priorities_[group]] = group;
    // Loads are sums in another order than those of the start.
    program_.columns.push_back({.cost = 1, .lower = std::min(1.0, lower / unit_), .upper = 1 + kSolverTolerance});
    add_accelerators();
    add_cpus();
    for (std::uint32_t group = 0; group < problem.size(); ++group) {
      ProgramRow row{.lower = 1, .upper = 1};
      for (const auto& columns : of_device_) row.entries.push_back({columns[group], 1});
      program_.rows.push_back(std::move(row));
    }
    fix_symmetry(0, problem.accelerators);
    fix_symmetry(problem.accelerators, problem.devices());
    set_start(best.devices);
  }

  const IntegerProgram& program() const { return program_; }

  GroupDevices devices_of(std::span<const double> solution) const {
    GroupDevices devices(problem_.size(), 0);
    for (std::uint32_t group = 0; group < problem_.size(); ++group) {
      for (std::uint32_t device = 1; device < problem_.devices(); ++device) {
        if (solution[of_device_[device][group]] > solution[of_device_[devices[group]][group]]) devices[group] = device;
      }
    }
    return devices;
  }

 private:
  void add_load(ProgramRow row) {
    row.entries.push_back({0, -1});
    row.upper = 0;
    program_.rows.push_back(std::move(row));
  }
  void add_accelerators() {
    for (std::uint32_t device = 0; device < problem_.accelerators; ++device) {
      accelerators_.push_back(add_accelerator(problem_, unit_, priorities_, program_));
      of_device_.push_back(accelerators_.back().of_group);
      add_load(load_row(problem_, accelerators_.back(), unit_));
    }
  }
  void add_cpus() {
    for (std::uint32_t device = 0; device < problem_.cpus; ++device) {
      ProgramRow row;
      of_device_.emplace_back();
      for (std::uint32_t group = 0; group < problem_.size(); ++group) {
        const double time = problem_.groups[group].cpu_time;
        of_device_.back().push_back(add_column(program_, {.upper = time > unit_ ? 0.0 : 1.0, .priority = priorities_[group]}));
        if (time > 0) row.entries.push_back({of_device_.back().back(), time / unit_});
      }
      add_load(std::move(row));
    }
  }
  // The group that comes k-th is on one of the first k devices.
  void fix_symmetry(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t k = 0; k < order_.size(); ++k) {
      for (std::uint32_t device = begin + k + 1; device < end; ++device) program_.columns[of_device_[device][order_[k]]].upper = 0;
    }
  }

  void set_start(GroupDevices devices) {
    order_devices(order_, 0, problem_.accelerators, devices);
    order_devices(order_, problem_.accelerators, problem_.devices(), devices);
    program_.start.assign(program_.columns.size(), 0);
    program_.start[0] = 1;
    for (std::uint32_t group = 0; group < problem_.size(); ++group) program_.start[of_device_[devices[group]][group]] = 1;
    for (const DeviceColumns& columns : accelerators_) {
      for (std::size_t tensor = 0; tensor < problem_.tensors.size(); ++tensor) {
        double least = 1;
        double most = 0;
        for (const std::uint32_t group : problem_.tensors[tensor].groups) {
          least = std::min(least, program_.start[columns.of_group[group]]);
          most = std::max(most, program_.start[columns.of_group[group]]);
        }
        const std::uint32_t divided = columns.of_tensor[tensor];
        program_.start[divided] = most - least;
        if (problem_.tensors[tensor].groups.size() == 2) continue;
        program_.start[divided + 1] = most;
        program_.start[divided + 2] = least;
      }
    }
  }

  const PlacementProblem& problem_;
  double unit_;
  std::vector<std::uint32_t> priorities_;
  std::vector<std::uint32_t> order_;  // groups by priority
  IntegerProgram program_;
  std::vector<DeviceColumns> accelerators_;
  std::vector<std::vector<std::uint32_t>> of_device_;  // [device][group]
};

}  // namespace

std::vector<std::uint32_t> priorities_of(std::span<const double> weights) {
  std::vector<std::uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return weights[a] > weights[b]; });
  std::vector<std::uint32_t> priorities(weights.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) priorities[order[k]] = k;
  return priorities;
}

DeviceColumns add_accelerator(const PlacementProblem& problem, double limit, std::span<const std::uint32_t> priorities,
                              IntegerProgram& program) {
  DeviceColumns columns;
  for (std::uint32_t k = 0; k < problem.size(); ++k) {
    const PlacementGroup& group = problem.groups[k];
    const bool is_possible = group.on_accelerator && group.accelerator_time <= limit;
    columns.of_group.push_back(add_column(program, {.upper = is_possible ? 1.0 : 0.0, .priority = priorities[k]}));
  }
  for (const GroupTensor& tensor : problem.tensors) add_tensor(tensor, limit, columns, program);
  if (memory_matters(problem)) {
    ProgramRow row{.upper = 1};
    for (std::uint32_t k = 0; k < problem.size(); ++k) {
      const PlacementGroup& group = problem.groups[k];
      if (group.on_accelerator && group.bytes > 0) row.entries.push_back({columns.of_group[k], group.bytes / problem.memory});
    }
    program.rows.push_back(std::move(row));
  }
  return columns;
}

ProgramRow load_row(const PlacementProblem& problem, const DeviceColumns& columns, double unit) {
  ProgramRow row;
  for (std::size_t k = 0; k < problem.groups.size(); ++k) {
    const PlacementGroup& group = problem.groups[k];
    if (group.on_accelerator && group.accelerator_time > 0) row.entries.push_back({columns.of_group[k], group.accelerator_time / unit});
  }
  for (std::size_t k = 0; k < problem.tensors.size(); ++k) row.entries.push_back({columns.of_tensor[k], problem.tensors[k].cost / unit});
  return row;
}

std::size_t program_columns(const PlacementProblem& problem) {
  std::size_t per_accelerator = problem.size();
  for (const GroupTensor& tensor : problem.tensors) per_accelerator += tensor.groups.size() == 2 ? 1 : 3;
  return 1 + problem.accelerators * per_accelerator + std::size_t{problem.cpus} * problem.size();
}

SolvedPlacement solve_placement(const PlacementProblem& problem, const IntegerSolver& solver, double lower, const BestPlacement& best,
                                SearchBudget& budget) {
  if (!(best.value > 0)) return {.complete = true, .bound = 0, .devices = std::nullopt};
  const PlacementProgram program(problem, lower, best);
  const IntegerResult result = solver.solve(program.program(), [&](std::uint64_t steps) { return budget.spend(steps); });
  SolvedPlacement solved;
  solved.complete = result.complete;
  solved.bound = std::min(1.0, result.bound - program_margin(program.program().columns.size())) * best.value;
  if (!result.solution.empty()) solved.devices = program.devices_of(result.solution);
  return solved;
}

}  // namespace xflow::parallel
