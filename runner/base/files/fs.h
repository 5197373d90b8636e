// The standard library's paths and files, by the short name that all use.
#pragma once

#include <filesystem>

namespace compat {
namespace fs = std::filesystem;
}
