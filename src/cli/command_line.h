// The program without main().
#pragma once

namespace xflow::cli {

// Runs the program and returns its exit code.
int run(int argc, char** argv);

}  // namespace xflow::cli
