// The page's script and style, embedded at build time (web/build.mjs writes web_assets.cc). Not for
// the page around them (page.h).
#pragma once

#include <string_view>

namespace compat::reports {

struct WebAssets {
    std::string_view missing;      // why there are none; empty: there are
    std::string_view script;       // ASCII, safe in a script element
    std::string_view script_hash;  // "sha256-…", for the page's policy
    std::string_view style;
    std::string_view style_hash;
    std::string_view licences;  // notices of the packages that the script has code of
};

[[nodiscard]] const WebAssets& web_assets();

}  // namespace compat::reports
