// Convolutions by the graphs of cuDNN. The one file that includes its frontend, which takes half a minute to compile.
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/cost/cuda/ready.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // where the frontend looks for cuDNN's functions
}

namespace xflow::cost::cuda {
namespace {

namespace fe = cudnn_frontend;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kMostPlans = 8;

// The tensors of a graph, by which it is given their places.
enum Tensor : std::int64_t { kImage = 1, kWeights, kResidual, kBias, kResult };

Result<void> check(fe::error_t error, const char* what) {
  if (error.is_good()) return {};
  std::string text = error.get_message();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return fail(ErrorCode::unsupported, fmt::format("cuDNN cannot {}: {}", what, text));
}

// The frontend throws where a function of the library is missing.
template <typename Work>
auto guarded(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return fail(ErrorCode::unsupported, fmt::format("cuDNN cannot be used: {}", error.what()));
  }
}

fe::DataType_t data_type(ir::DataType type) {
  return type == ir::DataType::float16    ? fe::DataType_t::HALF
         : type == ir::DataType::bfloat16 ? fe::DataType_t::BFLOAT16
                                          : fe::DataType_t::FLOAT;
}

// Of [N, C, spatial...], in elements.
Dims strides_of(const Dims& dims, Layout layout) {
  Dims strides(dims.size(), 1);
  std::int64_t next = layout == Layout::channels_last ? dims[1] : 1;
  for (std::size_t k = dims.size(); k-- > 2;) {
    strides[k] = next;
    next *= dims[k];
  }
  if (layout == Layout::plain) {
    strides[1] = next;
    next *= dims[1];
  }
  strides[0] = next;
  return strides;
}

// cuDNN has two spatial dimensions or three: a single one is the second of two.
gpu::Convolution with_two_spatial_dimensions(gpu::Convolution c) {
  if (c.image.size() != 3) return c;
  for (Dims* dims : {&c.image, &c.weights, &c.result}) dims->insert(dims->begin() + 2, 1);
  for (Dims* ones : {&c.strides, &c.dilations}) ones->insert(ones->begin(), 1);
  for (Dims* zeros : {&c.pads_before, &c.pads_after}) zeros->insert(zeros->begin(), 0);
  return c;
}

using GraphTensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// The operations of a convolution with what follows it.
class GraphBuilder {
 public:
  explicit GraphBuilder(gpu::Convolution convolution) : convolution_(with_two_spatial_dimensions(std::move(convolution))) {
    graph_ = std::make_shared<fe::graph::Graph>();
    graph_->set_io_data_type(data_type(convolution_.type))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  std::shared_ptr<fe::graph::Graph> build() {
    const gpu::Convolution& c = convolution_;
    const GraphTensor image = tensor(kImage, c.image, c.layout);
    const GraphTensor weights = tensor(kWeights, c.weights, c.layout);
    GraphTensor value = c.transposed ? gradient(image, weights) : forward(image, weights);
    if (c.residual) value = pointwise(fe::PointwiseMode_t::ADD, value, tensor(kResidual, c.result, c.layout));
    if (c.bias) {
      Dims dims(c.result.size(), 1);
      dims[1] = c.result[1];
      value = pointwise(fe::PointwiseMode_t::ADD, value, tensor(kBias, dims, Layout::channels_last));
    }
    if (const auto mode = mode_of(c.activation)) value = graph_->pointwise(value, attributes(*mode));
    value->set_output(true).set_uid(kResult).set_data_type(data_type(c.type)).set_dim(c.result).set_stride(strides_of(c.result, c.layout));
    return graph_;
  }

 private:
  GraphTensor tensor(Tensor number, const Dims& dims, Layout layout) {
    return graph_->tensor(fe::graph::Tensor_attributes()
                              .set_uid(number)
                              .set_dim(dims)
                              .set_stride(strides_of(dims, layout))
                              .set_data_type(data_type(convolution_.type)));
  }

  template <typename Attributes>
  Attributes convolution_attributes() const {
    Attributes attributes;
    attributes.set_pre_padding(convolution_.pads_before)
        .set_post_padding(convolution_.pads_after)
        .set_stride(convolution_.strides)
        .set_dilation(convolution_.dilations);
    return attributes;
  }

  GraphTensor forward(const GraphTensor& image, const GraphTensor& weights) {
    GraphTensor result = graph_->conv_fprop(image, weights, convolution_attributes<fe::graph::Conv_fprop_attributes>());
    result->set_dim(convolution_.result).set_stride(strides_of(convolution_.result, convolution_.layout));
    return result;
  }

  GraphTensor gradient(const GraphTensor& image, const GraphTensor& weights) {
    GraphTensor result = graph_->conv_dgrad(image, weights, convolution_attributes<fe::graph::Conv_dgrad_attributes>());
    result->set_dim(convolution_.result).set_stride(strides_of(convolution_.result, convolution_.layout));
    return result;
  }

  static fe::graph::Pointwise_attributes attributes(fe::PointwiseMode_t mode) { return fe::graph::Pointwise_attributes().set_mode(mode); }
  GraphTensor pointwise(fe::PointwiseMode_t mode, const GraphTensor& a, const GraphTensor& b) {
    return graph_->pointwise(a, b, attributes(mode));
  }

  static std::optional<fe::PointwiseMode_t> mode_of(gpu::Activation activation) {
    switch (activation) {
      case gpu::Activation::none:
        return std::nullopt;
      case gpu::Activation::relu:
        return fe::PointwiseMode_t::RELU_FWD;
      case gpu::Activation::gelu_tanh:
        return fe::PointwiseMode_t::GELU_APPROX_TANH_FWD;
      case gpu::Activation::sigmoid:
        return fe::PointwiseMode_t::SIGMOID_FWD;
      case gpu::Activation::tanh:
        return fe::PointwiseMode_t::TANH_FWD;
      case gpu::Activation::swish:
        return fe::PointwiseMode_t::SWISH_FWD;
    }
    return std::nullopt;
  }

  gpu::Convolution convolution_;
  std::shared_ptr<fe::graph::Graph> graph_;
};

class ReadyConvolution final : public CudaReady {
 public:
  ReadyConvolution(cudnnHandle_t handle, std::shared_ptr<fe::graph::Graph> graph, gpu::Convolution convolution, std::int64_t plan,
                   std::size_t workspace, std::string name)
      : handle_(handle),
        graph_(std::move(graph)),
        convolution_(std::move(convolution)),
        plan_(plan),
        workspace_(workspace),
        name_(std::move(name)) {}

