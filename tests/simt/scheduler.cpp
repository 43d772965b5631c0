// SPDX-License-Identifier: BSD-2-Clause

#include "scheduler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <string>

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "simt.hpp"

#if defined(__SANITIZE_ADDRESS__)
#    define SIMT_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define SIMT_ASAN 1
#    endif
#endif
#ifdef SIMT_ASAN
#    include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace simt {
namespace {

// ---------------------------------------------------------------------------- random numbers

std::uint64_t environment_seed() {
    const char *text = std::getenv("GPV_SIMT_SEED");
    return text ? std::strtoull(text, nullptr, 0) : 1;
}

/// splitmix64
struct Random {
    std::uint64_t seed = environment_seed(), state = seed;

    std::uint64_t next() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    std::size_t below(std::size_t end) { return (next() >> 32) * end >> 32; }
};
Random dice;

void print_seed() {
    std::fprintf(stderr, "simt: GPV_SIMT_SEED=%llu\n", static_cast<unsigned long long>(dice.seed));
}

[[maybe_unused]] const bool shows_seed = [] {
    on_exit([](int status, void *) { status != 0 ? print_seed() : void(); }, nullptr);
#ifdef SIMT_ASAN
    __sanitizer_set_death_callback(print_seed);
#endif
    return true;
}();

// ------------------------------------------------------------------------- switching of fibers

/// Where one line of execution goes on. The compiler's own setjmp and longjmp take some 10 ns and
/// no system call, and AddressSanitizer does not forget the frames of a fiber that is left, as it
/// does in longjmp().
struct Context {
    void *registers[5];
    ucontext_t entry;
    bool entered = true;
    const void *stack = nullptr;
    std::size_t stack_bytes = 0;
    void *fake_stack = nullptr; // AddressSanitizer's
};

Context scheduler;

[[gnu::noinline, gnu::no_sanitize_address]] void jump(Context &to) {
    if (!to.entered) {
        to.entered = true;
        setcontext(&to.entry);
    }
    __builtin_longjmp(to.registers, 1);
}

[[gnu::noinline, gnu::no_sanitize_address]] void leave(Context &from, Context &to) {
    if (__builtin_setjmp(from.registers) == 0)
        jump(to);
}

/// The first thing to do on arrival. A fiber learns the stack of the scheduler, which called it.
void arrive([[maybe_unused]] Context &at) {
#ifdef SIMT_ASAN
    const bool fiber = &at != &scheduler;
    __sanitizer_finish_switch_fiber(at.fake_stack, fiber ? &scheduler.stack : nullptr,
                                    fiber ? &scheduler.stack_bytes : nullptr);
#endif
}

void switch_fiber(Context &from, Context &to) {
#ifdef SIMT_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
    leave(from, to);
    arrive(from);
}

// -------------------------------------------------------------------------- threads and blocks

struct Block;

struct Thread {
    Context context;
    Block *block = nullptr;
    uint3 index = {};
    unsigned rank = 0; // in its block
    bool returned = false;
    const char *waits_at = nullptr; // nullptr: it can run
    Place place = {};
    unsigned mask = 0; // of the warp operation
    std::uint64_t value = 0;
    std::array<std::uint64_t, 32> gathered = {};
    int count = 0; // of the barrier
};

struct Barrier {
    std::vector<Thread *> waiting;
    unsigned threads = 0; // 0: all that have not returned
    int count = 0;
};

struct Block {
    uint3 index = {};
    std::vector<std::unique_ptr<Thread>> threads;
    std::array<Barrier, 16> barriers;
    unsigned alive = 0;
    void *shared = nullptr;
};

constexpr std::uint64_t patience = 1 << 26; // some seconds

const Launch *launch = nullptr;
Thread *current = nullptr;
std::vector<std::unique_ptr<Thread>> idle;
std::vector<Thread *> ready;
std::vector<std::unique_ptr<Block>> blocks; // the living ones
Barrier grid_barrier;
std::uint64_t idle_turns = 0; // since a thread last got anywhere

std::string name_of(Kernel kernel) {
    char text[512];
#ifdef SIMT_ASAN
    __sanitizer_symbolize_pc(reinterpret_cast<char *>(kernel) + 1, "%f (%m+%o)", text, sizeof text);
#else
    Dl_info info = {};
    dladdr(reinterpret_cast<void *>(kernel), &info);
    std::snprintf(text, sizeof text, "%s (%s+%#tx)", info.dli_sname ? info.dli_sname : "",
                  info.dli_fname,
                  reinterpret_cast<char *>(kernel) - static_cast<char *>(info.dli_fbase));
#endif
    return text;
}

std::string state_of(const Thread &thread) {
    if (!thread.waits_at)
        return thread.returned ? "returned" : "can run";
    char text[512], lanes[32] = "";
    if (thread.mask != 0)
        std::snprintf(lanes, sizeof lanes, " of lanes %#x", thread.mask);
    std::snprintf(text, sizeof text, "waits at %s%s, %s:%d", thread.waits_at, lanes,
                  thread.place.file, thread.place.line);
    return text;
}

[[noreturn]] void report(const char *fault) {
    std::fprintf(stderr, "simt: %s\n  kernel %s, grid (%u,%u,%u), block (%u,%u,%u)\n", fault,
                 name_of(launch->kernel).c_str(), gridDim.x, gridDim.y, gridDim.z, blockDim.x,
                 blockDim.y, blockDim.z);
    for (const auto &block : blocks) {
        std::map<std::string, std::vector<const Thread *>> states;
        for (const auto &thread : block->threads)
            states[state_of(*thread)].push_back(thread.get());
        for (const auto &[state, threads] : states) {
            const uint3 b = block->index, t = threads.front()->index;
            std::fprintf(stderr, "  block (%u,%u,%u) thread (%u,%u,%u) and %zu more: %s\n", b.x,
                         b.y, b.z, t.x, t.y, t.z, threads.size() - 1, state.c_str());
        }
    }
    print_seed();
    std::abort();
}

void wait() {
    switch_fiber(current->context, scheduler);
}

void wake(Thread &thread) {
    thread.waits_at = nullptr;
    ready.push_back(&thread);
    idle_turns = 0;
}

void open(Barrier &barrier) {
    for (Thread *thread : barrier.waiting) {
        thread->count = barrier.count;
        wake(*thread);
    }
    barrier.waiting.clear();
    barrier.count = 0;
}

void open_if_complete(const Block &block, Barrier &barrier) {
    const unsigned threads = barrier.threads ? barrier.threads : block.alive;
    if (!barrier.waiting.empty() && barrier.waiting.size() == threads)
        open(barrier);
}

void set_wait(const char *what, Place place, unsigned mask = 0) {
    current->waits_at = what;
    current->place = place;
    current->mask = mask;
}

bool at_same(const Thread &a, const Thread &b) {
    return a.waits_at && b.waits_at && a.mask == b.mask &&
           (a.waits_at == b.waits_at || !std::strcmp(a.waits_at, b.waits_at));
}

/// What every fiber runs: one thread after the other.
void fiber() {
    arrive(current->context);
    for (;;) {
        launch->kernel({launch->parameter.data(), nullptr});
        Block &block = *current->block;
        current->returned = true;
        --block.alive;
        idle_turns = 0;
        for (Barrier &barrier : block.barriers)
            open_if_complete(block, barrier);
        wait();
    }
}

std::unique_ptr<Thread> new_thread() {
    constexpr std::size_t stack_bytes = 128 << 10;
    const std::size_t guard = sysconf(_SC_PAGESIZE);
    void *memory = mmap(nullptr, guard + stack_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *stack = static_cast<char *>(memory) + guard;
    if (memory == MAP_FAILED || mprotect(stack, stack_bytes, PROT_READ | PROT_WRITE) != 0) {
        std::perror("simt: stack of a fiber");
        std::abort();
    }
    auto thread = std::make_unique<Thread>();
    Context &context = thread->context;
    context.entered = false;
    context.stack = stack;
    context.stack_bytes = stack_bytes;
    getcontext(&context.entry);
    context.entry.uc_stack.ss_sp = stack;
    context.entry.uc_stack.ss_size = stack_bytes;
    context.entry.uc_link = nullptr;
    makecontext(&context.entry, fiber, 0);
    return thread;
}

uint3 unravel(unsigned rank, dim3 size) {
    return {rank % size.x, rank / size.x % size.y, rank / size.x / size.y};
}

void start(unsigned rank) {
    auto block = std::make_unique<Block>();
    block->index = unravel(rank, gridDim);
    block->alive = blockDim.x * blockDim.y * blockDim.z;
    if (launch->shared_bytes != 0 && posix_memalign(&block->shared, 128, launch->shared_bytes) != 0)
        throw std::bad_alloc();
    fill(block->shared, launch->shared_bytes);
    for (unsigned at = 0; at < block->alive; ++at) {
        if (idle.empty())
            idle.push_back(new_thread());
        auto thread = std::move(idle.back());
        idle.pop_back();
        thread->block = block.get();
        thread->rank = at;
        thread->index = unravel(at, blockDim);
        thread->returned = false;
        ready.push_back(thread.get());
        block->threads.push_back(std::move(thread));
    }
    blocks.push_back(std::move(block));
}

void run_blocks() {
    while (!ready.empty()) {
        std::swap(ready[dice.below(ready.size())], ready.back());
        current = ready.back();
        ready.pop_back();
        threadIdx = current->index;
        blockIdx = current->block->index;
        switch_fiber(scheduler, current->context);
    }
    current = nullptr;
    for (const auto &block : blocks) {
        if (block->alive != 0)
            report("deadlock");
        std::move(block->threads.begin(), block->threads.end(), std::back_inserter(idle));
        std::free(block->shared);
    }
    blocks.clear();
}

} // namespace

void seed(std::uint64_t value) {
    dice.seed = dice.state = value;
}

void fill(void *memory, std::size_t bytes) {
    char *at = static_cast<char *>(memory);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        const std::uint64_t noise = dice.next();
        std::memcpy(at, &noise, 8);
    }
    for (; bytes != 0; --bytes)
        *at++ = static_cast<char>(dice.next());
}

