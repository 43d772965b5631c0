// SPDX-License-Identifier: BSD-2-Clause
// The order of keypoints, and which of them are kept. They fall into bins by response; in its bin
// each counts those before it, unless there are many.
#pragma once

#include "cuda/sift/orient.cuh"
#include "cuda/sift/sort.cuh"

namespace gpv::cuda::sift {

/// Results for the host.
struct Report {
    SiftResult found;
    unsigned overflow;
    std::int32_t drawn; ///< keypoints available for a drawing on the host
};

/// Puts keypoints into their bins, up to the bin of the last kept one.
struct Place {
    struct Job {
        Lists lists;
        ResponseBins bins;
        Slot *slots;
        unsigned room; ///< keypoints that are kept at most
        SiftResult *result;
        Report *report; ///< or null
    };
    static constexpr int threads = place_threads;
    static constexpr bool waits = true;
    static constexpr int bins_of_thread = response_bins / threads;
    struct Shared {
        unsigned sums[threads / 32];
        unsigned starts[response_bins];
    };

    __device__ static void run(const Job &job) {
        Shared &s = *shared_memory<Shared>();
        wait_for_earlier_kernels();
        let_next_kernel_begin();
        Control &control = *job.lists.control;
        const unsigned count = control.features;
        const bool overflow =
            control.extrema > job.lists.max_candidates || count > job.lists.max_features;
        const unsigned kept = overflow ? 0 : min(count, job.room);
        if (blockIdx.x == 0 && threadIdx.x == 0)
            tell(job, control, kept, overflow);
        if (kept == 0)
            return;
        find_starts(control, kept, s);
        for (unsigned i = blockIdx.x * threads + threadIdx.x; i < count; i += gridDim.x * threads) {
            const Feature &feature = job.lists.features[i];
            const int bin = job.bins.bin(feature.extremum.response);
            const unsigned first = s.starts[bin];
            if (first >= kept)
                continue;
            Slot slot = slot_of(feature);
            slot.feature = i;
            job.slots[first + atomicAdd(&control.filled[bin], 1u)] = slot;
        }
    }

  private:
    __device__ static void tell(const Job &job, Control &control, unsigned kept, bool overflow) {
        constexpr unsigned maximum = 0x7fffffff;
        const unsigned all =
            control.extrema > job.lists.max_candidates ? control.extrema : control.features;
        const SiftResult found{sizeof(SiftResult), static_cast<std::int32_t>(kept),
                               static_cast<std::int32_t>(min(all - kept, maximum)), 0};
        control.kept = kept;
        control.found = found;
        if (job.result)
            *job.result = found;
        if (job.report) {
            job.report->found = found;
            job.report->overflow = overflow;
        }
    }

    /// For each bin, counts the keypoints in the bins before it.
    __device__ static void find_starts(Control &control, unsigned kept, Shared &s) {
        const int first = threadIdx.x * bins_of_thread;
        unsigned own[bins_of_thread], sum = 0;
#pragma unroll
        for (int i = 0; i < bins_of_thread; i += 4) {
            const auto four = *reinterpret_cast<const uint4 *>(&control.bins[first + i]);
            own[i] = four.x;
            own[i + 1] = four.y;
            own[i + 2] = four.z;
            own[i + 3] = four.w;
            sum += four.x + four.y + four.z + four.w;
        }
        unsigned total, start = block_sum_before<threads / 32>(sum, s.sums, total);
#pragma unroll
        for (int i = 0; i < bins_of_thread; i++) {
            s.starts[first + i] = start;
            if (blockIdx.x == 0)
                tell_of_bin(control, first + i, start, own[i], kept);
            start += own[i];
        }
        __syncthreads();
    }

    /// Tells Rank about a bin. start: keypoints before it; count: keypoints in it.
    __device__ static void tell_of_bin(Control &control, int bin, unsigned start, unsigned count,
                                       unsigned kept) {
        if (start >= kept)
            return;
        control.starts[bin] = start;
        control.starts[bin + 1] = start + count;
        if (start + count >= kept)
            control.placed = start + count;
        if (count > max_in_bin)
            control.crowded = true;
    }

    __device__ static Slot slot_of(const Feature &feature) {
        const Extremum &e = feature.extremum;
        const std::uint64_t response = ~__float_as_uint(e.response);
        Slot slot{};
        slot.a = response << 32 | static_cast<unsigned>(e.octave) << 28 |
                 static_cast<unsigned>(e.layer << 24 | e.y);
        // Angles of one extremum are 10 degrees apart, at least.
        slot.b = static_cast<unsigned>(e.x << 6 | static_cast<int>(feature.angle * (1.0f / 6)));
        return slot;
    }
};

/// Writes keypoints in their order.
struct Rank {
    struct Job {
        Control *control;
        Slot *slots, *others; ///< others: free memory for as many
        const Feature *features;
        ResponseBins bins;
        SiftParams params;
        Keypoint *kept;       ///< internal copy
        Window *windows;      ///< windows of kept keypoints, to describe; or null
        std::byte *keypoints; ///< the caller's, or null
        std::size_t stride;
    };
    static constexpr int threads = 128;
    static constexpr bool waits = true;
    using Shared = Sort<threads>::Shared;

    __device__ static void run(const Job &job) {
        wait_for_earlier_kernels();
        let_next_kernel_begin();
        Control &control = *job.control;
        if (control.crowded)
            write_sorted(job, control);
        else
            count_and_write(job, control);
    }

  private:
    using SlotSort = Sort<threads>;

    __device__ static void write_sorted(const Job &job, Control &control) {
        const Slot *sorted =
            SlotSort(control, job.slots, job.others, *shared_memory<Shared>()).run();
        for (unsigned i = blockIdx.x * threads + threadIdx.x; i < control.kept;
             i += gridDim.x * threads)
            write(job, i, job.features[sorted[i].feature]);
    }

    __device__ static void count_and_write(const Job &job, const Control &control) {
        for (unsigned i = blockIdx.x * threads + threadIdx.x; i < control.placed;
             i += gridDim.x * threads) {
            const Slot own = job.slots[i];
            const int bin = job.bins.bin(own.response());
            unsigned rank = control.starts[bin];
            const unsigned end = control.starts[bin + 1];
#pragma unroll 8
            for (unsigned other = rank; other < end; other++)
                rank += job.slots[other].before(own);
            if (rank < control.kept)
                write(job, rank, job.features[own.feature]);
        }
    }

    __device__ static void write(const Job &job, unsigned rank, const Feature &feature) {
        const Extremum &e = feature.extremum;
        Keypoint keypoint = e.keypoint(job.params);
        keypoint.angle = feature.angle;
        job.kept[rank] = keypoint;
        if (job.keypoints)
            *reinterpret_cast<Keypoint *>(job.keypoints + rank * job.stride) = keypoint;
        if (job.windows)
            job.windows[rank] =
                window_of(e.octave, e.layer, static_cast<float>(e.x) + e.dx,
                          static_cast<float>(e.y) + e.dy, e.scale(job.params), feature.angle);
    }
};

} // namespace gpv::cuda::sift
