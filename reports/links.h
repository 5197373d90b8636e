// From a place in a suite's source to a link that works, checked against the source itself. Not
// here: what is linked (model.cc), how a link is written down (the renderers).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::reports {

// Where links may lead, best first: `base`; the forge of `remote` at `commit`; copies of the linked
// files under `copies`, made as they are linked.
struct LinkSource {
    std::filesystem::path root;  // the suite's source
    std::string base;            // "https://…/{commit}/{path}#L{line}"; empty: none
    std::string remote;          // git remote, in any of git's forms; empty: none
    std::string commit;          // empty: none
    bool dirty = false;  // the source differs from `commit`: the forge's lines would not be ours
    std::filesystem::path copies;         // folder of the copies: "<run folder>/source"
    std::filesystem::path report_folder;  // relative links start here
};

// A forge's permanent link for GitHub, GitLab and Gitea (Forgejo, Codeberg) remotes, with {path}
// and {line} left open; empty for a host of another kind. A password in the remote is left out.
[[nodiscard]] std::string forge_template(std::string_view remote, std::string_view commit);

// Reads each linked file once, to count its lines.
class LinkResolver {
  public:
    explicit LinkResolver(LinkSource source);

    // The link for `place`, or empty where the file is not under the root or has no such line. Line
    // 0 links to the file as a whole. Each call is counted.
    [[nodiscard]] std::string resolve(const parsers::Location& place);

    // The next two are not counted. `file` as shown to people: relative to the root where it is
    // under it, else as it is.
    [[nodiscard]] std::string shown(const std::string& file);
    // True where `file` belongs to the suite.
    [[nodiscard]] bool in_suite(const std::string& file);

    [[nodiscard]] std::int64_t total() const { return total_; }
    [[nodiscard]] std::int64_t unresolved() const { return unresolved_; }

  private:
    struct Target {
        bool in_suite = false;
        std::string shown;
        std::filesystem::path relative;     // to the root
        std::optional<std::int64_t> lines;  // empty: not looked for; -1: no such file
        std::string path;                   // what a link says, percent-encoded
    };
    const Target& target(const std::string& file);
    std::filesystem::path relative_to_root(const std::filesystem::path& file) const;
    // Reads the file that links lead to; makes its copy where links lead to copies.
    std::int64_t lines_of(const std::filesystem::path& relative) const;

    LinkSource source_;
    std::filesystem::path canonical_root_;
    std::string template_;          // with {path} and {line}
    bool copied_ = false;           // links lead to copies
    std::filesystem::path prefix_;  // of the root in its git work tree, for a forge's links
    std::map<std::string, Target> targets_;
    std::int64_t total_ = 0;
    std::int64_t unresolved_ = 0;
};

// A path as part of a URL.
[[nodiscard]] std::string percent_encoded(std::string_view path);

}  // namespace compat::reports
