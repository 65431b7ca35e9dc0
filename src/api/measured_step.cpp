#include "src/api/measured_step.h"

#include <memory>
#include <string>

#include "src/api/plan_folder.h"
#include "src/execution/run_in_threads.h"
#include "src/support/temporary_folder.h"

namespace xflow::api {

policy::MeasureStep measured_step(ClusterModel& model, const std::string& path, const parallel::ModelTasks& tasks,
                                  parallel::SplitModel& split, const parallel::DeviceCluster& cluster, const ParallelizeOptions& options,
                                  int repeats) {
  const auto costs = std::make_shared<TemporaryFolder>();
  return [&, costs, repeats](const parallel::SplitPlan& plan) -> Result<double> {
    const TemporaryFolder folder;
    if (costs->path().empty() || folder.path().empty())
      return fail(ErrorCode::io, "cannot create a folder for parts that are run", std::filesystem::temp_directory_path().string());
    const std::string parts = (folder.path() / "parts").string();
    XFLOW_CHECK(write_plan_folder({path, model, tasks, split, plan}, cluster, parts, "xflow parallelize"));
    RunOptions run;
    run.seed = options.seed;
    run.shapes = options.shapes;
    run.warm_ups = 2;
    run.repeats = repeats;
    run.cost_database = options.cost_database.empty() ? (costs->path() / "costs.db").string() : options.cost_database;
    run.allow_external = options.allow_external;
    run.warning = options.warning;
    XFLOW_TRY(const RunResult result, execution::run_in_threads(parts, run));
    return result.step.count();
  };
}

}  // namespace xflow::api
