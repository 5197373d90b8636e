// The house as its own text has it: the files of a room, and the arrows between the libraries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <ranges>
#include <regex>

#include "runner/base/files.h"
#include "tests/docs/tables.h"
#include "tests/paths.h"

namespace compat::docs {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kQuotes = R"(""")";

// Python: the docstring, which comments may precede.
std::string first_comment(const fs::path& file) {
    const std::string text = read_file(file).value();
    const bool is_python = file.extension() == ".py";
    std::string comment;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        if (is_python && line.starts_with(kQuotes)) {
            const size_t begin = at + kQuotes.size();
            return text.substr(begin, text.find(kQuotes, begin) - begin);
        }
        if (is_python ? !line.empty() && line.front() != '#' : !line.starts_with("//")) break;
        if (!is_python) comment += fmt::format("{} ", line.substr(2));
        at = end + 1;
    }
    return comment;
}

// Without the full stop; empty: there is none.
std::string first_sentence(const std::string& text) {
    static const std::regex blanks("\\s+");
    std::string line = std::regex_replace(text, blanks, " ") + " ";
    line.erase(0, line.find_first_not_of(' '));
    const size_t end = line.find(". ");
    return end == std::string::npos ? "" : line.substr(0, end);
}

// As text of a table's cell.
std::string escaped(const std::string& sentence) {
    std::string cell;
    bool is_code = false;
    for (const char c : sentence) {
        is_code ^= c == '`';
        if (c == '|' || (!is_code && (c == '<' || c == '*'))) cell += '\\';
        cell += c;
    }
    return cell;
}

// A header speaks for the source beside it.
bool is_listed(const fs::path& file) {
    constexpr std::array<std::string_view, 5> kSuffixes{".h", ".cc", ".py", ".ts", ".tsx"};
    if (std::ranges::find(kSuffixes, file.extension()) == kSuffixes.end()) return false;
    return file.extension() != ".cc" || !fs::exists(fs::path(file).replace_extension(".h"));
}

// A shipped suite.
bool is_data(const fs::path& folder) { return fs::exists(folder / "suite.json"); }

using Arrows = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> all_matches(const std::string& text, const std::regex& pattern) {
    std::vector<std::string> found;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), pattern);
         at != std::sregex_iterator(); ++at)
        found.push_back((*at)[1]);
    return found;
}

// The libraries that each library links, from its CMakeLists.txt.
Arrows linked_libraries() {
    static const std::regex library("compat_library\\(\\s*(\\w+)([^)]*)\\)");
    static const std::regex linked("compat::(\\w+)");
    Arrows arrows;
    for (const char* top : {"runner", "parsers", "reports", "suites"})
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(COMPAT_SOURCE_DIR) / top)) {
            std::smatch found;
            if (entry.path().filename() != "CMakeLists.txt") continue;
            const std::string text = read_file(entry.path()).value();
            if (std::regex_search(text, found, library))
                arrows[found[1]] = all_matches(found[2], linked);
        }
    for (const auto& [name, to] : Arrows(arrows))
        for (const std::string& other : to) arrows[other];
    return arrows;
}

// The longest way down to a library that links none.
size_t height_of(const std::string& library, const Arrows& arrows) {
    size_t height = 0;
    for (const std::string& below : arrows.at(library))
        height = std::max(height, 1 + height_of(below, arrows));
    return height;
}

bool reaches(const std::string& from, const std::string& to, const Arrows& arrows) {
    return from == to || std::ranges::any_of(arrows.at(from), [&](const std::string& next) {
               return reaches(next, to, arrows);
           });
}

}  // namespace

Rows files_of(const std::string& folder, const std::vector<std::string>& other_rooms) {
    const fs::path root = fs::path(COMPAT_SOURCE_DIR);
    std::vector<fs::path> files;
    for (auto at = fs::recursive_directory_iterator(root / folder);
         at != fs::recursive_directory_iterator(); ++at) {
        const std::string name = fs::relative(at->path(), root).string();
        if (at->is_directory() &&
            (std::ranges::find(other_rooms, name) != other_rooms.end() || is_data(at->path())))
            at.disable_recursion_pending();
        else if (is_listed(at->path()))
            files.push_back(fs::relative(at->path(), root / folder));
    }
    std::ranges::sort(files, {}, [](const fs::path& file) {
        return std::pair(file.parent_path().string(), file.filename().string());
    });
    Rows rows;
    for (const fs::path& file : files)
        rows.push_back(
            {code(file.string()), escaped(first_sentence(first_comment(root / folder / file)))});
    return rows;
}

std::string arrows_drawn() {
    const Arrows arrows = linked_libraries();
    std::map<size_t, std::string, std::greater<>> layers;
    for (const auto& [from, to] : arrows) {
        std::vector<std::string> direct;  // what no other arrow leads to
        std::ranges::copy_if(to, std::back_inserter(direct), [&](const std::string& below) {
            return std::ranges::none_of(to, [&](const std::string& other) {
                return other != below && reaches(other, below, arrows);
            });
        });
        std::ranges::sort(direct);
        if (!direct.empty())
            layers[height_of(from, arrows)] +=
                fmt::format("    {:<8} --> {}\n", from, fmt::join(direct, " & "));
    }
    return fmt::format("```mermaid\ngraph TD\n{}```\n",
                       fmt::join(std::views::values(layers), "\n"));
}

}  // namespace compat::docs
