// The version of xflow. The build reads it from here.
#pragma once

#define XFLOW_VERSION_MAJOR 0
#define XFLOW_VERSION_MINOR 2
#define XFLOW_VERSION_PATCH 0
#define XFLOW_VERSION "0.2.0"
