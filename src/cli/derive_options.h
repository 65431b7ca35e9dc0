// Options of the subcommands that derive rules.
#pragma once

#include <xflow/rules.h>

#include <CLI/CLI.hpp>

namespace xflow::cli {

// Adds the options --rounds and --terms.
inline void add_derive_limits(CLI::App& sub, DeriveLimits& limits) {
  sub.add_option("--rounds", limits.rounds, "number of times that all rules are applied")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  sub.add_option("--terms", limits.terms, "largest number of terms in a derivation")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
}

}  // namespace xflow::cli
