// Options of the subcommands that derive rules.
#pragma once

#include <xflow/rules.h>

#include <CLI/CLI.hpp>

namespace xflow::cli {

// Adds the options --rounds and --terms.
inline void add_derive_limits(CLI::App& sub, DeriveLimits& limits) {
  sub.add_option("--rounds", limits.rounds, "how often all rules are applied to what was found")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  sub.add_option("--terms", limits.terms, "how many terms a derivation may look at")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
}

}  // namespace xflow::cli
