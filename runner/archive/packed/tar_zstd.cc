#include "runner/archive/packed/tar_zstd.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "runner/base/files.h"
#include "runner/base/files/file_below.h"
#include "runner/base/names.h"
#include "runner/base/text.h"

namespace compat::archive {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kChunk = 1 << 17;
constexpr int kLevel = 9;  // logs and events of tests: half of the default level's bytes
// Modules of a suite repeat each other's lines.
constexpr int kWindowLog = 25;

// IEEE 1003.1, "ustar Interchange Format". Numbers are octal text.
struct Header {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6], version[2];
    char user[32], group[32];
    char device_major[8], device_minor[8];
    char prefix[155];
    char pad[12];
};
static_assert(sizeof(Header) == kBlock);

template <std::size_t size>
void put_octal(char (&field)[size], std::uint64_t value) {
    const std::string text = fmt::format("{:0{}o}", value, size - 1);
    std::memcpy(field, text.data(), std::min(text.size(), size - 1));
}

template <std::size_t size>
std::string text_of_field(const char (&field)[size]) {
    return {field, ::strnlen(field, size)};
}

template <std::size_t size>
std::optional<std::uint64_t> octal_of(const char (&field)[size]) {
    std::uint64_t value = 0;
    bool any = false;
    for (const char c : field) {
        if (c == ' ' && !any) continue;
        if (c < '0' || c > '7') return c == '\0' || c == ' ' ? std::optional(value) : std::nullopt;
        value = value * 8 + static_cast<std::uint64_t>(c - '0');
        any = true;
    }
    return value;
}

// The sum of its bytes, those of the checksum as spaces.
std::uint64_t checksum_of(Header header) {
    std::memset(header.checksum, ' ', sizeof header.checksum);
    std::array<unsigned char, kBlock> bytes{};
    std::memcpy(bytes.data(), &header, kBlock);
    std::uint64_t sum = 0;
    for (const unsigned char byte : bytes) sum += byte;
    return sum;
}

Header header_of(std::string_view name, char type, std::uint64_t size, std::uint64_t mtime) {
    Header header{};
    std::memcpy(header.name, name.data(), std::min(name.size(), sizeof header.name));
    put_octal(header.mode, 0644);
    put_octal(header.uid, 0);
    put_octal(header.gid, 0);
    // Eleven octal digits; a longer size stands in the pax header.
    put_octal(header.size, size < (1ull << 33) ? size : 0);
    put_octal(header.mtime, mtime);
    header.type = type;
    std::memcpy(header.magic, "ustar", sizeof header.magic);
    std::memcpy(header.version, "00", sizeof header.version);
    put_octal(header.checksum, checksum_of(header));
    return header;
}

// "LENGTH KEY=VALUE\n", where the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest;
    while (fmt::formatted_size("{}", length) + rest != length)
        length = fmt::formatted_size("{}", length) + rest;
    return fmt::format("{} {}={}\n", length, key, value);
}

Error disk_error(const fs::path& file, std::string_view what, int error) {
    return {ErrorKind::io, fmt::format("{}: {}", what, std::strerror(error)), {}, file.string()};
}

class Compressor {
  public:
    explicit Compressor(AtomicFile& to) : to_(to), context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, kWindowLog);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_enableLongDistanceMatching, 1);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    }

    void write(std::string_view bytes) { pass(bytes, ZSTD_e_continue); }
    void write(const Header& header) {
        std::array<char, kBlock> bytes{};
        std::memcpy(bytes.data(), &header, kBlock);
        write(std::string_view(bytes.data(), kBlock));
    }
    void pad(std::uint64_t written) {
        write(std::string((kBlock - written % kBlock) % kBlock, '\0'));
    }
    void finish() { pass({}, ZSTD_e_end); }

  private:
    // Nothing of it fails but memory.
    void pass(std::string_view bytes, ZSTD_EndDirective directive) {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        std::array<char, kChunk> buffer;
        for (bool done = false; !done;) {
            ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
            const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, directive);
            to_.write({buffer.data(), out.pos});
            done = ZSTD_isError(left) || (directive == ZSTD_e_end ? left == 0 : in.pos == in.size);
        }
    }

    AtomicFile& to_;
    std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
};

// A file, and each folder above it, take a block of the disk.
std::uint64_t room_of(std::string_view name, std::uint64_t size) {
    constexpr std::uint64_t kDiskBlock = 4096;
    const auto folders = static_cast<std::uint64_t>(std::count(name.begin(), name.end(), '/'));
    return folders * kDiskBlock + std::max(size, kDiskBlock);
}