  std::string_view implementation() const override { return name_; }
  std::size_t workspace_bytes() const override { return workspace_; }

  Result<void> launch(CUstream stream, const gpu::Launch& launch) override {
    std::unordered_map<std::int64_t, void*> places = {
        {kImage, pointer(launch.operands[0])}, {kWeights, pointer(launch.operands[1])}, {kResult, pointer(launch.results[0])}};
    if (convolution_.residual) places[kResidual] = pointer(launch.operands[*convolution_.residual]);
    if (convolution_.bias) places[kBias] = pointer(launch.operands[*convolution_.bias]);
    if (fe::detail::set_stream(handle_, reinterpret_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS)
      return fail(ErrorCode::unsupported, "cuDNN cannot take the stream");
    return guarded(
        [&] { return check(graph_->execute_plan_at_index(handle_, places, pointer(launch.workspace), plan_), "run a convolution"); });
  }

 private:
  cudnnHandle_t handle_;
  std::shared_ptr<fe::graph::Graph> graph_;
  gpu::Convolution convolution_;
  std::int64_t plan_;
  std::size_t workspace_;
  std::string name_;
};

class DnnConvolutions final : public Convolutions {
 public:
  DnnConvolutions(const Dnn& dnn, const GpuSettings& settings) : dnn_(dnn), settings_(settings) {}
  ~DnnConvolutions() override {
    if (handle_ != nullptr) dnn_.destroy(handle_);
  }

  Result<void> start() {
    const cudnnStatus_t status = fe::detail::create_handle(&handle_);
    if (status == CUDNN_STATUS_SUCCESS) return {};
    return fail(ErrorCode::unsupported, fmt::format("cuDNN cannot be started: {}", fe::detail::get_error_string(status)));
  }

  Result<Ways> ready(const gpu::Convolution& convolution) override {
    return guarded([&] { return plans_of(convolution); });
  }

 private:
  Result<Ways> plans_of(const gpu::Convolution& convolution) {
    const std::shared_ptr<fe::graph::Graph> graph = GraphBuilder(convolution).build();
    XFLOW_CHECK(check(graph->validate(), "take a convolution"));
    XFLOW_CHECK(check(graph->build_operation_graph(handle_), "take a convolution"));
    XFLOW_CHECK(check(graph->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "propose a plan"));
    // Tensor cores have no other way to take floats than to round them.
    if (convolution.type == ir::DataType::float32 && !settings_.tf32) graph->deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
    graph->deselect_workspace_greater_than(static_cast<std::int64_t>(settings_.most_workspace));
    Ways ways;
    std::string refusal = "no plan of cuDNN supports it";
    const std::int64_t count = graph->get_execution_plan_count();
    for (std::int64_t plan = 0; plan < count && static_cast<std::int64_t>(ways.size()) < kMostPlans; ++plan) {
      const auto built = check(graph->build_plan_at_index(plan), "build a plan");
      if (!built) {
        refusal = built.error().message;
        continue;
      }
      std::string name;
      if (graph->get_plan_name_at_index(plan, name).is_bad()) name = fmt::format("plan {}", plan);
      const std::int64_t workspace = graph->get_workspace_size_plan_at_index(plan);
      if (workspace > static_cast<std::int64_t>(settings_.most_workspace)) continue;
      ways.push_back(std::make_unique<ReadyConvolution>(handle_, graph, convolution, plan,
                                                        static_cast<std::size_t>(std::max<std::int64_t>(workspace, 0)),
                                                        fmt::format("cuDNN {}", name)));
    }
    if (ways.empty()) return fail(ErrorCode::unsupported, refusal);
    return ways;
  }

  Dnn dnn_;
  GpuSettings settings_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

Result<void> check_convolution(const gpu::Convolution& convolution) {
  XFLOW_TRY(const Dnn dnn, Dnn::load());
  fe::cudnn_dlhandle = dnn.library;
  return guarded([&] { return check(GraphBuilder(convolution).build()->validate(), "take a convolution"); });
}

Result<std::unique_ptr<Convolutions>> Convolutions::open(const GpuSettings& settings) {
  XFLOW_TRY(const Dnn dnn, Dnn::load());
  fe::cudnn_dlhandle = dnn.library;
  return guarded([&]() -> Result<std::unique_ptr<Convolutions>> {
    auto convolutions = std::make_unique<DnnConvolutions>(dnn, settings);
    XFLOW_CHECK(convolutions->start());
    return std::unique_ptr<Convolutions>(std::move(convolutions));
  });
}

}  // namespace xflow::cost::cuda
