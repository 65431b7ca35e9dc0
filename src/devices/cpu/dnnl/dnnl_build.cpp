#include "src/devices/cpu/dnnl/dnnl_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::cpu {

using dnnl::algorithm;
using dnnl::memory;

// The arguments are listed once, so that a launch of this code allocates nothing.
void DnnlKernel::run() {
  [[maybe_unused]] const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(list_.size()), list_.data());
  assert(status == dnnl_success);
  dnnl_stream_wait(stream_.get());
}

void DnnlKernel::list_arguments() {
  list_.clear();
  for (const auto& [argument, buffer] : arguments_) list_.push_back({argument, buffer.get()});
}

// Replaces a buffer in all memory objects of operands, results and arguments that share it.
void DnnlKernel::bind(const memory& buffer, std::byte* place) {
  const dnnl_memory_t old = buffer.get();
  const memory fresh(buffer.get_desc(), engine_, place == nullptr ? DNNL_MEMORY_NONE : static_cast<void*>(place));
  for (auto& [argument, own] : arguments_)
    if (own.get() == old) own = fresh;
  for (auto* ports : {&operands_, &results_}) {
    for (Port& port : *ports)
      if (port.buffer.get() == old) port.buffer = fresh;
  }
  list_arguments();
}

Result<void> DnnlKernel::write(std::size_t operand, std::span<const double> values) {
  try {
    Port& port = operands_.at(operand);
    memory plain(port.user, engine_);
    auto* data = static_cast<float*>(plain.get_data_handle());
    const std::size_t size = port.user.get_size() / sizeof(float);
    for (std::size_t k = 0; k < std::min(size, values.size()); ++k) data[k] = static_cast<float>(values[k]);
    dnnl::reorder(plain, port.buffer).execute(stream_, plain, port.buffer);
    stream_.wait();
    return {};
  } catch (const std::exception& exception) {
    return fail(ErrorCode::unsupported, fmt::format("cannot write operand {}: {}", operand, exception.what()));
  }
}

Result<std::vector<double>> DnnlKernel::read(std::size_t result) const {
  try {
    const Port& port = results_.at(result);
    const memory::desc user = plain_desc(port.user.dims(), memory::data_type::f32);
    memory plain(user, engine_);
    memory from = port.buffer;
    dnnl::reorder(from, plain).execute(stream_, from, plain);
    stream_.wait();
    const auto* data = static_cast<const float*>(plain.get_data_handle());
    const std::size_t count = user.get_size() / sizeof(float);
    return std::vector<double>(data, data + count);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::unsupported, fmt::format("cannot read result {}: {}", result, exception.what()));
  }
}

memory DnnlKernel::add_operand(const memory::desc& desc, const memory::desc& user) {
  operands_.push_back({memory(desc, engine_), user});
  return operands_.back().buffer;
}

memory DnnlKernel::add_result(const memory::desc& desc, const memory::desc& user) {
  results_.push_back({memory(desc, engine_), user});
  return results_.back().buffer;
}

void DnnlKernel::add_overwritten_operand() {
  overwritten_ = operands_.size();
  operands_.push_back({results_.at(0).buffer, plain_desc(results_.at(0).user.dims(), memory::data_type::f32)});
}

void DnnlKernel::finish(dnnl::primitive primitive, std::unordered_map<int, memory> arguments, std::string implementation, Layout operands,
                        Layout results) {
  primitive_ = std::move(primitive);
  arguments_ = std::move(arguments);
  list_arguments();
  implementation_ = std::move(implementation);
  if (overwritten_) implementation_ += "+sum";
  operand_layout_ = operands;
  result_layout_ = results;
  // Normal numbers: no denormals.
  for (Port& port : operands_) {
    const memory::desc desc = port.buffer.get_desc();
    const bool single = desc.data_type() == memory::data_type::f32;
    if (single) std::fill_n(static_cast<float*>(port.buffer.get_data_handle()), desc.get_size() / sizeof(float), 0.5F);
    if (!single) std::fill_n(static_cast<char*>(port.buffer.get_data_handle()), desc.get_size(), 0);
  }
}

