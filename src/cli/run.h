// The program without its main.
#pragma once

namespace xflow::cli {

inline constexpr int kCannot = 3;  // ExitCode::cannot

// What main returns. Throws what the standard library does where there is no memory.
int run(int argc, char** argv);

}  // namespace xflow::cli
