// SPDX-License-Identifier: Apache-2.0
// One loop, instrumented by whom the compiler is told: PEER_GAIT, PEER_LTTNG
// or PEER_UFTRACE (then the compiler's own hooks do it). A turn records what
// fits the peer's buffers; between turns its consumer may catch up. Prints
// JSON: CPU time of a begin and its end, and of two clock reads, in turn.
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define QUIET __attribute__((no_instrument_function))

enum { PAIRS = 50000, TURNS = 25 };

#if defined(PEER_GAIT)
#include <gait/record.h>
static uint32_t site;
#define BEGIN(number) gait_begin(site)
#define END() gait_end()
#elif defined(PEER_LTTNG)
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_lttng.h"
#define BEGIN(number) lttng_ust_tracepoint(gait_peer, begin, number)
#define END() lttng_ust_tracepoint(gait_peer, end)
#else
__attribute__((noinline)) static void instrumented(void)
{
    __asm__ volatile("");
}
#define BEGIN(number) instrumented()
#define END() (void)0
#endif

QUIET static void run(void)
{
    for (uint32_t i = 0; i < PAIRS; i++) {
        BEGIN(i % 200);
        END();
    }
}

QUIET static void read_clocks(void)
{
    for (uint32_t i = 0; i < PAIRS; i++) {
        bench_use(bench_ticks());
        bench_use(bench_ticks());
    }
}

QUIET static double cost_of(void (*body)(void))
{
    struct timespec begun, ended;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    body();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    return ((double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec)) /
           PAIRS;
}

QUIET static int start(void)
{
#if defined(PEER_GAIT)
    if (gait_start(NULL))
        return -1;
    site = gait_site("peer", "pair");
#endif
    return 0;
}

QUIET int main(void)
{
    double cost[TURNS], floor[TURNS], ratio[TURNS];

    if (start())
        return 1;
    run(); // what happens once: pages, buffers, registration
    for (int i = 0; i < TURNS; i++) {
        usleep(20000);
        floor[i] = cost_of(read_clocks);
        cost[i] = cost_of(run);
        ratio[i] = cost[i] / floor[i];
    }
#if defined(PEER_GAIT)
    gait_stop();
#endif
    qsort(cost, TURNS, sizeof *cost, bench_order);
    qsort(floor, TURNS, sizeof *floor, bench_order);
    qsort(ratio, TURNS, sizeof *ratio, bench_order);
    printf("{\"cpu_ns\": %.2f, \"floor_ns\": %.2f, \"ratio\": %.3f, \"pairs\": %d}\n",
           cost[TURNS / 2], floor[TURNS / 2], ratio[TURNS / 2], PAIRS * (TURNS + 1));
    return 0;
}
