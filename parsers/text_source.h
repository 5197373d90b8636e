// The text of a file as a parser asks for it: line by line, or whole and only where it is needed.
// Parsers do no I/O: whoever owns the file says how it is read. Not for what the text means.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runner/base/line_reader.h"

namespace compat::parsers {

// Read once, from the first line to the last.
struct LineSource {
    // Visits the lines that can be read. Says why that is not all of them; empty: it is.
    using Read = std::function<std::string(const LineVisitor&)>;

    LineSource(Read from) : read(std::move(from)) {}  // NOLINT(google-explicit-constructor)
    template <std::convertible_to<std::string_view> Text>
    LineSource(const Text& text)  // NOLINT(google-explicit-constructor): `text` outlives it
        : read([bytes = std::string_view(text)](const LineVisitor& visit) {
              LineSplitter lines;
              lines.feed(bytes, visit);
              lines.finish(visit);
              return std::string();
          }) {}

    Read read;
};

// Read when somebody first asks for it.
class TextSource {
  public:
    using Read = std::function<std::string()>;

    TextSource(Read read) : read_(std::move(read)) {}  // NOLINT(google-explicit-constructor)
    template <std::convertible_to<std::string_view> Text>
    TextSource(const Text& text)  // NOLINT(google-explicit-constructor): `text` outlives it
        : text_(text) {}

    // Valid as long as the source.
    [[nodiscard]] std::string_view text() const {
        if (read_ && !kept_) kept_ = read_();
        return kept_ ? std::string_view(*kept_) : text_;
    }

  private:
    Read read_;
    std::string_view text_;
    mutable std::optional<std::string> kept_;
};

}  // namespace compat::parsers
