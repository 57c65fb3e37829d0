// SPDX-License-Identifier: Apache-2.0
// What a request is, by RFC 9112, and who is let in.
#define _GNU_SOURCE
#include "view/http_request.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
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

// --- a server that runs --------------------------------------------------------------------

struct running {
    struct http_server server;
    pthread_t thread;
    int64_t answer_ms; // how long the site takes
    volatile int stop;
};

static int64_t milliseconds(void)
{
    return (int64_t)(clock_steady_ns() / 1000000);
}

static void wait_ms(int64_t length)
{
    const int64_t until = milliseconds() + length;
    while (milliseconds() < until)
        ;
}

static void answer_slowly(void *context, const struct http_question *question,
                          struct http_reply *reply)
{
    const struct running *running = context;
    (void)question;
    wait_ms(running->answer_ms);
    *reply = (struct http_reply){.status = 200, .body = strdup("here"), .bytes = 4};
}

static void *serve(void *context)
{
    struct running *running = context;
    return http_server_run(&running->server, &running->stop) ? running : NULL;
}

static bool begin(struct running *running, int64_t answer_ms, int64_t patience_ms)
{
    *running = (struct running){.answer_ms = answer_ms};
    if (!is_int(http_server_open(&running->server, NULL, 0), 0))
        return false;
    running->server.site = (struct http_site){answer_slowly, running};
    running->server.patience_ms = patience_ms;
    return ok(!pthread_create(&running->thread, NULL, serve, running));
}

static void end(struct running *running)
{
    running->stop = 1;
    pthread_join(running->thread, NULL);
    http_server_close(&running->server);
}

static int join_in(const struct running *running)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(running->server.port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int refused = connect(client, (const struct sockaddr *)&address, sizeof address);
    return refused ? -1 : client;
}

// Whether the reply to the question with the token is the site's. The request comes in two
// parts: a server that read the first one judges the client when it has read the second.
static bool is_answered(const struct running *running)
{
    char line[200], reply[2000];
    size_t got = 0;
    const int client = join_in(running);
    snprintf(line, sizeof line, "GET %.*s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
             HTTP_TOKEN_BYTES + 1, running->server.home, running->server.port);
    bool is_sent = send(client, line, 4, 0) == 4;
    wait_ms(20);
    is_sent = is_sent && send(client, line + 4, strlen(line) - 4, 0) == (ssize_t)strlen(line) - 4;
    for (ssize_t more = 1; is_sent && more > 0 && got < sizeof reply - 1; got += (size_t)more)
        if ((more = recv(client, reply + got, sizeof reply - 1 - got, 0)) < 0)
            break;
    reply[got] = '\0';
    close(client);
    return got > 4 && !strcmp(reply + got - 4, "here");
}

// Sends a byte whenever it can, until the server has had enough of it.
static int64_t trickle_ms(const struct running *running)
{
    const int64_t since = milliseconds();
    const int client = join_in(running);
    char byte;
    for (int64_t next = since; milliseconds() - since < 5000; next = milliseconds() + 5) {
        wait_ms(next - milliseconds());
        if (send(client, "G", 1, MSG_NOSIGNAL) != 1 || recv(client, &byte, 1, MSG_DONTWAIT) == 0)
            break;
    }
    close(client);
    return milliseconds() - since;
}

TEST("http: an answer that takes longer than the patience with a client arrives")
{
    struct running running;
    if (!begin(&running, 200, 100))
        return;
    ok(is_answered(&running));
    end(&running);
}

TEST("http: a request has one deadline, whatever its bytes come in")
{
    struct running running;
    if (!begin(&running, 0, 300))
        return;
    ok(trickle_ms(&running) < 4000);
    end(&running);
}

TEST("http: clients without a token keep nobody out who has one")
{
    enum { CROWD = 200 };
    struct running running;
    int clients[CROWD];
    if (!begin(&running, 0, 60000))
        return;
    for (int i = 0; i < CROWD; i++) {
        clients[i] = join_in(&running);
        ok(send(clients[i], "GET /", 5, 0) == 5);
    }
    ok(is_answered(&running));
    for (int i = 0; i < CROWD; i++)
        close(clients[i]);
    end(&running);
}
