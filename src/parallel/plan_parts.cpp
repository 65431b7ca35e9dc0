#include "src/parallel/plan_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "src/parallel/part_assembler.h"

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
      ir::TensorType type = arena_.type(from.value);
      for (std::size_t d = 0; d < sent.size(); ++d) type.shape[d] = sent[d].size();
      known->second = arena_.input(std::move(type), serial_++);
      XFLOW_TRY(const std::string name, send(number, sent));
      drafts_[at].inputs.emplace_back(name, from.at);
      drafts_[at].input_values.push_back(known->second);
    }
    return assembler_.slice(known->second, sent, box);
  }
  // The name of a part of a made box among the outputs of its part.
  Result<std::string> send(std::size_t number, const Box& box) {
    const auto [known, is_new] = names_.try_emplace({number, box});
    if (is_new) {
      known->second = fmt::format("xflow_{}", names_.size() - 1);
      XFLOW_TRY(const ValueId value, assembler_.slice(made_[number].value, made_[number].box, box));
      drafts_[made_[number].at].outputs.emplace_back(known->second, value);
    }
    return known->second;
  }

  // What a part reads of a value that no operator makes.
  Result<ValueId> given(const DeviceStage& at, ValueId value, const Box& box) {
    const auto number = numbers_.find(value);
    const bool is_sized = number != numbers_.end() && model_.values()[number->second].is_sized;
    if (!is_sized) return fail(ErrorCode::unsupported, "parts need tensors of known sizes; --shape gives sizes of inputs");
    const Box& whole = model_.values()[number->second].whole;
    if (arena_.is_constant(value)) return assembler_.slice(value, whole, box);
    const auto name = interface_.inputs.find(value);
    if (name == interface_.inputs.end()) return fail(ErrorCode::unsupported, "a value of a node that is not known");
    const auto [known, is_new] = drafts_[at].given.try_emplace(value);
    if (is_new) {
      ir::TensorType type = arena_.type(value);
      for (std::size_t d = 0; d < whole.size(); ++d) type.shape[d] = whole[d].size();
      known->second = arena_.input(std::move(type), serial_++);
      drafts_[at].inputs.emplace_back(name->second, std::nullopt);
      drafts_[at].input_values.push_back(known->second);
    }
    return assembler_.slice(known->second, whole, box);
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

  std::size_t record(const DeviceStage& at, const BoxValue& own) {
    made_.push_back({at, own.box, own.value});
    drafts_[at];
    return made_.size() - 1;
  }

  Result<void> add(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    std::map<Box, std::vector<std::pair<std::uint32_t, std::vector<std::size_t>>>> results;  // parts of a box
    for (std::uint32_t part = 0; part < plan.parts(); ++part) {
      const PlannedPart planned = planned_part(model_, number, plan, part);
      const auto program = model_.program(number, planned.output, planned.terms);
      if (!program) return fail(ErrorCode::internal, "a part of the plan does not exist");
      DeviceStage at{0, plan.device(part)};
      for (const std::uint32_t read : op.reads) {
        const auto box = program->boxes.find(model_.values()[read].id);
        if (box == program->boxes.end() || model_.values()[read].maker == kNoOperator) continue;
        for (const Read& own : reads_of(read, box->second, at.device)) at.stage = std::max(at.stage, stage_after(own.made, at.device));
      }
      XFLOW_TRY(const auto made, assembler_.run(*program, [&](ValueId value, const Box& box) { return outside(at, value, box); }));
      std::vector<std::size_t> own;
      own.reserve(op.outputs.size());
      for (const std::uint32_t value : op.outputs) own.push_back(record(at, made.at(model_.values()[value].id)));
      results[planned.output].emplace_back(part, std::move(own));
    }
    for (auto& [box, parts] : results) {
      if (plan.degree(SplitTarget::reduction) > 1) XFLOW_CHECK(reduce(number, parts));
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        HolderBox held{made_[parts.front().second[k]].box, {}};
        for (const auto& [part, own] : parts) held.holders.push_back(own[k]);
        held_[op.outputs[k]].push_back(std::move(held));
      }
    }
    return {};
  }

  // Replaces the terms of a box by their sum, with a ring for each copy.
  Result<void> reduce(std::uint32_t number, std::vector<std::pair<std::uint32_t, std::vector<std::size_t>>>& parts) {
    std::map<std::uint32_t, std::vector<std::vector<std::size_t>*>> rings;
    for (auto& [part, own] : parts) rings[plan_[number].position(part, SplitTarget::copies)].push_back(&own);
    for (auto& [copy, ring] : rings) {
      for (std::size_t k = 0; k < model_.operators()[number].outputs.size(); ++k) {
        std::vector<std::size_t> terms;
        for (const auto* own : ring) terms.push_back((*own)[k]);
        XFLOW_TRY(const std::vector<std::size_t> sums, all_reduce(terms));
        for (std::size_t rank = 0; rank < ring.size(); ++rank) (*ring[rank])[k] = sums[rank];
      }
    }
    return {};
  }

  // Each device adds a part of the result, and then has those of all.
  Result<std::vector<std::size_t>> all_reduce(const std::vector<std::size_t>& terms) {
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
          XFLOW_TRY(value, ops::apply(arena_, "add", {*sum, value}));
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
    const bool is_made =
        number != numbers_.end() && model_.values()[number->second].maker != kNoOperator && model_.values()[number->second].is_sized;
    if (!is_made) return fail(ErrorCode::unsupported, fmt::format("no node that runs computes the output '{}' in a known size", name));
    const Box& whole = model_.values()[number->second].whole;
    DeviceStage at{0, made_[held_[number->second].front().holders.front()].at.device};
    for (const Read& read : reads_of(number->second, whole, at.device)) at.stage = std::max(at.stage, stage_after(read.made, at.device));
    XFLOW_TRY(const ValueId joined, outside(at, value, whole));
    drafts_[at].outputs.emplace_back(name, joined);
    outputs_.emplace_back(name, at);
    return {};
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
      result.parts.push_back(std::move(part));
    }
    for (const auto& [name, at] : outputs_) result.outputs.push_back({name, numbers.at(at), {}});
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
  std::map<std::pair<std::size_t, Box>, std::string> names_;  // of what is sent
  std::vector<std::pair<std::string, DeviceStage>> outputs_;
  std::uint32_t serial_ = 1U << 30U;  // of inputs of parts
};

}  // namespace

Result<PlanParts> parts_of(SplitModel& model, const SplitPlan& plan, const ModelInterface& interface) {
  return PartsOfPlan(model, plan, interface).make();
}

}  // namespace xflow::parallel
