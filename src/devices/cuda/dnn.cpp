// Convolutions and attention by cuDNN graphs. Only this file includes cuDNN's frontend, which takes half a
// minute to compile.
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

#include "src/devices/cuda/ready.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the frontend looks up cuDNN's functions in this handle
}

namespace xflow::cost::cuda {
namespace {

namespace fe = cudnn_frontend;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kMostPlans = 8;

// The uids of a graph's tensors start at 1: first the result, then the operands in the kernel's order.
constexpr std::int64_t kResult = 1;
std::int64_t uid_of(std::size_t operand) { return kResult + 1 + static_cast<std::int64_t>(operand); }

Result<void> check(fe::error_t error, const char* what) {
  if (error.is_good()) return {};
  std::string text = error.get_message();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return fail(ErrorCode::unsupported, fmt::format("cuDNN cannot {}: {}", what, text));
}

// Catches the exceptions that the frontend throws if the library lacks a function.
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

// The strides of [N, C, spatial...], in elements.
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

// cuDNN needs two or three spatial dimensions: a single one becomes the second of two.
gpu::Convolution with_two_spatial_dimensions(gpu::Convolution c) {
  if (c.image.size() != 3) return c;
  for (Dims* dims : {&c.image, &c.weights, &c.result}) dims->insert(dims->begin() + 2, 1);
  for (Dims* ones : {&c.strides, &c.dilations}) ones->insert(ones->begin(), 1);
  for (Dims* zeros : {&c.pads_before, &c.pads_after}) zeros->insert(zeros->begin(), 0);
  return c;
}

using GraphTensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// `kind`: the compute capability of the device times ten. Without it the frontend would call the CUDA
// runtime.
std::shared_ptr<fe::graph::Graph> empty_graph(ir::DataType type, int kind) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_sm_version(kind);
  graph->set_io_data_type(data_type(type)).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

// Builds the graph of a convolution and its epilogue.
class GraphBuilder {
 public:
  GraphBuilder(gpu::Convolution convolution, int kind)
      : convolution_(with_two_spatial_dimensions(std::move(convolution))), graph_(empty_graph(convolution_.type, kind)) {}

  std::shared_ptr<fe::graph::Graph> build() {
    const gpu::Convolution& c = convolution_;
    const GraphTensor image = tensor(0, c.image, c.layout);
    const GraphTensor weights = tensor(1, c.weights, c.layout);
    GraphTensor value = c.transposed ? gradient(image, weights) : forward(image, weights);
    if (c.residual) value = pointwise(fe::PointwiseMode_t::ADD, value, tensor(*c.residual, c.result, c.layout));
    if (c.bias) {
      Dims dims(c.result.size(), 1);
      dims[1] = c.result[1];
      value = pointwise(fe::PointwiseMode_t::ADD, value, tensor(*c.bias, dims, Layout::channels_last));
    }
    if (const auto mode = mode_of(c.activation)) value = graph_->pointwise(value, attributes(*mode));
    value->set_output(true).set_uid(kResult).set_data_type(data_type(c.type)).set_dim(c.result).set_stride(strides_of(c.result, c.layout));
    return graph_;
  }

 private:
  GraphTensor tensor(std::size_t operand, const Dims& dims, Layout layout) {
    return graph_->tensor(fe::graph::Tensor_attributes()
                              .set_uid(uid_of(operand))
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
    std::optional<fe::PointwiseMode_t> mode;
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) \
  if (activation == gpu::Activation::NAME) {                   \
    LIBRARIES                                                  \
  }
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#define XFLOW_CUDNN(MODE) mode = fe::PointwiseMode_t::MODE;
#include "src/ops/fused_functions.def"
    return mode;
  }

  gpu::Convolution convolution_;
  std::shared_ptr<fe::graph::Graph> graph_;
};

std::shared_ptr<fe::graph::Graph> graph_of(const gpu::Convolution& convolution, int kind) {
  return GraphBuilder(convolution, kind).build();
}

std::shared_ptr<fe::graph::Graph> graph_of(const gpu::Attention& a, int kind) {
  const auto graph = empty_graph(a.type, kind);
  const auto tensor = [&](std::size_t operand, const gpu::Strided& strided) {
    return graph->tensor(fe::graph::Tensor_attributes()
                             .set_uid(uid_of(operand))
                             .set_dim({strided.dims.begin(), strided.dims.end()})
                             .set_stride({strided.strides.begin(), strided.strides.end()})
                             .set_data_type(data_type(a.type)));
  };
  fe::graph::SDPA_attributes attributes;
  attributes.set_generate_stats(false).set_attn_scale(static_cast<float>(a.scale));
  if (a.mask) attributes.set_bias(tensor(3, *a.mask));
  const auto [result, statistics] = graph->sdpa(tensor(0, a.query), tensor(1, a.key), tensor(2, a.value), attributes);
  result->set_output(true)
      .set_uid(kResult)
      .set_data_type(data_type(a.type))
      .set_dim({a.result.dims.begin(), a.result.dims.end()})
      .set_stride({a.result.strides.begin(), a.result.strides.end()});
  return graph;
}

class ReadyGraph final : public CudaReady {
 public:
  ReadyGraph(cudnnHandle_t handle, std::shared_ptr<fe::graph::Graph> graph, std::int64_t plan, std::size_t workspace, std::string name)
      : handle_(handle), graph_(std::move(graph)), plan_(plan), workspace_(workspace), name_(std::move(name)) {}

