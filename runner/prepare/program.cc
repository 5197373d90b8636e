#include "runner/prepare/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace compat::prepare {

namespace {

// The kernel reads 256 bytes; the two-line form of pip may be longer.
constexpr std::streamsize kHeadBytes = 4096;
constexpr std::string_view kBlanks = " \t\r";
// "python3.13t" is a Python; "python-config" and "pythonista" are not.
constexpr std::array<std::string_view, 2> kStems{"python", "pypy"};
constexpr std::array<std::string_view, 5> kEndings{"", "d", "t", "w", "-dbg"};

bool is_python_name(const fs::path& path) {
    const std::string name = path.filename();
    for (const auto stem : kStems) {
        if (!name.starts_with(stem)) continue;
        const size_t end = name.find_first_not_of("0123456789.", stem.size());
        const std::string ending = end == std::string::npos ? "" : name.substr(end);
        if (std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end()) return true;
    }
    return false;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// Removes and returns the first word of `text`, without its quotes.
std::string take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return {};
    const char first = text.front();
    const bool quoted = first == '"' || first == '\'';
    if (quoted) text.remove_prefix(1);
    const size_t end =
        std::min(quoted ? text.find(first) : text.find_first_of(kBlanks), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

// The program that env(1) starts: the first word that is neither an option nor NAME=VALUE.
std::string started_by_env(std::string_view words) {
    for (std::string word = take_word(words); !word.empty(); word = take_word(words))
        if (!word.starts_with('-') && word.find('=') == std::string::npos) return word;
    return {};
}

std::string head_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string head(static_cast<size_t>(kHeadBytes), '\0');
    stream.read(head.data(), kHeadBytes);
    head.resize(static_cast<size_t>(std::max<std::streamsize>(0, stream.gcount())));
    return head;
}

// Empty: not found.
fs::path look_up(const std::string& name, std::string_view search_path) {
    std::error_code error;
    while (!name.empty()) {
        const size_t colon = search_path.find(':');
        // As in a shell, an empty entry is the current folder.
        const fs::path folder(colon == 0 || search_path.empty() ? "."
                                                                : search_path.substr(0, colon));
        const fs::path file = folder / name;
        if (fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0) return file;
        if (colon == std::string_view::npos) break;
        search_path.remove_prefix(colon + 1);
    }
    return {};
}

fs::path found(const std::string& word, std::string_view search_path) {
    if (word.find('/') == std::string::npos) return look_up(word, search_path);
    std::error_code error;
    return fs::exists(word, error) ? fs::path(word) : fs::path();
}

}  // namespace

Expected<fs::path> find_command(const std::string& word, std::string_view search_path) {
    std::error_code error;
    const fs::path file = found(word, search_path);
    if (file.empty() && word.find('/') != std::string::npos)
        return fail(ErrorKind::usage, "no such program", "check the path", word);
    if (file.empty())
        return fail(ErrorKind::usage, fmt::format("no program {} on the PATH", word),
                    fs::exists(word, error)
                        ? fmt::format("write ./{} for the file in this folder", word)
                        : "check the spelling or give a path");
    if (fs::is_directory(file, error))
        return fail(ErrorKind::usage, "not a program but a folder", "name a file in it", word);
    const std::string head = head_of(file);
    if (std::string_view line = head; line.starts_with("#!")) {
        line = first_line(line.substr(2));
        const std::string interpreter = take_word(line);
        if (!fs::exists(interpreter, error))
            return fail(ErrorKind::usage,
                        fmt::format("its first line names {}, which does not exist", interpreter),
                        "fix that line or start the file with its interpreter", file.string());
    }
    return file;
}

std::string interpreter_named_in(std::string_view head) {
    constexpr std::string_view kExec = "'''exec' ";
    if (!head.starts_with("#!")) return {};
    std::string_view line = first_line(head.substr(2));
    const std::string interpreter = take_word(line);
    if (fs::path(interpreter).filename() == "env") return started_by_env(line);
    const size_t second = head.find('\n');
    if (second != std::string_view::npos && head.substr(second + 1).starts_with(kExec)) {
        std::string_view rest = first_line(head.substr(second + 1 + kExec.size()));
        return take_word(rest);
    }
    return interpreter;
}

fs::path python_of(const fs::path& program, std::string_view search_path,
                   const std::string& virtual_env) {
    std::error_code error;
    if (is_python_name(program)) return program;
    if (const auto named = found(interpreter_named_in(head_of(program)), search_path);
        is_python_name(named))
        return named;
    if (is_python_name(fs::canonical(program, error))) return program;
    if (!virtual_env.empty())
        if (const fs::path python = fs::path(virtual_env) / "bin" / "python";
            fs::exists(python, error))
            return python;
    const auto python = look_up("python", search_path);
    return python.empty() ? look_up("python3", search_path) : python;
}

}  // namespace compat::prepare
