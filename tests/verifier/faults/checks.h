// What the verifier with a broken step is confronted with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/verifier/faults.h"

namespace xflow::verifier {

// Breaks one step from now on, or none, in every thread.
void break_step(std::optional<Fault> fault);

struct Check {
  std::string name;                  // "proved/NAME" of a rule, "claim/NAME" of a claim made by hand, ...
  std::function<std::string()> run;  // what is wrong; empty: nothing
};

// Claims about a few terms and their certificates, made by hand: false ones that the checker has to reject, each for one reason alone, and
// true ones that it has to accept.
std::vector<Check> claims();
// Demands and what is said to cover them.
std::vector<Check> demand_claims();
// Pairs of sums whose normal forms have to be the same, or must not be.
std::vector<Check> forms();
// Pairs of sums that the search has to find equal as they stand.
std::vector<Check> searches();
// Questions to the solver and to ranges; records that were changed and have to be rejected for one reason alone; rules with what is said.
std::vector<Check> units();
// The rules of tests/verifier that have to be proved or refuted, and what the steps say of them one by one.
std::vector<Check> rule_checks();

}  // namespace xflow::verifier
