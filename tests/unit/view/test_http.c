// SPDX-License-Identifier: Apache-2.0
// What a request is, by RFC 9112, and who is let in.
#include "view/http_request.h"

#include <stdio.h>
#include <string.h>

#include "support/tap.h"
#include "view/http_server.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST "Host: 127.0.0.1:80\r\n"

static char bytes[HTTP_HEAD_BYTES + 1];
static struct http_request request;

static int read_text(const char *text)
{
    const size_t length = strlen(text);
    memcpy(bytes, text, length + 1);
    return http_request_length(bytes, length) == length ? http_request_read(bytes, length, &request)
                                                        : -1;
}

static int admit(const char *text)
{
    struct http_server server = {.token = TOKEN};
    const char *rest;
    const int status = read_text(text);
    return status ? status : http_server_admit(&server, &request, &rest);
}

TEST("http: a request is read")
{
    is_int(read_text("GET /a/b?c=%20&d HTTP/1.1\r\n" HOST "Origin:  http://x \r\nA: b\r\n\r\n"), 0);
    is_str(request.path, "/a/b");
    is_str(request.query, "c=%20&d");
    is_str(request.host, "127.0.0.1:80");
    is_str(request.origin, "http://x");
    ok(request.is_readable && !request.is_head);
    is_int(read_text("HEAD / HTTP/1.0\r\n\r\n"), 0);
    ok(request.is_readable && request.is_head);
    is_int(read_text("DELETE / HTTP/1.1\r\n\r\n"), 0);
    ok(!request.is_readable);
}

TEST("http: what is no request is refused")
{
    is_int(read_text("GET / HTTP/1.1\r\nHost: a\r\n"), -1);
    static const char *const bad[] = {"\r\n\r\n",
                                      "GET\r\n\r\n",
                                      "GET / \r\n\r\n",
                                      "GET a HTTP/1.1\r\n\r\n",
                                      "GET http://a/ HTTP/1.1\r\n\r\n",
                                      "GET /\x01 HTTP/1.1\r\n\r\n",
                                      "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                                      "GET / HTTP/1.1\r\n: a\r\n\r\n",
                                      "GET / HTTP/1.1\r\n folded: a\r\n\r\n",
                                      "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
                                      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                                      "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const int status = read_text(bad[i]);
        is_int(status == 505 ? 400 : status, 400);
    }
    is_int(read_text("GET / HTTP/2\r\n\r\n"), 505);
}

TEST("http: the token opens the door, from this machine's own pages alone")
{
    is_int(admit("GET /" TOKEN "/x HTTP/1.1\r\n" HOST "\r\n"), 0);
    is_int(admit("GET /" TOKEN " HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);
    is_int(admit("GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:80\r\n\r\n"), 0);
    is_int(admit("POST /" TOKEN "/ HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n"), 405);
    static const char *const out[] = {
        "GET / HTTP/1.1\r\n" HOST "\r\n",
        "GET /" TOKEN "0/ HTTP/1.1\r\n" HOST "\r\n",
        "GET /0" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n",
        "GET /0123456789abcdef0123456789abcdeF/ HTTP/1.1\r\n" HOST "\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\n\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1.example.org\r\n\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\nHost: localhost:\r\n\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:81\r\n\r\n",
        "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: https://127.0.0.1:80\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
        is_int(admit(out[i]), 403);
}

TEST("http: texts are decoded once")
{
    static const struct {
        const char *text, *path, *query; // NULL: refused
    } cases[] = {{"a%20b+c", "a b+c", "a b c"},
                 {"%2525", "%25", "%25"},
                 {"%e2%82%AC", "€", "€"},
                 {"%", NULL, NULL},
                 {"%4", NULL, NULL},
                 {"%zz", NULL, NULL},
                 {"%00", NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[32], query[32];
        snprintf(path, sizeof path, "%s", cases[i].text);
        snprintf(query, sizeof query, "%s", cases[i].text);
        ok(http_text_decode(path, false) == (cases[i].path != NULL));
        ok(http_text_decode(query, true) == (cases[i].query != NULL));
        if (cases[i].path) {
            is_str(path, cases[i].path);
            is_str(query, cases[i].query);
        }
    }
}
