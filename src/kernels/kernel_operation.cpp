#include "src/kernels/kernel_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/kernels/node_kernel.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

// "resize/linear/half_pixel" as its parts.
std::vector<std::string> parts_of(std::string_view word) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = word.find('/');
    parts.emplace_back(word.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    word.remove_prefix(slash + 1);
  }
}

std::string operator_of(const ops::KernelSpec& spec) {
  static const std::map<std::string_view, std::string_view> kNames = {
      {"convolution", "conv"}, {"transposed_convolution", "conv_transpose"}, {"pool_max", "max_pool"}, {"pool_average", "average_pool"}};
  if (spec.kernel.starts_with("pointwise/")) return spec.kernel.substr(10);
  if (spec.kernel == "reduce") return "reduce_" + spec.word;
  if (spec.kernel == "copy") return parts_of(spec.word)[0];
  const auto found = kNames.find(spec.kernel);
  return std::string(found == kNames.end() ? spec.kernel : found->second);
}

ir::Attributes attributes_of(const ops::Signature& signature, const ops::KernelSpec& spec) {
  ir::Attributes attributes;
  std::vector<std::string> words = parts_of(spec.word);
  words.erase(words.begin());  // the operator
  for (const ops::AttributeSignature& attribute : signature.attributes) {
    const std::string name(attribute.name);
    const std::vector<std::int64_t>* integers = spec.find(name);
    const auto real = std::ranges::find(spec.reals, name, &std::pair<std::string, double>::first);
    switch (attribute.kind) {
      case ops::AttributeKind::integer:
        if (integers != nullptr && integers->size() == 1) attributes.set(name, ir::Poly((*integers)[0]));
        break;
      case ops::AttributeKind::integers:
        if (integers != nullptr) attributes.set(name, ir::polys(*integers));
        break;
      case ops::AttributeKind::real:
        if (real != spec.reals.end()) attributes.set(name, ir::Real::from_double(real->second));
        break;
      case ops::AttributeKind::word:
        if (!words.empty()) {
          attributes.set(name, words.front());
          words.erase(words.begin());
        }
        break;
      case ops::AttributeKind::data_type:
        if (!spec.results.empty()) attributes.set(name, spec.results[0].data_type);
        break;
    }
  }
  return attributes;
}

}  // namespace

Result<ir::NodeId> operation_of(ir::Arena& arena, const ops::KernelSpec& spec) {
  const auto none = [&] { return fail(ErrorCode::unsupported, fmt::format("{} is no single operator", ops::to_string(spec))); };
  const auto op = ops::find_operator(operator_of(spec));
  if (!op) return none();
  std::vector<ir::ValueId> operands;
  operands.reserve(spec.operands.size());
  for (const ops::TensorSpec& operand : spec.operands) {
    operands.push_back(arena.input({operand.data_type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(operands.size())));
  }
  ops::Typing typing(arena.symbols());
  const auto node = ops::apply(arena, typing, *op, operands, attributes_of(ops::get(*op).signature, spec));
  if (!node) return none();
  auto own = kernel_of(arena, *node, [](ir::SymbolId) { return std::nullopt; });
  if (!own || own->spec.operands.size() != spec.operands.size()) return none();
  for (std::size_t k = 0; k < spec.operands.size(); ++k) own->spec.operands[k].constant = spec.operands[k].constant;
  own->spec.post = spec.post;
  if (!(own->spec == spec)) return none();
  return *node;
}

}  // namespace xflow::cost