void run(const Launch &order) {
    launch = &order;
    gridDim = order.grid;
    blockDim = order.block;
    std::vector<unsigned> ranks(std::size_t(gridDim.x) * gridDim.y * gridDim.z);
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::size_t at = ranks.size(); at > 1; --at)
        std::swap(ranks[dice.below(at)], ranks[at - 1]);
    // In one launch of eight a few blocks are there at once, so that what one leaves to another has
    // to be waited for. It takes twice as long as one by one.
    const std::size_t at_once = order.cooperative ? ranks.size() : dice.below(8) == 0 ? 4 : 1;
    for (unsigned rank : ranks) {
        start(rank);
        if (blocks.size() == at_once)
            run_blocks();
    }
    run_blocks();
}

// ------------------------------------------------------------------------ what kernels call

void *shared_memory() {
    return current->block->shared;
}

unsigned lane() {
    return current->rank % 32;
}

long long nanoseconds() {
    static std::atomic<long long> looks{0};
    return 1000 * ++looks;
}

int barrier(unsigned id, unsigned threads, bool predicate, const char *what, Place place) {
    set_wait(what, place);
    Block &block = *current->block;
    Barrier &barrier = block.barriers.at(id);
    if (!barrier.waiting.empty() &&
        (barrier.threads != threads || !at_same(*current, *barrier.waiting.front())))
        report("a block meets at different barriers");
    barrier.waiting.push_back(current);
    barrier.threads = threads;
    barrier.count += predicate;
    open_if_complete(block, barrier);
    wait();
    return current->count;
}

