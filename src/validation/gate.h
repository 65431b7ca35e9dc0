// The gate: decides whether a candidate is faster than the original. Both run end to end on one device in
// alternating pairs.
//
// Only candidates that pass the gate are shipped. Each pair has one sample of each program in a random
// order. A sign test compares the pairs, so nothing is assumed about the noise. A machine that slows down or
// speeds up affects both samples of a pair. See docs/cost.md.
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
  std::uint64_t seed = 1;  // of the random order within pairs
  // Runs of each program before measuring, at each choice of sizes. After a further set-up one sample is run
  // instead.
  int warm_ups = 3;
  std::size_t least_pairs = 15;  // pairs before the first decision
  std::size_t looks = 4;         // largest number of decisions: after 15, 31, 63 and 127 pairs
  // Called before each run of a program; true ends the gate like the budget. Null: never.
  std::function<bool()> stop = {};
  // The probability that an equal program is found faster, over all looks and choices of sizes.
  double level = 0.05;
  // The number of set-ups of both programs. A candidate that is faster must stay faster in each further
  // set-up; the order of setting up alternates.
  std::size_t settings = 4;
  // At a choice of sizes where the candidate is not faster, it may be slower by this share at most.
  double margin = 0.02;
  Nanoseconds sample{20e6};  // runs of one program are grouped into samples of at least this length
  // The same by wall clock. It is longer because the median over more runs leaves out interrupted ones.
  Nanoseconds wall_sample{100e6};
  double max_seconds = 60;         // wall clock, for the whole gate
  double used_seconds = 0;         // part of max_seconds that earlier work used
  std::vector<std::string> sizes;  // names of the choices of sizes in reasons; empty: numbers
  std::function<double()> clock;   // seconds since some fixed moment; null: the wall clock
  std::function<void()> progress;  // called after each pair
};

using xflow::GateStop;
using xflow::GateVerdict;

// The comparison of two programs by one clock.
struct GateTimes {
  std::size_t faster = 0;  // pairs in which the candidate took less time
  std::size_t slower = 0;  // pairs in which the candidate took more time
  // The candidate's time divided by the original's: the median over the pairs and its 95 % interval.
  double ratio = 1;
  double low = 1;
  double high = 1;
  // Of the sign test: the probability that a program which is not faster wins as many pairs.
  double p_value = 1;
  std::vector<double> confirmations;  // median ratio of each further set-up
  Nanoseconds original{};             // median time of one run
  Nanoseconds candidate{};
};

// The comparison of two programs at one choice of sizes; the base class has the times by the clock of the
// executor.
struct GateComparison : GateTimes {
  std::size_t sizes = 0;
  GateVerdict verdict = GateVerdict::undecided;  // by all clocks: faster by one, and faster or equal by the other
  GateStop stop = GateStop::decided;
  std::size_t pairs = 0;
  int repeats = 1;                     // runs per sample
  std::optional<GateTimes> processor;  // by processor time, if the executor reports it
  std::string failure;                 // "original: ...", "candidate: ..."
};

struct GateResult {
  // Whether the candidate is faster at one choice of sizes at least, and faster or equal at every one.
  bool passed = false;
  // Why it did not pass: "it is not faster: 1.003 of the original's time [0.996, 1.011] in 127 pairs". Empty
  // if it passed.
  std::string reason;
  std::vector<GateComparison> comparisons;  // in the order of sizes; ends with the one that decided against the candidate
  double seconds = 0;
};

// Compares `candidate` with `original` at sizes 0 to `choices` - 1. Each choice may use an equal share of
// the time that is left.
GateResult gate(Executor& executor, ProgramId original, ProgramId candidate, std::size_t choices, const GateOptions& options = {});

}  // namespace xflow::cost
