// Where costs can be measured.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xflow {

struct DeviceDescription {
  std::string name;  // as for OptimizeOptions::device: "cpu", "cuda:0"; "cuda" where no GPU is found
  // What it is, with the libraries whose kernels are timed there: "Intel(R) Xeon(R) Processor, avx512_core, oneDNN 2.6.3". Where it cannot
  // be used, why: "there is no CUDA driver: libcuda.so.1 was not found".
  std::string text;
  bool usable = false;
};

// This CPU, then the GPUs. Loads the CUDA libraries where there are some. Never fails: what cannot be used says why.
XFLOW_API std::vector<DeviceDescription> devices();

// The device of a program whose user names none.
struct DefaultDevice {
  std::string name;     // "cuda:0" or "cpu"
  std::string warning;  // of a GPU that is there and is not used; empty if there is none
};
// "cuda:0" where the first GPU can be used and passes a check, otherwise "cpu". `check`: a command of the shell that calls check_device for
// it, in another process, which a fault of a driver or library may end. `seconds`: that the check may take.
XFLOW_API DefaultDevice default_device(const std::string& check, double seconds = 120);

struct DeviceCheck {
  std::uint64_t graphs = 0;  // that computed what the reference does
  std::uint64_t values = 0;  // of these, compared
  std::string failure;       // of the first that did not: "the graph of attention: output 1: 0.5 instead of 0.25 at [0,1] ..."
};

// Runs some small graphs on a device of this machine ("cpu", "cuda:0") as whole models are run there, and compares them with the reference.
// Errors: unsupported for a device that cannot be used, invalid_argument for one on which nothing is run.
XFLOW_API Result<DeviceCheck> check_device(const std::string& name);

}  // namespace xflow
