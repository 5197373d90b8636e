// SHA-256, by which content is stored, and SHA-1, by which git and the hub name a file. Not for
// secrets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace compat::hub {

// Both hashes work on blocks of 64 bytes and end with the length in bits.
template <class Hash>
class Digest {
  public:
    void add(std::string_view bytes) {
        size_ += bytes.size();
        while (!bytes.empty()) {
            const std::size_t free = block_.size() - used_;
            const std::size_t count = bytes.size() < free ? bytes.size() : free;
            bytes.copy(block_.data() + used_, count);
            bytes.remove_prefix(count);
            used_ += count;
            if (used_ < block_.size()) return;
            hash_.block(block_);
            used_ = 0;
        }
    }
    // Lower-case hexadecimal digits. Ends it.
    [[nodiscard]] std::string hex() {
        constexpr std::size_t kLengthAt = 56;
        const std::uint64_t bits = size_ * 8;
        add(std::string_view("\x80", 1));
        while (used_ != kLengthAt) add(std::string_view("\0", 1));
        std::array<char, 8> length{};
        for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
        add({length.data(), length.size()});
        std::string text;
        for (const std::uint32_t word : hash_.state)
            for (int shift = 28; shift >= 0; shift -= 4)
                text += "0123456789abcdef"[(word >> shift) & 15];
        return text;
    }

  private:
    Hash hash_;
    std::array<char, 64> block_{};
    std::size_t used_ = 0;
    std::uint64_t size_ = 0;
};

struct Sha256Hash {
    std::array<std::uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    void block(const std::array<char, 64>& bytes);
};

struct Sha1Hash {
    std::array<std::uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    void block(const std::array<char, 64>& bytes);
};

using Sha256 = Digest<Sha256Hash>;
using Sha1 = Digest<Sha1Hash>;

// Git's id of a file; `add` its bytes.
[[nodiscard]] Sha1 git_blob(std::uint64_t size);

[[nodiscard]] std::string sha256_of(std::string_view bytes);

// Whether it has this many lower-case hexadecimal digits and nothing else.
[[nodiscard]] bool is_hex(std::string_view text, std::size_t digits);

}  // namespace compat::hub
