// Links places in a suite's source and checks that they exist. Not for which places are linked
// (model.cc) nor for the link's format (the renderers).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "runner/base/files/fs.h"

namespace compat::reports {

// Targets of links, best first: `base`; the forge of `remote` at `commit`; copies of the linked
// files under `copies`, made on demand.
struct LinkSource {
    fs::path root;                 // the suite's source
    std::string base;              // "https://…/{commit}/{path}#L{line}"; empty: none
    std::string remote;            // git remote, in any of git's forms; empty: none
    std::string commit;            // empty: none
    bool dirty = false;            // the source differs from `commit`, so the forge's lines may too
    fs::path copies;               // folder of the copies: "<run folder>/source"
    fs::path report_folder;        // relative links start here
    // False: makes no copies; places that no copy has yet get no link.
    bool may_copy = true;
};

// A permanent link on GitHub, GitLab or Gitea (Forgejo, Codeberg) with placeholders {path} and
// {line}; empty for other hosts. Leaves out a password of the remote.
[[nodiscard]] std::string forge_template(std::string_view remote, std::string_view commit);

// Reads each linked file once, to count its lines.
class LinkResolver {
  public:
    explicit LinkResolver(LinkSource source);

    // The link for `place`; empty if the file is not under the root, lacks the line or would have
    // to be copied and may not. Line 0 links to the whole file.
    [[nodiscard]] std::string resolve(const parsers::Location& place);
    // `file` as reports show it: relative to the root if it is under it.
    [[nodiscard]] std::string shown(const std::string& file);
    // Whether `file` is under the root.
    [[nodiscard]] bool in_suite(const std::string& file);

    // Adds the link for `place` to the totals. Does nothing if no source is known. A line that only
    // lacks its copy is not unresolved.
    void count(const parsers::Location& place);
    [[nodiscard]] std::int64_t total() const { return total_; }
    [[nodiscard]] std::int64_t unresolved() const { return unresolved_; }

    // Empty unless links lead to copies: how those links begin, as "source/".
    [[nodiscard]] std::string copies_prefix() const;
    // The copies that links lead to, relative to the root, sorted.
    [[nodiscard]] std::vector<fs::path> copied() const;

  private:
    struct Target {
        bool in_suite = false;
        std::string shown;
        fs::path relative;                  // to the root
        std::optional<std::int64_t> lines;  // empty: not read yet; -1: no such file
        bool has_target = false;            // once `lines` is read: links have a file to lead to
        std::string path;                   // in links, percent-encoded
    };
    Target& target(const std::string& file);
    // Null if `place` is no line of the suite.
    const Target* existing(const parsers::Location& place);
    fs::path relative_to_root(const fs::path& file) const;
    // Counts the target's lines; first copies it if links lead to copies.
    void read(Target& target) const;

    LinkSource source_;
    fs::path canonical_root_;
    std::string template_;          // with {path} and {line}
    bool copied_ = false;           // links lead to copies
    fs::path prefix_;               // of the root in its git work tree, for a forge's links
    std::map<std::string, Target> targets_;
    std::int64_t total_ = 0;
    std::int64_t unresolved_ = 0;
};

// The file of a frame if it lies, links followed, below the project's `root` in no hidden folder,
// or in an installed package; else empty. Tests choose the names of frames: nothing else is opened.
[[nodiscard]] fs::path source_of_frame(const fs::path& root, const std::string& file);

// A path as part of a URL.
[[nodiscard]] std::string percent_encoded(std::string_view path);

}  // namespace compat::reports
