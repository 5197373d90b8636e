// Writes JSON straight to text, byte for byte as nlohmann's `dump` does: for a run's tests, where
// building its values takes more time than all else. Not for what is short (json_parts.h).
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace compat::reports {

// Without blanks. Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string compact(const nlohmann::ordered_json& value);
// By one blank a level, for `depth` levels below the document.
[[nodiscard]] std::string indented(const nlohmann::ordered_json& value, int depth);
// Appends `text` as a JSON string, as `compact` does.
void append_string(std::string& to, std::string_view text);

// One value and all that is in it.
class JsonText {
  public:
    static constexpr int kCompact = -1;
    // `depth`: as of `indented`.
    explicit JsonText(int depth = kCompact) : indents_(depth != kCompact), depth_(depth) {}

    template <class Members>
    void object(Members members) {
        open('{');
        members();
        close('}');
    }
    template <class T, class Item>
    void list(const std::vector<T>& values, Item item) {
        open('[');
        for (const T& value : values) item(value);
        close(']');
    }
    void key(std::string_view name) {
        separate();
        append_string(text_, name);
        text_ += indents_ ? ": " : ":";
        after_key_ = true;
    }
    template <class T>
    void value(const T& value) {
        separate();
        if constexpr (std::is_null_pointer_v<T>)
            text_ += "null";
        else if constexpr (std::is_same_v<T, bool>)
            text_ += value ? "true" : "false";
        else if constexpr (std::is_integral_v<T>)
            text_ += std::string_view(fmt::format_int(value).c_str());
        else if constexpr (std::is_convertible_v<const T&, std::string_view>)
            append_string(text_, value);
        else
            text_ += indents_ ? indented(value, depth_) : compact(value);
    }
    template <class T>
    void member(std::string_view name, const T& of_name) {
        key(name);
        value(of_name);
    }
    // null, if the text is empty.
    void member_or_null(std::string_view name, std::string_view text) {
        text.empty() ? member(name, nullptr) : member(name, text);
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    void open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
        depth_ += indents_;
    }
    void close(char bracket) {
        depth_ -= indents_;
        if (!first_) end_line();
        text_ += bracket;
        first_ = false;
    }
    // Before a key, and before a value that has none.
    void separate() {
        if (std::exchange(after_key_, false) || text_.empty()) return;
        if (!std::exchange(first_, false)) text_ += ',';
        end_line();
    }
    void end_line() {
        if (indents_) text_.append(1, '\n').append(static_cast<std::size_t>(depth_), ' ');
    }

    bool indents_;
    int depth_;
    std::string text_;
    bool first_ = true;  // of its object or list
    bool after_key_ = false;
};

}  // namespace compat::reports
