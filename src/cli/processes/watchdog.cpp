#include "src/cli/processes/watchdog.h"

#include <fmt/format.h>
#include <xflow/text.h>

namespace xflow::cli {

std::string name_of_process(std::size_t process, const Beat& beat) {
  const std::string device = beat.device.data();
  return device.empty() ? fmt::format("process {}", process) : fmt::format("process {} (device '{}')", process, printable(device));
}

std::string work_of(const Beat& beat) {
  switch (beat.phase) {
    case RunPhase::computing:
      return fmt::format(", which was computing part {},", beat.part);
    case RunPhase::waiting:
      return beat.part == kNoPart ? ", which was waiting for others,"
                                  : fmt::format(", which was waiting for inputs of part {},", beat.part);
    case RunPhase::preparing:
      return "";
  }
  return "";
}

Watchdog::Watchdog(std::size_t processes, std::size_t process, Seconds patience, double now)
    : process_(process), patience_(patience.count()), heard_(processes, Heard{now, {}}) {}

void Watchdog::resume(double now) {
  for (Heard& other : heard_) other.time = now;
}

void Watchdog::heard(std::size_t from, const Beat& beat, double now) { heard_[from] = {now, beat}; }

std::optional<std::size_t> Watchdog::silent(double silence, double now) const {
  for (std::size_t other = 0; other < heard_.size(); ++other) {
    if (other != process_ && now - heard_[other].time > silence) return other;
  }
  return std::nullopt;
}

std::optional<std::string> Watchdog::complaint(const Beat& beat, double due, double now) const {
  if (beat.phase == RunPhase::computing && now > due)
    return fmt::format("{} hangs in part {}: a kernel has not ended in time", name_of_process(process_, beat), beat.part);
  const auto other = silent(patience_, now);
  if (!other) return std::nullopt;
  constexpr double kTurn = 0.5;
  const double waited = now - heard_[*other].time - patience_;
  if (waited < kTurn * static_cast<double>(before_this(*other))) return std::nullopt;
  const Beat& last = heard_[*other].beat;
  return fmt::format("{}{} has not answered for {:g} s", name_of_process(*other, last), work_of(last), patience_);
}

std::optional<std::string> Watchdog::lost(double silence, double now) const {
  const auto other = silent(silence, now);
  if (!other || before_this(*other) != 0) return std::nullopt;
  const Beat& last = heard_[*other].beat;
  return fmt::format("{}{} has ended", name_of_process(*other, last), work_of(last));
}

}  // namespace xflow::cli
