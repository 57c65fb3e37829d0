// SPDX-License-Identifier: Apache-2.0
// A request of HTTP/1, read from the bytes of its head. Nothing of it is trusted: what is
// not exactly as expected is refused with a status.
#ifndef GAIT_VIEW_HTTP_REQUEST_H
#define GAIT_VIEW_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_HEAD_BYTES = 8192 }; // a longer head is refused

// All texts lie in the bytes that were read, which parsing ends with zeros.
struct http_request {
    bool is_head;       // HEAD: the answer has no body
    bool is_readable;   // GET or HEAD
    const char *path;   // as sent: "/token/report"
    const char *query;  // behind the question mark; "" if there is none
    const char *host;   // NULL: not sent
    const char *origin; // NULL: not sent
};

// The length of the head in `bytes` with its empty line; 0: it is not complete yet.
size_t http_request_length(const char *bytes, size_t count);

// Reads a complete head of `length` bytes, which it changes. Returns 0, or the status that
// says what is wrong with it.
int http_request_read(char *bytes, size_t length, struct http_request *ret_request);

// Undoes %20 and, in a query, + in place. False: not well formed, or it holds a zero byte.
bool http_text_decode(char *text, bool is_query);

#endif
