// List schedules of whole operators: each runs on one device.
#pragma once

#include <cstdint>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

enum class ListMethod : std::uint8_t {
  // By the longest time from an operator to the end, to the device where it ends first (Topcuoglu, Hariri
  // and Wu, Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing, 2002),
  // without filling gaps.
  heft,
  // The operator and device with the earliest start, among operators whose operands are there (Hwang et al.,
  // Scheduling Precedence Graphs in Systems with Interprocessor Communication Times, 1989), where the memory
  // holds the constants: m-ETF of Jeon et al., Baechi: Fast Device Placement of Machine Learning
  // Graphs, 2020.
  earliest,
  // In the order of the file, devices are filled with equal shares of the constants: m-TOPO of the same
  // paper.
  filled,
};
// "heft", "m-etf", "m-topo".
const char* name(ListMethod method);

// Transfers take the time of their link, and do not wait for each other. A device gets no constants that
// exceed its memory while another one can hold them.
SplitPlan list_plan(SplitModel& model, const DeviceCluster& cluster, ListMethod method);

}  // namespace xflow::parallel
