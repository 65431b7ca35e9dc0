// What a device takes for a whole model, as predicted from its kernels and as run, before and after it is optimised.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace xflow::bench {

struct MeasureOptions {
  OptimizeOptions optimize;  // the device, and how to optimise
  std::size_t turns = 31;    // samples of each program
  double sample_ns = 20e6;   // at least, of runs in a row
  bool compare = false;      // the outputs with those of the interpreter, which takes long for large models
};

// The device as it is used: {"name", "model", "library", "clock", "threads"}. Errors: those of opening it.
Result<nlohmann::ordered_json> describe_device(const OptimizeOptions& options);

// Measures the model of the file `path`, and writes what it is optimised to as `output`. All times are nanoseconds of one run, and every
// sample is in the answer:
//   "predicted", "profiling" {"kernels", "seconds", "cannot_run", "refusals" {reason: launches}}, "launches", "share_not_run",
//   "compared": true where the outputs were compared with the reference, and agree,
//   "original" {"repeats", "samples"}, "error": of the prediction, as a part of the median sample,
//   "memory_bytes": the most that the device had in use (GPUs alone),
//   "report": of optimising (docs/cost.md),
//   "turns", where something was gained: {"repeats", "original", "result", "ratio" {"median", "low", "high"}}: both interleaved once more.
// What could not be run is in "failure", and the rest is missing. Errors: those of reading the model and of the device.
Result<nlohmann::ordered_json> measure_model(const std::string& path, const std::string& output, const MeasureOptions& options);

}  // namespace xflow::bench
