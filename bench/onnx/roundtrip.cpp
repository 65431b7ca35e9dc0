// Load, lift, lower and save one model: time, and the peak memory of a process that does it above that of one that does nothing.
//
// The model is ch_PP-OCRv4_rec_infer.onnx (10.8 MB) of XFLOW_TEST_MODELS. Wanted: under 100 ms, at most 1.5 times the file.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "src/onnx/document/document_writer.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"

namespace {

using namespace xflow;

std::string model_path() {
  const char* folder = std::getenv("XFLOW_TEST_MODELS");
  return folder == nullptr ? std::string() : std::string(folder) + "/ch_PP-OCRv4_rec_infer.onnx";
}

Result<void> load(const std::string& path) {
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path));
  benchmark::DoNotOptimize(document.nodes().size());
  return {};
}

Result<void> lift(const std::string& path) {
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path));
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel model, onnx_io::lift(document, arena));
  benchmark::DoNotOptimize(model.graph.outputs.size());
  return {};
}

Result<void> round_trip(const std::string& path, const std::string& target) {
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path));
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel model, onnx_io::lift(document, arena));
  const onnx_io::Fold fold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };
  XFLOW_TRY(const onnx_io::LoweredModel lowered, onnx_io::lower(document, model, arena, model.graph, {}, fold));
  XFLOW_CHECK(onnx_io::write_document(document, lowered.edits, target));
  return {};
}

// Peak resident memory in bytes of a process that runs `work`.
double peak_memory(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  struct rusage usage {};
  if (wait4(child, &status, 0, &usage) != child || status != 0) return -1;
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void report(benchmark::State& state, const std::function<Result<void>(const std::string&)>& work) {
  const std::string path = model_path();
  if (path.empty()) {
    state.SkipWithError("XFLOW_TEST_MODELS is not set");
    return;
  }
  // First, while this process is small.
  const double empty = peak_memory([] { return true; });
  const double full = peak_memory([&] { return work(path).has_value(); });
  for (auto _ : state) {
    const auto done = work(path);
    if (!done) {
      state.SkipWithError(done.error().text().c_str());
      return;
    }
  }
  state.counters["memory/file"] = (full - empty) / static_cast<double>(std::filesystem::file_size(path));
}

void LoadModel(benchmark::State& state) { report(state, load); }
BENCHMARK(LoadModel)->Unit(benchmark::kMillisecond);

void LiftModel(benchmark::State& state) { report(state, lift); }
BENCHMARK(LiftModel)->Unit(benchmark::kMillisecond);

void RoundTrip(benchmark::State& state) {
  const std::string target = (std::filesystem::temp_directory_path() / "xflow_bench_roundtrip.onnx").string();
  report(state, [&](const std::string& path) { return round_trip(path, target); });
  std::error_code ignored;
  std::filesystem::remove(target, ignored);
}
BENCHMARK(RoundTrip)->Unit(benchmark::kMillisecond);

}  // namespace
