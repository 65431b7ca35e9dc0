// Plans that a search of splits begins with: everything on one device, data parallel, and what experts do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_workload.h"

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
  std::uint32_t axis = 0;               // of the inputs: that of the samples
  std::uint32_t stages = 1;             // of a pipeline: groups of data x tensor devices with a range of the operators each
  std::uint32_t batches = 1;            // micro-batches of the samples, which follow each other through the stages
  bool divides_tables = false;          // a group divides the rows of tables, as it does the columns of products
};

// Each operator follows its main operand. A product whose group has no use for its devices is divided along
// the output that its weights determine, and the next one along its reduction (Shoeybi et al., Megatron-LM,
// 2019). Stages are ranges of the operators in their order, with about the same work.
SplitPlan grid_plan(SplitModel& model, std::uint32_t devices, const GridPolicy& policy);

struct NamedPolicy {
  std::string name;
  GridPolicy policy;
};

// Pipelines of micro-batches for training steps (Huang et al., GPipe, 2019): P stages, each of which has D
// groups of T devices: `pipeline P x data D x tensor T, M batches` for all P D T = devices, P > 1, and
// M = P, 2 P and 4 P, as far as each batch has a sample for each group, and all these plans at most 2^20
// parts. Those with few batches come first.
std::vector<NamedPolicy> pipeline_policies(const SplitModel& model, std::uint32_t devices);

// `single`, `data parallel`, and the experts' plans: `data D x tensor T` for all D T = devices, and
// `one weird trick` (Krizhevsky 2014): convolutions by samples, matrix products by parameters. Samples are
// the first dimension of the inputs. The second one is tried as well, where recurrent models have their
// samples, others the tokens of a sequence or the channels of an image: `axis 1 parallel`,
// `axis 1 / D x tensor T`. Where operators read rows of tables, such as an embedding,
// `data D x tensor T, vocabulary` divides these rows in a group (Megatron-LM).
// For training steps also those of pipeline_policies().
std::vector<NamedPlan> start_plans(SplitModel& model, std::uint32_t devices, StepKind kind);

}  // namespace xflow::parallel
