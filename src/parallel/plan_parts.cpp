#include "src/parallel/plan_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "src/kernels/node_launch.h"
#include "src/parallel/part_assembler.h"
#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using ir::ValueId;

// A device and stage.
struct DeviceStage {
  std::uint32_t stage = 0;
  std::uint32_t device = 0;
  friend auto operator<=>(const DeviceStage&, const DeviceStage&) = default;
};

// A box of a value where it is computed.
struct MadeBox {
  DeviceStage at;
  Box box;
  ValueId value;
  std::string name = {};  // of a result of a kept node
};

// A box of a value, and the numbers of the values that have it.
struct HolderBox {
  Box box;
  std::vector<std::size_t> holders;
};

class PartsOfPlan {
 public:
  PartsOfPlan(SplitModel& model, const SplitPlan& plan, const ModelInterface& interface)
      : model_(model), arena_(model.arena()), plan_(plan), interface_(interface), assembler_(model.arena(), model.sizes()) {
    for (std::uint32_t value = 0; value < model.values().size(); ++value) numbers_.emplace(model.values()[value].id, value);
    held_.resize(model.values().size());
  }

  Result<PlanParts> make() {
    for (std::uint32_t number = 0; number < plan_.size(); ++number)
      if (!model_.operators()[number].outputs.empty()) XFLOW_CHECK(add(number));
    for (const auto& [name, value] : interface_.outputs) XFLOW_CHECK(add_output(name, value));
    return finish();
  }

 private:
  struct Draft {
    std::vector<std::pair<std::string, std::optional<DeviceStage>>> inputs;  // name and the part that computes it
    std::vector<ValueId> input_values;
    std::vector<std::pair<std::string, ValueId>> outputs;
    std::map<std::pair<std::size_t, Box>, ValueId> received;
    std::map<ValueId, ValueId> given;  // inputs of the model
    std::vector<PartNodes> kept;
  };
  // What a part reads of a value: from which made box, and which part of it.
  struct Read {
    std::size_t made = 0;
    Box box;
  };

  std::vector<Read> reads_of(std::uint32_t value, const Box& wanted, std::uint32_t device) const {
    std::vector<Read> reads;
    const auto choose = [&](const HolderBox& held) {
      for (const std::size_t holder : held.holders)
        if (made_[holder].at.device == device) return holder;
      return held.holders[device % held.holders.size()];
    };
    for (const HolderBox& held : held_[value]) {
      const std::size_t holder = choose(held);
      if (made_[holder].at.device == device && contains(held.box, wanted)) return {{holder, wanted}};
    }
    for (const HolderBox& held : held_[value])
      if (auto common = intersection(held.box, wanted)) reads.push_back({choose(held), *std::move(common)});
    return reads;
  }
  std::uint32_t stage_after(std::size_t made, std::uint32_t device) const {
    return made_[made].at.stage + (made_[made].at.device == device ? 0 : 1);
  }