  std::string_view implementation() const override { return name_; }
  std::size_t workspace_bytes() const override { return workspace_; }

  Result<void> launch(CUstream stream, const gpu::Launch& launch) override {
    std::unordered_map<std::int64_t, void*> places = {{kResult, pointer(launch.results[0])}};
    for (std::size_t k = 0; k < launch.operands.size(); ++k) places[uid_of(k)] = pointer(launch.operands[k]);
    if (fe::detail::set_stream(handle_, reinterpret_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS)
      return fail(ErrorCode::unsupported, "cuDNN cannot take the stream");
    return guarded([&] { return check(graph_->execute_plan_at_index(handle_, places, pointer(launch.workspace), plan_), "run a plan"); });
  }

 private:
  cudnnHandle_t handle_;
  std::shared_ptr<fe::graph::Graph> graph_;
  std::int64_t plan_;
  std::size_t workspace_;
  std::string name_;
};

class CudnnGraphs final : public DnnGraphs {
 public:
  CudnnGraphs(const Dnn& dnn, const GpuSettings& settings, int kind) : dnn_(dnn), settings_(settings), kind_(kind) {}
  ~CudnnGraphs() override {
    if (handle_ != nullptr) dnn_.destroy(handle_);
  }

  Result<void> start() {
    const cudnnStatus_t status = fe::detail::create_handle(&handle_);
    if (status == CUDNN_STATUS_SUCCESS) return {};
    return fail(ErrorCode::unsupported, fmt::format("cuDNN cannot be started: {}", fe::detail::get_error_string(status)));
  }

  Result<Ways> ready(const gpu::Convolution& convolution) override {
    // Tensor cores round float operands, so they are excluded unless tf32 is allowed.
    const bool in_full = convolution.type == ir::DataType::float32 && !settings_.tf32;
    return guarded([&] { return plans_of(graph_of(convolution, kind_), "take a convolution", in_full); });
  }
  Result<Ways> ready(const gpu::Attention& attention) override {
    return guarded([&] { return plans_of(graph_of(attention, kind_), "take an attention", false); });
  }

 private:
  Result<Ways> plans_of(const std::shared_ptr<fe::graph::Graph>& graph, const char* what, bool without_tensor_cores) {
    XFLOW_CHECK(check(graph->validate(), what));
    XFLOW_CHECK(check(graph->build_operation_graph(handle_), what));
    XFLOW_CHECK(check(graph->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "propose a plan"));
    if (without_tensor_cores) graph->deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
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
      ways.push_back(std::make_unique<ReadyGraph>(handle_, graph, plan, static_cast<std::size_t>(std::max<std::int64_t>(workspace, 0)),
                                                  fmt::format("cuDNN {}", name)));
    }
    if (ways.empty()) return fail(ErrorCode::unsupported, refusal);
    return ways;
  }

  Dnn dnn_;
  GpuSettings settings_;
  int kind_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

namespace {

template <typename Work>
Result<void> check_graph(const Work& work, int kind, const char* what) {
  XFLOW_TRY(const Dnn dnn, Dnn::load());
  fe::cudnn_dlhandle = dnn.library;
  return guarded([&] { return check(graph_of(work, kind)->validate(), what); });
}

}  // namespace

Result<void> check_convolution(const gpu::Convolution& convolution, int kind) {
  return check_graph(convolution, kind, "take a convolution");
}
Result<void> check_attention(const gpu::Attention& attention, int kind) { return check_graph(attention, kind, "take an attention"); }

Result<std::unique_ptr<DnnGraphs>> DnnGraphs::open(const GpuSettings& settings, int kind) {
  XFLOW_TRY(const Dnn dnn, Dnn::load());
  fe::cudnn_dlhandle = dnn.library;
  return guarded([&]() -> Result<std::unique_ptr<DnnGraphs>> {
    auto graphs = std::make_unique<CudnnGraphs>(dnn, settings, kind);
    XFLOW_CHECK(graphs->start());
    return std::unique_ptr<DnnGraphs>(std::move(graphs));
  });
}

}  // namespace xflow::cost::cuda
