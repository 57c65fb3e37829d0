// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target, built without libFuzzer, over files: the paths given, else
// its corpus and the golden files. A finding is a crash; what is left is TAP.
#define _GNU_SOURCE
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILE_BYTES = 4 << 20, MAX_OPEN_FOLDERS = 8 };

static int case_count;

// The block is as large as the file, so that a sanitizer sees a byte too far.
static void replay_stream(FILE *file, size_t size)
{
    uint8_t *content = malloc(size ? size : 1);

    if (!content)
        return;
    size = fread(content, 1, size, file);
    LLVMFuzzerTestOneInput(content, size);
    free(content);
}

static int replay_file(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    FILE *file;

    (void)walk;
    if (type != FTW_F || status->st_size > MAX_FILE_BYTES)
        return 0;
    file = fopen(path, "rb");
    if (!file)
        return 0;
    replay_stream(file, (size_t)status->st_size);
    fclose(file);
    printf("ok %d - %s\n", ++case_count, path);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const seeds[] = {SEEDS};

    setvbuf(stdout, NULL, _IOLBF, 0);
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("ok %d - no bytes at all\n", ++case_count);
    for (int i = 1; i < argc; i++)
        nftw(argv[i], replay_file, MAX_OPEN_FOLDERS, FTW_PHYS);
    for (size_t i = 0; argc < 2 && i < sizeof seeds / sizeof *seeds; i++)
        nftw(seeds[i], replay_file, MAX_OPEN_FOLDERS, FTW_PHYS);
    printf("1..%d\n", case_count);
    return 0;
}