  // A part of a made box in another part of the plan, as an input of it.
  Result<ValueId> receive(const DeviceStage& at, std::size_t number, const Box& box) {
    const MadeBox from = made_[number];
    if (from.at == at) return assembler_.slice(from.value, from.box, box);
    // A device has all of what it made before.
    const Box sent = from.at.device == at.device ? from.box : box;
    const auto [known, is_new] = drafts_[at].received.try_emplace({number, sent});
    if (is_new) {
      XFLOW_TRY(ir::TensorType type, type_of(from, sent));
      known->second = arena_.input(std::move(type), serial_++);
      XFLOW_TRY(const std::string name, send(number, sent));
      drafts_[at].inputs.emplace_back(name, from.at);
      drafts_[at].input_values.push_back(known->second);
    }
    return assembler_.slice(known->second, sent, box);
  }
  // The type of a part of a made box.
  Result<ir::TensorType> type_of(const MadeBox& made, const Box& box) const {
    ir::TensorType type = arena_.type(made.value);
    // What a kept node makes may have sizes that are not known before a run.
    if (!made.name.empty() && (type.data_type == ir::DataType::undefined || !type.ranked))
      return fail(ErrorCode::unsupported,
                  fmt::format("the type of tensor '{}', which passes between two parts, is unknown; declare its type and its number of "
                              "dimensions in value_info",
                              onnx_io::printable(made.name)));
    if (!made.name.empty() && box == made.box) return type;
    for (std::size_t d = 0; d < box.size(); ++d) type.shape[d] = box[d].size();
    return type;
  }
  // The name of a part of a made box among the outputs of its part.
  Result<std::string> send(std::size_t number, const Box& box) {
    const auto [known, is_new] = names_.try_emplace({number, box});
    if (is_new) {
      const MadeBox& made = made_[number];
      const bool is_named = !made.name.empty() && made.box == box;
      known->second = is_named ? made.name : fmt::format("{}{}", interface_.prefix, sent_++);
      XFLOW_TRY(const ValueId value, assembler_.slice(made.value, made.box, box));
      add_named(made.at, known->second, value);
    }
    return known->second;
  }
  // Adds an output to a part. A result of a kept node may also be an output of the model.
  void add_named(const DeviceStage& at, const std::string& name, ValueId value) {
    auto& outputs = drafts_[at].outputs;
    if (std::ranges::find(outputs, name, &std::pair<std::string, ValueId>::first) == outputs.end()) outputs.emplace_back(name, value);
  }

  // What a part reads of a value that no operator makes.
  Result<ValueId> given(const DeviceStage& at, ValueId value, const Box& box) {
    const auto whole = sized(value);
    if (!whole) return fail(ErrorCode::unsupported, "parts need tensors of known sizes; --shape gives sizes of inputs");
    if (arena_.is_constant(value)) return assembler_.slice(value, *whole, box);
    const auto name = interface_.inputs.find(value);
    if (name == interface_.inputs.end()) return fail(ErrorCode::unsupported, "a value of a node that is not known");
    const auto [known, is_new] = drafts_[at].given.try_emplace(value);
    if (is_new) {
      ir::TensorType type = arena_.type(value);
      for (std::size_t d = 0; d < whole->size(); ++d) type.shape[d] = (*whole)[d].size();
      known->second = arena_.input(std::move(type), serial_++);
      drafts_[at].inputs.emplace_back(name->second, std::nullopt);
      drafts_[at].input_values.push_back(known->second);
    }
    return assembler_.slice(known->second, *whole, box);
  }
  // All of a value; nothing if its sizes are not known.
  std::optional<Box> sized(ValueId value) const {
    const auto number = numbers_.find(value);
    if (number == numbers_.end()) {
      const auto tensor = cost::tensor_of(arena_, value, model_.sizes());
      if (!tensor) return std::nullopt;
      Box whole;
      for (const std::int64_t dim : tensor->dims) whole.push_back({0, dim});
      return whole;
    }
    const SplitValue& own = model_.values()[number->second];
    return own.is_sized ? std::optional(own.whole) : std::nullopt;
  }
  // All of a value that a kept node reads. A constant, or a result of a kept node, may have no known size.
  Result<ValueId> all_of(const DeviceStage& at, ValueId value) {
    if (arena_.is_constant(value)) return value;
    return outside(at, value, sized(value).value_or(Box()));
  }

  Result<ValueId> outside(const DeviceStage& at, ValueId value, const Box& box) {
    const auto number = numbers_.find(value);
    if (number == numbers_.end() || model_.values()[number->second].maker == kNoOperator) return given(at, value, box);
    std::vector<BoxValue> found;
    for (const Read& read : reads_of(number->second, box, at.device)) {
      XFLOW_TRY(const ValueId part, receive(at, read.made, read.box));
      found.push_back({read.box, part});
    }
    return assembler_.join(found, box);
  }

  std::size_t record(const DeviceStage& at, const BoxValue& own, const std::string& name = {}) {
    made_.push_back({at, own.box, own.value, name});
    drafts_[at];
    return made_.size() - 1;
  }

  // A part of an operator: where it runs, and its results.
  struct OperatorPart {
    std::uint32_t part = 0;
    PartProgram program;
    std::vector<std::size_t> results;  // made boxes, by output of the operator
  };

