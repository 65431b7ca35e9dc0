// The version of xflow. The build reads it from here.
#pragma once

// The first number of the version.
#define XFLOW_VERSION_MAJOR 0
// The second number of the version.
#define XFLOW_VERSION_MINOR 2
// The third number of the version.
#define XFLOW_VERSION_PATCH 0
// The version as a text.
#define XFLOW_VERSION "0.2.0"
