// A call of optimize_file by a subcommand.
#pragma once

#include <xflow/optimize.h>

#include <string>

#include "src/cli/command.h"
#include "src/cli/model_options.h"
#include "src/cli/print_options.h"

namespace xflow::cli {

// The files of a call.
struct OptimizeFiles {
  std::string input;
  std::string output;
  std::string report;   // empty: no report is written
  std::string command;  // OptimizeReport::command
};

// Errors: that the report cannot be written (check_report_path of <xflow/report.h>).
Result<void> check_report(const OptimizeFiles& files, const OptimizeOptions& options);

// Optimises with warnings and a progress line on stderr; prints the report, writes it to its file, and
// compares the files if `model` says so. Signals end the call early.
ExitCode optimize_and_report(const OptimizeFiles& files, OptimizeOptions& options, const ModelOptions& model, const PrintOptions& printing);

}  // namespace xflow::cli
