// Memory that several processes map, in files without a name (memfd_create). A file is gone when
// the last process that has it ends, even by a crash. Linux only: other processes find it in /proc.
//
// Not here: whose memory it is and when it is free (pool.h, shared_storage.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace compat::shim::simulate {

// One file: the number of granules; for each granule, the number of other processes that hold the
// memory that begins there; then the granules.
class Segment {
  public:
    static constexpr std::size_t kGranule = 4096;  // bytes

    // Throws if the system refuses it. It takes no memory until it is written.
    [[nodiscard]] static std::shared_ptr<Segment> create(std::size_t granules);
    // Maps another process's segment. Null if that process has ended or has no segment with this
    // handle.
    [[nodiscard]] static std::shared_ptr<Segment> open(const std::string& handle);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    // Another process opens it by this handle, while this process lives.
    [[nodiscard]] const std::string& handle() const { return handle_; }
    [[nodiscard]] std::size_t granules() const { return granules_; }
    [[nodiscard]] std::size_t offset(std::size_t granule) const;  // in the file, in bytes
    [[nodiscard]] std::byte* at_offset(std::size_t offset) const { return base_ + offset; }
    [[nodiscard]] std::atomic_ref<int> holders(std::size_t granule) const;
    // Gives the memory back to the system. Only for the process that created it.
    void clear(std::size_t granule, std::size_t count) const;

  private:
    Segment(std::byte* base, std::size_t bytes, std::size_t granules)
        : base_(base), bytes_(bytes), granules_(granules) {}

    std::byte* base_;
    std::size_t bytes_, granules_;
    int file_ = -1;  // in the process that created it: open while others may ask for it
    std::string handle_;
};

}  // namespace compat::shim::simulate
