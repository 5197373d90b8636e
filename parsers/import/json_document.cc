#include "parsers/import/json_document.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

constexpr size_t kDeepestDocument = 64;

// Builds the value while it is read; what had been built when an error comes stays.
class Builder : public nlohmann::json_sax<json> {
  public:
    explicit Builder(json& root) : root_(root) {}

    [[nodiscard]] size_t error_at() const { return error_at_; }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t&) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t&) override { return false; }
    bool key(string_t& value) override {
        key_ = std::move(value);
        return true;
    }
    bool start_object(size_t) override { return put(json::object(), true); }
    bool start_array(size_t) override { return put(json::array(), true); }
    bool end_object() override { return end_array(); }
    bool end_array() override {
        open_.pop_back();
        return true;
    }
    bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
        error_at_ = at;
        return false;
    }

  private:
    // A pointer into a list stays good: its owner gets no further member until it is closed.
    bool put(json value, bool opens = false) {
        if (opens && open_.size() >= kDeepestDocument) return false;
        json* at = &root_;
        if (!open_.empty()) at = open_.back()->is_array() ? add() : &(*open_.back())[key_];
        *at = std::move(value);
        if (opens) open_.push_back(at);
        return true;
    }
    json* add() {
        open_.back()->push_back(nullptr);
        return &open_.back()->back();
    }

    json& root_;
    std::vector<json*> open_;
    std::string key_;
    size_t error_at_ = 0;
};

// The text with what the reader would stop at mended, at the same length where it can be.
std::string mended(std::string_view bytes) {
    static const RE2 kPair(R"(\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2})");
    static const RE2 kHalf(R"(\\u[dD][89a-fA-F][[:xdigit:]]{2})");
    const std::string text = valid_utf8(bytes);
    std::string out;
    bool quoted = false;
    char before = 0;  // the last character outside of strings that is no blank
    for (size_t i = 0; i < text.size(); ++i) {
        const auto is = [&](size_t length, const RE2& escape) {
            return RE2::FullMatch(text.substr(i, length), escape);
        };
        const char c = text[i];
        if (quoted && c == '\\') {
            const size_t length = is(12, kPair) ? 12 : is(6, kHalf) ? 6 : 2;
            out += length == 6 ? "\\ufffd" : text.substr(i, length);
            i += length - 1;
            continue;
        }
        if (!quoted && c == '{' && before == '}') out += ',';
        if (c == '"') quoted = !quoted;
        if (!quoted && !trimmed({&c, 1}).empty()) before = c;
        out += c;
    }
    return out;
}

JsonDocument parsed(std::string_view text) {
    JsonDocument document;
    Builder builder(document.value);
    document.whole = json::sax_parse(text, &builder);
    document.end = document.whole ? text.size() : builder.error_at();
    return document;
}

}  // namespace

JsonDocument read_json(std::string_view bytes) {
    JsonDocument document = parsed(bytes);
    if (!document.whole) document = parsed(mended(bytes));
    document.end = std::min(document.end, bytes.size());
    return document;
}

bool begins_as_json(std::string_view beginning) {
    const std::string_view text = trimmed(beginning.substr(0, 1000));
    return text.starts_with('{') || text.starts_with('[');
}

}  // namespace compat::parsers
