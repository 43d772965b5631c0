// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/runner.hpp"

#include <algorithm>

namespace gpv::cuda {
namespace {

constexpr std::size_t max_plans = 16;

} // namespace

Runner::Runner(const std::shared_ptr<Context> &context, Declaration &declaration, const char *stem)
    : scratch_(context), deliveries_(static_cast<CudaDevice &>(context->device())),
      declaration_(declaration), stem_(stem) {
    deliveries_.add(this);
}

Runner::~Runner() {
    deliveries_.remove(this);
    finish();
    for (const cudaEvent_t event : events_)
        runtime.event_destroy(event);
}

bool Runner::is_captured(Stream stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    GPV_CUDA(runtime.stream_is_capturing(static_cast<cudaStream_t>(stream), &status));
    return status != cudaStreamCaptureStatusNone;
}

void Runner::refuse_capture(const std::string &why) {
    refused_ = true;
    throw Error(Status::unsupported, "the stream is being captured in a graph, and " + why);
}

// ---- plans --------------------------------------------------------------------------

Plan *Runner::known_plan() {
    const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const Plan &plan) {
        return plan.key == declaration_.key_;
    });
    if (found == plans_.end())
        return nullptr;
    plans_.splice(plans_.begin(), plans_, found);
    return &plans_.front();
}

void Runner::begin_recording(int recording) {
    if (recording == 0)
        fresh_ = std::list<Plan>(1);
    declaration_.record(recording);
}

void Runner::end_recording(int recording) {
    if (recording == 0)
        return declaration_.keep(fresh_.front());
    fresh_.front().relate(declaration_.launches_, declaration_.slots_);
    plans_.splice(plans_.begin(), fresh_);
    if (plans_.size() > max_plans)
        plans_.pop_back();
}

void Runner::reserve(Plan &plan, Stream stream) {
    // Device memory first: it is more likely to fail, and pinning is slow.
    if (plan.device_bytes() > scratch_.size()) {
        completion_.wait();
        scratch_.reserve(plan.device_bytes(), stream);
    }
    if (plan.pinned_bytes > pinned_.size()) {
        end_last_run();
        pinned_.reserve(plan.pinned_bytes);
    }
    std::size_t events = 0;
    for (const Transfer &transfer : plan.transfers)
        events += transfer.events();
    events_.reserve(events);
    while (events_.size() < events) {
        cudaEvent_t event;
        GPV_CUDA(runtime.event_create(&event, cudaEventDisableTiming));
        events_.push_back(event);
    }
}

void Runner::prepare(Plan &plan, Stream stream) {
    reserve(plan, stream);
    graphs_.prepare(plan.launches);
}

void Runner::patch(Plan &plan) {
    auto &bases = declaration_.bases_;
    bases[Plan::scratch_slot] = reinterpret_cast<std::uintptr_t>(scratch_.data());
    bases[Plan::copies_slot] = bases[Plan::scratch_slot] + plan.scratch_bytes;
    bases[Plan::pinned_slot] = reinterpret_cast<std::uintptr_t>(pinned_.data());
    plan.patch(bases);
}

// ---- a run --------------------------------------------------------------------------

void Runner::capture(Plan &plan, cudaStream_t stream) {
    if (!declaration_.on_host_.empty())
        refuse_capture(std::string(declaration_.on_host_.front().name) +
                       "->memory is GPV_MEMORY_HOST; it has to be GPV_MEMORY_CUDA");
    if (plan.device_bytes() > scratch_.size())
        refuse_capture(std::string("this run needs memory; call gpv_") + stem_ +
                       "_prepare() first");
    patch(plan);
    begin(stream);
    plan.launches.launch(stream);
}

void Runner::launch(Plan &plan, cudaStream_t stream) {
    if (declaration_.captured())
        return capture(plan, stream);
    try {
        if ((!declaration_.on_host_.empty() || delivers_) && !declaration_.continues_)
            end_last_run();
        const auto id = completion_.follow(stream);
        reserve(plan, stream);
        patch(plan);
        begin(stream);
        upload(plan, stream);
        graphs_.launch(plan.launches, stream);
        download(plan, stream);
        completion_.record(stream, id);
        delivers_ = delivers_ || !pending_.empty();
    } catch (...) {
        // Part of the work may be running, and no event marks its end.
        const auto synchronize = [stream] {
            if (runtime.stream_synchronize(stream) != cudaSuccess)
                cudaGetLastError(); // the caller gets the first error
        };
        finish();
        synchronize();
        fail(stream);
        synchronize();
        throw;
    }
}

void Runner::upload(const Plan &plan, cudaStream_t stream) {
    for (std::size_t i = 0; i < plan.transfers.size(); i++)
        if (!plan.transfers[i].output)
            plan.resolved(plan.transfers[i]).upload(declaration_.on_host_[i], stream);
}

void Runner::download(const Plan &plan, cudaStream_t stream) {
    if (!delivers_)
        pending_.clear();
    std::size_t events = 0;
    for (std::size_t i = 0; i < plan.transfers.size(); i++) {
        const Transfer from = plan.resolved(plan.transfers[i]);
        if (!from.output)
            continue;
        pending_.push_back({declaration_.on_host_[i], from, events});
        if (from.device)
            from.download(events_.data() + events, stream);
        events += from.events();
    }
}

// ---- its end ------------------------------------------------------------------------

bool Runner::finished() {
    wait_failed_ = true;
    const bool finished = completion_.finished();
    if (finished)
        deliver_all();
    wait_failed_ = false;
    return finished;
}

void Runner::wait() {
    wait_failed_ = true;
    deliver_pending(false); // piece by piece, while the device still copies the rest
    completion_.wait();
    deliver_all();
    wait_failed_ = false;
}

void Runner::finish() noexcept {
    try {
        completion_.wait();
    } catch (...) { // the device is lost and has stopped
    }
}

void Runner::end_last_run() {
    if (wait_failed_) {
        delivers_ = false;
        forget();
    }
    wait();
}

void Runner::deliver_if_finished() {
    if (delivers_ && completion_.finished())
        deliver_all();
}

/// What has no events is there when the run is over.
void Runner::deliver_pending(bool is_over) {
    if (!delivers_)
        return;
    const auto comes = [is_over](const Pending &pending) {
        return is_over || pending.from.events() > 0;
    };
    for (const Pending &pending : pending_)
        if (comes(pending))
            pending.from.deliver(pending.to, events_.data() + pending.first_event);
    std::erase_if(pending_, comes);
}

void Runner::deliver_all() {
    deliver_pending(true);
    delivers_ = false;
    deliver();
}

} // namespace gpv::cuda
