// Marks what the shim's common library offers to the two others; everything else is hidden.
#pragma once

#define COMPAT_EXPORT __attribute__((visibility("default")))
