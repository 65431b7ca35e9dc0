#include "src/parallel/part_kernels.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "src/kernels/node_launch.h"
#include "src/onnx/lower/lower.h"
#include "src/ops/operator.h"

namespace xflow::parallel {

using ir::ValueId;

Result<std::vector<ops::KernelSpec>> part_kernels(ir::Arena& arena, const ir::Symbols::Valuation& sizes, const PartStep& step,
                                                  std::optional<int> opset) {
  std::vector<ops::KernelSpec> kernels;
  if (!step.part) {
    XFLOW_TRY(cost::NodeLaunch launch, cost::kernel_of(arena, step.node, sizes));
    kernels.push_back(std::move(launch.spec));
    return kernels;
  }
  const ir::Node& node = arena.node(step.node);
  ir::Arena scratch(arena.shared_symbols());
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const ir::Node& maker = arena.node(node.operands[k]);
    if (arena.is_absent(node.operands[k])) {
      operands.push_back(scratch.absent());
    } else if (maker.kind == ir::NodeKind::constant && maker.constant.elements() == 1) {
      operands.push_back(scratch.constant(maker.constant));  // a power of 2 has a kernel of its own
    } else {
      ir::TensorType type = arena.type(node.operands[k]);
      for (std::size_t d = 0; d < step.operands[k].size(); ++d) type.shape[d] = step.operands[k][d].size();
      operands.push_back(scratch.input(std::move(type), static_cast<std::uint32_t>(k)));
    }
  }
  XFLOW_TRY(const partition::PartOperation part, known_part(arena, step, sizes));
  ops::Typing typing(scratch.symbols());
  XFLOW_TRY(const ir::NodeId made, partition::apply_part(scratch, typing, node.op, part, operands));
  for (const ir::NodeId id : ir::topological_order(scratch, {.outputs = {{made, 0}}})) {
    if (scratch.node(id).kind != ir::NodeKind::operation) continue;
    if (opset) XFLOW_CHECK(onnx_io::can_export(scratch, id, *opset));
    XFLOW_TRY(cost::NodeLaunch launch, cost::kernel_of(scratch, id, sizes));
    for (std::size_t k = 0; k < launch.operands.size(); ++k) {
      const auto at = static_cast<std::size_t>(std::ranges::find(operands, launch.operands[k]) - operands.begin());
      if (at < operands.size()) launch.spec.operands[k].constant = arena.is_constant(node.operands[at]);
    }
    kernels.push_back(std::move(launch.spec));
  }
  return kernels;
}

std::vector<ops::KernelSpec> gradient_products(const ops::KernelSpec& product) {
  const auto& a = product.operands[0].dims;
  const auto& b = product.operands[1].dims;
  std::vector<ops::KernelSpec> made;
  if (a.size() < 2 || b.size() < 2) return made;
  const std::int64_t m = a[a.size() - 2];
  const std::int64_t k = a.back();
  const std::int64_t n = b.back();
  const auto add = [&](const std::vector<std::int64_t>& left, const std::vector<std::int64_t>& right) {
    ir::Arena scratch;
    const ir::DataType type = product.results[0].data_type;
    const ValueId x = scratch.input({type, true, ir::polys(left)}, 0);
    const ValueId w = scratch.input({type, true, ir::polys(right)}, 1);
    const auto value = ops::apply(scratch, "matmul", {x, w});
    if (!value) return;
    if (auto launch = cost::kernel_of(scratch, value->node, [](ir::SymbolId) { return std::nullopt; }))
      made.push_back(std::move(launch->spec));
  };
  if (b.size() == 2) {
    const std::int64_t rows = std::accumulate(a.begin(), a.end() - 1, std::int64_t{1}, std::multiplies<>());
    add({rows, n}, {n, k});
    add({k, rows}, {rows, n});
    return made;
  }
  const auto batched = [&](std::int64_t first, std::int64_t second) {
    std::vector<std::int64_t> dims = product.results[0].dims;
    dims[dims.size() - 2] = first;
    dims.back() = second;
    return dims;
  };
  add(batched(m, n), batched(n, k));
  add(batched(k, m), batched(m, n));
  return made;
}

}  // namespace xflow::parallel
