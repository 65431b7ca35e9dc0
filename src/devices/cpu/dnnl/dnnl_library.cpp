#include "src/devices/cpu/dnnl_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/devices/cpu/dnnl/dnnl_build.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

// oneDNN brings the OpenMP runtime that it was built with; binding to it by name avoids a second runtime.
extern "C" __attribute__((weak)) void omp_set_num_threads(int threads);

namespace xflow::cost::cpu {
namespace {

using Builder = void (*)(Build&);

// Null if oneDNN has no such kernel.
Builder builder_of(const ops::KernelSpec& spec) {
  using enum ops::KernelFamily;
  switch (spec.family) {
    case product:
      return build_matmul;
    case convolution:
      return spec.is(ops::Op::Conv) ? build_convolution : build_transposed_convolution;
    case pointwise:
      return build_pointwise;
    case pooling:
      return build_pool;
    case reduction:
      return build_spatial_mean;
    case softmax:
      return spec.is(ops::Op::Softmax) ? build_softmax : build_log_softmax;
    case layer_normalization:
    case rms_normalization:
      return build_layer_normalization;
    case reorder:
      return build_reorder;
    case copy:
      return spec.is(ops::Op::Concat) ? build_concat : spec.is(ops::Op::Resize) ? build_resample : nullptr;
    case other:
      return spec.is(ops::Op::Lrn) ? build_lrn : nullptr;
    case attention:
    case none:
      break;
  }
  return nullptr;
}

class Library final : public DnnlLibrary {
 public:
  explicit Library(int threads) : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const dnnl_version_t* version = dnnl_version();
    version_ = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
    static const std::map<dnnl::cpu_isa, const char*> kNames = {
        {dnnl::cpu_isa::sse41, "sse41"},
        {dnnl::cpu_isa::avx, "avx"},
        {dnnl::cpu_isa::avx2, "avx2"},
        {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
        {dnnl::cpu_isa::avx512_core, "avx512_core"},
        {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
        {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
        {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
    };
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    const auto found = kNames.find(isa);
    instruction_set_ = found == kNames.end() ? fmt::format("isa {}", static_cast<int>(isa)) : found->second;
  }

  const std::string& version() const override { return version_; }
  const std::string& instruction_set() const override { return instruction_set_; }
  void use_threads() const override {
    if (omp_set_num_threads != nullptr) omp_set_num_threads(threads_);
  }

  Result<std::vector<std::unique_ptr<CpuKernel>>> build(const ops::KernelSpec& spec, Layout layout) override {
    std::vector<std::unique_ptr<CpuKernel>> kernels;
    std::optional<Error> refusal;
    for (const Variant variant : variants_of(spec)) {
      Result<std::unique_ptr<CpuKernel>> kernel = build(spec, layout, variant);
      if (kernel) {
        kernels.push_back(*std::move(kernel));
      } else if (!refusal) {
        refusal = kernel.error();
      }
    }
    if (kernels.empty()) return fail(*std::move(refusal));
    return kernels;
  }

 private:
  static std::vector<Variant> variants_of(const ops::KernelSpec& spec) {
    std::vector<Variant> variants = {Variant::usual};
    if (!ops::is_anchor(spec)) return variants;
    const auto adds_residual = [&](const ops::PostOperation& post) {
      return post.function.is(ops::Op::Add) && post.position == 0 && post.operands.size() == 1 && !post.operands[0].constant &&
             post.operands[0].dims == spec.results[0].dims;
    };
    if (std::ranges::any_of(spec.post, adds_residual)) variants.push_back(Variant::in_place);
    if (spec.is(ops::KernelFamily::product) && spec.operands[1].constant) variants.push_back(Variant::inner_product);
    return variants;
  }

  Result<std::unique_ptr<CpuKernel>> build(const ops::KernelSpec& spec, Layout layout, Variant variant) {
    const auto refuse = [&](std::string_view reason) {
      return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: {} has no {}", ops::to_string(spec), version_, reason));
    };
    try {
      use_threads();
      const Builder builder = builder_of(spec);
      if (builder == nullptr) return refuse("such a kernel");
      Build build{spec, layout, engine_, std::make_unique<DnnlKernel>(engine_, stream_), variant, false, {}};
      builder(build);
      return std::unique_ptr<CpuKernel>(std::move(build.kernel));
    } catch (const Lacking& lacking) {
      return refuse(lacking.what);
    } catch (const dnnl::error& error) {
      return refuse(fmt::format("kernel for it ({})", error.what()));
    } catch (const std::exception& exception) {
      return refuse(fmt::format("place for it ({})", exception.what()));
    }
  }

  int threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::string version_;
  std::string instruction_set_;
};

}  // namespace

Result<std::unique_ptr<DnnlLibrary>> DnnlLibrary::open(int threads) {
  if (threads != 1 && omp_set_num_threads == nullptr) {
    return fail(ErrorCode::unsupported, fmt::format("cannot use {} threads: oneDNN was built without OpenMP", threads));
  }
  try {
    return std::unique_ptr<DnnlLibrary>(std::make_unique<Library>(threads));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::unsupported, fmt::format("cannot set up oneDNN: {}", exception.what()));
  }
}

bool dnnl_has_step(const ops::StepFunction& step, std::size_t position) {
  if (binary_of(step)) return position <= 1;
  return position == 0 && !eltwise_of(step, {}).empty();
}

}  // namespace xflow::cost::cpu
