// Kernels in source text, compiled by NVRTC and loaded.
#include <fmt/format.h>

#include <utility>

#include "src/devices/cuda/ready.h"

namespace xflow::cost::cuda {
namespace {

class ReadySource final : public CudaReady {
 public:
  ReadySource(const Runtime& runtime, SourceProgram source, std::string name)
      : runtime_(runtime), source_(std::move(source)), name_(std::move(name)) {}
  ~ReadySource() override {
    if (module_ != nullptr) runtime_.unload_module(module_);
  }

  Result<void> load(const std::string& binary) {
    XFLOW_CHECK(runtime_.check(runtime_.load_module(&module_, binary.data()), "load a kernel"));
    for (const SourceLaunch& part : source_.launches)
      XFLOW_CHECK(runtime_.check(runtime_.function(&functions_.emplace_back(), module_, part.function.c_str()), "find a kernel"));
    return {};
  }

  std::string_view implementation() const override { return name_; }
  std::span<const std::size_t> scratch() const override { return source_.scratch; }

  Result<void> launch(CUstream stream, const gpu::Launch& launch) override {
    for (std::size_t k = 0; k < functions_.size(); ++k) {
      const SourceLaunch& part = source_.launches[k];
      std::vector<void*> places;
      for (const SourceArgument& argument : part.arguments) {
        const std::vector<gpu::Address>& from = argument.kind == SourceArgument::Kind::operand  ? launch.operands
                                                : argument.kind == SourceArgument::Kind::result ? launch.results
                                                                                                : launch.scratch;
        places.push_back(pointer(from.at(argument.number)));
      }
      std::vector<void*> parameters(places.size());
      for (std::size_t i = 0; i < places.size(); ++i) parameters[i] = static_cast<void*>(&places[i]);
      XFLOW_CHECK(runtime_.check(runtime_.launch(functions_[k], static_cast<unsigned>(part.blocks), 1, 1,
                                                 static_cast<unsigned>(part.threads), 1, 1, 0, stream, parameters.data(), nullptr),
                                 "launch a kernel"));
    }
    return {};
  }

 private:
  const Runtime& runtime_;
  SourceProgram source_;
  std::string name_;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> functions_;
};

}  // namespace

Result<Ways> ready_source(const Runtime& runtime, const Compiler& compiler, int kind, const gpu::GpuKernel& kernel) {
  const auto& source = std::get<SourceProgram>(kernel.work);
  constexpr std::int64_t kMostBlocks = 0x7FFFFFFF;
  for (const SourceLaunch& launch : source.launches)
    if (launch.blocks > kMostBlocks) return fail(ErrorCode::unsupported, fmt::format("{} blocks are too many", launch.blocks));
  XFLOW_TRY(const std::string binary, compiler.run(source.text, kind));
  auto ready = std::make_unique<ReadySource>(runtime, source, kernel.text);
  XFLOW_CHECK(ready->load(binary));
  Ways ways;
  ways.push_back(std::move(ready));
  return ways;
}

}  // namespace xflow::cost::cuda