// Returns the room that it takes.
Expected<std::uint64_t> add_file(const TarFile& one, const FileBelow& file, Compressor& to) {
    const auto in = TRY(open_file(file));
    struct stat status {};
    if (::fstat(in.get(), &status) != 0)
        return tl::unexpected(disk_error(file.path(), "cannot read", errno));
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const auto mtime = static_cast<std::uint64_t>(std::max<std::int64_t>(0, status.st_mtime));
    std::string pax;
    if (one.name.size() > sizeof Header{}.name) pax += pax_record("path", one.name);
    if (size >= 1ull << 33) pax += pax_record("size", std::to_string(size));
    if (!pax.empty()) {
        to.write(header_of("pax", 'x', pax.size(), mtime));
        to.write(pax);
        to.pad(pax.size());
    }
    to.write(header_of(one.name, '0', size, mtime));
    std::string chunk(kChunk, '\0');
    std::uint64_t left = size;
    while (left > 0) {
        const ssize_t read = ::read(in.get(), chunk.data(), std::min<std::uint64_t>(kChunk, left));
        if (read < 0 && errno == EINTR) continue;
        if (read < 0) return tl::unexpected(disk_error(file.path(), "cannot read", errno));
        if (read == 0)
            return fail(ErrorKind::io, "it became shorter while it was read",
                        "wait for the run's end", file.path().string());
        to.write(std::string_view(chunk.data(), static_cast<std::size_t>(read)));
        left -= static_cast<std::uint64_t>(read);
    }
    to.pad(size);
    return room_of(one.name, size);
}

// Reads decompressed bytes of a file in order.
class Decompressor {
  public:
    explicit Decompressor(const fs::path& file)
        : file_(file),
          in_(file, std::ios::binary),
          context_(ZSTD_createDCtx(), &ZSTD_freeDCtx),
          compressed_(kChunk, '\0') {
        ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog);
    }

    // False: the archive ends before the first byte.
    Expected<bool> read(char* to, std::size_t size) {
        ZSTD_outBuffer out{to, size, 0};
        while (out.pos < out.size) {
            if (input_.pos == input_.size && !fill()) {
                if (out.pos == 0 && at_frame_end_) return false;
                return tl::unexpected(damaged("it is cut off"));
            }
            const std::size_t result = ZSTD_decompressStream(context_.get(), &out, &input_);
            if (ZSTD_isError(result)) return tl::unexpected(damaged(ZSTD_getErrorName(result)));
            at_frame_end_ = result == 0;
        }
        return true;
    }

    // Reads to the end, so that the checksum is compared.
    Expected<void> finish() {
        std::array<char, kBlock> rest{};
        for (;;) {
            const auto more = TRY(read(rest.data(), rest.size()));
            if (!more) return {};
        }
    }

    [[nodiscard]] Error damaged(std::string_view why) const {
        return {ErrorKind::usage, fmt::format("this is no archive of a run: {}", why),
                "copy it again, or make it again with `runner archive`", file_.string()};
    }

    [[nodiscard]] const fs::path& file() const { return file_; }

  private:
    bool fill() {
        in_.read(compressed_.data(), static_cast<std::streamsize>(compressed_.size()));
        input_ = {compressed_.data(), static_cast<std::size_t>(in_.gcount()), 0};
        return input_.size > 0;
    }

    fs::path file_;
    std::ifstream in_;
    std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
    std::string compressed_;
    ZSTD_inBuffer input_{nullptr, 0, 0};
    bool at_frame_end_ = false;
};

bool leads_out(const fs::path& name) {
    return name.empty() || name.is_absolute() ||
           std::any_of(name.begin(), name.end(), [](const auto& part) { return part == ".."; });
}

// Values of the keys in pax's records that are used here.
struct Pax {
    std::string path;
    std::optional<std::uint64_t> size;
};

Pax pax_of(std::string_view text) {
    Pax pax;
    while (!text.empty()) {
        const std::size_t length =
            std::strtoul(std::string(text.substr(0, 20)).c_str(), nullptr, 10);
        if (length == 0 || length > text.size()) break;
        std::string_view record = text.substr(0, length - 1);
        text.remove_prefix(length);
        record.remove_prefix(std::min(record.find(' ') + 1, record.size()));
        const std::size_t equals = record.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string value(record.substr(equals + 1));
        if (record.starts_with("path=")) pax.path = value;
        if (record.starts_with("size=")) pax.size = std::strtoull(value.c_str(), nullptr, 10);
    }
    return pax;
}

class Extractor {
  public:
    Extractor(Decompressor& from, fs::path folder, std::uint64_t most)
        : from_(from), folder_(std::move(folder)), most_(most), left_(most) {}

    Expected<void> run() {
        for (;;) {
            Header header{};
            std::array<char, kBlock> bytes{};
            const auto more = TRY(from_.read(bytes.data(), kBlock));
            std::memcpy(&header, bytes.data(), kBlock);
            const bool is_zero =
                std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
            if (!more) return tl::unexpected(from_.damaged("it is cut off"));
            if (is_zero) return from_.finish();
            TRY(take(header));
        }
    }

