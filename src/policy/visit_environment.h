// What a policy changes that visits one group after the other, and what it sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/placement_problem.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// A placement of groups on devices that changes by one group at a time.
//
// `value` is what is made small. `potential` is what rewards are made of, and what most moves change.
class VisitEnvironment {
 public:
  VisitEnvironment() = default;
  virtual ~VisitEnvironment() = default;
  VisitEnvironment(const VisitEnvironment&) = delete;
  VisitEnvironment& operator=(const VisitEnvironment&) = delete;

  virtual std::uint32_t groups() const = 0;
  virtual std::uint32_t device_count() const = 0;
  // Groups along the edges between them, which a pass visits one by one.
  virtual std::span<const std::uint32_t> order() const = 0;
  virtual const parallel::GroupDevices& devices() const = 0;
  virtual double value() const = 0;
  virtual double potential() const = 0;
  virtual void reset(parallel::GroupDevices devices) = 0;
  virtual void move(std::uint32_t group, std::uint32_t device) = 0;

  // Features of each group that do not depend on the placement, free of names and scale: kGroupFeatures
  // columns.
  virtual const Matrix& group_features() const = 0;
  // Means over neighbours of each group: groups that it reads, and groups that read it.
  virtual const Matrix& parents() const = 0;
  virtual const Matrix& children() const = 0;

  // What a policy sees of the devices to which a group can go; a row for each device.
  struct Choices {
    Matrix features;             // kDeviceFeatures columns
    Matrix own;                  // of each group: 1 for the group itself
    Matrix parents;              // share of the group's parents that are on the device, over all groups
    Matrix children;             // likewise
    Matrix others;               // mean over all groups on the device
    std::vector<bool> possible;  // within memory, and without parts that wait for each other
  };
  // `progress`: the visited part of a pass, from 0 to 1.
  virtual Choices choices(std::uint32_t group, double progress) = 0;

  static constexpr std::size_t kGroupFeatures = 11;
  static constexpr std::size_t kDeviceFeatures = 13;
};

// The visited part of a pass at a visit, which counts over all passes.
inline double progress_of(const VisitEnvironment& environment, std::size_t visit) {
  const std::size_t groups = environment.order().size();
  return static_cast<double>(visit % groups) / static_cast<double>(groups);
}

// Choices without features and impossible devices: what follows from the devices of groups and from their
// neighbours alone.
inline VisitEnvironment::Choices neighbours_on_devices(const VisitEnvironment& environment, std::uint32_t group) {
  const std::size_t count = environment.device_count();
  const std::size_t groups = environment.groups();
  const parallel::GroupDevices& places = environment.devices();
  VisitEnvironment::Choices result{Matrix(count, VisitEnvironment::kDeviceFeatures),
                                   Matrix(count, groups),
                                   Matrix(count, groups),
                                   Matrix(count, groups),
                                   Matrix(count, groups),
                                   std::vector<bool>(count)};
  std::vector<std::uint32_t> members(count);
  for (const std::uint32_t device : places) ++members[device];
  for (std::size_t other = 0; other < groups; ++other) {
    const std::uint32_t device = places[other];
    result.others.at(device, other) = 1 / static_cast<float>(members[device]);
    result.parents.at(device, other) = environment.parents().at(group, other);
    result.children.at(device, other) = environment.children().at(group, other);
  }
  for (std::size_t device = 0; device < count; ++device) result.own.at(device, group) = 1;
  return result;
}

}  // namespace xflow::policy
