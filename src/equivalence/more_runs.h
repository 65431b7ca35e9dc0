// Searches inputs on which two models differ, in runs at several sizes.
#pragma once

#include <xflow/error.h>
#include <xflow/verify_models.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/equivalence/two_models.h"
#include "src/eval/compare.h"

namespace xflow::equivalence {

// Inputs on which the models differ.
struct FoundDifference {
  std::string inputs;  // label of the run
  // By output of A; nothing for one that was not computed. At least one does not agree.
  std::vector<std::optional<eval::Comparison>> outputs;
};

// What rounding does to an output of A, as a share of its magnitude.
class Noise {
 public:
  // The error of a run against A's result in double.
  void add(double error, double magnitude);
  // Whether rounding may explain an error of B's result.
  bool explains(double error, double magnitude) const;

 private:
  double share_ = 0;
};

// A model that quantises, or chooses by comparing, may turn the rounding of one number into a large
// difference. Therefore these runs are stricter than the one whose inputs `xflow check` draws: the noise of
// an output is the largest error of A in float, and of A in double on inputs of which each element was
// changed by eight units in the last place, in this drawn run and in those before in which B differed. Where
// such a change makes A differ from itself by more than eval::compare allows, the output refutes nothing.
//
// Every second run has floating-point inputs whose elements are all the same number. Such a run has few
// different numbers to round, so that a quantised model may be without noise. Only the noise of that run
// counts for it, with four changes of the inputs. Integer inputs that A compares with constants are drawn in
// one round over all sizes and have the constants' elements in the next one.
class MoreRuns {
 public:
  // `models`: the two models with open sizes. The arguments must outlive this object.
  MoreRuns(const std::string& a, const std::string& b, const VerifyModelsOptions& options, TwoModels& models, std::function<bool()> stop)
      : a_(a), b_(b), options_(options), models_(models), stop_(std::move(stop)) {}

  // Sizes are numbers in these runs, so that operators whose results have sizes that xflow cannot write
  // with open ones are run, too. Nothing if no run differs, or the time is over.
  std::optional<FoundDifference> find_difference();
  // Why a run of a document (api::run_document) ended without results; empty if none did.
  const std::string& why_not_run() const { return why_not_run_; }

 private:
  // The models with these sizes, which share A's inputs; null if they cannot be read.
  std::unique_ptr<TwoModels> at(const std::vector<InputShape>& sizes) const;
  // The same at each choice of sizes that was not tried before.
  std::vector<std::unique_ptr<TwoModels>> at_each(std::span<const api::OpenSizes> choices);
  // Ends after one run at each choice of sizes if none has results.
  std::optional<FoundDifference> find_difference(const std::vector<std::unique_ptr<TwoModels>>& at_sizes);
  // `same`: the number that all floating-point elements of inputs are; nothing if they are drawn. `choice`:
  // which of its compared_integers an input has; nothing if they are drawn.
  std::optional<FoundDifference> run(TwoModels& models, std::uint64_t seed, std::optional<double> same,
                                     std::optional<std::uint64_t> choice);

  const std::string& a_;
  const std::string& b_;
  const VerifyModelsOptions& options_;
  TwoModels& models_;
  std::function<bool()> stop_;
  std::vector<Noise> drawn_;  // by output, of all runs of drawn inputs
  std::vector<std::vector<InputShape>> tried_;
  bool has_results_ = false;  // of any run
  std::string why_not_run_;
};

}  // namespace xflow::equivalence
