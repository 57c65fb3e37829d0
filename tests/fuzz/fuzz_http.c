// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a request. Only one that names the token, and this machine as host, is
// let in.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/http_request.h"
#include "view/http_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef0123456789abcdef"

static void check_admitted(const struct http_request *request, const char *rest)
{
    const bool is_own = !strncmp(request->host, "127.0.0.1", 9) ||
                        !strncmp(request->host, "localhost", 9) ||
                        !strncmp(request->host, "[::1]", 5);
    if (!is_own || strncmp(request->path, "/" TOKEN, sizeof "/" TOKEN - 1) != 0 ||
        !request->is_readable)
        __builtin_trap();
    char *path = rest ? strdup(rest) : NULL;
    if (path && http_text_decode(path, false) && strlen(path) > strlen(rest))
        __builtin_trap();
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct http_server server = {.token = TOKEN};
    struct http_request request;
    const char *rest;
    char *bytes = malloc(size + 1); // the server, too, has room for a byte more
    if (!bytes || size > HTTP_HEAD_BYTES) {
        free(bytes);
        return 0;
    }
    memcpy(bytes, data, size);
    const size_t length = http_request_length(bytes, size);
    if (length && !http_request_read(bytes, length, &request) &&
        !http_server_admit(&server, &request, &rest))
        check_admitted(&request, rest);
    free(bytes);
    return 0;
}
