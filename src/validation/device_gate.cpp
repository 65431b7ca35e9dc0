#include "src/validation/device_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <unordered_set>
#include <utility>

#include "src/cost/cost_model.h"
#include "src/runtime/graph_runner.h"
#include "src/validation/check_inputs.h"
#include "src/validation/end_to_end.h"

namespace xflow::api {
namespace {

using cost::Plan;

// The model will be served by another runtime. Smaller gains on this device were measured to be none there
// (docs/cost.md, The gate).
constexpr double kLeastGain = 0.04;

Acceptance faster_by_enough(const GateReport& report) {
  double least = 1;
  for (const GateComparison& c : report.comparisons) least = std::min(least, c.ratio);
  if (least <= 1 - kLeastGain) return accepted();
  return refused(
      fmt::format("it is faster here by less than {:g} % ({:.3f} of the original's time), and may be slower in another runtime; option "
                  "'runner' measures it there",
                  100 * kLeastGain, least));
}

class Judge {
 public:
  Judge(const DeviceGate& gate, cost::GraphRunner& runner, const ir::Graph& candidate, const std::function<void()>& progress,
        OptimizeReport& report)
      : gate_(gate), graphs_{&gate.original, &candidate}, progress_(progress), report_(report), runner_(runner) {}

  DeviceJudgement run() {
    GateReport& gate_report = report_.gate;
    gate_report.run = false;
    gate_report.comparisons.clear();
    gate_report.share_not_run = 0;
    const auto start = std::chrono::steady_clock::now();
    auto prepared = prepare();
    gate_report.time += std::chrono::steady_clock::now() - start;
    if (!prepared) prepared = refused("it could not be run: " + prepared.error().text());
    if (!*prepared) {
      gate_report.reason = prepared->reason;
      return {*std::move(prepared), is_run_alike_};
    }
    Acceptance acceptance = judge(runner_, ids_[0], ids_[1], labels_, gate_.options, gate_.limits, progress_, gate_report);
    if (!acceptance) return {std::move(acceptance)};
    acceptance = faster_by_enough(gate_report);
    gate_report.reason = acceptance.reason;
    return {std::move(acceptance)};
  }

 private:
  // The sizes and plans of one choice of sizes.
  struct Choice {
    Sizes sizes;
    std::array<Plan, 2> plans;
  };

  // Checks that the candidate can run and that it computes the same outputs as the original.
  Result<Acceptance> prepare() {
    for (std::size_t k = 0; k < gate_.runs.shapes.size(); ++k) XFLOW_CHECK(plan(k));
    if (std::ranges::all_of(choices_, [](const Choice& choice) { return choice.plans[0].launches.empty(); }))
      return refused("no part of it can run here");
    is_run_alike_ = std::ranges::all_of(choices_, [](const Choice& choice) { return run_alike(choice.plans[0], choice.plans[1]); });
    if (is_run_alike_) {
      const std::size_t launches = choices_[0].plans[0].launches.size();
      return refused(fmt::format("it is run like the original, by the same {} kernel{}", launches, launches == 1 ? "" : "s"));
    }
    XFLOW_CHECK(find_room());
    for (std::size_t who = 0; who < 2; ++who) {
      const auto id = add(who);
      if (!id) return fail(id.error().code, id.error().text(), who == 0 ? "original" : "candidate");
      ids_[who] = *id;
    }
    // Values drawn in place of nodes that are not run differ between the two graphs, so outputs cannot be
    // compared.
    return report_.gate.share_not_run > 0 ? accepted() : compare();
  }

  Result<void> plan(std::size_t number) {
    if (gate_.limits.is_over()) return fail(ErrorCode::limit, gate_.limits.may_continue().reason);
    XFLOW_TRY(Sizes sizes, choose_fitting_sizes(gate_.arena, gate_.original, gate_.inputs, gate_.runs.shapes[number], gate_.runs.inner));
    const ir::Symbols::Valuation valuation = sizes.valuation();
    cost::CostModel model(gate_.arena, gate_.costs.device(), *gate_.costs.database, valuation, gate_.costs.estimates.get());
    if (progress_) model.on_measure([this](const std::string&) { progress_(); });
    Choice choice{std::move(sizes), {}};
    for (std::size_t who = 0; who < 2; ++who) {
      XFLOW_TRY(const std::vector<cost::CoveredLaunch> cover, model.launches(*graphs_[who]));
      choice.plans[who] = cost::make_plan(gate_.arena, *graphs_[who], cover, valuation);
      report_.gate.share_not_run = std::max(report_.gate.share_not_run, choice.plans[who].share_not_run());
    }
    report_.kernels.measured += model.statistics().measured;
    report_.kernels.time += Seconds(model.statistics().measured_seconds);
    gate_.costs.database->flush();
    labels_.push_back(gate_.runs.label(gate_.arena, gate_.inputs, number, choice.sizes));
    choices_.push_back(std::move(choice));
    return {};
  }

  // Computes the bytes per program so that all programs and the values of inputs and outputs fit into the
  // memory that the run may use.
  Result<void> find_room() {
    if (!runner_.is_in_memory()) return {};
    constexpr double kTogether = 3;  // programs per choice: three exist during a further set-up
    double values = 0;
    for (const Choice& choice : choices_) values = std::max(values, bytes_of_values(choice));
    const double room = std::min(static_cast<double>(machine_bytes()) / 2, static_cast<double>(gate_.limits.bytes_left())) - values;
    program_bytes_ = room / (kTogether * static_cast<double>(choices_.size()));
    if (room > 0) return {};
    return fail(ErrorCode::limit, fmt::format("its inputs and outputs take {:.0f} MiB, more than may be used", values / (1 << 20)));
  }

