// Runs a program over one arithmetic: its stages in order, with memory for their results. Private to
// src/eval: included in one file for each arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/eval/interpreter.h"
#include "src/eval/program.h"
#include "src/eval/run.h"
#include "src/eval/source.h"

namespace xflow::eval {

// Runs all stages of a program, which must outlive the runner. The last stage writes `numbers` or
// `integers`, depending on its type.
template <typename A>
class ProgramRunner final : public Runner<typename A::Number> {
 public:
  using Number = typename A::Number;

  // `sources` are the operands.
  ProgramRunner(const A& arithmetic, const Program& program, std::vector<Source> sources)
      : arithmetic_(arithmetic), program_(program), sources_(std::move(sources)) {
    operands_ = sources_.size();
    numbers_.resize(program.stages.size());
    integers_.resize(program.stages.size());
    for (std::size_t k = 0; k < program.stages.size(); ++k) {
      const Stage& stage = program.stages[k];
      const auto count = static_cast<std::size_t>(stage.output_count());
      sources_.push_back({nullptr, stage.real ? Format::number : Format::int64, count});
      if (k + 1 == program.stages.size()) continue;
      if (stage.real) {
        numbers_[k].resize(count);
        sources_.back().data = numbers_[k].data();
      } else {
        integers_[k].resize(count);
        sources_.back().data = integers_[k].data();
      }
    }
    interpreters_.reserve(program.stages.size());
    for (const Stage& stage : program.stages) interpreters_.emplace_back(arithmetic_, stage, sources_);
  }
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  Result<void> check() const {
    for (const Interpreter<A>& interpreter : interpreters_) XFLOW_CHECK(interpreter.check());
    return {};
  }

  bool run(Number* numbers, std::int64_t* integers) {
    for (std::size_t k = 0; k < interpreters_.size(); ++k) {
      const bool last = k + 1 == interpreters_.size();
      const bool ran = program_.stages[k].real ? interpreters_[k].run(last ? numbers : numbers_[k].data())
                                               : interpreters_[k].run(last ? integers : integers_[k].data());
      if (!ran) return false;
    }
    return true;
  }

  bool run(std::span<const std::byte* const> operands, Number* numbers, std::int64_t* integers) override {
    for (std::size_t k = 0; k < operands_; ++k) sources_[k].data = operands[k];
    return run(numbers, integers);
  }

  void stop_when(const std::function<bool()>& stop) override {
    if (stop)
      for (Interpreter<A>& interpreter : interpreters_) interpreter.stop_when(stop);
  }
  bool is_stopped() const override { return std::ranges::any_of(interpreters_, &Interpreter<A>::is_stopped); }

  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const auto& numbers : numbers_) sum += numbers.size() * sizeof(Number);
    for (const auto& integers : integers_) sum += integers.size() * sizeof(std::int64_t);
    return sum;
  }

 private:
  A arithmetic_;
  const Program& program_;
  std::size_t operands_ = 0;
  std::vector<Source> sources_;                      // operands, then the tensor of each stage
  std::vector<std::vector<Number>> numbers_;         // of each stage but the last
  std::vector<std::vector<std::int64_t>> integers_;  // likewise
  std::vector<Interpreter<A>> interpreters_;
};

// A runner for the program. Error::unsupported for functions that the arithmetic lacks.
template <typename A>
Result<std::unique_ptr<Runner<typename A::Number>>> make_runner(const A& arithmetic, const Program& program, std::vector<Source> sources) {
  auto runner = std::make_unique<ProgramRunner<A>>(arithmetic, program, std::move(sources));
  XFLOW_CHECK(runner->check());
  return std::unique_ptr<Runner<typename A::Number>>(std::move(runner));
}

// Runs a program once. Errors: unsupported as above; limit if stopped; internal for a read out of range.
template <typename A>
Result<void> run_program(const A& arithmetic, const Program& program, std::vector<Source> sources, typename A::Number* numbers,
                         std::int64_t* integers, const std::function<bool()>& stop = {}) {
  ProgramRunner<A> runner(arithmetic, program, std::move(sources));
  XFLOW_CHECK(runner.check());
  runner.stop_when(stop);
  const bool ran = runner.run(numbers, integers);
  if (runner.is_stopped()) return fail(ErrorCode::limit, "evaluation was stopped");
  if (!ran) return fail(ErrorCode::internal, "an element outside of its tensor was read");
  return {};
}

}  // namespace xflow::eval
