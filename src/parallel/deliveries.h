// What the parts of an operator send to the parts of its readers, under given plans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/planned_operators.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_workload.h"

namespace xflow::parallel {

// A part of a reader has a number: those of the first reader come first.
struct Deliveries {
  // Parts on one device that read a tensor.
  struct Group {
    std::uint32_t device = 0;
    std::uint32_t first = 0;  // of `readers`
    std::uint32_t last = 0;
    double seconds = 0;  // of the transfer; 0 on the device that has it
  };
  struct Tensor {
    std::uint32_t first = 0;  // of `groups`
    std::uint32_t last = 0;
  };
  // The gradient of what a part of a reader has read, on its way back.
  struct Gradient {
    std::uint32_t part = 0;  // of the operator
    bool is_here = false;    // on the same device
    bool is_own = false;     // in the same micro-batch as well
    double seconds = 0;      // of the transfer
  };
  // A copy that a part of a reader makes of operand number `read`.
  struct Join {
    std::uint32_t read = 0;
    double seconds = 0;
  };

  // By part of the operator.
  std::vector<std::uint32_t> first_tensor;  // and the end
  std::vector<std::vector<double>> copies;  // seconds of each, before it is sent
  std::vector<std::uint32_t> gradients;     // that are sent to it
  std::vector<Tensor> tensors;
  std::vector<Group> groups;
  std::vector<std::uint32_t> readers;

  // By reader.
  std::vector<std::uint32_t> first_part;  // and the end
  std::vector<bool> crosses;              // a part of it reads from another micro-batch
  // By part of a reader.
  std::vector<std::uint32_t> waits;  // for so many tensors
  std::vector<bool> is_own;          // it reads from its own micro-batch on its device
  std::vector<std::vector<Join>> joins;
  std::vector<std::uint32_t> first_gradient;  // and the end
  std::vector<Gradient> gradient;

  // Some gradients are of copies, or of parts of a reduction, of which each has only a part.
  bool is_partial = false;
  // Bytes that devices keep for the gradients of readers.
  std::vector<std::pair<std::uint32_t, double>> kept;
  // Seconds of work of devices, links and ports, by resource.
  std::vector<std::pair<std::uint32_t, double>> work_forward;
  std::vector<std::pair<std::uint32_t, double>> work_backward;

  std::size_t size() const;  // bytes, about
};

class DeliveryBook {
 public:
  // The arguments must outlive it.
  DeliveryBook(SplitModel& model, const DeviceCluster& cluster, PlannedOperators& operators, StepKind kind);

  struct Reader {
    std::uint32_t op = 0;
    // Operands that are results of the maker: position in `reads`, number of the result.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;
  };
  // The operators that read results of one, in their order.
  const std::vector<Reader>& readers(std::uint32_t maker) const { return readers_[maker]; }

  // `now` has the operators with their plans.
  std::shared_ptr<const Deliveries> of(std::uint32_t maker, const std::vector<const PlannedOperator*>& now);

 private:
  class Builder;

  SplitModel& model_;
  const DeviceCluster& cluster_;
  PlannedOperators& operators_;
  const StepKind kind_;
  std::vector<std::vector<Reader>> readers_;  // by operator
  // Operators that deliver the same under the same plans have one number.
  std::vector<std::uint32_t> alike_;
  std::map<std::vector<std::uint32_t>, std::shared_ptr<const Deliveries>> known_;
  std::size_t bytes_ = 0;  // of those, about
};

}  // namespace xflow::parallel
