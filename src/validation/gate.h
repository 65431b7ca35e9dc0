// The gate: whether a candidate is faster than the original, both run from end to end, in turns, on one device.
//
// What is shipped has passed it. Pairs of samples, one of each in an order that is drawn, are compared by a sign test, which assumes
// nothing of the noise; a machine that slows down or speeds up meets both sides of a pair. See docs/cost.md.
#pragma once

#include <xflow/report.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/kernels/device.h"
#include "src/runtime/executor.h"

namespace xflow::cost {

struct GateOptions {
  std::uint64_t seed = 1;           // of the order within the pairs
  int warm_ups = 3;                 // runs of each program before anything counts, at each choice of sizes; set up again, one sample
  std::size_t least_pairs = 15;     // nothing is decided before
  std::size_t looks = 4;            // how often it may be decided: after 15, 31, 63 and 127 pairs
  std::function<bool()> stop = {};  // asked before each run of a program: true ends it as the budget does; null: never
  double level = 0.05;              // the chance to find an equal program faster, over all looks and choices of sizes
  std::size_t settings = 4;         // what is faster has to be so again with both set up again, in the other order: so often in all
  double margin = 0.02;             // at a choice of sizes where it is not faster, a program may be slower by this share at most
  Nanoseconds sample{20e6};         // runs of one program are grouped into samples of at least this
  Nanoseconds wall_sample{100e6};   // the same by the clock on the wall: a median of more runs leaves out those that were interrupted
  double max_seconds = 60;          // wall clock, of everything that the gate does
  double used_seconds = 0;          // of these, for what had to be done before
  std::vector<std::string> sizes;   // what choices of sizes are called in reasons; empty: by numbers
  std::function<double()> clock;    // seconds since some fixed moment; null: the wall clock
  std::function<void()> progress;   // called after each pair
};

using xflow::GateVerdict;

enum class GateStop : std::uint8_t {
  decided,      // by the sign test
  place,        // it was not faster when both had been set up again
  pairs,        // all looks were taken
  time,         // max_seconds
  unconfirmed,  // max_seconds, when it was faster as it was set up first
  failure,
};
std::string_view name(GateStop stop);  // "decided by the sign test"

// Two programs by one clock.
struct GateTimes {
  std::size_t faster = 0;  // pairs in which the candidate took less time
  std::size_t slower = 0;  // in which it took more
  // Of the candidate's time as a part of the original's: the median over the pairs and its 95 % interval.
  double ratio = 1;
  double low = 1;
  double high = 1;
  double p_value = 1;         // of the sign test: the chance that a program which is not faster does so well
  std::vector<double> again;  // the ratios of the settings-up after the first alone
  Nanoseconds original{};     // median time of one run
  Nanoseconds candidate{};
};

// Two programs at one choice of sizes, by the clock of the executor.
struct GateComparison : GateTimes {
  std::size_t sizes = 0;
  GateVerdict verdict = GateVerdict::undecided;  // by all clocks: faster by one, and faster or equal by the other
  GateStop stop = GateStop::decided;
  std::size_t pairs = 0;
  int repeats = 1;                     // runs of one sample
  std::optional<GateTimes> processor;  // by the processor time, where the executor gives that as well
  std::string failure;                 // "original: ...", "candidate: ..."
};

struct GateResult {
  bool passed = false;  // faster at one choice of sizes at least, and faster or equal at every one
  std::string reason;   // why not: "it is not faster: 1.003 of the original's time [0.996, 1.011] in 127 pairs"; empty if it passed
  std::vector<GateComparison> comparisons;  // in the order of sizes; ends with the one that decided against the candidate
  double seconds = 0;
};

// Compares `candidate` with `original` at sizes 0 to `choices` - 1. Each choice may use up an equal share of the time that is left.
GateResult gate(Executor& executor, ProgramId original, ProgramId candidate, std::size_t choices, const GateOptions& options = {});

}  // namespace xflow::cost
