#include "runner/base/error.h"

namespace compat {

std::string to_line(const Error& error) {
    std::string line;
    if (!error.where.empty()) line = error.where + ": ";
    line += error.message;
    if (!error.advice.empty()) line += ": " + error.advice;
    for (char& c : line)
        if (c == '\n') c = ' ';
    return line;
}

}  // namespace compat
