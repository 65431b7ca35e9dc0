// Matrix products of element types that oneDNN does not multiply: doubles and integers.
#include <fmt/format.h>

#include <algorithm>

#include "src/devices/cpu/loop_kernel.h"
#include "src/ops/kernel_text.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

namespace xflow::cost::cpu {
namespace {

class MatmulLoop final : public LoopKernel {
 public:
  MatmulLoop() : LoopKernel(Layout::plain) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    const auto cannot = [&] {
      return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for it", ops::to_string(spec)));
    };
    const ir::DataType type = spec.operands[0].data_type;
    if (!spec.post.empty() || spec.operands[1].data_type != type || spec.results[0].data_type != type) return cannot();
    switch (type) {
      case ir::DataType::float64:
        multiply_ = &MatmulLoop::multiply<double>;
        break;
      case ir::DataType::int64:
      case ir::DataType::uint64:
        multiply_ = &MatmulLoop::multiply<std::uint64_t>;
        break;
      case ir::DataType::int32:
      case ir::DataType::uint32:
        multiply_ = &MatmulLoop::multiply<std::uint32_t>;
        break;
      default:
        return cannot();
    }
    XFLOW_CHECK(add_buffers(spec));
    // Vectors are matrices of one row or one column.
    a_ = spec.operands[0].dims;
    b_ = spec.operands[1].dims;
    outer_ = spec.results[0].dims;
    outer_.resize(outer_.size() - (a_.size() > 1 ? 1 : 0) - (b_.size() > 1 ? 1 : 0));
    if (a_.size() < 2) a_.insert(a_.begin(), 1);
    if (b_.size() < 2) b_.push_back(1);
    a_strides_ = outer_strides(a_);
    b_strides_ = outer_strides(b_);
    return {};
  }

  void run() override { (this->*multiply_)(); }
  void stop_when(const std::function<bool()>& stop) override { stop_ = &stop; }
  bool was_stopped() const override { return stopped_; }

 private:
  // The strides, in matrices, of the outer dimensions of an operand that broadcasts to outer_.
  Dims outer_strides(const Dims& dims) const {
    const Dims own = padded_to(Dims(dims.begin(), dims.end() - 2), outer_.size());
    Dims strides(own.size());
    std::int64_t stride = 1;
    for (std::size_t k = own.size(); k-- > 0;) {
      strides[k] = own[k] == 1 ? 0 : stride;
      stride *= own[k];
    }
    return strides;
  }

  template <typename T>
  void multiply() {
    const std::int64_t m = a_[a_.size() - 2];
    const std::int64_t inner = a_.back();
    const std::int64_t n = b_.back();
    const auto* a = reinterpret_cast<const T*>(operands_[0].bytes.get());
    const auto* b = reinterpret_cast<const T*>(operands_[1].bytes.get());
    auto* c = reinterpret_cast<T*>(results_[0].bytes.get());
    std::fill_n(c, results_[0].elements(), T(0));
    stopped_ = false;
    std::int64_t since_look = 0;
    Indices index(outer_.size());
    for (auto left = static_cast<std::int64_t>(results_[0].elements()); left > 0; left -= m * n, c += m * n) {
      const T* left_matrix = a;
      const T* right_matrix = b;
      for (std::size_t k = 0; k < index.size(); ++k) {
        left_matrix += index[k] * a_strides_[k] * m * inner;
        right_matrix += index[k] * b_strides_[k] * inner * n;
      }
      for (std::int64_t i = 0; i < m; ++i) {
        since_look += inner * n;
        if (since_look >= kBetweenLooks && stop_ != nullptr) {
          since_look = 0;
          stopped_ = (*stop_)();
          if (stopped_) return;
        }
        for (std::int64_t k = 0; k < inner; ++k) {
          const T factor = left_matrix[i * inner + k];
          for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += factor * right_matrix[k * n + j];
        }
      }
      for (std::size_t k = index.size(); k-- > 0;) {
        if (++index[k] < outer_[k]) break;
        index[k] = 0;
      }
    }
  }

  Dims a_;
  Dims b_;
  Dims outer_;
  Dims a_strides_;
  Dims b_strides_;
  void (MatmulLoop::*multiply_)() = nullptr;
  static constexpr std::int64_t kBetweenLooks = 1 << 20;  // products between two calls of stop_
  const std::function<bool()>* stop_ = nullptr;
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> build_matmul_loop(const ops::KernelSpec& spec) {
  auto kernel = std::make_unique<MatmulLoop>();
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
