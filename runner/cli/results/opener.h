// The program that shows a file on this desktop. Not for starting it (prepare/tool.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace compat::cli {

// Facts on which the choice depends.
struct Desktop {
    std::string os;                                                    // os_name()
    std::function<std::string(const char* name)> variable;             // empty: not set
    std::function<bool(const std::string& name)> is_program;           // on PATH
    std::function<std::string(const std::string& file)> windows_path;  // of a file, under WSL
};
[[nodiscard]] Desktop this_desktop();

struct Opener {
    std::vector<std::string> argv;  // empty: none
    std::string why_not;            // if it is empty
    bool reports_failure = true;    // by its exit code
};

// $BROWSER before all others: "firefox", "firefox --new-tab %s", or several with ":" between them,
// of which the first that is installed. Then the system's own. None over SSH and without a display.
[[nodiscard]] Opener opener_of(const Desktop& desktop, const std::string& file,
                               const std::string& url);

}  // namespace compat::cli
