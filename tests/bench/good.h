// The value of what must succeed in a benchmark; else prints the error and ends the program.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "runner/base/error.h"

namespace compat::bench {

template <class T>
T good(Expected<T> value) {
    if (!value) {
        fmt::print(stderr, "{}\n", to_line(value.error()));
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*value);
}

}  // namespace compat::bench
