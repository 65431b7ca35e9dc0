#include "src/parallel/part_assembler.h"

#include <algorithm>
#include <map>
#include <utility>

namespace xflow::parallel {

using ir::ValueId;

Result<ValueId> PartAssembler::slice(ValueId value, const Box& from, const Box& part) {
  if (from == part) return value;
  std::vector<ir::Poly> starts;
  std::vector<ir::Poly> sizes;
  for (std::size_t d = 0; d < from.size(); ++d) {
    starts.emplace_back(part[d].begin - from[d].begin);
    sizes.emplace_back(part[d].size());
  }
  std::vector<ir::Poly> steps(from.size(), ir::Poly(1));
  ir::Attributes attributes{{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}};
  return ops::apply(arena_, "slice", {value}, std::move(attributes));
}

Result<ValueId> PartAssembler::join(const std::vector<BoxValue>& held, const Box& wanted) {
  std::vector<BoxValue> found;
  for (const BoxValue& own : held) {
    const auto common = intersection(own.box, wanted);
    if (!common || std::ranges::find(found, *common, &BoxValue::box) != found.end()) continue;
    XFLOW_TRY(const ValueId part, slice(own.value, own.box, *common));
    found.push_back({*common, part});
  }
  for (std::size_t d = wanted.size(); d-- > 0;) {
    std::map<Box, std::vector<BoxValue>> rows;  // by their other dimensions
    for (const BoxValue& own : found) {
      Box key = own.box;
      key[d] = {};
      rows[key].push_back(own);
    }
    found.clear();
    for (auto& [key, row] : rows) {
      std::ranges::sort(row, {}, [&](const BoxValue& own) { return own.box[d].begin; });
      Box box = row.front().box;
      box[d].end = row.back().box[d].end;
      ValueId joined = row.front().value;
      if (row.size() > 1) {
        std::vector<ValueId> operands;
        operands.reserve(row.size());
        for (const BoxValue& own : row) operands.push_back(own.value);
        const ir::Attributes axis{{"axis", ir::Poly(static_cast<std::int64_t>(d))}};
        XFLOW_TRY(joined, ops::apply(arena_, "concat", std::move(operands), axis));
      }
      found.push_back({std::move(box), joined});
    }
  }
  if (found.size() != 1 || found.front().box != wanted) return fail(ErrorCode::internal, "parts do not cover what is read");
  return found.front().value;
}

Result<std::unordered_map<ValueId, BoxValue>> PartAssembler::run(const PartProgram& program, const Outside& outside) {
  std::unordered_map<ValueId, BoxValue> made;
  for (const PartStep& step : program.steps) {
    const ir::Node node = arena_.node(step.node);
    std::vector<ValueId> operands;
    operands.reserve(node.operands.size());
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const ValueId from = node.operands[k];
      if (arena_.is_absent(from) || !step.reads(k)) {
        operands.push_back(from);
        continue;
      }
      auto found = made.find(from);
      if (found == made.end()) {
        const Box& asked = program.boxes.at(from);
        XFLOW_TRY(const ValueId value, outside(from, asked));
        found = made.emplace(from, BoxValue{asked, value}).first;
      }
      XFLOW_TRY(const ValueId own, slice(found->second.value, found->second.box, step.operands[k]));
      operands.push_back(own);
    }
    ir::NodeId id{};
    if (node.kind == ir::NodeKind::opaque) {
      // An operator that is not known stays what it is. Its operands are whole.
      id = operands == node.operands ? step.node : arena_.opaque(node.serial, std::move(operands), node.outputs);
    } else {
      XFLOW_TRY(const partition::PartOperation part, known_part(arena_, step, sizes_));
      XFLOW_TRY(id, partition::apply_part(arena_, typing_, node.op, part, std::move(operands)));
    }
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const auto box = program.boxes.find({step.node, k});
      if (box != program.boxes.end()) made.insert_or_assign(ValueId{step.node, k}, BoxValue{box->second, {id, k}});
    }
  }
  return made;
}

}  // namespace xflow::parallel
