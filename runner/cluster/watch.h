// The fate of an array job's elements, from Slurm's answers now and then. Slurm forgets a job some
// minutes after its end, and a requeued element begins anew. Starts nothing. Not here: asking Slurm
// (runner/slurm/client.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/slurm/client.h"

namespace compat::cluster {

class SlurmWatch {
  public:
    // Elements 1 to `count`.
    SlurmWatch(std::string job, std::size_t count);

    struct Change {
        std::size_t index = 0;
        bool requeued = false;  // it runs no more and waits again; else it ended badly
    };
    // `seen`: everything that Slurm says now.
    std::vector<Change> take(const std::vector<slurm::Element>& seen);
    // Takes the last row of each element whose end was never seen.
    void take_accounted(const std::vector<slurm::Element>& rows);

    // Whether every element has ended or was forgotten.
    [[nodiscard]] bool over() const;
    [[nodiscard]] bool lacks_ends() const;
    // "1 of 4 shards ended, 2 running, 1 waiting (Resources)".
    [[nodiscard]] std::string words() const;
    // Why an element left tests behind: "TIMEOUT on n2 (Slurm job 12_3)". Nothing: it ended in
    // order.
    [[nodiscard]] std::optional<std::string> reason(std::size_t index) const;
    // Its script did not start again, after nodes failed under it: "n2 n1".
    void gave_up(std::size_t index, std::string nodes);

  private:
    struct Known {
        std::string state = "PENDING", node, why;
        bool forgotten = false, given_up = false;
    };
    std::string job_;
    std::vector<Known> elements_;  // by index from 1; the first is not used
};

}  // namespace compat::cluster
