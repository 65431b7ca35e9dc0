// The program without its main.
#pragma once

namespace xflow::cli {

// What main returns.
int run(int argc, char** argv);

}  // namespace xflow::cli
