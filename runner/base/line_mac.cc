#include "runner/base/line_mac.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <random>

namespace compat {

namespace {

constexpr std::size_t kMacBytes = 16, kBlockBytes = 128, kLongestKey = 64, kRounds = 12;
constexpr std::string_view kBeforeMac = ", \"mac\": \"", kAfterMac = "\"}";

using Words = std::array<std::uint64_t, 8>;
constexpr Words kStart{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                       0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                       0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
// The order in which each round takes the words of a block.
constexpr std::uint8_t kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

class Blake2b {
  public:
    explicit Blake2b(std::string_view key) {
        assert(key.size() <= kLongestKey);
        state_[0] ^= 0x01010000 ^ key.size() << 8 ^ kMacBytes;
        if (key.empty()) return;
        add(key);
        add(std::string(kBlockBytes - key.size(), '\0'));
    }

    void add(std::string_view bytes) {
        while (!bytes.empty()) {
            // The last block is left for `finish`, which marks it.
            if (used_ == kBlockBytes) compress(false);
            const std::size_t size = std::min(bytes.size(), kBlockBytes - used_);
            std::copy_n(bytes.data(), size, block_.begin() + used_);
            used_ += size;
            bytes.remove_prefix(size);
        }
    }

    std::string finish() {
        std::fill(block_.begin() + used_, block_.end(), '\0');
        compress(true);
        std::string digits;
        for (std::size_t i = 0; i < kMacBytes; ++i)
            digits += fmt::format("{:02x}", state_[i / 8] >> 8 * (i % 8) & 0xff);
        return digits;
    }

  private:
    [[nodiscard]] std::uint64_t word(std::size_t number) const {
        std::uint64_t value = 0;
        for (std::size_t i = 8; i-- > 0;)
            value = value << 8 | static_cast<unsigned char>(block_[number * 8 + i]);
        return value;
    }

    void compress(bool last) {
        total_ += used_;
        used_ = 0;
        std::array<std::uint64_t, 16> v{};
        std::copy(state_.begin(), state_.end(), v.begin());
        std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
        v[12] ^= total_;
        if (last) v[14] = ~v[14];
        std::array<std::uint64_t, 16> m{};
        for (std::size_t i = 0; i < m.size(); ++i) m[i] = word(i);
        const auto mix = [&](int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
            v[a] += v[b] + x;
            v[d] = std::rotr(v[d] ^ v[a], 32);
            v[c] += v[d];
            v[b] = std::rotr(v[b] ^ v[c], 24);
            v[a] += v[b] + y;
            v[d] = std::rotr(v[d] ^ v[a], 16);
            v[c] += v[d];
            v[b] = std::rotr(v[b] ^ v[c], 63);
        };
        for (std::size_t round = 0; round < kRounds; ++round) {
            const auto& s = kOrder[round % 10];
            for (int i = 0; i < 4; ++i) mix(i, i + 4, i + 8, i + 12, m[s[2 * i]], m[s[2 * i + 1]]);
            for (int i = 0; i < 4; ++i)
                mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, m[s[2 * i + 8]],
                    m[s[2 * i + 9]]);
        }
        for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= v[i] ^ v[i + 8];
    }

    Words state_ = kStart;
    std::array<char, kBlockBytes> block_{};
    std::size_t used_ = 0;     // of the block
    std::uint64_t total_ = 0;  // bytes, without those of the block
};

}  // namespace

std::string new_mac_key() {
    std::random_device source;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

std::string mac_of(std::string_view text, std::string_view key) {
    Blake2b hash(key);
    hash.add(text);
    return hash.finish();
}

bool has_mac(std::string_view line, std::string_view key) {
    constexpr std::size_t kTail = kBeforeMac.size() + 2 * kMacBytes + kAfterMac.size();
    if (line.size() < kTail || !line.ends_with(kAfterMac)) return false;
    const std::string_view text = line.substr(0, line.size() - kTail);
    std::string_view tail = line.substr(text.size());
    if (!tail.starts_with(kBeforeMac)) return false;
    tail.remove_prefix(kBeforeMac.size());
    return tail.substr(0, 2 * kMacBytes) == mac_of(text, key);
}

}  // namespace compat
