#include "src/eval/lanes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "src/eval/kernels.h"

namespace xflow::eval {
namespace {

constexpr Range kUnbounded{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};

// sum += coefficient * term. False on overflow.
bool add_scaled(Range& sum, std::int64_t coefficient, const Range& term) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (__builtin_mul_overflow(coefficient, term.low, &low) || __builtin_mul_overflow(coefficient, term.high, &high)) return false;
  if (coefficient < 0) std::swap(low, high);
  return !__builtin_add_overflow(sum.low, low, &sum.low) && !__builtin_add_overflow(sum.high, high, &sum.high);
}

}  // namespace

LoopState::LoopState(const Stage& stage, const std::vector<Source>& sources, std::int64_t max_lanes)
    : stage_(stage),
      sources_(sources),
      max_lanes_(max_lanes),
      scalars_(stage.extents.size()),
      stamps_(stage.extents.size()),
      lane_values_(stage.extents.size()),
      lane_bounds_(stage.extents.size()),
      forms_(stage.forms.size()),
      slots_(stage.slots.size()) {
  for (const int variable : stage.lanes) {
    scalar_mask_ &= ~(std::uint64_t{1} << variable);
    lane_values_[static_cast<std::size_t>(variable)].resize(static_cast<std::size_t>(max_lanes));
  }
  for (std::size_t k = 0; k < forms_.size(); ++k) {
    for (const IndexTerm& term : stage.forms[k].slots) {
      forms_[k].slot_depends |= stage.slots[static_cast<std::size_t>(term.id)].depends;
      forms_[k].varies = true;
    }
    for (const IndexTerm& term : stage.forms[k].variables) {
      if (!lane_values_[static_cast<std::size_t>(term.id)].empty()) forms_[k].varies = true;
    }
    if (forms_[k].varies) forms_[k].values.resize(static_cast<std::size_t>(max_lanes));
  }
  for (SlotState& slot : slots_) slot.values.resize(static_cast<std::size_t>(max_lanes));
}

std::int64_t LoopState::block_end(std::int64_t first) const {
  // A block has whole rows of the innermost loops as long as they fit, then a part of the next loop, and
  // never crosses its end.
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
  // The value of a lane loop is a digit of the lane number in the mixed radix of the loops. It is constant
  // for as many lanes as the product of the inner extents.
  std::int64_t inside = 1;
  for (std::size_t k = stage_.lanes.size(); k-- > 0;) {
    const auto variable = static_cast<std::size_t>(stage_.lanes[k]);
    const std::int64_t extent = stage_.extents[variable];
    std::int64_t* const values = lane_values_[variable].data();
    std::int64_t digit = first / inside % extent;
    std::int64_t left = inside - first % inside;  // lanes until the digit changes
    const bool wraps = digit + (count > left ? (count - left - 1) / inside + 1 : 0) >= extent;
    for (std::int64_t lane = 0; lane < count;) {
      const std::int64_t end = std::min(count, lane + left);
      std::fill(values + lane, values + end, digit);
      lane = end;
      left = inside;
      if (lane < count && ++digit == extent) digit = 0;
    }
    lane_bounds_[variable] = wraps ? Range{0, extent - 1} : Range{values[0], digit};
    inside *= extent;
  }
}

void LoopState::refresh(const IndexForm& form, FormState& state) {
  std::int64_t* const values = state.values.data();
  state.bounds = {};
  bool begun = false;
  bool bounded = true;
  const auto add = [&](std::int64_t coefficient, const std::int64_t* term, const Range& bounds) {
    (begun ? add_scaled_lanes : scale_lanes)(values, term, coefficient, lanes_);
    begun = true;
    bounded = bounded && add_scaled(state.bounds, coefficient, bounds);
  };
  for (const IndexTerm& term : form.variables) {
    const auto variable = static_cast<std::size_t>(term.id);
    if (!lane_values_[variable].empty()) add(term.coefficient, lane_values_[variable].data(), lane_bounds_[variable]);
  }
  for (const IndexTerm& term : form.slots) {
    SlotState& one = slot(term.id);
    if (one.uniform) std::fill_n(one.values.begin(), lanes_, one.values[0]);
    add(term.coefficient, one.values.data(), one.bounds);
  }
  if (!bounded) state.bounds = kUnbounded;
  state.first = values[0];
  // Wraps around on overflow (see kernels.cpp).
  const auto bits = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  state.stride = lanes_ > 1 ? static_cast<std::int64_t>(bits(values[1]) - bits(values[0])) : 0;
  state.linear = subtract_first(values, state.first, state.stride, lanes_);
  state.stamp = clock_;
}

IndexView LoopState::form(int number) {
  const IndexForm& form = stage_.forms[static_cast<std::size_t>(number)];
  FormState& state = forms_[static_cast<std::size_t>(number)];
  IndexView view;
  view.base = form.constant;
  for (const IndexTerm& term : form.variables) {
    // Lane variables have the scalar 0.
    view.base += term.coefficient * scalars_[static_cast<std::size_t>(term.id)];
  }
  view.bounds = {view.base, view.base};
  if (!state.varies) return view;
  if (!valid(state.stamp, state.slot_depends)) refresh(form, state);
  if (!add_scaled(view.bounds, 1, state.bounds)) view.bounds = kUnbounded;
  view.base = static_cast<std::int64_t>(static_cast<std::uint64_t>(view.base) + static_cast<std::uint64_t>(state.first));
  if (state.linear) {
    view.stride = state.stride;
  } else {
    view.values = state.values.data();
  }
  return view;
}

std::int64_t LoopState::element(const Source& source, std::int64_t offset) const {
  // Lanes that a condition excludes may have any offset.
  if (offset < 0 || static_cast<std::uint64_t>(offset) >= source.count) return 0;
  std::int64_t result = 0;
  with_elements(source, [&](const auto& load) { result = static_cast<std::int64_t>(load(offset)); });
  return result;
}

LoopState::SlotState& LoopState::slot(int number) {
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
        if (y >= 1) {  // lanes that a condition excludes may have any divisor
          value = x / y;
          if (x % y < 0) --value;
        }
        break;
    }
    state.values[static_cast<std::size_t>(lane)] = value;
    state.bounds = lane == 0 ? Range{value, value} : Range{std::min(state.bounds.low, value), std::max(state.bounds.high, value)};
  }
  state.stamp = clock_;
  return state;
}

}  // namespace xflow::eval