Dims Build::integers(const std::string& name, const Dims& otherwise) const {
  const auto* found = spec.find(name);
  return found == nullptr || found->empty() ? otherwise : *found;
}

dnnl::primitive_attr Build::attributes(std::span<const Step> steps, const Dims& dims, Layout layout) {
  dnnl::primitive_attr attributes;
  dnnl::post_ops post;
  const std::vector<ops::TensorSpec> all = all_operands(spec);
  post_operands.clear();
  bool in_place = variant == Variant::in_place;
  for (const Step& step : steps) {
    if (step.operands.empty()) {
      const std::vector<Eltwise> functions = eltwise_of(step.function, step.reals);
      if (functions.empty()) throw Lacking{fmt::format("the post-operation {}", ops::function_name(step.function))};
      for (const Eltwise& f : functions) post.append_eltwise(1.0F, f.function, f.alpha, f.beta);
      continue;
    }
    auto function = binary_of(step.function);
    if (!function || step.operands.size() != 1) throw Lacking{fmt::format("the post-operation {}", ops::function_name(step.function))};
    if (step.position == 1 && step.function.is(ops::Op::Sub)) {  // c - v = -v + c
      post.append_eltwise(1.0F, algorithm::eltwise_linear, -1.0F, 0.0F);
      function = algorithm::binary_add;
    } else if (step.position == 1 && step.function.is(ops::Op::Div)) {  // c / v = v^-1 * c
      post.append_eltwise(1.0F, algorithm::eltwise_pow, 1.0F, -1.0F);
      function = algorithm::binary_mul;
    }
    const ops::TensorSpec& tensor = all.at(step.operands[0]);
    const Dims own = fold(tensor.dims, dims.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k] != dims[k] && own[k] != 1) throw Lacking{"a post-operation with this operand"};
    }
    // A run-time value of lower rank is row-major.
    const bool in_layout = tensor.constant || tensor.dims.size() == dims.size();
    const memory::desc desc = layout_desc(own, type_of(tensor.data_type), in_layout ? layout : Layout::plain);
    const bool residual =
        in_place && step.function.is(ops::Op::Add) && !tensor.constant && own == dims && tensor.data_type == spec.results.at(0).data_type;
    if (residual) in_place = false;
    post_operands.push_back({post.len(), desc, own, residual});
    if (residual) {
      post.append_sum(1.0F);
    } else {
      post.append_binary(*function, desc);
    }
  }
  if (in_place) throw Lacking{"a residual to add in place"};
  attributes.set_post_ops(post);
  return attributes;
}

void Build::bind_post(std::unordered_map<int, memory>& arguments) {
  for (const PostOperand& post : post_operands) {
    if (post.in_place) {
      kernel->add_overwritten_operand();
    } else {
      arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(post.index) | DNNL_ARG_SRC_1, operand(post.desc, post.dims)});
    }
  }
}

Dims Build::fold(const Dims& dims, std::size_t rank) const {
  if (!flattened) return padded_to(dims, rank);
  const Dims full = padded_to(dims, 2);
  std::int64_t rows = 1;
  for (std::size_t k = 0; k + 1 < full.size(); ++k) rows *= full[k];
  return {rows, full.back()};
}

bool Build::first_is_bias(const Dims& dims, std::size_t channel, std::span<const Step> steps) const {
  if (steps.empty() || !steps[0].function.is(ops::Op::Add) || steps[0].operands.size() != 1) return false;
  const ops::TensorSpec tensor = all_operands(spec).at(steps[0].operands[0]);
  if (tensor.data_type != ir::DataType::float32) return false;
  const Dims own = fold(tensor.dims, dims.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] != (k == channel ? dims[k] : 1)) return false;
  }
  return true;
}

void Build::one_operand(const dnnl::primitive& primitive, const memory::desc& src, const memory::desc& dst, const char* implementation) {
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, operand(src, operand_dims(0))}};
  bind_post(arguments);
  arguments.insert({DNNL_ARG_DST, result(dst, dst.dims())});
  kernel->finish(primitive, std::move(arguments), implementation, layout_of(src), layout_of(dst));
}

}  // namespace xflow::cost::cpu
