#include "runner/http/body.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace compat::http {

namespace {

constexpr std::size_t kPieceBytes = 64 << 10;

class TextBody : public Body {
  public:
    explicit TextBody(SharedText text) : text_(std::move(text)) {}
    [[nodiscard]] std::uint64_t size() const override { return text_->size(); }
    [[nodiscard]] std::string_view next() override {
        return std::exchange(is_read_, true) ? std::string_view{} : std::string_view(*text_);
    }

  private:
    SharedText text_;
    bool is_read_ = false;
};

class UnzippedBody : public Body {
  public:
    UnzippedBody(SharedText gzip, std::uint64_t size) : gzip_(std::move(gzip)), size_(size) {
        constexpr int kGzipWindow = 15 + 16;
        if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip_->data()));
        stream_.avail_in = static_cast<uInt>(gzip_->size());
    }
    UnzippedBody(const UnzippedBody&) = delete;
    UnzippedBody& operator=(const UnzippedBody&) = delete;
    ~UnzippedBody() override { inflateEnd(&stream_); }

    [[nodiscard]] std::uint64_t size() const override { return size_; }
    [[nodiscard]] std::string_view next() override {
        stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
        stream_.avail_out = static_cast<uInt>(piece_.size());
        const int result = inflate(&stream_, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END) return {};
        return {piece_.data(), piece_.size() - stream_.avail_out};
    }

  private:
    SharedText gzip_;
    std::uint64_t size_;
    z_stream stream_{};
    std::array<char, kPieceBytes> piece_;
};

class FileBody : public Body {
  public:
    FileBody(int fd, std::uint64_t first, std::uint64_t size)
        : fd_(fd), at_(first), size_(size), left_(size) {}
    FileBody(const FileBody&) = delete;
    FileBody& operator=(const FileBody&) = delete;
    ~FileBody() override { ::close(fd_); }

    [[nodiscard]] std::uint64_t size() const override { return size_; }
    [[nodiscard]] std::string_view next() override {
        const std::size_t most = std::min<std::uint64_t>(left_, piece_.size());
        const ssize_t count = ::pread(fd_, piece_.data(), most, static_cast<off_t>(at_));
        if (count <= 0) return {};
        at_ += static_cast<std::uint64_t>(count);
        left_ -= static_cast<std::uint64_t>(count);
        return {piece_.data(), static_cast<std::size_t>(count)};
    }

  private:
    int fd_;
    std::uint64_t at_, size_, left_;
    std::array<char, kPieceBytes> piece_;
};

class NoBody : public Body {
  public:
    explicit NoBody(std::uint64_t size) : size_(size) {}
    [[nodiscard]] std::uint64_t size() const override { return size_; }
    [[nodiscard]] std::string_view next() override { return {}; }

  private:
    std::uint64_t size_;
};

}  // namespace

std::unique_ptr<Body> text_body(SharedText text) {
    return std::make_unique<TextBody>(std::move(text));
}

std::unique_ptr<Body> text_body(std::string text) {
    return text_body(std::make_shared<const std::string>(std::move(text)));
}

std::unique_ptr<Body> unzipped_body(SharedText gzip, std::uint64_t size) {
    return std::make_unique<UnzippedBody>(std::move(gzip), size);
}

std::unique_ptr<Body> no_body(std::uint64_t size) { return std::make_unique<NoBody>(size); }

std::unique_ptr<Body> file_body(int fd, std::uint64_t first, std::uint64_t size) {
    return std::make_unique<FileBody>(fd, first, size);
}

}  // namespace compat::http
