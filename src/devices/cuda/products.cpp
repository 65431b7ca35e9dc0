// Matrix products by cuBLASLt.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "src/devices/cuda/ready.h"

namespace xflow::cost::cuda {
namespace {

constexpr int kMostProposals = 8;

cudaDataType_t data_type(ir::DataType type) {
  return type == ir::DataType::float16 ? CUDA_R_16F : type == ir::DataType::bfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

// The cuBLASLt descriptors of a product; the destructor frees them.
class Descriptions {
 public:
  explicit Descriptions(const Blas& blas) : blas_(blas) {}
  ~Descriptions() {
    if (product_ != nullptr) blas_.destroy_description(product_);
    for (cublasLtMatrixLayout_t layout : {left_, right_, result_})
      if (layout != nullptr) blas_.destroy_layout(layout);
  }
  Descriptions(const Descriptions&) = delete;
  Descriptions& operator=(const Descriptions&) = delete;

  // A row-major matrix is the transposed column-major one, so the operands are swapped: result^T = right^T
  // left^T.
  Result<void> make(const gpu::Product& product, bool tf32) {
    const bool is_float = product.type == ir::DataType::float32;
    const cublasComputeType_t compute = is_float && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    XFLOW_CHECK(blas_.check(blas_.create_description(&product_, compute, CUDA_R_32F), "describe a product"));
    XFLOW_CHECK(layout(left_, product, product.n, product.k, product.right_stride));
    XFLOW_CHECK(layout(right_, product, product.k, product.m, product.left_stride));
    XFLOW_CHECK(layout(result_, product, product.n, product.m, product.m * product.n));
    const cublasLtEpilogue_t epilogue = epilogue_of(product);
    XFLOW_CHECK(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    if (product.bias) {
      const cudaDataType_t bias = data_type(product.type);
      XFLOW_CHECK(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias));
    }
    return {};
  }

  Result<void> set_bias(const void* bias) { return set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

  cublasLtMatmulDesc_t product() const { return product_; }
  cublasLtMatrixLayout_t left() const { return left_; }
  cublasLtMatrixLayout_t right() const { return right_; }
  cublasLtMatrixLayout_t result() const { return result_; }

 private:
  template <typename T>
  Result<void> set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return blas_.check(blas_.set_description(product_, attribute, static_cast<const void*>(&value), sizeof value), "describe a product");
  }

  Result<void> layout(cublasLtMatrixLayout_t& made, const gpu::Product& product, std::int64_t rows, std::int64_t columns,
                      std::int64_t stride) {
    XFLOW_CHECK(blas_.check(
        blas_.create_layout(&made, data_type(product.type), static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows),
        "describe a matrix"));
    const auto batch = static_cast<std::int32_t>(product.batch);
    XFLOW_CHECK(blas_.check(blas_.set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "describe a batch"));
    return blas_.check(blas_.set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "describe a batch");
  }

  static cublasLtEpilogue_t epilogue_of(const gpu::Product& product) {
    cublasLtEpilogue_t epilogue = product.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) \
  if (product.activation == gpu::Activation::NAME) {           \
    LIBRARIES                                                  \
  }
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#define XFLOW_CUBLASLT(EPILOGUE) epilogue = product.bias ? CUBLASLT_EPILOGUE_##EPILOGUE##_BIAS : CUBLASLT_EPILOGUE_##EPILOGUE;
#include "src/ops/fused_functions.def"
    return epilogue;
  }

  const Blas& blas_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr;
  cublasLtMatrixLayout_t right_ = nullptr;
  cublasLtMatrixLayout_t result_ = nullptr;
};

class ReadyProduct final : public CudaReady {
 public:
  ReadyProduct(const Blas& blas, cublasLtHandle_t handle, const gpu::Product& product, std::shared_ptr<Descriptions> descriptions,
               const cublasLtMatmulHeuristicResult_t& proposal, int number)
      : blas_(blas),
        handle_(handle),
        product_(product),
        descriptions_(std::move(descriptions)),
        proposal_(proposal),
        name_(fmt::format("cuBLASLt, proposal {}", number)) {}

  std::string_view implementation() const override { return name_; }
  std::size_t workspace_bytes() const override { return proposal_.workspaceSize; }

  Result<void> launch(CUstream stream, const gpu::Launch& launch) override {
    if (product_.bias) XFLOW_CHECK(descriptions_->set_bias(pointer(launch.operands[*product_.bias])));
    const float one = 1;
    const float added = product_.residual ? 1 : 0;
    void* const result = pointer(launch.results[0]);
    const void* const residual = product_.residual ? pointer(launch.operands[*product_.residual]) : result;
    return blas_.check(
        blas_.matmul(handle_, descriptions_->product(), &one, pointer(launch.operands[product_.right]), descriptions_->left(),
                     pointer(launch.operands[product_.left]), descriptions_->right(), &added, residual, descriptions_->result(), result,
                     descriptions_->result(), &proposal_.algo, pointer(launch.workspace), proposal_.workspaceSize, stream),
        "multiply");
  }

 private:
  const Blas& blas_;
  cublasLtHandle_t handle_;
  gpu::Product product_;
  std::shared_ptr<Descriptions> descriptions_;
  cublasLtMatmulHeuristicResult_t proposal_;
  std::string name_;
};

class BlasProducts final : public Products {
 public:
  BlasProducts(const Blas& blas, const GpuSettings& settings) : blas_(blas), settings_(settings) {}
  ~BlasProducts() override {
    if (handle_ != nullptr) blas_.destroy(handle_);
  }

  Result<void> start() { return blas_.check(blas_.create(&handle_), "be started"); }

  Result<Ways> ready(const gpu::Product& product) override {
    const auto descriptions = std::make_shared<Descriptions>(blas_);
    XFLOW_CHECK(descriptions->make(product, settings_.tf32));
    cublasLtMatmulPreference_t preference = nullptr;
    XFLOW_CHECK(blas_.check(blas_.create_preference(&preference), "choose"));
    const std::size_t workspace = settings_.most_workspace;
    blas_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    std::array<cublasLtMatmulHeuristicResult_t, kMostProposals> proposals{};
    int found = 0;
    const cublasStatus_t status =
        blas_.heuristic(handle_, descriptions->product(), descriptions->left(), descriptions->right(), descriptions->result(),
                        descriptions->result(), preference, kMostProposals, proposals.data(), &found);
    blas_.destroy_preference(preference);
    XFLOW_CHECK(blas_.check(status, "propose a way"));
    Ways ways;
    for (int k = 0; k < found; ++k) {
      const cublasLtMatmulHeuristicResult_t& proposal = proposals[static_cast<std::size_t>(k)];
      if (proposal.state == CUBLAS_STATUS_SUCCESS)
        ways.push_back(std::make_unique<ReadyProduct>(blas_, handle_, product, descriptions, proposal, k));
    }
    if (ways.empty()) return fail(ErrorCode::unsupported, "cuBLASLt proposes no algorithm");
    return ways;
  }

 private:
  Blas blas_;
  GpuSettings settings_;
  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace

Result<void> check_product(const gpu::Product& product) {
  XFLOW_TRY(const Blas blas, Blas::load());
  return Descriptions(blas).make(product, false);
}

Result<std::unique_ptr<Products>> Products::open(const GpuSettings& settings) {
  XFLOW_TRY(const Blas blas, Blas::load());
  auto products = std::make_unique<BlasProducts>(blas, settings);
  XFLOW_CHECK(products->start());
  return std::unique_ptr<Products>(std::move(products));
}

}  // namespace xflow::cost::cuda
