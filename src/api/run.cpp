#include "xflow/run.h"

#include "src/execution/measure_cluster.h"
#include "src/execution/run_parts.h"

namespace xflow {

Result<RunResult> run_parts(const std::string& path, const RunOptions& options) { return execution::run_parts(path, options); }

Result<MeasuredCluster> measure_cluster(RunMessages& messages) { return execution::measure_cluster(messages); }

}  // namespace xflow
