#include "suites/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace compat::suites {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 32;

// An iterator over the text that exports how much of it the parser has read.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, const char* begin, std::size_t* read)
        : at_(at), begin_(begin), read_(read) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        *read_ = static_cast<std::size_t>(at_ - begin_);
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

  private:
    const char* at_;
    const char* begin_;
    std::size_t* read_;
};

class Finder final : public nlohmann::json_sax<json> {
  public:
    Finder(std::string_view text, Positions& out) : text_(text), out_(out) {}

    std::size_t read = 0;  // bytes that the parser has read

    bool null() override { return scalar(read); }
    bool boolean(bool) override { return scalar(read); }
    bool number_integer(number_integer_t) override { return scalar(end_of_number()); }
    bool number_unsigned(number_unsigned_t) override { return scalar(end_of_number()); }
    bool number_float(number_float_t, const string_t&) override { return scalar(end_of_number()); }
    bool string(string_t&) override { return scalar(read); }
    bool binary(binary_t&) override { return scalar(read); }
    bool start_object(std::size_t) override { return open(false); }
    bool start_array(std::size_t) override { return open(true); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        const Position at = take(read);
        Level& level = levels_.back();
        level.token = name;
        if (!level.seen.insert(name).second) return stop(at, "key \"" + name + "\" appears twice");
        out_.keys.emplace(pointer(), at);
        return true;
    }

    bool parse_error(std::size_t byte, const std::string&,
                     const nlohmann::detail::exception& error) override {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …": keep
        // only the text after the position.
        std::string message = error.what();
        message.erase(0, message.find("] ") + 2);
        if (message.starts_with("parse error at")) message.erase(0, message.find(": ") + 2);
        if (message.find("ill-formed UTF-8") != std::string::npos) message = "not valid UTF-8";
        return stop(position_of(byte == 0 ? 0 : byte - 1), "not JSON: " + message);
    }

  private:
    struct Level {
        bool array = false;
        std::size_t index = 0;
        std::string token;  // the current key or index
        std::set<std::string> seen;
    };

    // The lexer reads one byte past a number to find its end.
    [[nodiscard]] std::size_t end_of_number() const {
        const bool digit_last =
            read > 0 && read == text_.size() &&
            std::string_view("0123456789").find(text_[read - 1]) != std::string_view::npos;
        return digit_last ? read : read - 1;
    }

    bool stop(Position at, std::string message) {
        out_.problem = Positions::Problem{at, std::move(message)};
        return false;
    }

    [[nodiscard]] std::string pointer() const {
        std::string text;
        for (const Level& level : levels_) text += '/' + pointer_token(level.token);
        return text;
    }

    // Consumes the text up to byte `end` and returns the start of the token that ends there: the
    // first byte after the previous token that is no space, comma, colon or comment.
    Position take(std::size_t end) {
        std::size_t& i = begin_of_token_ = taken_;
        while (i < end) {
            const std::string_view rest = text_.substr(i, end - i);
            if (std::string_view(" \t\r\n,:").find(rest.front()) != std::string_view::npos) {
                ++i;
            } else if (rest.starts_with("//")) {
                i += std::min(rest.size(), rest.find('\n'));
            } else if (rest.starts_with("/*")) {
                const std::size_t stars = rest.find("*/", 2);
                i += stars == std::string_view::npos ? rest.size() : stars + 2;
            } else if (i == 0 && rest.starts_with("\xEF\xBB\xBF")) {
                i += 3;
            } else {
                break;
            }
        }
        taken_ = end;
        return position_of(i);
    }

    void begin_value() {
        if (!levels_.empty() && levels_.back().array)
            levels_.back().token = std::to_string(levels_.back().index++);
    }

    bool scalar(std::size_t end) {
        begin_value();
        const std::string at = pointer();
        out_.values.emplace(at, take(end));
        out_.bytes.insert_or_assign(at, Positions::Bytes{begin_of_token_, end});
        return true;
    }

    bool open(bool array) {
        begin_value();
        const Position at = take(read);
        out_.values.emplace(pointer(), at);
        out_.bytes.insert_or_assign(pointer(), Positions::Bytes{begin_of_token_, 0});
        if (levels_.size() == kMaxDepth)
            return stop(at, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
        levels_.push_back(Level{array, 0, {}, {}});
        return true;
    }

    bool close() {
        taken_ = read;
        levels_.pop_back();
        out_.bytes.at(pointer()).end = read;
        return true;
    }

    // Tokens come in order, so that each byte is looked at once.
    [[nodiscard]] Position position_of(std::size_t byte) {
        if (byte < counted_) counted_ = 0;
        if (counted_ == 0) {
            counted_ = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
            position_ = {1, 1};
        }
        for (; counted_ < std::min(byte, text_.size()); ++counted_) {
            if (text_[counted_] == '\n') {
                ++position_.line;
                position_.column = 1;
            } else if ((static_cast<unsigned char>(text_[counted_]) & 0xC0u) != 0x80u) {
                ++position_.column;
            }
        }
        return position_;
    }

    std::string_view text_;
    Positions& out_;
    std::size_t taken_ = 0;
    std::size_t begin_of_token_ = 0;
    std::size_t counted_ = 0;  // bytes before position_
    Position position_{1, 1};
    std::vector<Level> levels_;
};

}  // namespace

Position Positions::of(const std::string& pointer) const {
    std::string around = pointer;
    while (true) {
        if (const auto found = values.find(around); found != values.end()) return found->second;
        if (around.empty()) return {};
        around.resize(around.rfind('/'));
    }
}

Position Positions::of_key(const std::string& pointer) const {
    const auto found = keys.find(pointer);
    return found == keys.end() ? of(pointer) : found->second;
}

Positions find_positions(std::string_view text) {
    Positions positions;
    Finder finder(text, positions);
    const char* begin = text.data();
    json::sax_parse(CountingIterator(begin, begin, &finder.read),
                    CountingIterator(begin + text.size(), begin, &finder.read), &finder,
                    json::input_format_t::json, true, true);
    return positions;
}

std::string pointer_token(std::string_view key) {
    std::string token;
    for (const char c : key) {
        if (c == '~')
            token += "~0";
        else if (c == '/')
            token += "~1";
        else
            token += c;
    }
    return token;
}

tl::unexpected<Error> refuse(const fs::path& file, Position at, std::string message,
                             std::string advice) {
    return fail(ErrorKind::suite, std::move(message), std::move(advice),
                fmt::format("{}:{}:{}", file.string(), at.line, at.column));
}

}  // namespace compat::suites
