// Compares the version of the torch that we are built against, also for #if. For what torch computes
// or says; a part of its interface is asked for by CMakeLists.txt (compat_torch_has).
#pragma once

#include <torch/version.h>

#define COMPAT_TORCH_BEFORE(major, minor) \
    (TORCH_VERSION_MAJOR < (major) ||     \
     (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR < (minor)))
