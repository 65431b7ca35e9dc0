// What a job writes beside its work, and the limits of its steps.
#pragma once

#include <xflow/error.h>

#include <string>

#include "src/generator/jobs/checkpoint.h"
#include "src/generator/jobs/generate.h"
#include "src/verifier/proof/decide.h"

namespace xflow::generator {

// Error::limit, "cancelled", if the job is.
Result<void> unless_cancelled(const GenerateOptions& options);
// Verifies until the job is cancelled.
verifier::Options verifying(const GenerateOptions& options);

// Writes the files in OUT, all or none: first temporary files, then renames. `jobs`: threads that prove the
// rules. Error::io for a folder or file that cannot be written; those of verifier::renew_records.
Result<void> write_results(const GenerateOptions& options, const Checkpoint& checkpoint, const std::string& directed,
                           const std::string& equations, const std::string& report, int jobs);

}  // namespace xflow::generator
