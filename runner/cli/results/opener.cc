#include "runner/cli/results/opener.h"

#include <cstdlib>
#include <optional>
#include <sstream>

#include "runner/base/host.h"
#include "runner/prepare/tool.h"

namespace compat::cli {

namespace {

std::vector<std::string> words_of(const std::string& text, char separator) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, separator);)
        if (!word.empty()) words.push_back(word);
    return words;
}

// As Python's webbrowser reads it.
std::optional<std::vector<std::string>> browser_of(const Desktop& desktop, const std::string& url) {
    for (const std::string& one : words_of(desktop.variable("BROWSER"), ':')) {
        std::vector<std::string> argv = words_of(one, ' ');
        if (argv.empty() || !desktop.is_program(argv.front())) continue;
        bool placed = false;
        for (std::string& word : argv)
            if (const auto at = word.find("%s"); at != word.npos) {
                word.replace(at, 2, url);
                placed = true;
            }
        if (!placed) argv.push_back(url);
        return argv;
    }
    return std::nullopt;
}

}  // namespace

Desktop this_desktop() {
    return {os_name(),
            [](const char* name) {
                const char* value = std::getenv(name);
                return std::string(value ? value : "");
            },
            [](const std::string& name) { return !prepare::find_program(name).empty(); },
            [](const std::string& file) {
                auto path = prepare::output_of({{"wslpath", "-w", file}}).value_or("");
                while (path.ends_with('\n') || path.ends_with('\r')) path.pop_back();
                return path;
            }};
}

Opener opener_of(const Desktop& desktop, const std::string& file, const std::string& url) {
    const auto is_set = [&](const char* name) { return !desktop.variable(name).empty(); };
    if (auto browser = browser_of(desktop, url)) return {std::move(*browser), {}};
    if (is_set("SSH_CONNECTION") || is_set("SSH_TTY"))
        return {{}, "this is an SSH session; set BROWSER to open it from here"};
    if (desktop.os.starts_with("macOS")) return {{"open", file}, {}};
    if (is_set("WSL_DISTRO_NAME")) {
        if (desktop.is_program("wslview")) return {{"wslview", file}, {}};
        // It ends with 1 whatever happens.
        if (const auto path = desktop.windows_path(file);
            !path.empty() && desktop.is_program("explorer.exe"))
            return {{"explorer.exe", path}, {}, false};
        return {{}, "neither wslview (package wslu) nor explorer.exe is on PATH"};
    }
    if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
        return {{}, "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"};
    if (desktop.is_program("xdg-open")) return {{"xdg-open", file}, {}};
    return {{}, "xdg-open (package xdg-utils) is not on PATH; install it or set BROWSER"};
}

}  // namespace compat::cli
