// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <list>
#include <memory>
#include <string>

#include "core/context.hpp"
#include "cuda/device.hpp"
#include "cuda/run/completion.hpp"
#include "cuda/run/declaration.hpp"
#include "cuda/run/launch_list.hpp"
#include "cuda/run/staging.hpp"

namespace gpv::cuda {

/// The runs of one object: their plans, transfers and scratch, and when the last one is over. A run
/// with something in host memory begins when the last one is over, and so does the one that follows
/// a run which writes there.
class Runner : private Delivery {
  public:
    Runner(const Runner &) = delete;
    Runner &operator=(const Runner &) = delete;

  protected:
    /// stem: of the object's functions.
    Runner(const std::shared_ptr<Context> &context, Declaration &declaration, const char *stem);
    ~Runner();

    /// Whether a run on this stream is captured in a graph.
    static bool is_captured(Stream stream);
    /// Throws Error: the run cannot be captured. It has not begun.
    [[noreturn]] void refuse_capture(const std::string &why);

    // A run is declared after look_at(). If no plan is known then, it is declared and recorded
    // between begin_recording() and end_recording(), twice.

    void look_at(bool captured, const void *kind) { declaration_.look(captured, kind); }
    Plan *known_plan();
    void begin_recording(int recording);
    void end_recording(int recording);
    /// Enqueues the run, or adds it to the graph that the stream is captured in.
    void launch(Plan &plan, cudaStream_t stream);
    /// Takes memory and builds the graphs for such runs.
    void prepare(Plan &plan, Stream stream);
    /// Call when something changes that record() looks at beside its run.
    void forget_plans() { plans_.clear(); }

    bool finished();
    void wait();
    /// The destructor of a derived class calls this if the last run uses its members.
    void finish() noexcept;
    /// After this, the last run is over. If a wait for it has failed, its outputs in host memory
    /// are dropped: the caller may have freed them.
    void end_last_run();

    /// Called before kernels are launched, or added to a graph.
    virtual void begin(cudaStream_t) {}
    /// Called where a run could not be launched as a whole, and some of its work may have run.
    virtual void fail(cudaStream_t) noexcept {}
    /// Called when a run is over, once its outputs are in host memory.
    virtual void deliver() {}
    /// Drops what deliver() would write: the host memory may be gone.
    virtual void forget() {}

    Buffer scratch_;
    bool delivers_ = false; ///< whether something in host memory is to be written
    bool refused_ = false;  ///< whether the last run was, by refuse_capture()

  private:
    struct Pending {
        HostRows to;
        Transfer from;
        std::size_t first_event;
    };

    void capture(Plan &plan, cudaStream_t stream);
    void reserve(Plan &plan, Stream stream);
    void patch(Plan &plan);
    void upload(const Plan &plan, cudaStream_t stream);
    void download(const Plan &plan, cudaStream_t stream);
    void deliver_if_finished() override;
    void deliver_pending(bool is_over);
    void deliver_all();

    CudaDevice &deliveries_;
    Declaration &declaration_;
    const char *const stem_;
    std::list<Plan> plans_, fresh_; ///< most recently used first; what is being recorded
    GraphCache graphs_;
    Completion completion_;
    PinnedBuffer pinned_;
    std::vector<cudaEvent_t> events_; ///< when pieces of outputs have come back
    std::vector<Pending> pending_;
    bool wait_failed_ = false; ///< whether the last wait() or finished() threw
};

} // namespace gpv::cuda
