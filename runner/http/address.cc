#include "runner/http/address.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace compat::http {

namespace {

// -1: it is no hexadecimal digit.
int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_unreserved(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
    return number;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

// Without the port; "[::1]" without its brackets. Empty: it is malformed.
std::string_view name_in(std::string_view host) {
    const std::size_t end = host.starts_with('[') ? host.find(']') : host.find(':');
    if (host.starts_with('[') && end == host.npos) return {};
    const std::string_view rest =
        end == host.npos ? "" : host.substr(host.starts_with('[') ? end + 1 : end);
    if (!rest.empty() && (rest.front() != ':' || !number_of(rest.substr(1)))) return {};
    return host.starts_with('[') ? host.substr(1, end - 1) : host.substr(0, end);
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        char c = text[at];
        if (c == '%') {
            if (text.size() - at < 3) return {};
            const int high = hex_value(text[at + 1]), low = hex_value(text[at + 2]);
            if (high < 0 || low < 0) return {};
            c = static_cast<char>(high * 16 + low);
            at += 2;
        }
        if (c == '\0') return {};
        out += c;
    }
    return out;
}

std::optional<std::vector<std::string>> components_of(std::string_view target) {
    std::string_view path = target.substr(0, target.find_first_of("?#"));
    if (!path.starts_with('/')) return {};
    path.remove_prefix(1);
    std::vector<std::string> components;
    if (path.empty()) return components;
    while (true) {
        const std::size_t slash = path.find('/');
        auto decoded = percent_decoded(path.substr(0, slash));
        if (!decoded) return {};
        components.push_back(std::move(*decoded));
        if (slash == path.npos) return components;
        path.remove_prefix(slash + 1);
    }
}

std::string encoded_component(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (is_unreserved(c))
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return out;
}

bool is_file_name(std::string_view component) {
    return !component.empty() && component != "." && component != ".." &&
           component.find('/') == component.npos;
}

KnownHosts::KnownHosts(std::string address, std::string name)
    : names_{"localhost", "127.0.0.1", "::1", lower(address), lower(name)} {
    boost::system::error_code error;
    any_number_ = boost::asio::ip::make_address(address, error).is_unspecified();
    if (any_number_) names_.push_back(lower(host_name()));
    std::erase(names_, "");
}

bool KnownHosts::has(std::string_view host) const {
    const std::string name = lower(name_in(host));
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return true;
    boost::system::error_code error;
    boost::asio::ip::make_address(name, error);
    return any_number_ && !error;
}

std::optional<ByteRange> range_of(std::string_view header, std::uint64_t size) {
    constexpr std::string_view kUnit = "bytes=";
    if (!header.starts_with(kUnit)) return {};
    header.remove_prefix(kUnit.size());
    const std::size_t dash = header.find('-');
    if (dash == header.npos) return {};
    const auto from = number_of(header.substr(0, dash)), to = number_of(header.substr(dash + 1));
    if (dash > 0 && !from) return {};
    if (dash + 1 < header.size() && !to) return {};  // several ranges, too
    if (!from && !to) return {};
    if (!from) {  // the last `to` bytes
        const std::uint64_t last = std::min(*to, size);
        return ByteRange{size - last, last};
    }
    if (to && *to < *from) return {};
    if (*from >= size) return ByteRange{};
    const std::uint64_t most = size - *from;
    return ByteRange{*from, to ? std::min(most - 1, *to - *from) + 1 : most};
}

}  // namespace compat::http
