// Values of placements, computed from the nodes and edges of the instance.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/parallel/instance.h"
#include "src/parallel/placement_problem.h"

namespace xflow::parallel {

// Device of each node under a placement of groups.
NodeDevices node_devices(std::span<const std::uint32_t> group_of_node, std::span<const std::uint32_t> device_of_group);

// Load of each device, in milliseconds. A CPU computes; an accelerator computes, sends each output that has
// a reader elsewhere once, and receives each output that it reads from elsewhere once.
std::vector<double> loads_of(const PlacementInstance& instance, const NodeDevices& devices);

// Bytes of the nodes of each device.
std::vector<double> bytes_of(const PlacementInstance& instance, const NodeDevices& devices);

// Whether accelerators hold their nodes, have none that they do not support, and classes are on one device.
bool is_valid(const PlacementInstance& instance, const NodeDevices& devices);

// Time of one sample, in milliseconds. The nodes of an accelerator are one task: it starts when all inputs
// from elsewhere are there, and takes as long as the load of the device. A node on a CPU is a task of its
// own that takes its compute; there is a core for each. A part that a path leaves and enters again is
// divided into a task for each entry on the path with most entries. Nothing if tasks wait for each other.
std::optional<double> latency_of(const PlacementInstance& instance, const NodeDevices& devices);

// A long path of compute; no latency is less. A class counts once on a path, with the smaller one of all its
// compute on an accelerator, where it is part of one task, and of the compute of the path's nodes on CPUs.
// Classes in a cycle count node by node.
double longest_path(const PlacementInstance& instance);

}  // namespace xflow::parallel
