#include "reports/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "runner/base/files.h"

namespace compat::reports {

namespace {

struct Forge {
    std::string_view host;  // a part of the host's name
    std::string_view path;
};
constexpr std::array<Forge, 5> kForges{{
    {"github", "/blob/{commit}/{path}#L{line}"},
    {"gitlab", "/-/blob/{commit}/{path}#L{line}"},
    {"gitea", "/src/commit/{commit}/{path}#L{line}"},
    {"forgejo", "/src/commit/{commit}/{path}#L{line}"},
    {"codeberg", "/src/commit/{commit}/{path}#L{line}"},
}};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
}

// "https://user:word@host/a/b.git", "ssh://git@host:22/a/b", "git@host:a/b.git" → {"host", "a/b"}.
std::pair<std::string, std::string> host_and_path(std::string_view remote) {
    const size_t scheme = remote.find("://");
    std::string_view rest = scheme == std::string_view::npos ? remote : remote.substr(scheme + 3);
    const size_t end = rest.find(scheme == std::string_view::npos ? ':' : '/');
    if (end == std::string_view::npos) return {};
    std::string_view host = rest.substr(0, end);
    std::string_view path = rest.substr(end + 1);
    if (const size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
    if (remote.starts_with("ssh://") || remote.starts_with("git://"))
        host = host.substr(0, host.find(':'));
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.ends_with(".git")) path.remove_suffix(4);
    while (path.starts_with('/')) path.remove_prefix(1);
    return {std::string(host), std::string(path)};
}

bool is_web(std::string_view url) {
    return url.starts_with("https://") || url.starts_with("http://");
}

// The path of `root` in its git work tree; empty at the top or without a work tree.
fs::path prefix_in_work_tree(const fs::path& root) {
    std::error_code error;
    for (fs::path top = root; top.has_relative_path(); top = top.parent_path())
        if (fs::exists(top / ".git", error)) {
            const fs::path prefix = root.lexically_relative(top);
            return prefix == "." ? fs::path{} : prefix;
        }
    return {};
}

// Line 0: without the fragment that names the line.
std::string filled(std::string text, std::string_view path, int line) {
    const size_t fragment = text.find('#');
    if (line == 0 && fragment != std::string::npos &&
        text.find("{line}", fragment) != std::string::npos)
        text.resize(fragment);
    replace_all(text, "{line}", std::to_string(std::max(line, 1)));
    replace_all(text, "{path}", path);
    return text;
}

// A project's own environment (.venv) lies in its folder, and what is installed there is not its
// code.
bool is_installed(const fs::path& relative) {
    return std::any_of(relative.begin(), relative.end(), [](const fs::path& part) {
        return part == "site-packages" || part == "dist-packages";
    });
}

bool inside(const fs::path& relative) {
    return !relative.empty() && relative != "." && *relative.begin() != ".." &&
           relative.is_relative() && !is_installed(relative);
}

}  // namespace

fs::path source_of_frame(const fs::path& root, const std::string& file) {
    std::error_code error, none;
    const fs::path real = fs::canonical(root / file, error);
    if (error || !fs::is_regular_file(real, none)) return {};
    const fs::path below = real.lexically_relative(fs::canonical(root, none));
    const bool is_hidden = std::any_of(below.begin(), below.end(), [](const fs::path& part) {
        return part.native().starts_with('.');  // and of what is above the root
    });
    return is_installed(real) || !is_hidden ? real : fs::path{};
}

