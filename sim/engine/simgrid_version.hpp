#pragma once
// SIMGRID_VERSION: major * 10000 + minor * 100 + patch. An #if without it would silently take the old branch.
// The version.h of 3.32 needs base.h before it:
// clang-format off
#include <xbt/base.h>
#include <simgrid/version.h>
// clang-format on
