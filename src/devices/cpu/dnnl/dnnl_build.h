// Builds one kernel of oneDNN. Included by dnnl_*.cpp only.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "src/devices/cpu/dnnl/dnnl_types.h"
#include "src/devices/cpu/dnnl_library.h"

namespace xflow::cost::cpu {

class DnnlKernel final : public CpuKernel {
 public:
  DnnlKernel(dnnl::engine engine, dnnl::stream stream) : engine_(std::move(engine)), stream_(std::move(stream)) {}

  void run() override;
  Result<void> write(std::size_t operand, std::span<const double> values) override;
  Result<std::vector<double>> read(std::size_t result) const override;
  std::span<std::byte> operand_bytes(std::size_t operand) override { return bytes_of(operands_.at(operand)); }
  std::span<std::byte> result_bytes(std::size_t result) override { return bytes_of(results_.at(result)); }
  std::string_view implementation() const override { return implementation_; }
  Layout operand_layout() const override { return operand_layout_; }
  Layout result_layout() const override { return result_layout_; }
  std::optional<std::size_t> overwritten() const override { return overwritten_; }
  bool works_in_place(std::size_t operand) const override { return in_place_ == operand; }
  std::unique_ptr<CpuKernel> copy() const override { return std::make_unique<DnnlKernel>(*this); }
  void bind_operand(std::size_t operand, std::byte* place) override { bind(operands_.at(operand).buffer, place); }
  void bind_result(std::size_t result, std::byte* place) override { bind(results_.at(result).buffer, place); }

  // Functions for building. `user`: the spec's row-major tensor in the dimensions that the kernel sees.
  dnnl::memory add_operand(const dnnl::memory::desc& desc, const dnnl::memory::desc& user);
  dnnl::memory add_result(const dnnl::memory::desc& desc, const dnnl::memory::desc& user);
  // Operand k may share the buffer of the result.
  void allow_in_place(std::size_t operand) { in_place_ = operand; }
  // The next operand shares the buffer of result 0 and is overwritten by a launch.
  void add_overwritten_operand();
  void finish(dnnl::primitive primitive, std::unordered_map<int, dnnl::memory> arguments, std::string implementation, Layout operands,
              Layout results);

 private:
  struct Port {
    dnnl::memory buffer;
    dnnl::memory::desc user;
  };
  static std::span<std::byte> bytes_of(Port& port) {
    return {static_cast<std::byte*>(port.buffer.get_data_handle()), port.buffer.get_desc().get_size()};
  }

  void bind(const dnnl::memory& buffer, std::byte* place);
  void list_arguments();

  dnnl::engine engine_;
  mutable dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::vector<dnnl_exec_arg_t> list_;  // arguments_ in the form that the library takes
  std::vector<Port> operands_;
  std::vector<Port> results_;
  std::optional<std::size_t> overwritten_;
  std::optional<std::size_t> in_place_;
  std::string implementation_;
  Layout operand_layout_ = Layout::plain;
  Layout result_layout_ = Layout::plain;
};

// The ways in which oneDNN can compute the same kernel.
enum class Variant : std::uint8_t {
  usual,
  in_place,       // a residual shares the buffer of the result (`sum`)
  inner_product,  // a product with constant weights by the inner-product primitive
};

// The state of a build. Operands are added to the kernel in the order of its spec.
struct Build {
  const ops::KernelSpec& spec;
  Layout layout;
  const dnnl::engine& engine;
  std::unique_ptr<DnnlKernel> kernel;
  Variant variant = Variant::usual;
  bool flattened = false;  // the leading dimensions of a product are joined

  const Dims& operand_dims(std::size_t k) const { return spec.operands.at(k).dims; }
  const Dims& result_dims() const { return spec.results.at(0).dims; }
  dnnl::memory::data_type operand_type(std::size_t k) const { return type_of(spec.operands.at(k).data_type); }
  Dims integers(const std::string& name, const Dims& otherwise = {}) const;

  // Adds an operand that the kernel takes as `wanted`. `dims`: the dimensions of its row-major tensor.
  dnnl::memory operand(const dnnl::memory::desc& wanted, const Dims& dims) {
    return kernel->add_operand(wanted, plain_desc(dims, dnnl::memory::data_type::f32));
  }
  dnnl::memory result(const dnnl::memory::desc& wanted, const Dims& dims) {
    return kernel->add_result(wanted, plain_desc(dims, wanted.data_type()));
  }

  // The attributes for the post-operations `steps` of a result of size `dims`. The operands of
  // post-operations have the layout of the result. Its descriptor is known only after the kernel was chosen
  // with its post-operations, so the caller passes the layout. bind_post adds the operands to the kernel.
  dnnl::primitive_attr attributes(std::span<const Step> steps, const Dims& dims, Layout layout);
  // Binds the operands of the post-operations. To be called after the result was added.
  void bind_post(std::unordered_map<int, dnnl::memory>& arguments);
  // The dimensions of a broadcast operand as the kernel sees them, with rank `rank`. Leading dimensions are
  // joined if the product is flattened.
  Dims fold(const Dims& dims, std::size_t rank) const;
  // Whether the first post-operation adds a tensor that varies along dimension `channel` only; it is then
  // the kernel's bias.
  bool first_is_bias(const Dims& dims, std::size_t channel, std::span<const Step> steps) const;

  void one_operand(const dnnl::primitive& primitive, const dnnl::memory::desc& src, const dnnl::memory::desc& dst,
                   const char* implementation);

  // An operand for bind_post.
  struct PostOperand {
    int index;
    dnnl::memory::desc desc;
    Dims dims;
    bool in_place;
  };
  std::vector<PostOperand> post_operands;
};

// Builders, one per kernel family. They end with kernel->finish or throw Lacking or dnnl::error.
void build_matmul(Build& build);
void build_convolution(Build& build);
void build_transposed_convolution(Build& build);
void build_pointwise(Build& build);
void build_pool(Build& build);
void build_spatial_mean(Build& build);
void build_softmax(Build& build);
void build_log_softmax(Build& build);
void build_lrn(Build& build);
void build_layer_normalization(Build& build);
void build_concat(Build& build);
void build_resample(Build& build);
void build_reorder(Build& build);

}  // namespace xflow::cost::cpu