  private:
    Expected<void> take(const Header& header) {
        const auto size = octal_of(header.size);
        if (!size || octal_of(header.checksum) != checksum_of(header))
            return tl::unexpected(from_.damaged("a header is damaged"));
        if (header.type == 'x') {
            constexpr std::uint64_t kLongest = 1 << 20;
            if (*size > kLongest) return tl::unexpected(from_.damaged("a header is too long"));
            std::string text;
            return copy(*size, [&](std::string_view part) { text += part; }).map([&] {
                pax_ = pax_of(text);
            });
        }
        std::string name = text_of_field(header.name);
        if (const auto prefix = text_of_field(header.prefix); !prefix.empty())
            name = prefix + "/" + name;
        if (!pax_.path.empty()) name = pax_.path;
        const std::uint64_t length = pax_.size.value_or(*size);
        pax_ = {};
        if (leads_out(name) || name.size() >= PATH_MAX)
            return tl::unexpected(from_.damaged(fmt::format("it has a file \"{}\"", name)));
        TRY(take_room(name, length));
        if (header.type == '5') return make_directories(folder_ / name);
        if (header.type != '0' && header.type != '\0')
            return tl::unexpected(from_.damaged(fmt::format("\"{}\" is no regular file", name)));
        return write({folder_, fs::path(name).lexically_normal()}, length,
                     octal_of(header.mtime).value_or(0));
    }

    Expected<void> take_room(const std::string& name, std::uint64_t size) {
        if (size > left_ || room_of(name, size) > left_) return tl::unexpected(too_large());
        left_ -= room_of(name, size);
        return {};
    }

    Expected<void> write(const FileBelow& to, std::uint64_t size, std::uint64_t mtime) {
        const auto out = TRY(create_file(to));
        int failed = 0;
        TRY(copy(size, [&](std::string_view part) {
            if (failed == 0) failed = write_all(out.get(), part);
        }));
        if (failed != 0) return tl::unexpected(disk_error(to.path(), "cannot write", failed));
        const timespec time{static_cast<time_t>(mtime), 0};
        const std::array times{time, time};
        ::futimens(out.get(), times.data());
        return {};
    }

    [[nodiscard]] Error too_large() const {
        return {ErrorKind::usage,
                fmt::format("this archive unpacks to more than {}, which is more than a run's does",
                            format_size(most_)),
                fmt::format("if you trust it: `tar --zstd -xf {}` in a new folder, then `runner "
                            "reparse --all --results FOLDER`",
                            shell_quoted(from_.file().string())),
                from_.file().string()};
    }

    template <class See>
    Expected<void> copy(std::uint64_t size, See see) {
        std::string chunk(kChunk, '\0');
        for (std::uint64_t left = size; left > 0;) {
            // Whole blocks; only the last one has padding.
            const auto part = std::min<std::uint64_t>(left, kChunk);
            const auto blocks = (part + kBlock - 1) / kBlock * kBlock;
            const auto read = TRY(from_.read(chunk.data(), blocks));
            if (!read) return tl::unexpected(from_.damaged("it is cut off"));
            see(std::string_view(chunk.data(), part));
            left -= part;
        }
        return {};
    }

    Decompressor& from_;
    fs::path folder_;
    std::uint64_t most_, left_;  // bytes of files
    Pax pax_;  // of the next entry
};

}  // namespace

std::uint64_t most_unpacked(std::uint64_t packed) {
    // Logs of a flood are a thousandth of their size at the least.
    constexpr std::uint64_t kRatio = 1000, kAlways = 1ull << 30, kNever = 64ull << 30;
    return packed >= kNever / kRatio ? kNever : std::max(packed * kRatio, kAlways);
}

Expected<std::uint64_t> write_tar_zstd(const fs::path& out, const fs::path& folder,
                                       const std::vector<TarFile>& files) {
    auto file = TRY(AtomicFile::create(out));
    Compressor to(file);
    std::uint64_t room = 0;
    for (const TarFile& one : files) {
        const auto added = TRY(add_file(one, {folder, one.file}, to));
        room += added;
    }
    to.write(std::string(2 * kBlock, '\0'));
    to.finish();
    return file.commit().map([&] { return room; });
}

Expected<void> extract_tar_zstd(const fs::path& archive, const fs::path& folder,
                                std::optional<std::uint64_t> most) {
    std::error_code error;
    if (!fs::is_regular_file(archive, error))
        return fail(ErrorKind::usage, "there is no such file", {}, archive.string());
    Decompressor from(archive);
    const std::uint64_t limit = most.value_or(most_unpacked(fs::file_size(archive, error)));
    return make_directories(folder).and_then([&] { return Extractor(from, folder, limit).run(); });
}

}  // namespace compat::archive