void grid_sync(Place place) {
    set_wait("grid_sync", place);
    if (!launch->cooperative)
        report("a barrier of the grid in a launch that is not cooperative");
    grid_barrier.waiting.push_back(current);
    if (grid_barrier.waiting.size() == blocks.size() * blocks.front()->threads.size())
        open(grid_barrier);
    wait();
}

Gathered gather(const char *what, unsigned mask, std::uint64_t value, Place place) {
    const auto *warp = &current->block->threads[current->rank / 32 * 32];
    const std::size_t lanes = current->block->threads.size() - current->rank / 32 * 32;
    if (lanes < 32)
        mask &= (1u << lanes) - 1; // the last warp is not whole
    set_wait(what, place, mask);
    current->value = value;
    if ((mask >> lane() & 1) == 0)
        report("a lane is not in its own mask");

    std::array<std::uint64_t, 32> values;
    bool complete = true;
    for (unsigned rest = mask; rest != 0 && complete; rest &= rest - 1) {
        const unsigned other = std::countr_zero(rest);
        complete = at_same(*current, *warp[other]);
        values[other] = warp[other]->value;
    }
    if (complete) {
        for (unsigned rest = ~mask; rest != 0; rest &= rest - 1)
            values[std::countr_zero(rest)] = dice.next();
        for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
            Thread &thread = *warp[std::countr_zero(rest)];
            thread.gathered = values;
            wake(thread);
        }
    }
    wait();
    return {current->gathered.data(), mask};
}

void yield() {
    if (!current)
        return;
    if (++idle_turns == patience)
        report("every thread that can run spins");
    ready.push_back(current);
    wait();
}

void yield_at_times() {
    if (dice.below(8) == 0)
        yield();
}

} // namespace simt
