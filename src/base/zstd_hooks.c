// SPDX-License-Identifier: Apache-2.0
// libzstd.a refers weakly to tracing hooks, and somebody else's must not be called from
// our libraries. Where the linker can bind them to nothing it does (meson.build), and this
// file is left out; for other linkers the hooks are here, hidden, and do nothing.

unsigned long long ZSTD_trace_compress_begin(const void *context);
void ZSTD_trace_compress_end(unsigned long long id, const void *trace);
unsigned long long ZSTD_trace_decompress_begin(const void *context);
void ZSTD_trace_decompress_end(unsigned long long id, const void *trace);

// An id of 0 tells zstd that nobody traces: then it calls no end.
unsigned long long ZSTD_trace_compress_begin(const void *context)
{
    (void)context;
    return 0;
}

void ZSTD_trace_compress_end(unsigned long long id, const void *trace)
{
    (void)id;
    (void)trace;
}

unsigned long long ZSTD_trace_decompress_begin(const void *context)
{
    (void)context;
    return 0;
}

void ZSTD_trace_decompress_end(unsigned long long id, const void *trace)
{
    (void)id;
    (void)trace;
}
