#include "src/eval/lanes.h"

#include <algorithm>

namespace xflow::eval {

LoopState::LoopState(const Stage& stage, const std::vector<Source>& sources, std::int64_t max_lanes)
    : stage_(stage),
      sources_(sources),
      max_lanes_(max_lanes),
      scalars_(stage.extents.size()),
      stamps_(stage.extents.size()),
      lane_values_(stage.extents.size()),
      forms_(stage.forms.size()),
      slots_(stage.slots.size()) {
  for (const int variable : stage.lanes) {
    scalar_mask_ &= ~(std::uint64_t{1} << variable);
    lane_values_[static_cast<std::size_t>(variable)].resize(static_cast<std::size_t>(max_lanes));
  }
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    for (const IndexForm::Term& term : stage.forms[k].slots) {
      forms_[k].slot_depends |= stage.slots[static_cast<std::size_t>(term.id)].depends;
      forms_[k].varies = true;
    }
    for (const IndexForm::Term& term : stage.forms[k].variables) {
      if (!lane_values_[static_cast<std::size_t>(term.id)].empty()) forms_[k].varies = true;
    }
    if (forms_[k].varies) forms_[k].values.resize(static_cast<std::size_t>(max_lanes));
  }
  for (SlotState& slot : slots_) slot.values.resize(static_cast<std::size_t>(max_lanes));
}

std::int64_t LoopState::block_end(std::int64_t first) const {
  // Whole rows of the innermost loops as long as they fit, then a piece of the next loop, never across its end.
  std::int64_t rows = 1;
  for (std::size_t k = stage_.lanes.size(); k-- > 0;) {
    const std::int64_t extent = stage_.extents[static_cast<std::size_t>(stage_.lanes[k])];
    if (rows * extent > max_lanes_) {
      const std::int64_t size = max_lanes_ / rows * rows;
      const std::int64_t border = (first / (rows * extent) + 1) * rows * extent;
      return std::min(first + size, border);
    }
    rows *= extent;
  }
  return rows;
}

void LoopState::set_block(std::int64_t first, std::int64_t count) {
  lanes_ = count;
  block_stamp_ = ++clock_;
  // The digits of `first` in the mixed radix of the lane loops, then counting.
  std::vector<std::int64_t> digits(stage_.lanes.size());
  for (std::size_t k = digits.size(); k-- > 0;) {
    const std::int64_t extent = stage_.extents[static_cast<std::size_t>(stage_.lanes[k])];
    digits[k] = first % extent;
    first /= extent;
  }
  for (std::int64_t lane = 0; lane < count; ++lane) {
    for (std::size_t k = 0; k < digits.size(); ++k) {
      lane_values_[static_cast<std::size_t>(stage_.lanes[k])][static_cast<std::size_t>(lane)] = digits[k];
    }
    for (std::size_t k = digits.size(); k-- > 0;) {
      if (++digits[k] < stage_.extents[static_cast<std::size_t>(stage_.lanes[k])]) break;
      digits[k] = 0;
    }
  }
}

void LoopState::refresh(const IndexForm& form, FormState& state) {
  std::int64_t* const values = state.values.data();
  std::fill_n(values, lanes_, 0);
  for (const IndexForm::Term& term : form.variables) {
    const std::vector<std::int64_t>& lane_values = lane_values_[static_cast<std::size_t>(term.id)];
    if (lane_values.empty()) continue;
    for (std::int64_t lane = 0; lane < lanes_; ++lane) values[lane] += term.coefficient * lane_values[static_cast<std::size_t>(lane)];
  }
  for (const IndexForm::Term& term : form.slots) {
    const SlotState& one = slot(term.id);
    for (std::int64_t lane = 0; lane < lanes_; ++lane) {
      values[lane] += term.coefficient * one.values[one.uniform ? 0 : static_cast<std::size_t>(lane)];
    }
  }
  state.first = values[0];
  state.stride = lanes_ > 1 ? values[1] - values[0] : 0;
  state.linear = true;
  for (std::int64_t lane = 0; lane < lanes_; ++lane) {
    values[lane] -= state.first;
    if (values[lane] != state.stride * lane) state.linear = false;
  }
  state.stamp = clock_;
}

IndexView LoopState::form(int number) {
  const IndexForm& form = stage_.forms[static_cast<std::size_t>(number)];
  FormState& state = forms_[static_cast<std::size_t>(number)];
  IndexView view;
  view.base = form.constant;
  for (const IndexForm::Term& term : form.variables) {
    // The scalar of a lane variable stays 0.
    view.base += term.coefficient * scalars_[static_cast<std::size_t>(term.id)];
  }
  if (!state.varies) return view;
  if (!valid(state.stamp, state.slot_depends)) refresh(form, state);
  view.base += state.first;
  if (state.linear) {
    view.stride = state.stride;
  } else {
    view.values = state.values.data();
  }
  return view;
}

std::int64_t LoopState::element(const Source& source, std::int64_t offset) const {
  // Lanes that a condition excludes may ask for anything.
  if (offset < 0 || static_cast<std::uint64_t>(offset) >= source.count) return 0;
  std::int64_t result = 0;
  with_elements(source, [&](const auto& load) { result = static_cast<std::int64_t>(load(offset)); });
  return result;
}

const LoopState::SlotState& LoopState::slot(int number) {
  const IndexSlot& slot = stage_.slots[static_cast<std::size_t>(number)];
  SlotState& state = slots_[static_cast<std::size_t>(number)];
  if (valid(state.stamp, slot.depends)) return state;
  const IndexView a = form(slot.arguments[0]);
  const IndexView b = slot.arguments.size() > 1 ? form(slot.arguments[1]) : IndexView{};
  state.uniform = a.is_uniform() && b.is_uniform();
  const std::int64_t count = state.uniform ? 1 : lanes_;
  for (std::int64_t lane = 0; lane < count; ++lane) {
    const std::int64_t x = a.at(lane);
    const std::int64_t y = b.at(lane);
    std::int64_t value = 0;
    switch (slot.kind) {
      case IndexSlot::Kind::product:
        value = x * y;
        break;
      case IndexSlot::Kind::maximum:
        value = std::max(x, y);
        break;
      case IndexSlot::Kind::element:
        value = element(sources_[static_cast<std::size_t>(slot.source)], x);
        break;
      case IndexSlot::Kind::floor_div:
        if (y >= 1) {  // lanes that a condition excludes may divide by anything
          value = x / y;
          if (x % y < 0) --value;
        }
        break;
    }
    state.values[static_cast<std::size_t>(lane)] = value;
  }
  state.stamp = clock_;
  return state;
}

}  // namespace xflow::eval
