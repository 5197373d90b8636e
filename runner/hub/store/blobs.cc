#include "runner/hub/store/blobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/hub/store/digest.h"

namespace compat::hub {

std::string identity_of(const struct stat& status) {
#ifdef st_mtime
    const long fraction = status.st_mtim.tv_nsec;
#else
    const long fraction = 0;
#endif
    return fmt::format("{}:{}:{}:{}", status.st_ino, status.st_size, status.st_mtime, fraction);
}

namespace {

constexpr std::uint64_t kHashedAtOnce = 16 << 20;
constexpr std::size_t kPieceBytes = 256 << 10;

std::string open_identity(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? identity_of(status) : std::string();
}

tl::unexpected<Error> damaged(const FileBelow& file) {
    return fail(ErrorKind::io, "the stored file is damaged: its content has another SHA-256",
                "`runner hub verify` lists such files; remove it and record it again",
                file.path().string());
}

// Empty: it was stopped.
Expected<std::string> digest_of(int fd, const std::atomic<bool>& is_stopped = false) {
    Sha256 digest;
    std::string piece(kPieceBytes, '\0');
    for (off_t at = 0;;) {
        if (is_stopped) return std::string();
        const ssize_t count = ::pread(fd, piece.data(), piece.size(), at);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(ErrorKind::io, std::strerror(errno));
        if (count == 0) return digest.hex();
        digest.add({piece.data(), static_cast<std::size_t>(count)});
        at += count;
    }
}

// Whole content, hashed while it is sent.
class CheckedBody : public http::Body {
  public:
    CheckedBody(std::unique_ptr<http::Body> body, std::string sha256,
                std::function<void(bool)> on_end)
        : body_(std::move(body)), sha256_(std::move(sha256)), on_end_(std::move(on_end)) {}
    [[nodiscard]] std::uint64_t size() const override { return body_->size(); }
    [[nodiscard]] std::string_view next() override {
        const std::string_view piece = body_->next();
        digest_.add(piece);
        sent_ += piece.size();
        if (sent_ < size() && !piece.empty()) return piece;
        const bool is_right = digest_.hex() == sha256_;
        on_end_(is_right);
        return is_right ? piece : std::string_view{};
    }

