#include "parsers/import/junit/xml_text.h"

#include <re2/re2.h>

#include <algorithm>

namespace compat::parsers {

namespace {

// What the file's first tag declares; empty: UTF-8.
std::string declared_encoding(std::string_view bytes) {
    static const RE2 kDeclared(R"((?s)\s*<\?xml [^>]*encoding=["']([^"']*)["'].*)", RE2::Latin1);
    // A file that declares UTF-16 and is in bytes was converted by someone who left the words.
    static const RE2 kUtf8("(?i)utf-?8|us-ascii|utf-16");
    const std::string_view beginning = bytes.substr(0, 200);
    std::string name;
    RE2::FullMatch({beginning.data(), beginning.size()}, kDeclared, &name);
    return RE2::FullMatch(name, kUtf8) ? std::string() : name;
}

}  // namespace

XmlText::XmlText(std::string_view bytes, Diagnoser& diagnose) : text_(bytes) {
    static const RE2 kLatin1("(?i)(iso-8859|latin)-?1");
    const std::string encoding = declared_encoding(bytes);
    latin1_ = RE2::FullMatch(encoding, kLatin1);
    if (latin1_) {
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte >= 0x80) own_ += static_cast<char>(0xC0 | byte >> 6);
            own_ += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3F)) : c;
        }
        text_ = own_;
    } else if (!encoding.empty()) {
        diagnose.add(0, "the encoding " + valid_utf8(encoding) + " is read as UTF-8");
    }
    if (const size_t nul = bytes.find('\0'); nul != std::string_view::npos) {
        if (own_.empty()) own_ = bytes;
        std::replace(own_.begin(), own_.end(), '\0', ' ');
        text_ = own_;
        diagnose.add(nul, "NULs, read as blanks");
    }
}

size_t XmlText::source_offset(size_t in_text) const {
    in_text = std::min(in_text, text_.size());
    if (!latin1_) return in_text;
    if (in_text < known_in_text_) known_in_text_ = known_in_source_ = 0;
    for (; known_in_text_ < in_text; ++known_in_text_)
        known_in_source_ += (static_cast<unsigned char>(text_[known_in_text_]) & 0xC0) != 0x80;
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
    const size_t tag = xml_tag_end(text, begin);
    if (tag == text.size()) return false;
    return text[tag - 1] == '/' ||
           text.find("</" + std::string(name) + ">", tag) != std::string_view::npos;
}

}  // namespace compat::parsers
