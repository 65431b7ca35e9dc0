// The time of a step of a plan that splits operators, for a search: what step_of and StepSimulator give, in
// every bit, without building a workload. What plans have in common is computed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_workload.h"

namespace xflow::parallel {

class SplitClock {
 public:
  // The arguments must outlive the clock.
  SplitClock(SplitModel& model, const DeviceCluster& cluster, StepKind kind);
  ~SplitClock();

  // The bytes of constants and gradients that devices lack memory for. Every operator has a possible plan.
  // Afterwards step() is about this plan.
  double prepare(const SplitPlan& plan);
  // Seconds of the step if they are at most `limit`; nullopt as soon as they are known to be more.
  std::optional<double> step(double limit);

 private:
  // An operator with its plan, whatever operator of its kind it is.
  struct Planned;
  // Where the parts of an operator read an operand from.
  struct Source {
    std::uint32_t held = 0;    // number of the box
    std::uint32_t holder = 0;  // number among its holders
    std::uint32_t box = 0;     // which part of the box is sent; 0: all
    double bytes = 0;          // that are read
    double sent = 0;           // bytes of that part
  };
  using Sources = std::vector<std::vector<Source>>;  // by part

  struct Node {
    std::uint32_t device = 0;
    std::uint32_t first = 0;  // tensor
    std::uint32_t last = 0;
    std::uint32_t pending = 0;
    double seconds = 0;
    double ready = 0;
  };
  struct Tensor {
    std::uint32_t next = 0;  // of the same source
    std::uint32_t output = 0;
    std::uint32_t box = 0;
    std::uint32_t first = 0;  // reader
    std::uint32_t last = 0;
    std::uint32_t number = 0;  // among those of the source
    double bytes = 0;
  };
  struct Reader {
    std::uint32_t node = 0;
    std::uint32_t next = 0;
  };
  struct Edge {
    std::uint32_t held = 0;
    std::uint32_t holder = 0;
    std::uint32_t output = 0;
    std::uint32_t reader_op = 0;
    std::uint32_t reader_part = 0;
    double bytes = 0;
  };
  struct Waiting {
    double ready = 0;
    std::uint64_t key = 0;
    std::uint32_t item = 0;    // node, or tensor of a transfer
    std::uint32_t source = 0;  // of a transfer
    std::uint32_t device = 0;
    bool is_transfer = false;
    friend bool operator>(const Waiting& a, const Waiting& b) { return a.ready > b.ready || (a.ready == b.ready && a.key > b.key); }
  };

  const Planned& planned(std::uint32_t op, const OperatorPlan& plan);
  std::unique_ptr<Planned> make_planned(std::uint32_t op, const OperatorPlan& plan);
  const Sources& sources(std::uint32_t op, std::uint32_t read, const Planned& reader, const Planned& maker, std::uint32_t output);
  std::uint32_t choose(const std::vector<std::uint32_t>& devices, std::uint32_t device) const;

  std::uint32_t add_node(std::uint32_t device, double seconds, double bytes);
  std::uint32_t add_tensor(std::uint32_t node, std::uint32_t output, std::uint32_t box, double bytes);
  void add_reader(std::uint32_t tensor, std::uint32_t node);
  void send(std::uint32_t from, std::uint32_t to, double bytes) { add_reader(add_tensor(from, UINT32_MAX, 0, bytes), to); }
  void add_forward(std::uint32_t op, const Planned& own);
  void add_reads(std::uint32_t op, const Planned& own, std::uint32_t part);
  void add_backward(std::uint32_t op, const Planned& own);
  bool is_partial(std::uint32_t op) const;
  void update_weights(std::uint32_t op, const Planned& own);
  void update_tied(std::uint32_t value);
  void add_updates(const std::vector<std::uint32_t>& nodes, double count, double bytes);
  void hold_tied();
  std::vector<std::uint32_t> all_reduce(const std::vector<std::uint32_t>& nodes, double bytes);
  double seconds_of(const Waiting& task) const;
  void finish(const Waiting& task, double end);

  SplitModel& model_;
  const DeviceCluster& cluster_;
  const StepKind kind_;
  std::map<std::pair<std::uint32_t, OperatorPlan>, std::unique_ptr<Planned>> planned_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, Sources> sources_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> maker_of_;  // of values: operator, output

  // The plan.
  std::vector<const Planned*> now_;                   // by operator
  std::vector<std::uint32_t> first_;                  // node, by operator
  std::vector<std::vector<std::uint32_t>> holders_;   // nodes, by operator: of all boxes one after the other
  std::vector<std::vector<Edge>> edges_;              // by maker
  std::vector<std::vector<std::uint32_t>> backward_;  // node, by operator and part
  std::vector<Node> nodes_;
  std::vector<Tensor> tensors_;
  std::vector<Reader> readers_;
  std::vector<double> resident_;
  // A simulation.
  std::vector<Waiting> queue_;
  std::vector<double> free_;
  std::vector<double> left_;
  std::vector<std::uint32_t> seen_;  // by device: the last tensor that is sent there
};

}  // namespace xflow::parallel