  // Bytes of the inputs while they are drawn, or of the outputs while they are compared: all of them, and
  // one of them in double.
  double bytes_of_values(const Choice& choice) const {
    constexpr double kInDouble = 3 * sizeof(double);
    constexpr double kRuns = 4;  // original twice, candidate, original on perturbed inputs
    const ir::Symbols::Valuation valuation = choice.sizes.valuation();
    const auto count = [&](const ir::TensorType& type) {
      double elements = 1;
      for (const ir::Poly& dim : type.shape) elements *= static_cast<double>(gate_.arena.symbols().evaluate(dim, valuation).value_or(0));
      return elements;
    };
    double inputs = 0;
    double outputs = 0;
    double largest_input = 0;
    double largest_output = 0;
    for (const NamedInput& input : gate_.inputs) {
      const double elements = count(gate_.arena.type(input.value));
      inputs += elements * sizeof(double);
      largest_input = std::max(largest_input, elements);
    }
    for (std::size_t k = 0; k < gate_.outputs.size(); ++k) {
      const ir::TensorType& type = gate_.arena.type(gate_.original.outputs[k]);
      const double elements = count(type);
      outputs += kRuns * elements * static_cast<double>(ir::bits(type.data_type)) / 8;
      largest_output = std::max(largest_output, elements);
    }
    return std::max(inputs + kInDouble * largest_input, outputs + kInDouble * largest_output);
  }

  // Adds the programs of a graph with their inputs written.
  Result<cost::ProgramId> add(std::size_t who) {
    std::vector<cost::SizedPlan> plans;
    plans.reserve(choices_.size());
    for (const Choice& choice : choices_) plans.push_back({&choice.plans[who], choice.sizes.valuation()});
    if (progress_) progress_();
    return runner_.add(gate_.arena, std::move(plans), program_bytes_, [this](cost::GraphProgram& program, std::size_t sizes) {
      if (progress_) progress_();
      return write_inputs(program, {sizes});
    });
  }

  // An input without a given value keeps its default if the default has the sizes of this choice.
  Result<void> write_inputs(cost::GraphProgram& program, RunChoice choice) const {
    const std::size_t number = choice.sizes;
    std::unordered_set<ir::ValueId> read;
    for (const cost::BufferId id : program.plan().inputs) read.insert(program.plan().buffer(id).value);
    std::vector<NamedInput> wanted;
    for (const NamedInput& input : gate_.inputs) {
      if (!read.contains(input.value)) continue;
      const bool given = !gate_.runs.sets.empty() && gate_.runs.sets[number].tensors.contains(std::string(input.name));
      const auto known = gate_.defaults.find(input.value);
      if (given || known == gate_.defaults.end() || !program.write(input.value, known->second)) wanted.push_back(input);
    }
    XFLOW_TRY(const InputSet set, gate_.runs.values(gate_.arena, wanted, number, choices_[number].sizes));
    for (const NamedInput& input : wanted) {
      const eval::Tensor& tensor = set.tensors.at(std::string(input.name));
      if (choice.perturbed) {
        XFLOW_TRY(const eval::Tensor changed, perturbed(tensor, kPerturbationSeed));
        XFLOW_CHECK(program.write(input.value, changed));
      } else {
        XFLOW_CHECK(program.write(input.value, tensor));
      }
    }
    return {};
  }

  Acceptance compare() {
    const auto outputs = [&](cost::ProgramId id, RunChoice choice) -> Result<std::vector<eval::Tensor>> {
      cost::GraphProgram& program = runner_.program(id, choice.sizes);
      if (choice.perturbed) XFLOW_CHECK(write_inputs(program, choice));
      XFLOW_CHECK(program.run_once());
      if (choice.perturbed) XFLOW_CHECK(write_inputs(program, {choice.sizes}));
      std::vector<eval::Tensor> tensors;
      tensors.reserve(gate_.outputs.size());
      for (std::size_t k = 0; k < gate_.outputs.size(); ++k) {
        XFLOW_TRY(eval::Tensor tensor, program.read(k));
        tensors.push_back(std::move(tensor));
      }
      return tensors;
    };
    return compare_outputs(
        outputs, [&](std::size_t k) { return gate_.outputs[k]; }, ids_[0], ids_[1], labels_);
  }

  const DeviceGate& gate_;
  std::array<const ir::Graph*, 2> graphs_;
  const std::function<void()>& progress_;
  OptimizeReport& report_;
  std::vector<Choice> choices_;
  std::vector<std::string> labels_;
  bool is_run_alike_ = false;
  double program_bytes_ = 0;
  cost::GraphRunner& runner_;
  std::array<cost::ProgramId, 2> ids_{};
};

}  // namespace

DeviceJudgement judge_on_device(const DeviceGate& gate, const ir::Graph& candidate, const std::function<void()>& progress,
                                OptimizeReport& report) {
  const std::shared_ptr<cost::GraphRunner> runner = gate.costs.device().graph_runner();
  if (runner == nullptr) return {refused(report.gate.reason = "it could not be run: the device runs no graphs")};
  DeviceJudgement judgement = Judge(gate, *runner, candidate, progress, report).run();
  report.kernels.device_bytes = gate.costs.device().peak_bytes();
  return judgement;
}

}  // namespace xflow::api
