#include "src/cli/processes/mpi_workers.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>

#include "src/cli/processes/processes.h"

namespace xflow::cli {
namespace {

// Messages over MPI. An error of MPI itself ends all processes with MPI's own message.
class MpiMessages final : public Messages {
 public:
  MpiMessages() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  }
  ~MpiMessages() override { MPI_Finalize(); }

  std::size_t processes() const {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return static_cast<std::size_t>(size);
  }
  std::size_t process() const {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return static_cast<std::size_t>(rank);
  }
  std::size_t others() const override { return processes() - 1; }

  void send(std::size_t process, const std::string& text) override {
    if (text.size() > INT_MAX) MPI_Abort(MPI_COMM_WORLD, 1);  // large data is exchanged in files
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, static_cast<int>(process), 0, MPI_COMM_WORLD);
  }

  // Polls with sleeps, because a blocking MPI call keeps a core busy and tasks take seconds.
  Message receive() override {
    using std::chrono::microseconds;
    MPI_Status status;
    int there = 0;
    for (microseconds pause(50);; pause = std::min(2 * pause, microseconds(10000))) {
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
      if (there != 0) break;
      std::this_thread::sleep_for(pause);
    }
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    std::string text(static_cast<std::size_t>(size), '\0');
    MPI_Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return {static_cast<std::size_t>(status.MPI_SOURCE), std::move(text)};
  }
};

}  // namespace

Result<std::unique_ptr<GeneratorWorkers>> join_processes(const GeneratorTask& work) {
  const MpiPlace place = mpi_place();
  auto messages = std::make_unique<MpiMessages>();
  if (messages->processes() != place.processes) {
    if (place.process != 0) return std::unique_ptr<GeneratorWorkers>();
    return fail(ErrorCode::unsupported,
                fmt::format("mpirun started {} processes, but each finds only {}; use the mpirun of the MPI that xflow was built with",
                            place.processes, messages->processes()));
  }
  if (messages->process() == 0) return std::unique_ptr<GeneratorWorkers>(std::make_unique<Processes>(std::move(messages)));
  serve(*messages, work);
  return std::unique_ptr<GeneratorWorkers>();
}

}  // namespace xflow::cli
