// SPDX-License-Identifier: Apache-2.0
// Who is let in. The token keeps other users of this machine out, the host keeps out pages
// that bind their own name to 127.0.0.1, the origin those that send requests from elsewhere.
#define _GNU_SOURCE
#include <string.h>

#include "view/http_request.h"
#include "view/http_server.h"

// Takes as long for a token that is nearly right as for any other.
static bool is_same(const char *a, const char *b, size_t bytes)
{
    unsigned char difference = 0;
    for (size_t i = 0; i < bytes; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return !difference;
}

// Behind a socket or a forwarded port a browser may have any port.
static bool is_own_host(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t bytes = strlen(names[i]);
        if (strncmp(host, names[i], bytes) != 0)
            continue;
        if (!host[bytes])
            return true;
        const size_t digits = strspn(host + bytes + 1, "0123456789");
        return host[bytes] == ':' && digits && digits <= 5 && !host[bytes + 1 + digits];
    }
    return false;
}

static bool is_own_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return !strncmp(origin, scheme, sizeof scheme - 1) && !strcmp(origin + sizeof scheme - 1, host);
}

int http_server_admit(const struct http_server *server, const struct http_request *request,
                      const char **ret_rest)
{
    const size_t bytes = HTTP_TOKEN_BYTES - 1;
    if (!request->host || !is_own_host(request->host))
        return 403;
    if (request->origin && !is_own_origin(request->origin, request->host))
        return 403;
    const char *token = request->path + 1;
    if (strnlen(token, bytes) < bytes || !is_same(token, server->token, bytes))
        return 403;
    if (token[bytes] && token[bytes] != '/')
        return 403;
    if (!request->is_readable)
        return 405;
    *ret_rest = token[bytes] ? token + bytes + 1 : NULL;
    return 0;
}
