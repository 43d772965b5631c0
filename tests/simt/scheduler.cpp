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
#include <utility>

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
    void *registers[5] = {};
    std::unique_ptr<ucontext_t> entry; // until it is entered
    const void *stack = nullptr;
    std::size_t stack_bytes = 0;
    void *fake_stack = nullptr; // AddressSanitizer's
};

Context scheduler;
[[maybe_unused]] Context *departed = nullptr; // the last that was left

[[gnu::noinline, gnu::no_sanitize_address]] void jump(Context &to) {
    if (to.entry)
        setcontext(to.entry.get());
    __builtin_longjmp(to.registers, 1);
}

[[gnu::noinline, gnu::no_sanitize_address]] void leave(Context &from, Context &to) {
    if (__builtin_setjmp(from.registers) == 0)
        jump(to);
}

/// The first thing to do on arrival. AddressSanitizer tells which stack was left: the scheduler's
/// is known from nowhere else.
void arrive(Context &at) {
#ifdef SIMT_ASAN
    __sanitizer_finish_switch_fiber(at.fake_stack, &departed->stack, &departed->stack_bytes);
#endif
    at.entry.reset();
}

void switch_fiber(Context &from, Context &to) {
    departed = &from;
#ifdef SIMT_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
    leave(from, to);
    arrive(from);
}

// -------------------------------------------------------------------------- threads and blocks

struct Block;

/// What the lanes of a warp have told each other. Each of them holds it until it tells something
/// else.
struct Exchange {
    std::array<std::uint64_t, 32> values;
    unsigned holders = 0;
};

/// What others look at comes first, in one line of the processor's cache.
struct alignas(64) Thread {
    const char *waits_at = nullptr; // nullptr: it can run
    unsigned mask = 0;              // of the warp operation
    unsigned rank = 0;              // in its block
    std::uint64_t value = 0;
    Block *block = nullptr;
    Exchange *exchange = nullptr;
    uint3 index = {};
    int count = 0;               // of the barrier
    alignas(64) Context context; // the registers lie in one line, too
    Place place = {};
    bool returned = false;
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
/// Those of them that run next, on their way into the processor's cache.
std::array<Thread *, 2> drawn{};
std::vector<std::unique_ptr<Block>> blocks; // the living ones
std::vector<std::unique_ptr<Exchange>> exchanges;
std::vector<Exchange *> free_exchanges;
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

/// A thread that can run, or nullptr: by lot, mostly from those that were the last to become able
/// to. These are of a warp or two, so that some get far ahead of others; and it is faster than to
/// go round among all, which happens at times.
Thread *draw() {
    if (ready.empty())
        return nullptr;
    const std::size_t near = std::min<std::size_t>(ready.size(), 32);
    const std::size_t reach = dice.below(16) == 0 ? ready.size() : near;
    std::swap(ready[ready.size() - 1 - dice.below(reach)], ready.back());
    Thread *thread = ready.back();
    ready.pop_back();
    __builtin_prefetch(thread);
    __builtin_prefetch(&thread->context);
    return thread;
}

/// Where to go on: at a thread that can run, or else at the scheduler.
Context &next() {
    Thread *thread = nullptr;
    while (!thread && (drawn[0] || drawn[1] || !ready.empty())) {
        thread = std::exchange(drawn[0], drawn[1]);
        drawn[1] = draw();
    }
    if (!thread)
        return scheduler;
    if (drawn[0])
        __builtin_prefetch(drawn[0]->context.registers[2]); // the stack pointer
    current = thread;
    threadIdx = current->index;
    blockIdx = current->block->index;
    return current->context;
}

void wait() {
    Context &from = current->context, &to = next();
    if (&to != &from)
        switch_fiber(from, to);
}

void wake(Thread &thread) {
    thread.waits_at = nullptr;
    ready.push_back(&thread);
    idle_turns = 0;
}

/// Since threads are drawn from the end, those that were added last would always begin.
void turn_last(std::size_t count) {
    const auto first = ready.end() - static_cast<std::ptrdiff_t>(count);
    std::rotate(first, first + static_cast<std::ptrdiff_t>(dice.below(count)), ready.end());
    if (dice.below(2) == 0)
        std::reverse(first, ready.end());
}

void open(Barrier &barrier) {
    for (Thread *thread : barrier.waiting) {
        thread->count = barrier.count;
        wake(*thread);
    }
    turn_last(barrier.waiting.size());
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

Exchange &new_exchange() {
    if (free_exchanges.empty())
        return *exchanges.emplace_back(std::make_unique<Exchange>());
    Exchange &exchange = *free_exchanges.back();
    free_exchanges.pop_back();
    return exchange;
}

void hold(Thread &thread, Exchange &exchange) {
    thread.exchange = &exchange;
    exchange.holders++;
}

void let_go(Thread &thread) {
    if (thread.exchange && --thread.exchange->holders == 0)
        free_exchanges.push_back(thread.exchange);
    thread.exchange = nullptr;
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
    context.entry = std::make_unique<ucontext_t>();
    context.stack = stack;
    context.stack_bytes = stack_bytes;
    getcontext(context.entry.get());
    context.entry->uc_stack.ss_sp = stack;
    context.entry->uc_stack.ss_size = stack_bytes;
    context.entry->uc_link = nullptr;
    makecontext(context.entry.get(), fiber, 0);
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
    turn_last(block->alive);
    blocks.push_back(std::move(block));
}

void run_blocks() {
    Context &first = next();
    if (&first != &scheduler)
        switch_fiber(scheduler, first);
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
    // to be waited for. It takes longer than one by one.
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

    let_go(*current);
    bool complete = true;
    for (unsigned rest = mask; rest != 0 && complete; rest &= rest - 1)
        complete = at_same(*current, *warp[std::countr_zero(rest)]);
    if (complete) {
        Exchange &exchange = new_exchange();
        for (unsigned rest = ~mask; rest != 0; rest &= rest - 1)
            exchange.values[std::countr_zero(rest)] = dice.next();
        for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
            const unsigned other = std::countr_zero(rest);
            exchange.values[other] = warp[other]->value;
            hold(*warp[other], exchange);
            wake(*warp[other]);
        }
    }
    wait();
    return {current->exchange->values.data(), mask};
}

void yield() {
    if (!current)
        return;
    if (++idle_turns == patience)
        report("every thread that can run spins");
    // Not at the end, where it would be drawn again and again while others wait.
    ready.push_back(current);
    std::swap(ready[dice.below(ready.size())], ready.back());
    wait();
}

void yield_at_times() {
    if (dice.below(8) == 0)
        yield();
}

} // namespace simt
