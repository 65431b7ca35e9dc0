// All of xflow's public interface.
#pragma once

#include <xflow/devices.h>
#include <xflow/graph.h>
#include <xflow/optimize.h>
#include <xflow/result.h>
#include <xflow/simplify.h>
#include <xflow/version.h>
