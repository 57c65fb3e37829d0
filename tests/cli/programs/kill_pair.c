// SPDX-License-Identifier: Apache-2.0
// Two threads that record running numbers until somebody kills them. After each
// number is on record, its thread says so in a page of memory that outlives it.
//
// usage: kill_pair PAGE_FILE; the page: u64 pid, then at 64 and 128 a number each
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gait/record.h>

struct page {
    uint64_t pid, pad0[7];
    struct {
        uint64_t last, pad[7];
    } threads[2];
};

static struct page *page;

static void *record(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument;
    char name[16], text[40];
    snprintf(name, sizeof name, "outer%u", self);
    uint32_t outer = gait_site("kill", name);
    snprintf(name, sizeof name, "inner%u", self);
    uint32_t inner = gait_site("kill", name);
    snprintf(name, sizeof name, "counter%u", self);
    uint32_t counter = gait_site("kill", name);
    uint32_t key = gait_key("n"), text_key = gait_key("text");
    for (uint64_t i = 1;; i++) {
        snprintf(text, sizeof text, "this is number %llu", (unsigned long long)i);
        gait_begin(outer);
        gait_arg_int(key, (int64_t)i);
        gait_count(counter, (int64_t)i);
        gait_begin(inner);
        gait_arg_text(text_key, text);
        gait_end();
        gait_end();
        __atomic_store_n(&page->threads[self].last, i, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0)
        return 2;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return 2;
    __atomic_store_n(&page->pid, (uint64_t)getpid(), __ATOMIC_RELEASE);
    if (gait_start(NULL))
        return 3;
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, record, (void *)i);
    pthread_join(threads[0], NULL);
    return 1;
}