  private:
    std::unique_ptr<http::Body> body_;
    std::string sha256_;
    std::function<void(bool)> on_end_;
    Sha256 digest_;
    std::uint64_t sent_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Blobs>> Blobs::open(const fs::path& store) {
    for (const char* folder : {"blobs", "partial", "generated"})
        TRY(make_directories(store / folder));
    return std::unique_ptr<Blobs>(new Blobs(store));
}

FileBelow Blobs::file(const std::string& sha256) const {
    return {store_, fs::path("blobs") / sha256};
}

Expected<Fd> Blobs::open_blob(const std::string& sha256, std::uint64_t size) const {
    const FileBelow blob = file(sha256);
    if (!is_hex(sha256, 64)) return damaged(blob);
    Fd fd = TRY(open_file(blob).map_error([&](Error error) {
        error.message = "the store lacks this file: " + error.message;
        error.advice = "record it again, or copy the store that the lock was recorded with";
        return error;
    }));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) != size)
        return damaged(blob);
    return fd;
}

bool Blobs::has(const std::string& sha256, std::uint64_t size) const {
    return open_blob(sha256, size).has_value();
}

Expected<std::function<std::unique_ptr<http::Body>(http::ByteRange)>> Blobs::body_of(
    const std::string& sha256, std::uint64_t size, OnDamage on_damage) {
    auto fd = std::make_shared<Fd>(TRY(open_blob(sha256, size)));
    const std::string identity = open_identity(fd->get());
    const Verdict verdict = verdict_of(sha256, identity);
    if (verdict == Verdict::damaged) return damaged(file(sha256));
    if (verdict == Verdict::unknown && size <= kHashedAtOnce) {
        if (TRY(digest_of(fd->get())) != sha256) return damaged(file(sha256));
        set_verdict(sha256, identity, true);
    }
    const bool checks = verdict == Verdict::unknown && size > kHashedAtOnce;
    return [=, this](http::ByteRange range) -> std::unique_ptr<http::Body> {
        auto body = http::file_body(fd->release(), range.first, range.size);
        if (!checks || range.size != size) return body;
        return std::make_unique<CheckedBody>(
            std::move(body), sha256, [this, sha256, identity, on_damage](bool is_right) {
                set_verdict(sha256, identity, is_right);
                if (!is_right) on_damage(damaged(file(sha256)).value().message);
            });
    };
}

Blobs::Verdict Blobs::verdict_of(const std::string& sha256, const std::string& identity) {
    const std::lock_guard lock(mutex_);
    const auto at = verdicts_.find(sha256);
    if (at == verdicts_.end() || at->second.first != identity) return Verdict::unknown;
    return at->second.second ? Verdict::right : Verdict::damaged;
}

void Blobs::set_verdict(const std::string& sha256, const std::string& identity, bool is_right) {
    const std::lock_guard lock(mutex_);
    verdicts_[sha256] = {identity, is_right};
}

bool Blobs::needs_check(const std::string& sha256, std::uint64_t size) {
    if (size <= kHashedAtOnce) return false;
    const auto fd = open_blob(sha256, size);
    return fd && verdict_of(sha256, open_identity(fd->get())) == Verdict::unknown;
}

void Blobs::check(const std::string& sha256, std::uint64_t size,
                  const std::atomic<bool>& is_stopped) {
    if (!needs_check(sha256, size)) return;
    const auto fd = open_blob(sha256, size);
    if (!fd) return;
    const std::string identity = open_identity(fd->get());
    const auto digest = digest_of(fd->get(), is_stopped);
    if (digest && !digest->empty()) set_verdict(sha256, identity, *digest == sha256);
}

Expected<void> Blobs::verify(const std::string& sha256, std::uint64_t size) const {
    const Fd fd = TRY(open_blob(sha256, size));
    if (TRY(digest_of(fd.get())) != sha256) return damaged(file(sha256));
    return {};
}

// A name of its own first: a blob is complete or absent.
Expected<Content> Blobs::keep_pieces(const std::function<Expected<std::string_view>()>& next) {
    const std::uint64_t number = [this] {
        const std::lock_guard lock(mutex_);
        return ++made_;
    }();
    const FileBelow beside(store_,
                           fs::path("blobs") / fmt::format(".new-{}-{}", ::getpid(), number));
    const auto written = [&]() -> Expected<Content> {
        const Fd fd = TRY(create_file(beside));
        Content content;
        Sha256 digest;
        while (true) {
            const std::string_view piece = TRY(next());
            if (piece.empty()) break;
            digest.add(piece);
            content.size += piece.size();
            if (const int error = write_all(fd.get(), piece); error != 0)
                return fail(ErrorKind::io, std::strerror(error), "", beside.path().string());
        }
        content.sha256 = digest.hex();
        TRY(rename_file(beside, file(content.sha256)));
        return content;
    }();
    if (!written) remove_file(beside);
    return written;
}

Expected<Content> Blobs::keep(std::string_view bytes) {
    std::string_view rest = bytes;
    Content content =
        TRY(keep_pieces([&]() -> Expected<std::string_view> { return std::exchange(rest, {}); }));
    Sha1 oid = git_blob(content.size);
    oid.add(bytes);
    content.oid = oid.hex();
    return content;
}

Expected<Content> Blobs::keep(const FileBelow& from, std::uint64_t most) {
    const Fd fd = TRY(open_file(from));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return fail(ErrorKind::io, std::strerror(errno));
    const auto promised = static_cast<std::uint64_t>(status.st_size);
    Sha1 oid = git_blob(promised);
    std::string piece(kPieceBytes, '\0');
    std::uint64_t read = 0;
    const auto refused = [&](std::string_view why) {
        return fail(ErrorKind::io, fmt::format("a generated file {}", why), "",
                    from.path().string());
    };
    if (promised > most)
        return refused(
            fmt::format("has {}; {} are allowed", format_size(promised), format_size(most)));
    Content content = TRY(keep_pieces([&]() -> Expected<std::string_view> {
        const ssize_t count =
            ::pread(fd.get(), piece.data(), piece.size(), static_cast<off_t>(read));
        if (count < 0) return fail(ErrorKind::io, std::strerror(errno));
        read += static_cast<std::uint64_t>(count);
        // It is still being written, or grew.
        if (count == 0 ? read != promised : read > promised)
            return refused("changed while it was read");
        const std::string_view bytes(piece.data(), static_cast<std::size_t>(count));
        oid.add(bytes);
        return bytes;
    }));
    content.oid = oid.hex();
    return content;
}

}  // namespace compat::hub
