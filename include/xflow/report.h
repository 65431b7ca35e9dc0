// Where the report of an optimisation may go.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <string>
#include <vector>

namespace xflow {

// Whether a model that is written to `output` goes to standard output, so that everything else must not.
XFLOW_API bool is_standard_output(const std::string& output);

// Checks before the work that the report can be written and takes the place of nothing that the run reads or writes: the input and its
// external data, the output and its external data; through links as well, and also where a file does not exist yet. `external_data`: as
// OptimizeOptions::save_as_external_data, and `allow_external` as there. Errors: invalid_argument; io where it cannot be written.
XFLOW_API Result<void> check_report_path(const std::string& report, const std::string& input, const std::string& output,
                                         const std::string& external_data, const std::vector<std::string>& allow_external);

// Writes the report, as JSON, in one step. Errors: io.
XFLOW_API Result<void> write_report(const std::string& path, const std::string& json);

}  // namespace xflow
