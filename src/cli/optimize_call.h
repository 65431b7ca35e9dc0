// A call of optimize_file by a subcommand.
#pragma once

#include <xflow/optimize.h>

#include <string>

#include "src/cli/command.h"

namespace xflow::cli {

// The files of a call.
struct OptimizeFiles {
  std::string input;
  std::string output;
  std::string report;  // empty: no JSON report is written
};

// Errors: that the report cannot be written (check_report_path of <xflow/report.h>).
Result<void> check_report(const OptimizeFiles& files, const OptimizeOptions& options);

// Optimises with warnings on stderr and a progress line, ends early on signals, prints the report, and writes
// it.
ExitCode optimize_and_report(const OptimizeFiles& files, OptimizeOptions& options);

}  // namespace xflow::cli
