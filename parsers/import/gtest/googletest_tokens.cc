#include "parsers/import/gtest/googletest_tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "parsers/import/lines.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"

namespace compat::parsers::googletest {

namespace {

struct Mark {
    std::string_view text;
    Kind kind;
};
constexpr std::array<Mark, 7> kMarks{{
    {"[==========] ", Kind::header},
    {"[----------] ", Kind::suite},
    {"[ RUN      ] ", Kind::run},
    {"[       OK ] ", Kind::ok},
    {"[  FAILED  ] ", Kind::failed},
    {"[  SKIPPED ] ", Kind::skipped},
    {"[ DISABLED ] ", Kind::disabled},
}};
constexpr size_t kMarkBytes = kMarks[0].text.size();
constexpr size_t kLongestName = 4096;

const Mark* mark_at(std::string_view text) {
    for (const Mark& mark : kMarks)
        if (text.starts_with(mark.text)) return &mark;
    return nullptr;
}

// "5" of "5 tests from 2 test suites ran."; nothing for other words.
std::optional<std::int64_t> tests_from(std::string_view text) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view rest = text.substr(blank);
    if (!rest.starts_with(" test from ") && !rest.starts_with(" tests from ")) return std::nullopt;
    return number_of(text.substr(0, blank));
}

// Takes " (12 ms)" off the end of the text: its seconds.
double take_time(std::string_view& text) {
    constexpr std::string_view kUnit = " ms)";
    if (!text.ends_with(kUnit)) return 0;
    const size_t bracket = text.rfind(" (");
    if (bracket == std::string_view::npos) return 0;
    const auto value =
        number_of(text.substr(bracket + 2, text.size() - kUnit.size() - bracket - 2));
    if (!value) return 0;
    text = text.substr(0, bracket);
    return static_cast<double>(*value) / 1000;
}

bool is_test_name(std::string_view name) {
    const size_t dot = name.find('.');
    return name.size() <= kLongestName && dot != 0 && dot != std::string_view::npos &&
           dot + 1 < name.size();
}

class TokenReader {
  public:
    explicit TokenReader(std::string_view text) : text_(text) {
        for (LogLines lines(text); lines.next();) read(lines);
        link();
    }
    [[nodiscard]] Tokens take() { return std::move(tokens_); }

  private:
    void read(const LogLines& lines) {
        const std::string_view raw = text_.substr(lines.offset(), lines.after() - lines.offset());
        const bool escaped = raw.find('\x1b') != std::string_view::npos;
        const std::string_view line =
            escaped ? std::string_view(tokens_.unescaped.emplace_back(lines.line())) : lines.line();
        if (read_plain(line, lines)) return;
        // Of an escaped line as it is in the file: the last mark, and where the next may be.
        size_t seen = 0;
        size_t ahead = 0;
        // What follows a mark ends where the next one begins.
        size_t at = next_mark(line, 0);
        while (at < line.size()) {
            const size_t next = next_mark(line, at + kMarkBytes);
            const std::string_view rest = line.substr(at + kMarkBytes, next - at - kMarkBytes);
            // In a line with escapes the mark lies further on by their length.
            size_t offset = line.data() + at - text_.data();
            if (escaped) {
                const size_t found = raw.find(line.substr(at, kMarkBytes - 1), ahead);
                const bool whole = found != std::string_view::npos;  // no escape is inside it
                if (whole) seen = found;
                ahead = whole ? found + 1 : raw.size();
                offset = lines.offset() + seen;
            }
            add(mark_at(line.substr(at))->kind, trimmed(rest), offset, lines.after());
            at = next;
        }
    }

    static size_t next_mark(std::string_view line, size_t from) {
        for (size_t at = line.find('[', from); at != std::string_view::npos;
             at = line.find('[', at + 1))
            if (mark_at(line.substr(at, kMarkBytes))) return at;
        return line.size();
    }

    bool read_plain(std::string_view line, const LogLines& lines) {
        constexpr std::string_view kHave = "  YOU HAVE ";
        constexpr std::string_view kRepeating = "Repeating all tests (iteration ";
        if (line.starts_with("Running main() from ")) {
            push(Kind::main, {}, lines.offset(), lines.after());
        } else if (line.starts_with(kRepeating)) {
            const std::string_view rest = line.substr(kRepeating.size());
            const auto count = number_of(rest.substr(0, rest.find(')')));
            push(Kind::repeating, {}, lines.offset(), lines.after()).count = count.value_or(1);
        } else if (line.starts_with(kHave)) {
            const std::string_view rest = line.substr(kHave.size());
            const size_t blank = std::min(rest.find(' '), rest.size());
            const auto count = number_of(rest.substr(0, blank));
            if (!count || !rest.substr(blank).starts_with(" DISABLED TEST")) return false;
            push(Kind::hidden, {}, lines.offset(), lines.after()).count =
                std::min(*count, kGreatestCount);
        } else {
            return false;
        }
        return true;
    }

    Token& push(Kind kind, std::string_view name, size_t offset, size_t after) {
        return tokens_.all.emplace_back(Token{kind, offset, after, name});
    }

    void add(Kind kind, std::string_view rest, size_t offset, size_t after) {
        constexpr std::string_view kRunning = "Running ";
        constexpr std::string_view kBroken = ": SetUpTestSuite or TearDownTestSuite";
        constexpr std::string_view kWhere = ", where ";
        switch (kind) {
            case Kind::header:
                if (rest.starts_with(kRunning)) {
                    if (const auto count = tests_from(rest.substr(kRunning.size())))
                        push(Kind::header, {}, offset, after).count =
                            std::min(*count, kGreatestCount);
                } else if (tests_from(rest) && rest.find(" ran.") != std::string_view::npos) {
                    push(Kind::closing, {}, offset, after);
                }
                return;
            case Kind::suite:
                if (rest == "Global test environment tear-down") {
                    push(Kind::leaving, {}, offset, after);
                } else if (tests_from(rest)) {
                    const bool over = rest.ends_with(" ms total)");
                    rest.remove_prefix(rest.find(" from ") + 6);
                    push(over ? Kind::suite_end : Kind::suite, rest.substr(0, rest.find(kWhere)),
                         offset, after);
                }
                return;
            case Kind::failed:
                if (rest.ends_with(kBroken)) {
                    rest.remove_suffix(kBroken.size());
                    push(Kind::broken_suite, rest, offset, after);
                    return;
                }
                [[fallthrough]];
            default: {
                const double seconds = kind == Kind::run ? 0 : take_time(rest);
                if (kind == Kind::failed) rest = rest.substr(0, rest.find(kWhere));
                if (is_test_name(rest)) push(kind, rest, offset, after).seconds = seconds;
            }
        }
    }

    void link() {
        std::unordered_map<std::string_view, size_t> coming;
        for (size_t i = tokens_.all.size(); i-- > 0;) {
            Token& token = tokens_.all[i];
            if (token.kind != Kind::run && !is_end(token.kind)) continue;
            size_t& next = coming[token.name];
            token.next = next;
            next = i;
        }
    }

    std::string_view text_;
    Tokens tokens_;
};

}  // namespace

bool begins_with_mark(std::string_view line) { return mark_at(line) != nullptr; }

Tokens tokens_of(std::string_view text) { return TokenReader(text).take(); }

}  // namespace compat::parsers::googletest
