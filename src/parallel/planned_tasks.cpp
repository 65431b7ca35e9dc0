#include "src/parallel/planned_tasks.h"

#include <algorithm>
#include <map>

#include "src/parallel/all_reduce.h"
#include "src/parallel/batch_order.h"

namespace xflow::parallel {
namespace {

class TaskList {
 public:
  TaskList(SplitModel& model, const DeviceCluster& cluster) : model_(model), cluster_(cluster) {}

  std::uint32_t add(std::uint32_t device, double seconds, std::uint32_t batch) {
    made_.devices.push_back(device);
    made_.seconds.push_back(seconds);
    made_.batches.push_back(batch);
    made_.waits.push_back(0);
    made_.hops.emplace_back();
    return made_.size() - 1;
  }

  // Both are on one device.
  void connect(std::uint32_t from, std::uint32_t to) {
    made_.hops[from].own = to;
    ++made_.waits[to];
  }

  // Adds what tasks have, and returns the tasks where that ends.
  std::vector<std::uint32_t> all_reduce(const std::vector<std::uint32_t>& tasks, double bytes) {
    const auto ranks = static_cast<std::uint32_t>(tasks.size());
    std::vector<std::uint32_t> devices;
    devices.reserve(ranks);
    for (const std::uint32_t task : tasks) devices.push_back(made_.devices[task]);
    const AllReduceStep own = all_reduce_step(cluster_, devices, bytes);
    std::vector<std::uint32_t> ends;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const double latency = (own.latencies - 1) * cluster_.link(devices[(rank + ranks - 1) % ranks], devices[rank]).latency;
      const double seconds = latency + seconds_of_sum(model_, cluster_, devices[rank], bytes, ranks);
      ends.push_back(add(devices[rank], seconds, made_.batches[tasks[rank]]));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      PlannedTasks::Hop& hop = made_.hops[tasks[rank]];
      hop.next = ends[(rank + 1) % ranks];
      hop.next_device = devices[(rank + 1) % ranks];
      hop.seconds = cluster_.link(devices[rank], hop.next_device).seconds(own.bytes);
      ++made_.waits[hop.next];
      connect(tasks[rank], ends[rank]);
    }
    return ends;
  }

  PlannedTasks& made() { return made_; }

  PlannedTasks finish() {
    std::map<std::uint32_t, double> work;
    for (std::uint32_t task = 0; task < made_.size(); ++task) {
      work[made_.devices[task]] += made_.seconds[task];
      const PlannedTasks::Hop& hop = made_.hops[task];
      if (hop.next != kNoTask) work[cluster_.link_resource(made_.devices[task], hop.next_device)] += hop.seconds;
    }
    made_.work.assign(work.begin(), work.end());
    return std::move(made_);
  }

 private:
  SplitModel& model_;
  const DeviceCluster& cluster_;
  PlannedTasks made_;
};

}  // namespace

PlannedTasks forward_tasks(SplitModel& model, const DeviceCluster& cluster, const PlannedOperator& planned) {
  TaskList list(model, cluster);
  PlannedTasks& made = list.made();
  for (std::uint32_t part = 0; part < planned.works.size(); ++part) {
    const double seconds = planned.is_dead ? 0 : planned.works[part]->seconds[model.source_of(planned.devices[part])];
    made.computes.push_back(list.add(planned.devices[part], seconds, planned.batches[part]));
  }
  made.meets = made.computes;
  if (planned.is_reduced) {
    for (const auto& rings : planned.rings) {
      for (const PlannedOperator::Ring& ring : rings) {
        const auto ends = list.all_reduce(ring.parts, ring.bytes);
        for (std::size_t rank = 0; rank < ends.size(); ++rank) {
          const std::uint32_t part = ring.parts[rank];
          made.meets[part] = ends[rank];
          made.seconds[ends[rank]] += planned.works[part]->after[model.source_of(planned.devices[part])];
        }
      }
    }
  }
  made.part_of.assign(made.size(), kNoTask);
  for (std::uint32_t part = 0; part < planned.works.size() && !planned.is_dead; ++part) made.part_of[made.meets[part]] = part;
  return list.finish();
}

PlannedTasks backward_tasks(SplitModel& model, const DeviceCluster& cluster, const PlannedOperator& planned, bool is_added) {
  TaskList list(model, cluster);
  PlannedTasks& made = list.made();
  const std::size_t parts = planned.works.size();
  if (planned.is_dead) return list.finish();
  std::vector<std::uint32_t> arrived(parts, kNoTask);
  made.meets.resize(parts);
  for (std::size_t at = 0; is_added && at < planned.held.size(); ++at) {
    const auto& own = planned.held[at].parts;
    std::vector<std::uint32_t> collected;
    for (const std::uint32_t part : own) {
      collected.push_back(list.add(planned.devices[part], 0, backward_batch(planned.batches[own[0]])));
      made.meets[part] = collected.back();
    }
    const auto ends = own.size() == 1 ? collected : list.all_reduce(collected, planned.rings[at][0].bytes);
    for (std::size_t rank = 0; rank < own.size(); ++rank) arrived[own[rank]] = ends[rank];
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    const double seconds = planned.works[part]->backward[model.source_of(planned.devices[part])];
    const std::uint32_t task = list.add(planned.devices[part], seconds, backward_batch(planned.batches[part]));
    made.computes.push_back(task);
    if (arrived[part] != kNoTask)
      list.connect(arrived[part], task);
    else
      made.meets[part] = task;
  }
  return list.finish();
}

}  // namespace xflow::parallel