  Result<void> add(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    if (const auto kept = interface_.kept.find(number); kept != interface_.kept.end()) return keep(number, kept->second);
    std::map<Box, std::vector<OperatorPart>> parts;  // of a box
    for (std::uint32_t part = 0; part < plan.parts(); ++part) {
      const PlannedPart planned = planned_part(model_, number, plan, part);
      auto program = model_.program(number, planned.output, planned.terms);
      if (!program) return fail(ErrorCode::internal, "a part of the plan does not exist");
      parts[planned.output].push_back({part, *std::move(program), {}});
    }
    for (auto& [box, own] : parts) {
      XFLOW_CHECK(plan.degree(SplitTarget::reduction) > 1 ? run_summed(number, own) : run_all(number, own));
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        HolderBox held{made_[own.front().results[k]].box, {}};
        for (const OperatorPart& part : own) held.holders.push_back(part.results[k]);
        held_[op.outputs[k]].push_back(std::move(held));
      }
    }
    return {};
  }

  // Each device of a kept operator has its nodes. A node that draws random numbers runs once.
  Result<void> keep(std::uint32_t number, const KeptNodes& kept) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    std::vector<HolderBox> held(op.outputs.size());
    for (std::uint32_t part = 0; part < (kept.is_random ? 1 : plan.parts()); ++part) {
      DeviceStage at{0, plan.device(part)};
      for (const KeptValue& read : kept.reads) {
        const auto value = numbers_.find(read.value);
        if (value == numbers_.end() || model_.values()[value->second].maker == kNoOperator) continue;
        const Box& whole = model_.values()[value->second].whole;
        for (const Read& own : reads_of(value->second, whole, at.device)) at.stage = std::max(at.stage, stage_after(own.made, at.device));
      }
      PartNodes own{&kept, {}, {}};
      for (const KeptValue& read : kept.reads) {
        XFLOW_TRY(const ValueId operand, all_of(at, read.value));
        own.operands.push_back(operand);
      }
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        own.results.push_back(arena_.input(kept.results[k].type, serial_++));
        held[k].box = model_.values()[op.outputs[k]].whole;
        held[k].holders.push_back(record(at, {held[k].box, own.results[k]}, kept.results[k].name));
      }
      drafts_[at].kept.push_back(std::move(own));
    }
    for (std::size_t k = 0; k < held.size(); ++k)
      if (!kept.results[k].name.empty()) held_[op.outputs[k]].push_back(std::move(held[k]));
    return {};
  }

  // The stage at which a program can run that reads boxes of values of other operators.
  DeviceStage stage_for(const SplitOperator& op, const PartProgram& program, DeviceStage at) const {
    for (const std::uint32_t read : op.reads) {
      const ValueId id = model_.values()[read].id;
      const auto reads_it = [&](const PartStep& step) {
        return std::ranges::find(arena_.node(step.node).operands, id) != arena_.node(step.node).operands.end();
      };
      const auto box = program.boxes.find(id);
      if (box == program.boxes.end() || model_.values()[read].maker == kNoOperator || std::ranges::none_of(program.steps, reads_it))
        continue;
      for (const Read& own : reads_of(read, box->second, at.device)) at.stage = std::max(at.stage, stage_after(own.made, at.device));
    }
    return at;
  }

  Result<void> run_all(std::uint32_t number, std::vector<OperatorPart>& parts) {
    const SplitOperator& op = model_.operators()[number];
    for (OperatorPart& own : parts) {
      const DeviceStage at = stage_for(op, own.program, {0, plan_[number].device(own.part)});
      XFLOW_TRY(const auto made, assembler_.run(own.program, [&](ValueId value, const Box& box) { return outside(at, value, box); }));
      for (const std::uint32_t value : op.outputs) own.results.push_back(record(at, made.at(model_.values()[value].id)));
    }
    return {};
  }

  // Parts of one box that have terms of its reduction: a ring for each copy adds them, or takes their
  // maximum, and then each device runs what follows.
  Result<void> run_summed(std::uint32_t number, std::vector<OperatorPart>& parts) {
    const SplitOperator& op = model_.operators()[number];
    std::vector<SummedProgram> programs;
    std::map<std::uint32_t, std::vector<std::size_t>> rings;  // positions in `parts`, by copy
    std::vector<std::size_t> sums;                            // made boxes, by part
    for (std::size_t k = 0; k < parts.size(); ++k) {
      programs.push_back(divided_at_sum(arena_, parts[k].program, op.operations[model_.kind(op).reduced]));
      const PartProgram& terms = programs.back().terms;
      const DeviceStage at = stage_for(op, terms, {0, plan_[number].device(parts[k].part)});
      XFLOW_TRY(const auto made, assembler_.run(terms, [&](ValueId value, const Box& box) { return outside(at, value, box); }));
      sums.push_back(record(at, made.at(programs.back().sum)));
      rings[plan_[number].position(parts[k].part, SplitTarget::copies)].push_back(k);
    }
    for (const auto& [copy, ring] : rings) {
      std::vector<std::size_t> terms;
      for (const std::size_t k : ring) terms.push_back(sums[k]);
      const char* const combine = partition::combining_operator(model_.kind(op).reduction_kind);
      XFLOW_TRY(const std::vector<std::size_t> added, all_reduce(terms, combine));
      for (std::size_t rank = 0; rank < ring.size(); ++rank) sums[ring[rank]] = added[rank];
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const SummedProgram& own = programs[k];
      const DeviceStage at = stage_for(op, own.after, made_[sums[k]].at);
      XFLOW_TRY(const auto made, assembler_.run(own.after, [&](ValueId value, const Box& box) {
        return value == own.sum ? receive(at, sums[k], box) : outside(at, value, box);
      }));
      for (const std::uint32_t value : op.outputs) {
        const ValueId id = model_.values()[value].id;
        parts[k].results.push_back(id == own.sum ? sums[k] : record(at, made.at(id)));
      }
    }
    return {};
  }

  // Each device adds a part of the result, or takes its maximum, and then has those of all.
  Result<std::vector<std::size_t>> all_reduce(const std::vector<std::size_t>& terms, const char* combine) {
    const Box whole = made_[terms[0]].box;
    const auto ranks = static_cast<std::uint32_t>(terms.size());
    const auto divided = std::ranges::find_if(whole, [&](const Interval& own) { return own.size() >= ranks; });
    // A result that has fewer elements in each dimension is added by every device.
    std::vector<std::size_t> sums;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Box box = whole;
      if (divided != whole.end()) {
        Interval& own = box[static_cast<std::size_t>(divided - whole.begin())];
        const Interval part = share(own.size(), ranks, rank);
        own = {own.begin + part.begin, own.begin + part.end};
      }
      DeviceStage at{0, made_[terms[rank]].at.device};
      for (const std::size_t term : terms) at.stage = std::max(at.stage, stage_after(term, at.device));
      std::optional<ValueId> sum;
      for (const std::size_t term : terms) {
        XFLOW_TRY(ValueId value, receive(at, term, box));
        if (sum) {
          XFLOW_TRY(value, ops::apply(arena_, combine, {*sum, value}));
        }
        sum = value;
      }
      sums.push_back(record(at, {std::move(box), *sum}));
    }
    if (divided == whole.end()) return sums;
    std::vector<std::size_t> results;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      DeviceStage at{0, made_[terms[rank]].at.device};
      for (const std::size_t own : sums) at.stage = std::max(at.stage, stage_after(own, at.device));
      std::vector<BoxValue> found;
      for (const std::size_t own : sums) {
        const Box box = made_[own].box;
        XFLOW_TRY(const ValueId value, receive(at, own, box));
        found.push_back({box, value});
      }
      XFLOW_TRY(const ValueId joined, assembler_.join(found, whole));
      results.push_back(record(at, {whole, joined}));
    }
    return results;
  }

  Result<void> add_output(const std::string& name, ValueId value) {
    const auto number = numbers_.find(value);
    const bool is_made = number != numbers_.end() && !held_[number->second].empty();
    if (!is_made) return add_unmade(name, value);
    const Box& whole = model_.values()[number->second].whole;
    DeviceStage at{0, made_[held_[number->second].front().holders.front()].at.device};
    for (const Read& read : reads_of(number->second, whole, at.device)) at.stage = std::max(at.stage, stage_after(read.made, at.device));
    XFLOW_TRY(const ValueId joined, outside(at, value, whole));
    add_named(at, name, joined);
    outputs_.emplace_back(name, at);
    return {};
  }

  // An output of the model that no operator makes: an input, or a constant, of which the first device has a
  // copy.
  Result<void> add_unmade(const std::string& name, ValueId value) {
    const auto input = interface_.inputs.find(value);
    if (input != interface_.inputs.end() && input->second == name) {
      outputs_.emplace_back(name, std::nullopt);
      return {};
    }
    if (input == interface_.inputs.end() && !arena_.is_constant(value))
      return fail(ErrorCode::unsupported, fmt::format("no node that runs computes the output '{}'", onnx_io::printable(name)));
    const DeviceStage at;
    XFLOW_TRY(const ValueId all, all_of(at, value));
    add_named(at, name, all);
    outputs_.emplace_back(name, at);
    return {};
  }

  // Without nodes whose results nothing of the part reads, such as copies for readers that are elsewhere.
  std::vector<PartNodes> needed(std::vector<PartNodes> kept, ir::Graph read) const {
    std::vector<PartNodes> found;
    for (auto own = kept.rbegin(); own != kept.rend(); ++own) {
      const std::vector<ir::NodeId> reached = ir::topological_order(arena_, read);
      const auto is_read = [&](ValueId result) { return std::ranges::find(reached, result.node) != reached.end(); };
      if (std::ranges::none_of(own->results, is_read)) continue;
      read.outputs.insert(read.outputs.end(), own->operands.begin(), own->operands.end());
      found.push_back(std::move(*own));
    }
    std::ranges::reverse(found);
    return found;
  }

  Result<PlanParts> finish() {
    PlanParts result;
    std::map<DeviceStage, std::size_t> numbers;
    for (const auto& [at, draft] : drafts_)
      if (!draft.outputs.empty()) numbers.emplace(at, numbers.size());
    for (auto& [at, draft] : drafts_) {
      if (draft.outputs.empty()) continue;
      PlanPart part;
      part.device = at.device;
      for (std::size_t k = 0; k < draft.inputs.size(); ++k) {
        const auto& [name, source] = draft.inputs[k];
        part.inputs.push_back({name, source ? std::optional(numbers.at(*source)) : std::nullopt, draft.input_values[k]});
      }
      for (const auto& [name, value] : draft.outputs) {
        part.outputs.push_back(name);
        part.graph.outputs.push_back(value);
      }
      part.kept = needed(std::move(draft.kept), part.graph);
      result.parts.push_back(std::move(part));
    }
    for (const auto& [name, at] : outputs_) result.outputs.push_back({name, at ? std::optional(numbers.at(*at)) : std::nullopt, {}});
    return result;
  }

  SplitModel& model_;
  ir::Arena& arena_;
  const SplitPlan& plan_;
  const ModelInterface& interface_;
  PartAssembler assembler_;
  std::unordered_map<ValueId, std::uint32_t> numbers_;  // of values
  std::vector<std::vector<HolderBox>> held_;            // by value
  std::vector<MadeBox> made_;
  std::map<DeviceStage, Draft> drafts_;
  std::map<std::pair<std::size_t, Box>, std::string> names_;                 // of what is sent
  std::size_t sent_ = 0;                                                     // with names of their own
  std::vector<std::pair<std::string, std::optional<DeviceStage>>> outputs_;  // nothing: an input of the model
  std::uint32_t serial_ = 1U << 30U;                                         // of inputs of parts
};

}  // namespace

Result<PlanParts> parts_of(SplitModel& model, const SplitPlan& plan, const ModelInterface& interface) {
  return PartsOfPlan(model, plan, interface).make();
}

}  // namespace xflow::parallel
