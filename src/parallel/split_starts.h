// Plans that a search of splits begins with: everything on one device, data parallel, and what experts do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

struct NamedPlan {
  std::string name;
  SplitPlan plan;
};

// The plan of an operator that takes the parts of its operand `read` as they are, where it can: a split of a
// dimension goes on as a split of the dimension or reduction that follows it. Otherwise each device of it
// computes the same. `maker`: the plan of the operator that makes the operand.
OperatorPlan following_plan(SplitModel& model, std::uint32_t op, std::uint32_t read, const OperatorPlan& maker, std::uint32_t devices);

// The position in `reads` of the largest operand that an operator makes; UINT32_MAX if there is none.
std::uint32_t main_read(const SplitModel& model, std::uint32_t op);

// How a plan for a grid of devices divides the work.
struct GridPolicy {
  std::uint32_t data = 1;               // groups of devices that have samples of their own
  std::uint32_t tensor = 1;             // devices of a group, which divide products by their weights
  bool products_by_parameters = false;  // matrix products are divided by their weights over all devices
};

// Each operator follows its main operand. Samples are the first dimension of the inputs. A product whose
// group has no use for its devices is divided along the output that its weights determine, and the next one
// along its reduction (Shoeybi et al., Megatron-LM, 2019).
SplitPlan grid_plan(SplitModel& model, std::uint32_t devices, const GridPolicy& policy);

// `single`, `data parallel`, and the experts' plans: `data D x tensor T` for all D T = devices, and
// `one weird trick` (Krizhevsky 2014): convolutions by samples, matrix products by parameters.
std::vector<NamedPlan> start_plans(SplitModel& model, std::uint32_t devices);

}  // namespace xflow::parallel
