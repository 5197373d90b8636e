// The bytes of an XML file as UTF-8 that a reader of NUL-terminated text loses nothing of, and
// where a place in it is in the file. Not for what the file says, nor for UTF-16, which import
// converts before (runner/archive/input_decoder.h).
#pragma once

#include <string>
#include <string_view>

#include "parsers/text.h"

namespace compat::parsers {

// Understood: UTF-8, and ISO-8859-1 where the file declares it. Any other encoding is read as
// UTF-8, with a diagnostic. NULs, which XML forbids, are blanks here.
class XmlText {
  public:
    // `bytes` need to live as long as this.
    XmlText(std::string_view bytes, Diagnoser& diagnose);
    XmlText(const XmlText&) = delete;
    XmlText& operator=(const XmlText&) = delete;

    [[nodiscard]] std::string_view text() const { return text_; }
    // The byte of the file that became this byte of the text. Cheap for offsets that grow.
    [[nodiscard]] size_t source_offset(size_t in_text) const;

  private:
    std::string_view text_;  // the file's bytes or own_
    std::string own_;
    bool latin1_ = false;
    mutable size_t known_in_text_ = 0;
    mutable size_t known_in_source_ = 0;
};

// Whether the element whose name is at `begin` is all there, as far as its tags tell.
[[nodiscard]] bool xml_element_is_whole(std::string_view text, size_t begin, std::string_view name);

// Where the tag of the element whose name is at `begin` ends, at its ">"; the text's end where it
// does not. Values may hold anything but their own quote.
[[nodiscard]] size_t xml_tag_end(std::string_view text, size_t begin);

}  // namespace compat::parsers
