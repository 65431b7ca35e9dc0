// What plans of splits have in common: the tasks of an operator with its plan, and where its parts read
// operands from. It is computed once, for searches.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/parallel/box_grid.h"
#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

constexpr std::uint32_t kNoTask = UINT32_MAX;

// Tasks of an operator on devices. They have local numbers.
struct PlannedTasks {
  // What a task of an all-reduce, or before it, sends when it ends.
  struct Hop {
    std::uint32_t own = kNoTask;   // a task of the same device that waits for it
    std::uint32_t next = kNoTask;  // a task of another device
    std::uint32_t next_device = 0;
    double seconds = 0;  // of the transfer to that
  };
  // By task.
  std::vector<std::uint32_t> devices;
  std::vector<double> seconds;  // of kernels, additions and later latencies of an all-reduce; no copies
  std::vector<std::uint32_t> batches;
  std::vector<std::uint32_t> waits;  // number of tasks of the same operator that it waits for
  std::vector<Hop> hops;
  // By part: the task that computes it; the one that has its result, or to which its gradients are sent.
  std::vector<std::uint32_t> computes;
  std::vector<std::uint32_t> meets;
  std::vector<std::uint32_t> part_of;  // by task: the part whose result it has, of the forward pass
  // Seconds of work of devices, links and ports, by resource.
  std::vector<std::pair<std::uint32_t, double>> work;

  std::uint32_t size() const { return static_cast<std::uint32_t>(devices.size()); }
};

// An operator with its plan, whatever operator of its kind it is.
struct PlannedOperator {
  struct Held {
    std::vector<std::uint32_t> parts;  // that have it
    std::vector<std::uint32_t> devices;
    std::vector<Box> boxes;  // by output
    // Parts of the box that are sent, by output: found as they are asked for. The first is all of it.
    mutable std::vector<NumberedBoxes> sent;
    std::uint32_t first = 0;  // number of its first holder
  };
  struct Ring {
    std::vector<std::uint32_t> parts;
    double bytes = 0;
    double count = 0;                                   // elements
    std::vector<std::vector<std::uint32_t>> by_device;  // the parts, devices in the order of the first ones
  };

  std::uint32_t number = 0;
  OperatorPlan plan;
  std::vector<std::uint32_t> devices;  // by part
  std::vector<const PartWork*> works;  // by part
  std::vector<double> resident;        // bytes, by part
  std::vector<std::uint32_t> copies;   // position of a part among copies
  std::vector<std::uint32_t> batches;  // of parts: OperatorPlan::batch
  std::vector<Held> held;
  std::vector<std::optional<BoxGrid>> grids;  // of the boxes of `held`, by output
  mutable std::vector<NumberedBoxes> wanted;  // boxes that are read, by output
  std::vector<std::vector<Ring>> rings;       // of reductions, by box
  std::vector<Ring> updates;                  // of weights
  std::uint32_t copies_of_each = 1;
  bool is_reduced = false;
  bool is_shared = false;
  bool is_dead = false;  // nobody reads it
  bool has_batches = false;

  PlannedTasks forward;
  PlannedTasks backward;  // of a training step; none if it is dead
  PlannedTasks added;     // the same, where gradients of copies or of parts of a reduction are added before
};

// Where a part reads an operand from.
struct OperandSource {
  std::uint32_t held = 0;    // number of the box
  std::uint32_t holder = 0;  // number among its holders
  std::uint32_t box = 0;     // which part of the box is sent; 0: all
  double bytes = 0;          // that are read
  double sent = 0;           // bytes of that part
  bool is_copied = false;    // the part is not contiguous
};

// What a part reads of an operand.
struct PartOperand {
  std::vector<OperandSource> sources;
  std::vector<double> copies;  // seconds of each
  double bytes = 0;
  std::uint32_t box = 0;  // number among PlannedOperator::wanted
};

class PlannedOperators {
 public:
  // The arguments must outlive it.
  PlannedOperators(SplitModel& model, const DeviceCluster& cluster) : model_(model), cluster_(cluster) {}

  // The plan is possible. What is returned stays valid.
  const PlannedOperator& with_plan(std::uint32_t op, const OperatorPlan& plan);
  // What the parts of an operator read of operand number `read`, which is an output of another one; by part.
  // Valid until the next call.
  const std::vector<PartOperand>& read_by(std::uint32_t op, std::uint32_t read, const PlannedOperator& reader, const PlannedOperator& maker,
                                          std::uint32_t output);

 private:
  std::unique_ptr<PlannedOperator> make(std::uint32_t op, const OperatorPlan& plan);
  PartOperand operand(const PlannedOperator& maker, std::uint32_t output, const SplitValue& value, const Box& box, std::uint32_t device);
  std::uint32_t choose(const std::vector<std::uint32_t>& devices, std::uint32_t device) const;

  SplitModel& model_;
  const DeviceCluster& cluster_;
  std::unordered_map<std::vector<std::uint32_t>, std::unique_ptr<PlannedOperator>, boost::hash<std::vector<std::uint32_t>>> operators_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<PartOperand>> operands_;
  std::size_t parts_read_ = 0;  // number of parts and sources in operands_
};

}  // namespace xflow::parallel
