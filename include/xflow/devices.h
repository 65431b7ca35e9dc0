// Where costs can be measured.
#pragma once

#include <xflow/export.h>

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

}  // namespace xflow
