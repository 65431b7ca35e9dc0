// Plans that are drawn from the scores of GO.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/ordered_step.h"
#include "src/parallel/random_numbers.h"
#include "src/policy/go_network.h"
#include "src/policy/go_plan_view.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// What GO plans; the rest of a plan stays as it is.
struct GoHeads {
  bool places = true;
  bool orders = true;
  bool fusions = true;
};

// Probabilities of choices, a row for each node of a plan. A node that is fused has one device and order,
// and one without a choice of fusion is not fused.
struct GoProbabilities {
  Matrix places;   // a column for each device
  Matrix orders;   // kGoOrderCount columns
  Matrix fusions;  // kGoFusionCount columns
};

// The choices of all nodes of a plan.
struct GoChoices {
  std::vector<std::uint32_t> devices;
  std::vector<std::uint8_t> orders;
  std::vector<std::uint8_t> fusions;
  std::vector<bool> segments;  // those whose nodes may change
};

// Probabilities of nodes that keep what they have.
GoProbabilities kept_probabilities(const GoPlanView& view);

// Sets the rows of a segment to the softmax of scores divided by the temperature.
void set_probabilities(const GoPlanView& view, const GoSegment& segment, const GoScores& scores, const GoHeads& heads, double temperature,
                       GoProbabilities& probabilities);

// The probabilities of all nodes: calls of the network for one segment after the other.
GoProbabilities go_probabilities(const GoPlanView& view, GoNetwork& network, const GoHeads& heads, double temperature);

// Multiplies the odds of changes, against keeping what a node has, by one factor, so that so many nodes
// change their device, order or fusion on average. It is less than 1 if they would be more. The number is
// above 0. Returns the factor.
double set_change_count(const GoPlanView& view, double count, GoProbabilities& probabilities);
// Multiplies them by a factor, for nodes of a segment.
void scale_changes(const GoPlanView& view, std::uint32_t segment, double factor, GoProbabilities& probabilities);

// Choices of nodes in segments; others keep what they have in the plan of the view.
GoChoices draw_choices(const GoPlanView& view, const GoProbabilities& probabilities, std::span<const std::uint32_t> segments,
                       parallel::RandomNumbers& random);
// The most probable choices of all nodes.
GoChoices likeliest_choices(const GoPlanView& view, const GoProbabilities& probabilities);

// Makes the choices in a plan that differ from the plan of the view, which the choices were drawn for. Nodes
// that are fused get the device and the priority of their root.
void apply_choices(const GoPlanView& view, const GoChoices& choices, parallel::OrderedPlan& plan);

}  // namespace xflow::policy
