#include "runner/archive/log_excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <optional>
#include <unordered_map>

#include "parsers/text.h"
#include "runner/base/isolation/source_copy.h"
#include "runner/base/line_reader.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"

namespace compat::archive {

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

// Indexed by a byte of the log.
constexpr std::array<bool, 256> kIsWord = [] {
    std::array<bool, 256> is{};
    for (const char c :
         std::string_view("0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        is[static_cast<unsigned char>(c)] = true;
    return is;
}();
bool is_word(char c) { return kIsWord[static_cast<unsigned char>(c)]; }

bool continues_name(char c) { return is_word(c) || c == '[' || c == '/'; }

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

// A line as the searches see it.
struct LogLine {
    std::string_view raw;
    std::uint64_t number = 0;
    char rule = 0;         // as rule_of
    char rule_before = 0;  // of the line before, if it is nothing but a rule
};

// The last lines of what was read, which all searches share.
class LastLines {
  public:
    explicit LastLines(std::size_t most) : most_(most) {}

    // Most lines of a log pass here: their memory is used again.
    void add(std::string_view raw) {
        std::string line;
        if (lines_.size() >= most_ && !lines_.empty()) {
            line = std::move(lines_.front());
            lines_.pop_front();
        }
        line.assign(raw);
        lines_.push_back(std::move(line));
        ++number_;
    }
    // The last `count` of them.
    void append_to(std::vector<std::string>& to, std::size_t count) const {
        to.insert(to.end(), lines_.end() - static_cast<std::ptrdiff_t>(count), lines_.end());
    }
    [[nodiscard]] std::size_t size() const { return lines_.size(); }
    [[nodiscard]] std::uint64_t number() const { return number_; }

  private:
    std::size_t most_;
    std::deque<std::string> lines_;
    std::uint64_t number_ = 0;  // of the last
};

// The first and last lines of a passage of any length that ends at the last line that was read.
class Passage {
  public:
    explicit Passage(std::size_t most) : first_(most / 3), last_(most - most / 3) {}

    void add(std::string_view line) {
        if (head_.size() < first_) head_.emplace_back(line);
        ++count_;
    }
    [[nodiscard]] std::vector<std::string> lines(const LastLines& read) const {
        std::vector<std::string> lines = head_;
        const std::uint64_t more = count_ - head_.size();
        const std::size_t shown = std::min<std::uint64_t>(more, last_);
        if (more > shown)
            lines.push_back(
                fmt::format("… {} …", counted(static_cast<long>(more - shown), "line")));
        read.append_to(lines, shown);
        return lines;
    }

  private:
    std::size_t first_, last_;
    std::vector<std::string> head_;
    std::uint64_t count_ = 0;
};

// For one test; takes the lines of a log in order.
class Search {
  public:
    Search(const std::vector<std::string>& names, std::size_t lines)
        : names_(names), most_(lines), passage_(lines) {}

    // Before the line is among those that were read.
    void see_end(const LogLine& line, const LastLines& read) {
        if (done_ || heading_rule_ == 0 || (line.rule != heading_rule_ && line.rule != '=')) return;
        done_ = true;
        passage_lines_ = passage_.lines(read);
    }
    // After it. `may_name`: false, if the line names the test in no spelling.
    void see(const LogLine& line, std::string_view plain, bool may_name, const LastLines& read) {
        if (done_ || (first_line_ == 0 && !may_name)) return;
        const bool names = may_name && names_test(plain, names_);
        if (names && heading_rule_ == 0 && (line.rule != 0 || line.rule_before != 0)) {
            heading_rule_ = line.rule != 0 ? line.rule : line.rule_before;
            passage_ = Passage(most_);
            first_line_ = 0;
        }
        if (names && first_line_ == 0) first_line_ = line.number;
        if (first_line_ != 0) passage_.add(line.raw);
        if (names && ++names_seen_ > 1 && heading_rule_ == 0)
            up_to_last_name_ = passage_.lines(read);
    }
    // The passage is complete.
    [[nodiscard]] bool done() const { return done_; }
    [[nodiscard]] bool began() const { return first_line_ != 0; }

    template <class Clean>
    [[nodiscard]] LogExcerpt result(const LastLines& read, Clean clean) const {
        std::vector<std::string> lines = passage_lines_;
        LogExcerpt excerpt{{}, first_line_, first_line_ != 0};
        if (first_line_ == 0) {
            read.append_to(lines, read.size());
            if (read.size() > 0) excerpt.first_line = read.number() - read.size() + 1;
        } else if (!done_) {
            const bool whole = heading_rule_ != 0 || names_seen_ == 1;
            lines = whole ? passage_.lines(read) : up_to_last_name_;
        }
        excerpt.lines = clean(lines);
        while (excerpt.about_test && !excerpt.lines.empty() && excerpt.lines.back().empty())
            excerpt.lines.pop_back();
        return excerpt;
    }

  private:
    const std::vector<std::string>& names_;
    std::size_t most_;
    Passage passage_;
    std::vector<std::string> passage_lines_;    // once it is complete
    std::vector<std::string> up_to_last_name_;  // from the first to the last line that names it
    std::uint64_t first_line_ = 0, names_seen_ = 0;
    bool done_ = false;
    char heading_rule_ = 0;  // of the test's heading; 0: none was seen
};

template <class See>
void each_word(std::string_view text, See see) {
    for (auto begin = std::find_if(text.begin(), text.end(), is_word); begin != text.end();) {
        const auto end = std::find_if_not(begin, text.end(), is_word);
        see(std::string_view(begin, end));
        begin = std::find_if(end, text.end(), is_word);
    }
}

// Which of many tests a line may name. A line that names a test has the longest word of its name.
class TestsByWord {
  public:
    explicit TestsByWord(const std::vector<std::vector<std::string>>& names) {
        for (std::size_t test = 0; test < names.size(); ++test)
            for (const std::string& name : names[test]) {
                std::string_view longest;
                each_word(name, [&](std::string_view word) {
                    if (word.size() > longest.size()) longest = word;
                });
                by_word_[longest].push_back(test);
            }
    }
    // Calls `see` with the number of each such test, perhaps several times.
    template <class See>
    void each_named(std::string_view line, See see) const {
        const auto see_all = [&](std::string_view word) {
            if (const auto found = by_word_.find(word); found != by_word_.end())
                for (const std::size_t test : found->second) see(test);
        };
        see_all({});  // names without words
        each_word(line, see_all);
    }

  private:
    std::unordered_map<std::string_view, std::vector<std::size_t>> by_word_;
};

// For all tests of a log.
class Searches {
  public:
    Searches(const std::vector<std::string>& tests, std::size_t lines) : read_(lines) {
        for (const std::string& test : tests) names_.push_back(spellings(test));
        for (const auto& names : names_) searches_.emplace_back(names, lines);
        if (tests.size() > 1) words_.emplace(names_);
        named_in_.resize(tests.size());
    }

    void see(std::string_view raw) {
        std::string cleared;
        std::string_view plain = raw;
        if (raw.find('\x1b') != raw.npos) plain = cleared = parsers::without_ansi(raw);
        const LogLine line{raw, read_.number() + 1, rule_of(plain), rule_before_};
        if (line.rule != 0) {
            for (const std::size_t test : open_) searches_[test].see_end(line, read_);
            done_ += std::erase_if(open_, [&](std::size_t test) { return searches_[test].done(); });
        }
        read_.add(raw);
        const auto see_named = [&](std::size_t test) {
            if (named_in_[test] == line.number) return;
            named_in_[test] = line.number;
            const bool had_begun = searches_[test].began();
            searches_[test].see(line, plain, true, read_);
            if (!had_begun && searches_[test].began()) open_.push_back(test);
        };
        if (words_)
            words_->each_named(plain, see_named);
        else if (!searches_.empty())
            see_named(0);
        for (const std::size_t test : open_)
            if (named_in_[test] != line.number) searches_[test].see(line, plain, false, read_);
        rule_before_ = is_bare_rule(plain) ? line.rule : '\0';
    }
    [[nodiscard]] bool done() const { return done_ == searches_.size(); }
    template <class Clean>
    [[nodiscard]] std::vector<LogExcerpt> results(Clean clean) const {
        std::vector<LogExcerpt> results;
        for (const Search& search : searches_) results.push_back(search.result(read_, clean));
        return results;
    }

  private:
    LastLines read_;
    std::vector<std::vector<std::string>> names_;  // by test
    std::vector<Search> searches_;
    std::optional<TestsByWord> words_;
    std::vector<std::size_t> open_;        // the searches that have begun and are not done
    std::vector<std::uint64_t> named_in_;  // by test: the last line that may name it; 0: none
    std::size_t done_ = 0;
    char rule_before_ = 0;
};

// The text that a terminal would have shown: a progress bar writes over its line.
std::string shown(std::string_view line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto over = line.rfind('\r'); over != line.npos) line.remove_prefix(over + 1);
    std::string text;
    for (const char c : parsers::valid_utf8(parsers::without_ansi(with_source_paths(line))))
        text += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    return text;
}

std::vector<std::string> cleaned(const std::vector<std::string>& lines,
                                 const std::vector<std::string>& secrets) {
    std::string all;
    for (const std::string& line : lines) all += shown(line) + '\n';
    all = mask_private_keys(std::move(all));
    std::vector<std::string> cleaned;
    for (std::size_t begin = 0, end = 0; (end = all.find('\n', begin)) != all.npos; begin = end + 1)
        cleaned.push_back(
            printable(mask_secrets(std::string_view(all).substr(begin, end - begin), secrets)));
    return cleaned;
}

bool leaves_folder(const fs::path& name) {
    const fs::path normal = name.lexically_normal();
    return name.empty() || normal.is_absolute() || *normal.begin() == "..";
}

}  // namespace

Expected<LogExcerpt> log_excerpt(const fs::path& folder, const std::string& log,
                                 std::string_view test, const ExcerptOptions& options) {
    return log_excerpts(folder, log, {std::string(test)}, options)
        .map([](std::vector<LogExcerpt> excerpts) { return std::move(excerpts.front()); });
}

Expected<std::vector<LogExcerpt>> log_excerpts(const fs::path& folder, const std::string& log,
                                               const std::vector<std::string>& tests,
                                               const ExcerptOptions& options) {
    if (leaves_folder(log))
        return fail(ErrorKind::usage, fmt::format("\"{}\" is no file of the run", log),
                    "name a log as the run's reports name it", folder.string());
    Searches searches(tests, options.lines);
    LineReader reader(FileBelow(folder, log), {kLineBytes, kReadBytes});
    const auto see = [&](const Line& line) { searches.see(line.text); };
    for (bool more = true; more && !searches.done();) {
        const auto read = TRY(reader.read(see));
        more = read;
    }
    if (!searches.done()) reader.finish(see);
    return searches.results([&](const std::vector<std::string>& lines) {
        return cleaned(lines, options.secrets);
    });
}

}  // namespace compat::archive
