// Includes the whole C++ interface of xflow.
#pragma once

#include <xflow/cancel.h>
#include <xflow/check.h>
#include <xflow/context.h>
#include <xflow/data_type.h>
#include <xflow/device.h>
#include <xflow/error.h>
#include <xflow/generate.h>
#include <xflow/graph.h>
#include <xflow/input_shape.h>
#include <xflow/model.h>
#include <xflow/numerics.h>
#include <xflow/optimize.h>
#include <xflow/place.h>
#include <xflow/profile.h>
#include <xflow/report.h>
#include <xflow/rules.h>
#include <xflow/search_strategy.h>
#include <xflow/simplify.h>
#include <xflow/simulate.h>
#include <xflow/text.h>
#include <xflow/time.h>
#include <xflow/trace.h>
#include <xflow/verify.h>
#include <xflow/verify_models.h>
#include <xflow/version.h>
