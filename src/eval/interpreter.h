// Runs a program over one arithmetic. Private to src/eval: included in one file for each arithmetic.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/eval/arithmetic.h"
#include "src/eval/kernels.h"
#include "src/eval/lanes.h"
#include "src/eval/program.h"
#include "src/eval/source.h"

namespace xflow::eval {

// Integer arithmetic of `type`. Undefined results (x / 0) are 0.
std::int64_t integer_unary(Function function, std::int64_t a);
std::int64_t integer_binary(Function function, std::int64_t a, std::int64_t b, ir::DataType type);

// The values of a node on the lanes of a block: one value for all lanes (uniform), or one for each.
template <typename T>
struct View {
  const T* data = nullptr;
  bool uniform = false;
  const T& operator[](std::int64_t lane) const { return data[uniform ? 0 : lane]; }
};

template <typename A>
class Interpreter {
 public:
  using Number = typename A::Number;

  Interpreter(const A& arithmetic, const Stage& stage, const std::vector<Source>& sources)
      : arithmetic_(arithmetic), stage_(stage), sources_(sources), loops_(stage, sources, kMaxLanes), states_(stage.nodes.size()) {
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const ValueNode& node = stage.nodes[k];
      if (node.real) {
        states_[k].numbers.resize(kMaxLanes);
      } else {
        states_[k].integers.resize(kMaxLanes);
      }
      if (node.kind == ValueNode::Kind::select) states_[k].masks.resize(2 * kMaxLanes);
      if (std::is_floating_point_v<Number> && node.product_of_reads) {
        for (std::vector<std::int64_t>& offsets : states_[k].offsets) offsets.resize(kMaxLanes);
        states_[k].accumulators.reserve(kMaxLanes);
        states_[k].active.reserve(kMaxLanes);
      }
    }
  }

  // Error::unsupported for functions that the arithmetic lacks.
  Result<void> check() const {
    const auto cannot = [](std::string_view what) {
      return fail(ErrorCode::unsupported, fmt::format("cannot evaluate {} over these numbers", what));
    };
    if (!A::kOrdered && stage_.real && stage_.kind == Stage::Kind::maximum) return cannot("a maximum");
    for (const ValueNode& node : stage_.nodes) {
      if (!A::kOrdered && node.real && node.kind == Kind::maximum) return cannot("a maximum");
      if (node.kind != Kind::apply) continue;
      const bool real_arguments = stage_.nodes[static_cast<std::size_t>(node.arguments.back())].real;
      if (real_arguments && !arithmetic_.supports(node.function)) return cannot(ops::name(node.function));
    }
    return {};
  }

  // Computes the stage from the current contents of the sources and writes its output_count() elements to
  // `out`. False for a read out of range, or if stopped. Allocates nothing unless the numbers do.
  template <typename T>
  bool run(T* out) {
    out_of_range_ = false;
    stopped_ = false;
    if (stage_.kind == Stage::Kind::map) {
      const std::int64_t count = stage_.output_count();
      for (std::int64_t first = 0; first < count && !out_of_range_;) {
        const std::int64_t end = std::min(loops_.block_end(first), count);
        loops_.set_block(first, end - first);
        const View<T> view = eval<T>(stage_.root, nullptr);
        look();
        for (std::int64_t lane = 0; lane < end - first; ++lane) store(view[lane], out[first + lane]);
        first = end;
      }
    } else {
      reduce(out);
    }
    return !out_of_range_;
  }

  // Sets a callback that is called at intervals during a run. If it returns true the run ends and returns
  // false.
  void stop_when(const std::function<bool()>& stop) { stop_ = &stop; }
  bool is_stopped() const { return stopped_; }

 private:
  static constexpr std::int64_t kMaxLanes = A::kCheap ? 512 : 64;
  static constexpr std::int64_t kFewTerms = 4;
  using Kind = ValueNode::Kind;
  using Mask = const std::uint8_t*;  // 1 for each lane to evaluate; null: all lanes

  struct NodeState {
    std::vector<Number> numbers;
    std::vector<std::int64_t> integers;
    std::vector<std::uint8_t> masks;
    std::uint64_t stamp = 0;
    bool uniform = false;
    const void* data = nullptr;
    std::vector<std::int64_t> offsets[2];  // for product_of_reads
    std::vector<Number> accumulators;
    std::vector<std::int64_t> active;
  };

