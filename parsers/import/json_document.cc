#include "parsers/import/json_document.h"

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

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override {
        return add(value);
    }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; }
    bool key(string_t& value) override {
        key_ = std::move(value);
        return true;
    }
    bool start_object(size_t /*elements*/) override { return open(json::object()); }
    bool start_array(size_t /*elements*/) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool parse_error(size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        error_at_ = position;
        return false;
    }

  private:
    json* put(json value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        json& in = *open_.back();
        if (in.is_array()) {
            in.push_back(std::move(value));
            return &in.back();
        }
        json& member = in[key_];
        member = std::move(value);
        return &member;
    }
    bool add(json value) {
        put(std::move(value));
        return true;
    }
    // A pointer into a list stays good: its owner gets no further member until it is closed.
    bool open(json value) {
        if (open_.size() >= kDeepestDocument) return false;
        open_.push_back(put(std::move(value)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    json& root_;
    std::vector<json*> open_;
    std::string key_;
    size_t error_at_ = 0;
};

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// The code unit of an escape "\ud83d" that begins at `at`; -1 where there is none.
int unit_at(std::string_view text, size_t at) {
    if (text.size() < at + 6 || text[at] != '\\' || text[at + 1] != 'u') return -1;
    int unit = 0;
    for (size_t i = at + 2; i < at + 6; ++i) {
        const int digit = hex_value(text[i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The text with what the reader would stop at mended, at the same length where it can be.
std::string mended(std::string_view bytes) {
    const std::string text = valid_utf8(bytes);
    std::string out;
    out.reserve(text.size());
    bool quoted = false;
    char before = 0;  // the last character outside of strings that is no blank
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (!quoted) {
            if (c == '{' && before == '}') out += ',';
            if (!is_blank(c)) before = c;
            quoted = c == '"';
        } else if (c == '"') {
            quoted = false;
        } else if (c == '\\') {
            const int unit = unit_at(text, i);
            const bool high = unit >= 0xD800 && unit < 0xDC00;
            const int low = high ? unit_at(text, i + 6) : -1;
            if (high && low >= 0xDC00 && low < 0xE000) {
                out.append(text, i, 12);
                i += 11;
            } else if (unit >= 0xD800 && unit < 0xE000) {
                out += "\\ufffd";
                i += 5;
            } else {
                out.append(text, i, 2);
                ++i;
            }
            continue;
        }
        out += c;
    }
    return out;
}

JsonDocument parsed(std::string_view text) {
    JsonDocument document;
    Builder builder(document.value);
    document.whole = json::sax_parse(text, &builder);
    document.end = document.whole ? text.size() : std::min(builder.error_at(), text.size());
    return document;
}

}  // namespace

JsonDocument read_json(std::string_view bytes) {
    JsonDocument document = parsed(bytes);
    if (document.whole) return document;
    JsonDocument second = parsed(mended(bytes));
    second.end = std::min(second.end, bytes.size());
    return second;
}

}  // namespace compat::parsers
