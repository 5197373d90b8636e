#include "runner/archive/log_excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>

#include "parsers/text.h"
#include "runner/base/line_reader.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"

namespace compat::archive {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLineBytes = 4096;
constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kRule = 3;  // characters that make a rule

// As frameworks write it: "Class.test[x]" (in "tests.test_a.Class.test[x]", too) or the id.
std::vector<std::string> spellings(std::string_view id) {
    if (const auto repeat = id.rfind('#');
        repeat != id.npos && repeat + 1 < id.size() &&
        std::all_of(id.begin() + static_cast<long>(repeat) + 1, id.end(),
                    [](unsigned char c) { return std::isdigit(c) != 0; }))
        id = id.substr(0, repeat);
    const auto colons = id.find("::");
    std::vector<std::string> names{std::string(id)};
    if (colons == id.npos || id.substr(colons + 2).starts_with('<')) return names;
    std::string dotted(id.substr(colons + 2));
    const auto end_of_name = dotted.find('[');  // parameters may hold colons
    for (auto at = dotted.find("::"); at < end_of_name && at != std::string::npos;
         at = dotted.find("::", at))
        dotted.replace(at, 2, ".");
    names.push_back(std::move(dotted));
    return names;
}

bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '[' || c == '/';
}

bool names_test(std::string_view line, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        for (auto at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
            const auto after = at + name.size();
            if ((at == 0 || !continues_name(line[at - 1])) &&
                (after == line.size() || !continues_name(line[after])))
                return true;
        }
    return false;
}

// The character of a rule that the line is, or begins with; 0: none.
char rule_of(std::string_view line) {
    if (line.empty() || std::string_view("=-_*#~").find(line[0]) == std::string_view::npos)
        return 0;
    const auto end = std::min(line.find_first_not_of(line[0]), line.size());
    return end >= kRule ? line[0] : '\0';
}

bool is_bare_rule(std::string_view line) {
    return rule_of(line) != 0 && line.find_first_not_of(line[0]) == std::string_view::npos;
}

// The first and last lines of a passage of any length.
class Passage {
  public:
    explicit Passage(std::size_t most) : first_(most / 3), last_(most - most / 3) {}

    void add(std::string_view line) {
        if (head_.size() < first_) return head_.emplace_back(line), void();
        tail_.emplace_back(line);
        if (tail_.size() <= last_) return;
        tail_.pop_front();
        ++left_out_;
    }
    template <class Clean>
    [[nodiscard]] std::vector<std::string> lines(Clean clean) const {
        std::vector<std::string> lines;
        for (const auto& line : head_) lines.push_back(clean(line));
        if (left_out_ > 0)
            lines.push_back(fmt::format("… {} …", counted(static_cast<long>(left_out_), "line")));
        for (const auto& line : tail_) lines.push_back(clean(line));
        while (!lines.empty() && lines.back().empty()) lines.pop_back();
        return lines;
    }

  private:
    std::size_t first_, last_;
    std::deque<std::string> head_, tail_;
    std::uint64_t left_out_ = 0;
};

// Takes the lines of a log in order.
class Search {
  public:
    Search(std::string_view test, std::size_t lines)
        : names_(spellings(test)), most_(lines), passage_(lines), up_to_last_name_(lines) {}

    void see(std::string_view raw) {
        std::string plain;
        std::string_view line = raw;
        if (raw.find('\x1b') != raw.npos) line = plain = parsers::without_ansi(raw);
        const char rule = rule_of(line);
        if (heading_rule_ != 0 && (rule == heading_rule_ || rule == '=')) done_ = true;
        if (done_) return;
        ++number_;
        keep_in_end(raw);
        const bool names = names_test(line, names_);
        if (names && heading_rule_ == 0 && (rule != 0 || rule_before_ != 0)) {
            heading_rule_ = rule != 0 ? rule : rule_before_;
            passage_ = Passage(most_);
            first_line_ = 0;
        }
        if (names && first_line_ == 0) first_line_ = number_;
        if (first_line_ != 0) passage_.add(raw);
        if (names && ++names_seen_ > 1) up_to_last_name_ = passage_;
        rule_before_ = is_bare_rule(line) ? rule : '\0';
    }
    // The passage is complete.
    [[nodiscard]] bool done() const { return done_; }

    template <class Clean>
    [[nodiscard]] LogExcerpt result(Clean clean) const {
        if (first_line_ != 0) {
            const bool whole = heading_rule_ != 0 || names_seen_ == 1;
            return {(whole ? passage_ : up_to_last_name_).lines(clean), first_line_, true};
        }
        LogExcerpt excerpt;
        for (const auto& line : end_) excerpt.lines.push_back(clean(line));
        if (!end_.empty()) excerpt.first_line = number_ - end_.size() + 1;
        return excerpt;
    }

  private:
    // Most lines of a log pass here: their memory is used again.
    void keep_in_end(std::string_view raw) {
        std::string line;
        if (end_.size() >= most_ && !end_.empty()) {
            line = std::move(end_.front());
            end_.pop_front();
        }
        line.assign(raw);
        end_.push_back(std::move(line));
    }

    std::vector<std::string> names_;
    std::size_t most_;
    Passage passage_, up_to_last_name_;
    std::deque<std::string> end_;
    std::uint64_t number_ = 0, first_line_ = 0, names_seen_ = 0;
    bool done_ = false;
    char rule_before_ = 0;   // of the line before, if it is nothing but a rule
    char heading_rule_ = 0;  // of the test's heading; 0: none was seen
};

// What a terminal would have shown of it: a progress bar writes over its line.
std::string cleaned(std::string_view line, const std::vector<std::string>& secrets) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto over = line.rfind('\r'); over != line.npos) line.remove_prefix(over + 1);
    std::string text;
    for (const char c : parsers::valid_utf8(parsers::without_ansi(line)))
        text += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    return printable(mask_secrets(text, secrets));
}

bool leaves_folder(const fs::path& name) {
    const fs::path normal = name.lexically_normal();
    return name.empty() || normal.is_absolute() || *normal.begin() == "..";
}

}  // namespace

Expected<LogExcerpt> log_excerpt(const fs::path& folder, const std::string& log,
                                 std::string_view test, const ExcerptOptions& options) {
    if (leaves_folder(log))
        return fail(ErrorKind::usage, fmt::format("\"{}\" is no file of the run", log),
                    "name a log as the run's reports name it", folder.string());
    Search search(test, options.lines);
    LineReader reader(folder / log, {kLineBytes, kReadBytes});
    const auto see = [&](const Line& line) { search.see(line.text); };
    for (bool more = true; more && !search.done();) {
        const auto read = reader.read(see);
        if (!read) return tl::unexpected(read.error());
        more = *read;
    }
    if (!search.done()) reader.finish(see);
    return search.result([&](std::string_view line) { return cleaned(line, options.secrets); });
}

}  // namespace compat::archive