  // Converts a value to an element of the stage's tensor.
  template <typename T>
  void store(const T& value, T& element) const {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      element = wrap(value, stage_.data_type);
    } else {
      element = value;
    }
  }

  template <typename T>
  T neutral(bool is_sum) const {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      return is_sum ? 0 : std::numeric_limits<std::int64_t>::min();
    } else {
      return is_sum ? arithmetic_.from_integer(0) : arithmetic_.lowest();
    }
  }

  template <typename T>
  T combine(bool is_sum, const T& a, const T& b) const {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      return is_sum ? static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)) : std::max(a, b);
    } else {
      return is_sum ? arithmetic_.template binary<Function::add>(a, b) : arithmetic_.template binary<Function::maximum>(a, b);
    }
  }

  // Computes each output as a sum or maximum over all lanes.
  template <typename T>
  void reduce(T* out) {
    const bool is_sum = stage_.kind == Stage::Kind::sum;
    const std::int64_t outputs = stage_.output_count();
    const std::int64_t terms = stage_.lane_count();
    for (std::int64_t output = 0; output < outputs && !out_of_range_; ++output) {
      std::int64_t rest = output;
      for (std::size_t k = stage_.outputs.size(); k-- > 0;) {
        const std::int64_t extent = stage_.extents[static_cast<std::size_t>(stage_.outputs[k])];
        loops_.set(stage_.outputs[k], rest % extent);
        rest /= extent;
      }
      T total = neutral<T>(is_sum);
      for (std::int64_t first = 0; first < terms && !out_of_range_;) {
        const std::int64_t end = std::min(loops_.block_end(first), terms);
        loops_.set_block(first, end - first);
        const View<T> view = eval<T>(stage_.root, nullptr);
        look();
        for (std::int64_t lane = 0; lane < end - first; ++lane) total = combine<T>(is_sum, total, view[lane]);
        first = end;
      }
      store(total, out[output]);
    }
  }

  template <typename T>
  T* buffer(NodeState& state) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      return state.integers.data();
    } else {
      return state.numbers.data();
    }
  }

  // Evaluates a node on the lanes of `mask`; the values of other lanes are unspecified. A value is reused
  // until something that it depends on changes.
  template <typename T>
  View<T> eval(int number, Mask mask) {
    const ValueNode& node = stage_.nodes[static_cast<std::size_t>(number)];
    NodeState& state = states_[static_cast<std::size_t>(number)];
    if (loops_.valid(state.stamp, node.depends)) return {static_cast<const T*>(state.data), state.uniform};
    View<T> view;
    switch (node.kind) {
      case Kind::literal:
        view = literal<T>(node, state);
        break;
      case Kind::index:
        view = index<T>(node, state);
        break;
      case Kind::read:
        view = read<T>(node, state, mask);
        break;
      case Kind::sum:
      case Kind::maximum:
        view = loop<T>(node, state, mask);
        break;
      case Kind::select:
        view = select<T>(node, state, mask);
        break;
      case Kind::apply:
        view = apply<T>(node, state, mask);
        break;
      case Kind::cast:
        view = cast<T>(node, state, mask);
        break;
    }
    state.stamp = loops_.now();
    state.uniform = view.uniform;
    state.data = view.data;
    return view;
  }

  template <typename T>
  View<T> literal(const ValueNode& node, NodeState& state) {
    T* const out = buffer<T>(state);
    if constexpr (std::is_same_v<T, std::int64_t>) {
      const auto rational = node.literal.rational();
      if (rational) {
        out[0] = rational->numerator() / rational->denominator();
      } else {
        const double value = node.literal.to_double();
        out[0] = value > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
      }
    } else {
      out[0] = arithmetic_.from_literal(node.literal);
    }
    return {out, true};
  }

  template <typename T>
  View<T> index(const ValueNode& node, NodeState& state) {
    T* const out = buffer<T>(state);
    const IndexView view = loops_.form(node.form);
    const std::int64_t count = view.is_uniform() ? 1 : loops_.lanes();
    for (std::int64_t lane = 0; lane < count; ++lane) {
      if constexpr (std::is_same_v<T, std::int64_t>) {
        out[lane] = view.at(lane);
      } else {
        out[lane] = arithmetic_.from_integer(view.at(lane));
      }
    }
    return {out, view.is_uniform()};
  }

  // Whether the source stores numbers of type T, so that reads need no conversion.
  template <typename T>
  static bool is_native(const Source& source) {
    if (source.format == Format::number) return !std::is_same_v<T, std::int64_t>;
    if (std::is_same_v<T, std::int64_t> && source.format == Format::int64) return reinterpret_cast<std::uintptr_t>(source.data) % 8 == 0;
    if (std::is_same_v<T, double> && source.format == Format::float64) return reinterpret_cast<std::uintptr_t>(source.data) % 8 == 0;
    if (std::is_same_v<T, float> && source.format == Format::float32) return reinterpret_cast<std::uintptr_t>(source.data) % 4 == 0;
    return false;
  }

  template <typename T>
  T convert(double value) const {
    if constexpr (std::is_same_v<T, std::int64_t>) return truncate(value);
    if constexpr (!std::is_same_v<T, std::int64_t>) return arithmetic_.from_double(value);
  }
  template <typename T>
  T convert(std::int64_t value) const {
    if constexpr (std::is_same_v<T, std::int64_t>) return value;
    if constexpr (!std::is_same_v<T, std::int64_t>) return arithmetic_.from_integer(value);
  }
  template <typename T>
  T convert(std::uint64_t value) const {
    if constexpr (std::is_same_v<T, std::int64_t>) return static_cast<std::int64_t>(value);
    if constexpr (!std::is_same_v<T, std::int64_t>) return arithmetic_.from_unsigned(value);
  }

  // Whether all offsets of the active lanes are within the source.
  bool in_range(const IndexView& view, const Source& source, Mask mask) {
    const bool fine = all_within(view, mask, loops_.lanes(), static_cast<std::int64_t>(source.count));
    if (!fine) out_of_range_ = true;
    return fine;
  }

  template <typename T>
  View<T> read(const ValueNode& node, NodeState& state, Mask mask);

  template <typename T, typename Load>
  static void gather(T* out, const IndexView& view, std::int64_t lanes, Mask mask, const Load& load);

  template <typename T>
  View<T> loop(const ValueNode& node, NodeState& state, Mask mask);

  // Computes a sum of products of two reads over one variable, without an interpreter step for each term.
  template <typename T>
  View<T> dot(const ValueNode& node, NodeState& state, Mask mask, const ValueNode& a, const ValueNode& b);

  // Whether the relation holds on every lane; false if the bounds do not decide it.
  static bool always_holds(ops::Relation relation, const IndexView& view) {
    switch (relation) {
      case ops::Relation::at_least_zero:
        return view.bounds.low >= 0;
      case ops::Relation::zero:
        return view.bounds.low == 0 && view.bounds.high == 0;
      case ops::Relation::not_zero:
        return view.bounds.low > 0 || view.bounds.high < 0;
    }
    return false;
  }
  static bool never_holds(ops::Relation relation, const IndexView& view) {
    switch (relation) {
      case ops::Relation::at_least_zero:
        return view.bounds.high < 0;
      case ops::Relation::zero:
        return view.bounds.low > 0 || view.bounds.high < 0;
      case ops::Relation::not_zero:
        return view.bounds.low == 0 && view.bounds.high == 0;
    }
    return false;
  }

  template <typename T>
  View<T> select(const ValueNode& node, NodeState& state, Mask mask) {
    const std::int64_t lanes = loops_.lanes();
    std::uint8_t* const then = state.masks.data();
    std::uint8_t* const otherwise = then + kMaxLanes;
    bool mixed = false;
    for (const auto& [form, relation] : node.condition) {
      const IndexView view = loops_.form(form);
      if (never_holds(relation, view)) return eval<T>(node.arguments[1], mask);
      if (always_holds(relation, view)) continue;
      if (!mixed && mask == nullptr) std::fill_n(then, lanes, std::uint8_t{1});
      if (!mixed && mask != nullptr) std::copy_n(mask, lanes, then);
      mixed = true;
      apply_atom(then, view, relation, lanes);
    }
    if (!mixed) return eval<T>(node.arguments[0], mask);
    const auto [taken, asked] = split_mask(otherwise, then, mask, lanes);
    if (taken == asked) return eval<T>(node.arguments[0], mask);
    if (taken == 0) return eval<T>(node.arguments[1], mask);
    const View<T> a = eval<T>(node.arguments[0], then);
    const View<T> b = eval<T>(node.arguments[1], otherwise);
    T* const out = buffer<T>(state);
    if constexpr (A::kCheap) {  // lanes outside both masks are unspecified
      for (std::int64_t lane = 0; lane < lanes; ++lane) out[lane] = then[lane] != 0 ? a[lane] : b[lane];
      return {out, false};
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (then[lane] != 0) {
        out[lane] = a[lane];
      } else if (otherwise[lane] != 0) {
        out[lane] = b[lane];
      }
    }
    return {out, false};
  }

  bool is_active(Mask mask, std::int64_t lane) const { return A::kCheap || mask == nullptr || mask[lane] != 0; }

  template <typename T, typename R, typename F>
  View<R> map(View<T> a, R* out, Mask mask, const F& f) {
    if (a.uniform) {
      out[0] = f(a.data[0]);
      return {out, true};
    }
    const std::int64_t lanes = loops_.lanes();
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (is_active(mask, lane)) out[lane] = f(a.data[lane]);
    }
    return {out, false};
  }

  template <typename T, typename R, typename F>
  View<R> map(View<T> a, View<T> b, R* out, Mask mask, const F& f) {
    if (a.uniform && b.uniform) {
      out[0] = f(a.data[0], b.data[0]);
      return {out, true};
    }
    const std::int64_t lanes = loops_.lanes();
    if (a.uniform) {
      const T x = a.data[0];
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (is_active(mask, lane)) out[lane] = f(x, b.data[lane]);
      }
    } else if (b.uniform) {
      const T y = b.data[0];
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (is_active(mask, lane)) out[lane] = f(a.data[lane], y);
      }
    } else {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (is_active(mask, lane)) out[lane] = f(a.data[lane], b.data[lane]);
      }
    }
    return {out, false};
  }

  template <typename T>
  View<T> apply(const ValueNode& node, NodeState& state, Mask mask) {
    if (node.function == Function::choose) return choose<T>(node, state, mask);
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (stage_.nodes[static_cast<std::size_t>(node.arguments[0])].real) return compare(node, state, mask);
      return apply_integer(node, state, mask);
    } else {
      return ops::arity(node.function) == 1 ? apply_unary(node, state, mask) : apply_binary(node, state, mask);
    }
  }

  template <typename T>
  View<T> choose(const ValueNode& node, NodeState& state, Mask mask);

  View<std::int64_t> compare(const ValueNode& node, NodeState& state, Mask mask);

  View<std::int64_t> apply_integer(const ValueNode& node, NodeState& state, Mask mask);

  template <Function F>
  View<Number> unary(const ValueNode& node, NodeState& state, Mask mask) {
    return map(eval<Number>(node.arguments[0], mask), state.numbers.data(), mask,
               [this](const Number& x) { return arithmetic_.template unary<F>(x); });
  }

  template <Function F>
  View<Number> binary(const ValueNode& node, NodeState& state, Mask mask) {
    const View<Number> a = eval<Number>(node.arguments[0], mask);
    const View<Number> b = eval<Number>(node.arguments[1], mask);
    return map(a, b, state.numbers.data(), mask, [this](const Number& x, const Number& y) { return arithmetic_.template binary<F>(x, y); });
  }

  View<Number> apply_unary(const ValueNode& node, NodeState& state, Mask mask);

  View<Number> apply_binary(const ValueNode& node, NodeState& state, Mask mask);

  template <typename T>
  View<T> cast(const ValueNode& node, NodeState& state, Mask mask);

  const A& arithmetic_;
  const Stage& stage_;
  const std::vector<Source>& sources_;
  LoopState loops_;
  std::vector<NodeState> states_;
  // Counts steps and calls `stop_` every kStepsBetweenLooks steps. Stopping sets out_of_range_, which ends
  // the run.
  void look(std::uint64_t steps = 1) {
    if (stop_ == nullptr) return;
    steps_ += steps;
    if (steps_ < kStepsBetweenLooks) return;
    steps_ = 0;
    if (!(*stop_)()) return;
    stopped_ = out_of_range_ = true;
  }

  static constexpr std::uint64_t kStepsBetweenLooks = 1024;  // a step is a block or a term
  const std::function<bool()>* stop_ = nullptr;
  std::uint64_t steps_ = 0;
  bool stopped_ = false;
  bool out_of_range_ = false;
};

}  // namespace xflow::eval

#include "src/eval/interpreter_apply.h"
#include "src/eval/interpreter_loop.h"
#include "src/eval/interpreter_read.h"
