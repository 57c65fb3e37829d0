// SPDX-License-Identifier: Apache-2.0
// Many threads alive at once, each with something on record; says what the
// process then holds. Its last threads are let go only after that.
//
// usage: many_alive THREADS; prints "threads resident_kib descriptors percent",
// the last of /dev/shm that is free
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include <gait/record.h>

static pthread_barrier_t all_recorded, may_end;
static uint32_t site;

static void *live(void *none)
{
    for (int i = 0; i < 10; i++) {
        gait_begin(site);
        gait_end();
    }
    pthread_barrier_wait(&all_recorded);
    pthread_barrier_wait(&may_end);
    gait_mark(site);
    return none;
}

static long resident_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "Rss:", 4))
            kib = strtol(line + 4, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

static int descriptors(void)
{
    int count = -3; // ".", ".." and the directory itself
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static int free_percent(void)
{
    struct statvfs room;
    if (statvfs("/dev/shm", &room) || !room.f_blocks)
        return -1;
    return (int)(100 * room.f_bavail / room.f_blocks);
}

int main(int argc, char **argv)
{
    int wanted = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1, made = 0;
    pthread_t *threads = calloc((size_t)wanted, sizeof *threads);
    pthread_attr_t small;
    if (!threads)
        return 1;
    gait_start(NULL);
    site = gait_site("many", "alive");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_recorded, NULL, (unsigned)wanted + 1);
    pthread_barrier_init(&may_end, NULL, (unsigned)wanted + 1);
    while (made < wanted && !pthread_create(&threads[made], &small, live, NULL))
        made++;
    if (made < wanted) {
        printf("%d\n", made);
        fflush(stdout);
        _Exit(77); // no more threads to be had here
    }
    pthread_barrier_wait(&all_recorded);
    printf("%d %ld %d %d\n", made, resident_kib(), descriptors(), free_percent());
    pthread_barrier_wait(&may_end);
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}
