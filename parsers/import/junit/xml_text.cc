#include "parsers/import/junit/xml_text.h"

#include <algorithm>
#include <array>

namespace compat::parsers {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

void append_utf8(std::string& to, char32_t c) {
    const auto put = [&](char32_t byte) { to += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

// In lower case, what stands in quotes after "encoding=" in the file's first tag.
std::string declared_encoding(std::string_view bytes) {
    constexpr std::string_view kKey = "encoding=";
    const std::string_view declaration = bytes.substr(0, std::min<size_t>(bytes.find("?>"), 200));
    const size_t key = declaration.find(kKey);
    if (!trimmed(declaration).starts_with("<?xml") || key == std::string_view::npos) return {};
    const std::string_view rest = declaration.substr(key + kKey.size());
    if (rest.empty()) return {};
    std::string name(rest.substr(1, rest.find(rest[0], 1) - 1));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name;
}

bool is_encoding_of(std::string_view name, const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// A file that declares UTF-16 and is in bytes was converted by someone who left the words.
constexpr std::array<std::string_view, 5> kReadAsUtf8{"", "utf-8", "utf8", "us-ascii", "utf-16"};
constexpr std::array<std::string_view, 3> kLatin1{"iso-8859-1", "latin-1", "latin1"};

// "&#0;" in any of its forms, at an ampersand: its length, else 0.
size_t nul_reference(std::string_view at) {
    size_t i = at.starts_with("&#x") ? 3 : at.starts_with("&#") ? 2 : 0;
    const size_t digits = i;
    while (i > 0 && i < at.size() && at[i] == '0') ++i;
    return i > digits && i < at.size() && at[i] == ';' ? i + 1 : 0;
}

}  // namespace

XmlText::XmlText(std::string_view bytes, Diagnoser& diagnose) : bytes_(bytes), text_(bytes) {
    const auto begins = [&](char first, char second) {
        return bytes.size() > 1 && bytes[0] == first && bytes[1] == second;
    };
    if (begins('\xFF', '\xFE') || begins('<', '\0')) {
        decode(Encoding::utf16_little);
    } else if (begins('\xFE', '\xFF') || begins('\0', '<')) {
        decode(Encoding::utf16_big);
    } else {
        const std::string declared = declared_encoding(bytes);
        if (is_encoding_of(declared, kLatin1))
            decode(Encoding::latin1);
        else if (!is_encoding_of(declared, kReadAsUtf8))
            diagnose.add(0, "the encoding " + valid_utf8(declared) + " is read as UTF-8");
    }
    blank_nuls(diagnose);
}

void XmlText::decode(Encoding encoding) {
    encoding_ = encoding;
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes_[i]); };
    if (encoding == Encoding::latin1) {
        for (size_t i = 0; i < bytes_.size(); ++i) append_utf8(own_, byte(i));
    } else {
        const bool little = encoding == Encoding::utf16_little;
        const auto unit = [&](size_t i) -> char32_t {
            return little ? byte(i) | byte(i + 1) << 8 : byte(i) << 8 | byte(i + 1);
        };
        for (size_t i = 0; i + 1 < bytes_.size(); i += 2) {
            const char32_t c = unit(i);
            const bool pair = c >= 0xD800 && c < 0xDC00 && i + 3 < bytes_.size() &&
                              unit(i + 2) >= 0xDC00 && unit(i + 2) < 0xE000;
            if (pair) {
                append_utf8(own_, 0x10000 + ((c - 0xD800) << 10) + (unit(i + 2) - 0xDC00));
                i += 2;
            } else {
                append_utf8(own_, c >= 0xD800 && c < 0xE000 ? kReplacement : c);
            }
        }
    }
    text_ = own_;
}

// In place, so that offsets stay what they are.
void XmlText::blank_nuls(Diagnoser& diagnose) {
    const auto blank = [&](size_t at, size_t length) {
        if (own_.empty()) own_ = text_;
        text_ = own_;
        std::fill_n(own_.begin() + static_cast<std::ptrdiff_t>(at), length, ' ');
        diagnose.add(source_offset(at), "a NUL, read as a blank");
    };
    for (size_t at = text_.find('\0'); at != std::string_view::npos; at = text_.find('\0', at)) {
        const size_t end = std::min(text_.find_first_not_of('\0', at), text_.size());
        blank(at, end - at);
    }
    for (size_t at = text_.find("&#"); at != std::string_view::npos; at = text_.find("&#", at + 1))
        if (const size_t length = nul_reference(text_.substr(at)); length > 0) blank(at, length);
}

size_t XmlText::source_offset(size_t in_text) const {
    in_text = std::min(in_text, text_.size());
    if (encoding_ == Encoding::utf8) return in_text;
    if (in_text < known_in_text_) known_in_text_ = known_in_source_ = 0;
    for (; known_in_text_ < in_text; ++known_in_text_) {
        const auto byte = static_cast<unsigned char>(text_[known_in_text_]);
        const bool begins = (byte & 0xC0) != 0x80;
        if (encoding_ == Encoding::latin1)
            known_in_source_ += begins ? 1 : 0;
        else
            known_in_source_ += byte >= 0xF0 ? 4 : begins ? 2 : 0;
    }
    return known_in_source_;
}

size_t xml_tag_end(std::string_view text, size_t begin) {
    char quote = 0;
    for (size_t at = begin; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            return at;
    }
    return text.size();
}

bool xml_element_is_whole(std::string_view text, size_t begin, std::string_view name) {
    constexpr std::string_view kCData = "<![CDATA[";
    constexpr std::string_view kComment = "<!--";
    size_t at = xml_tag_end(text, begin);
    if (at == text.size()) return false;
    if (text[at - 1] == '/') return true;
    while ((at = text.find('<', at)) != std::string_view::npos) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("</") && rest.substr(2).starts_with(name))
            return rest.find('>') != std::string_view::npos;
        if (rest.starts_with(kCData))
            at = text.find("]]>", at);
        else if (rest.starts_with(kComment))
            at = text.find("-->", at);
        else
            ++at;
    }
    return false;
}

}  // namespace compat::parsers