std::string percent_encoded(std::string_view path) {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    std::string out;
    for (const char c : path) {
        if (kPlain.find(c) != std::string_view::npos)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::string forge_template(std::string_view remote, std::string_view commit) {
    const auto [host, path] = host_and_path(remote);
    if (path.empty() || commit.empty()) return {};
    for (const Forge& forge : kForges) {
        if (host.find(forge.host) == std::string::npos) continue;
        std::string text(forge.path);
        replace_all(text, "{commit}", percent_encoded(commit));
        return fmt::format("https://{}/{}{}", host, percent_encoded(path), text);
    }
    return {};
}

LinkResolver::LinkResolver(LinkSource source) : source_(std::move(source)) {
    std::error_code error;
    source_.root = source_.root.lexically_normal();
    canonical_root_ = fs::weakly_canonical(source_.root, error);
    const bool needs_commit = source_.base.find("{commit}") != std::string::npos;
    if (is_web(source_.base) && !(needs_commit && source_.commit.empty())) {
        template_ = source_.base;
        replace_all(template_, "{commit}", percent_encoded(source_.commit));
    } else if (!source_.dirty) {
        template_ = forge_template(source_.remote, source_.commit);
        prefix_ = prefix_in_work_tree(canonical_root_);
    }
    if (!template_.empty()) return;
    copied_ = true;
    template_ = "{path}#L{line}";
    prefix_ = source_.copies.lexically_normal().lexically_relative(
        source_.report_folder.lexically_normal());
}

fs::path LinkResolver::relative_to_root(const fs::path& file) const {
    // "<frozen os>", "<string>": Python's own, and generated code.
    if (source_.root.empty() || file.empty() || file.native().starts_with('<')) return {};
    const fs::path plain = (source_.root / file).lexically_normal();
    if (const fs::path relative = plain.lexically_relative(source_.root); inside(relative))
        return relative;
    // The child may have used another name of the root, as through a symbolic link.
    std::error_code error;
    const fs::path real = fs::weakly_canonical(plain, error);
    const fs::path relative = error ? fs::path{} : real.lexically_relative(canonical_root_);
    return inside(relative) ? relative : fs::path{};
}

void LinkResolver::read(Target& target) const {
    const fs::path original = source_of_frame(source_.root, target.relative);
    const fs::path copy = source_.copies / target.relative;
    // A copy keeps the source of the first report of the run.
    auto text = read_file(copied_ ? copy : original);
    target.lines = -1;
    target.has_target = text.has_value();
    if (!text && copied_) {
        text = read_file(original);
        if (text && source_.may_copy) {
            if (!make_directories(copy.parent_path()) || !write_file(copy, *text)) return;
            target.has_target = true;
        }
    }
    if (!text) return;
    target.lines =
        std::count(text->begin(), text->end(), '\n') + (!text->empty() && text->back() != '\n');
}

LinkResolver::Target& LinkResolver::target(const std::string& file) {
    const auto [place, added] = targets_.try_emplace(file);
    Target& found = place->second;
    if (!added) return found;
    found.relative = relative_to_root(file);
    found.in_suite = !found.relative.empty();
    found.shown = found.in_suite ? found.relative.generic_string() : file;
    if (found.in_suite) found.path = percent_encoded((prefix_ / found.relative).generic_string());
    return found;
}

const LinkResolver::Target* LinkResolver::existing(const parsers::Location& place) {
    Target& found = target(place.file);
    if (!found.in_suite) return nullptr;
    if (!found.lines) read(found);
    const bool exists = *found.lines >= 0 && place.line >= 0 && place.line <= *found.lines;
    return exists ? &found : nullptr;
}

std::string LinkResolver::resolve(const parsers::Location& place) {
    const Target* const found = existing(place);
    return found && found->has_target ? filled(template_, found->path, place.line) : std::string{};
}

void LinkResolver::count(const parsers::Location& place) {
    if (source_.root.empty()) return;
    ++total_;
    if (!existing(place)) ++unresolved_;
}

std::string LinkResolver::copies_prefix() const {
    return copied_ ? percent_encoded((prefix_ / "").generic_string()) : std::string{};
}

std::vector<fs::path> LinkResolver::copied() const {
    std::set<fs::path> files;
    for (const auto& [name, target] : targets_)
        if (copied_ && target.has_target) files.insert(target.relative);
    return {files.begin(), files.end()};
}

std::string LinkResolver::shown(const std::string& file) { return target(file).shown; }

bool LinkResolver::in_suite(const std::string& file) { return target(file).in_suite; }

}  // namespace compat::reports
