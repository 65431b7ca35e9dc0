// An ONNX document, or a body of one, as a Model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/folded_shapes.h"
#include "src/onnx/lower/lower.h"
#include "src/optimizer/document_gate.h"
#include "src/optimizer/model.h"
#include "src/optimizer/optimize_bodies.h"
#include "src/optimizer/places.h"
#include "src/validation/sized_model.h"

namespace xflow::api {

// The largest model, in bytes, that is written to memory, where it exists twice.
std::size_t most_bytes_of_copies(const RunLimits& limits);

// Counts the nodes of an edited document that are written exactly as in `original`.
std::uint64_t count_kept(const onnx_io::Document& original, const onnx_io::Document& edited, const onnx_io::GraphEdit& edit);

class DocumentModel final : public Model {
 public:
  // All arguments must outlive the model. `body`: the place of the body if the document is a body of another
  // document, otherwise null.
  DocumentModel(const onnx_io::Document& document, Files files, const BodyPlace* body = nullptr)
      : document_(document), first_(document), files_(std::move(files)), body_(body) {}

  Result<void> lift(const OptimizeOptions& options, const RunLimits& limits, OptimizeReport& report) override;
  Problem problem() override;
  const RunInputs& runs() const override { return sized_->runs(); }
  std::vector<Simplification> simplifications() override;
  Result<void> open_runner(const OptimizeOptions& options, const RunLimits& limits) override;
  bool has_runner() const override { return gate_ != nullptr; }
  void close_runner() override { gate_ = nullptr; }
  void list_steps(const search::Finalist& found, OptimizeReport& report) const override;
  Acceptance lower(const search::Finalist& found) override;
  Acceptance judge(const Problem& problem, const search::Finalist& found, const OptimizeOptions& options,
                   const std::function<void()>& progress, OptimizeReport& report) override;
  std::uint64_t graph_number() const override { return body_ == nullptr ? 0 : onnx_io::index(body_->graph); }
  bool refine(const Problem& problem, const search::Finalist& found, const RunLimits& limits, const std::function<void()>& progress,
              OptimizeReport& report) override;
  Acceptance lower_with_shapes(const search::Finalist& found) override;
  Acceptance accept_size(const OptimizeReport& report) const override;
  Acceptance accept_gain(const OptimizeReport& report, std::span<const Simplification> simplifications) const override;
  std::string why_not_run(const OptimizeOptions& options) const override;
  void count_nodes(const search::Finalist& found, std::span<const Simplification> simplifications, OptimizeReport& report) const override;
  std::unique_ptr<Model> next(const RunLimits& limits) override;

  // The result of the last lower(). Its edits apply to the document of take_document(), or to the original
  // document if that is null.
  onnx_io::LoweredModel take_lowered() { return *std::move(lowered_); }
  std::unique_ptr<const onnx_io::Document> take_document() { return std::move(owned_); }

 private:
  // The model of a later round: owns `document`, the result of the earlier round; `first` is the document of
  // the first round.
  DocumentModel(std::unique_ptr<const onnx_io::Document> document, const onnx_io::Document& first, Files files)
      : owned_(std::move(document)), document_(*owned_), first_(first), files_(std::move(files)) {}

  Result<ir::Constant> fold(ir::ValueId value);
  Result<onnx_io::LoweredModel> lowered(const search::Finalist& found, bool declare);
  std::uint64_t nodes_after() const { return lowered_->kept_nodes + lowered_->renamed_nodes + lowered_->new_nodes; }
  const onnx_io::LiftedModel& model() const { return sized_->model(); }

  std::unique_ptr<const onnx_io::Document> owned_;
  const onnx_io::Document& document_;
  const onnx_io::Document& first_;  // the document of the first round
  Files files_;
  const BodyPlace* body_ = nullptr;
  const RunLimits* limits_ = nullptr;
  std::unique_ptr<SizedModel> sized_;
  onnx_io::FoldedShapes folds_;
  std::vector<Simplification> simplifications_;
  std::optional<Places> places_;
  std::map<ir::ValueId, ir::Constant> folded_;
  std::unique_ptr<RunnerGate> gate_;
  std::optional<onnx_io::LoweredModel> lowered_;
};

}  // namespace xflow::api
