// Finds processes of a run that are lost or hang. The clock is the caller's.
#pragma once

#include <xflow/run.h>
#include <xflow/time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xflow::cli {

// What a process tells the others several times a second. It is sent as bytes.
struct Beat {
  RunPhase phase = RunPhase::preparing;
  std::uint64_t part = kNoPart;      // that it computes, or for whose inputs it waits
  std::array<char, 64> device = {};  // its name, ended by 0
};

// "process 1 (device 'cpu1')"
std::string name_of_process(std::size_t process, const Beat& beat);
// ", which was computing part 3,"; empty if it prepares itself.
std::string work_of(const Beat& beat);

class Watchdog {
 public:
  // `process`: of this process. Times are in seconds of one clock.
  Watchdog(std::size_t processes, std::size_t process, Seconds patience, double now);

  // This process did not run for a while, and heard nothing.
  void resume(double now);
  // A message of another process arrived.
  void heard(std::size_t from, const Beat& beat, double now);
  // Why all processes have to end. `beat` is that of this process, which should change before `due`.
  //
  // The process that hangs in a kernel says so itself. Of a silent one, each other process would speak: a
  // process waits half a second for each one before it.
  std::optional<std::string> complaint(const Beat& beat, double due, double now) const;
  // After the end of the job by somebody else: the process that was silent for `silence` seconds, if this
  // process is the first of the others.
  std::optional<std::string> lost(double silence, double now) const;

 private:
  std::optional<std::size_t> silent(double silence, double now) const;
  // The number of processes before this one, without the silent one.
  std::size_t before_this(std::size_t silent) const { return process_ - (silent < process_ ? 1 : 0); }

  struct Heard {
    double time = 0;
    Beat beat;
  };
  std::size_t process_;
  double patience_;
  std::vector<Heard> heard_;  // by process
};

}  // namespace xflow::cli
