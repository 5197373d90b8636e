#include "runner/archive/imported/input_decoder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/locale/utf.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "runner/base/files.h"
#include "runner/base/names.h"

namespace compat::archive {

namespace ipc = boost::interprocess;
namespace utf = boost::locale::utf;

namespace {

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::string_view kUtf16Little = "\xFF\xFE";
constexpr std::string_view kUtf16Big = "\xFE\xFF";

// A format that is recognised by its first bytes and not unpacked here.
struct Packed {
    std::string_view begins, what, command;
};
constexpr std::array kPacked{
    Packed{"PK\x03\x04", "a zip archive", "unzip"},
    Packed{"\xFD"
           "7zXZ",
           "packed by xz", "unxz -k"},
    Packed{"\x28\xB5\x2F\xFD", "packed by zstd", "unzstd"},
    Packed{"BZh", "packed by bzip2", "bunzip2 -k"},
};

struct CloseGzip {
    void operator()(gzFile file) const { ::gzclose_r(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

Error unreadable(const std::string& name, const std::string& why) {
    return {ErrorKind::io, "cannot be read: " + why, {}, name};
}

std::string larger(std::uint64_t most) {
    return fmt::format("this is more than {} MiB, and does not say how much", most >> 20);
}

// Plain bytes as they are, those of gzip unpacked. Gives whether they were gzip's.
Expected<bool> read_into(const std::string& name, const fs::path& into, std::uint64_t most) {
    const bool is_stdin = name == kStdin;
    const int fd = is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tl::unexpected(unreadable(name, std::strerror(errno)));
    const Gzip from(::gzdopen(fd, "rb"));
    if (!from) {
        ::close(fd);
        return tl::unexpected(unreadable(name, "out of memory"));
    }
    auto file = TRY(
        make_directories(into.parent_path()).and_then([&] { return AtomicFile::create(into); }));
    std::vector<char> buffer(1 << 18);
    std::uint64_t sum = 0;
    while (true) {
        const int n = ::gzread(from.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
        int code = Z_OK;
        const std::string why = ::gzerror(from.get(), &code);
        if (code == Z_ERRNO) return tl::unexpected(unreadable(name, std::strerror(errno)));
        if (n < 0 || code != Z_OK)
            return fail(
                ErrorKind::usage,
                code == Z_BUF_ERROR ? "this file of gzip's breaks off" : "gzip cannot read it",
                is_stdin ? std::string("`gzip -dc` prints what is there")
                         : fmt::format("`gzip -dc {0} > {0}.log` keeps what is there, to be "
                                       "imported instead",
                                       shell_quoted(name)),
                name);
        if (n == 0) break;
        sum += static_cast<std::uint64_t>(n);
        if (sum > most)
            return fail(ErrorKind::usage, larger(most),
                        "make a file of it, unpacked, and import that: its size is bounded by "
                        "your disk alone",
                        name);
        file.write({buffer.data(), static_cast<size_t>(n)});
    }
    const bool was_gzip = ::gzdirect(from.get()) == 0;
    return file.commit().map([&] { return was_gzip; });
}

// From UTF-16 with its byte order mark. Half a character is U+FFFD.
Expected<void> write_utf8(std::string_view bytes, const fs::path& into) {
    auto file = TRY(AtomicFile::create(into));
    const bool little = bytes.starts_with(kUtf16Little);
    const auto unit = [&](size_t i) {
        const auto low = static_cast<unsigned char>(bytes[little ? i : i + 1]);
        const auto high = static_cast<unsigned char>(bytes[little ? i + 1 : i]);
        return static_cast<char16_t>(high << 8 | low);
    };
    constexpr size_t kUnits = 1 << 16;
    constexpr utf::code_point kReplacement = 0xFFFD;
    std::vector<char16_t> units;
    std::string text;
    for (size_t at = 2; at + 1 < bytes.size() || !units.empty();) {
        for (; units.size() < kUnits && at + 1 < bytes.size(); at += 2) units.push_back(unit(at));
        const bool last = at + 1 >= bytes.size();
        auto from = units.cbegin();
        while (from != units.cend()) {
            const auto begin = from;
            utf::code_point c = utf::utf_traits<char16_t>::decode(from, units.cend());
            if (c == utf::incomplete && !last) {  // its other half comes with the next units
                from = begin;
                break;
            }
            if (c == utf::illegal || c == utf::incomplete) {
                c = kReplacement;
                from = std::next(begin);
            }
            utf::utf_traits<char>::encode(c, std::back_inserter(text));
        }
        units.erase(units.cbegin(), from);
        file.write(text);
        text.clear();
    }
    return file.commit();
}

}  // namespace

Expected<Mapped> Mapped::open(const fs::path& file) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (error) return tl::unexpected(unreadable(file.string(), error.message()));
    if (size == 0) return Mapped();
    try {
        const ipc::file_mapping mapping(file.c_str(), ipc::read_only);
        return Mapped(ipc::mapped_region(mapping, ipc::read_only));
    } catch (const ipc::interprocess_exception& thrown) {
        return tl::unexpected(unreadable(file.string(), thrown.what()));
    }
}

Expected<std::string> ends_of(const fs::path& file, size_t most) {
    std::ifstream from(file, std::ios::binary);
    std::string text(2 * most, '\0');
    from.read(text.data(), static_cast<std::streamsize>(most));
    auto held = static_cast<size_t>(from.gcount());
    if (held == most) {
        // Without the part that was read already.
        const auto size = from.seekg(0, std::ios::end).tellg();
        const auto rest = std::max<std::streamoff>(size - static_cast<std::streamoff>(most), 0);
        const auto last = std::min(rest, static_cast<std::streamoff>(most));
        from.seekg(size - last);
        from.read(text.data() + most, last);
        held += static_cast<size_t>(from.gcount());
    }
    if (!from.is_open() || from.bad())
        return tl::unexpected(unreadable(file.string(), std::strerror(errno)));
    text.resize(held);
    return text;
}

Expected<PlainFile> plain_file(const std::string& name, const std::string& stdin_name,
                               const fs::path& into, std::uint64_t most) {
    const bool is_stdin = name == kStdin;
    PlainFile plain{name, is_stdin ? stdin_name : fs::path(name).filename().string()};
    std::error_code error;
    constexpr size_t kLongestSign = 16;
    const auto beginning = [&] { return ends_of(plain.file, kLongestSign); };
    const bool sized = !is_stdin && fs::is_regular_file(name, error);
    auto begins = sized ? beginning() : Expected<std::string>();
    if (!begins) return tl::unexpected(begins.error());
    if (!sized || begins->starts_with(kGzip)) {
        const auto was_gzip = TRY(read_into(name, into, most));
        plain.file = into;
        if (was_gzip && plain.name.ends_with(".gz")) plain.name.resize(plain.name.size() - 3);
        if (begins = beginning(); !begins) return tl::unexpected(begins.error());
    }
    for (const Packed& packed : kPacked)
        if (begins->starts_with(packed.begins))
            return fail(ErrorKind::usage, fmt::format("this is {}", packed.what),
                        is_stdin ? "unpack it first, then import its contents"
                                 : fmt::format("unpack it with `{} {}`, then import its contents",
                                               packed.command, shell_quoted(name)),
                        name);
    if (begins->starts_with(kUtf16Little) || begins->starts_with(kUtf16Big)) {
        if (plain.file != into) TRY(read_into(name, into, most));
        const auto mapped = TRY(Mapped::open(into));
        TRY(write_utf8(mapped.bytes(), into));
        plain.file = into;
    }
    return plain;
}

}  // namespace compat::archive
