// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "view/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "view/http_request.h"

enum {
    MOST_CLIENTS = 64, // the others wait in the listener's queue
    QUEUE = 1024,
    PATIENCE_MS = 10000,
    REPLY_HEAD_BYTES = 1024,
};

// It sends its request until `reply_head` is made, then it takes the reply.
struct http_client {
    int descriptor;
    bool is_admitted; // its request had the token
    int64_t since_ms; // when it came, then when it last took some of the reply
    size_t got;
    size_t head_bytes, sent; // of the reply; 0: not made yet
    struct http_reply reply;
    char request[HTTP_HEAD_BYTES + 1], head[REPLY_HEAD_BYTES];
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_steady_ns() / 1000000);
}

// --- open and close -----------------------------------------------------------------------

static int make_token(struct http_server *server)
{
    const int status = own_file_digits(server->token, (HTTP_TOKEN_BYTES - 1) / 2);
    snprintf(server->home, sizeof server->home, "/%s/\r\n", server->token);
    return status;
}

static int bind_port(struct http_server *server, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    const int on = 1;
    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server->listener, (const struct sockaddr *)&address, bytes) ||
        getsockname(server->listener, (struct sockaddr *)&address, &bytes))
        return fail(GAIT_ERR_IO, "cannot listen on port %u of 127.0.0.1: %s", port,
                    strerror(errno));
    server->port = ntohs(address.sin_port);
    return GAIT_OK;
}

// A socket that nobody listens on any more is in the way; anything else is somebody's.
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat about;
    if (lstat(address->sun_path, &about) || !S_ISSOCK(about.st_mode) || about.st_uid != geteuid())
        return;
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) &&
        errno == ECONNREFUSED)
        own_file_remove(address->sun_path);
    if (probe >= 0)
        close(probe);
}

static int bind_path(struct http_server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return fail(GAIT_ERR_ARGUMENT, "--socket: '%.60s...' is longer than %zu bytes", path,
                    sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    remove_stale(&address);
    const mode_t mask = umask(0177);
    const int status = bind(server->listener, (const struct sockaddr *)&address, sizeof address);
    const int why = errno;
    umask(mask);
    if (status)
        return fail(GAIT_ERR_IO, "cannot listen on '%s': %s", path, strerror(why));
    server->socket_path = path;
    return GAIT_OK;
}

int http_server_open(struct http_server *server, const char *socket_path, uint16_t port)
{
    server->patience_ms = PATIENCE_MS;
    server->listener =
        socket(socket_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    server->clients = calloc(MOST_CLIENTS, sizeof *server->clients);
    if (server->listener < 0)
        return fail(GAIT_ERR_IO, "cannot open a socket: %s", strerror(errno));
    if (!server->clients)
        return fail(GAIT_ERR_MEMORY, "no memory for %d clients", MOST_CLIENTS);
    int status = make_token(server);
    if (!status)
        status = socket_path ? bind_path(server, socket_path) : bind_port(server, port);
    if (!status && listen(server->listener, QUEUE))
        status = fail(GAIT_ERR_IO, "cannot listen: %s", strerror(errno));
    return status;
}

static void end_client(struct http_client *client)
{
    close(client->descriptor);
    free(client->reply.body);
}

void http_server_close(struct http_server *server)
{
    for (size_t i = 0; i < server->client_count; i++)
        end_client(&server->clients[i]);
    if (server->listener >= 0)
        close(server->listener);
    if (server->socket_path)
        own_file_remove(server->socket_path);
    free(server->clients);
    *server = (struct http_server){.listener = -1};
}

// --- a reply ------------------------------------------------------------------------------

static const char *words_of(int status)
{
    static const struct {
        int status;
        const char *words;
    } known[] = {{200, "OK"},
                 {301, "Moved Permanently"},
                 {400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {431, "Request Header Fields Too Large"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status)
            return known[i].words;
    return "Internal Server Error";
}

// A page may load from here alone, and tells no other where it came from.
static void make_head(struct http_client *client)
{
    const struct http_reply *reply = &client->reply;
    const int bytes = snprintf(
        client->head, sizeof client->head,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: %s\r\n"
        "Content-Security-Policy: default-src 'none'; script-src 'self'; connect-src 'self'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri "
        "'none'; "
        "frame-ancestors 'none'\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n%s%s%sConnection: close\r\n\r\n",
        reply->status, words_of(reply->status), reply->type ? reply->type : "text/plain",
        reply->bytes, reply->may_stay ? "private, max-age=31536000, immutable" : "no-store",
        reply->status == 405 ? "Allow: GET, HEAD\r\n" : "", reply->next ? "Location: " : "",
        reply->next ? reply->next : "");
    client->head_bytes = (size_t)bytes;
}

static void refuse(struct http_client *client, int status)
{
    client->reply = (struct http_reply){.status = status};
    client->reply.body = strdup(words_of(status));
    client->reply.bytes = client->reply.body ? strlen(client->reply.body) : 0;
}

static void answer(struct http_server *server, struct http_client *client, size_t length)
{
    struct http_request request;
    const char *rest = NULL;
    int status = http_request_read(client->request, length, &request);
    if (!status)
        status = http_server_admit(server, &request, &rest);
    client->is_admitted = !status;
    char *path = rest ? strdup(rest) : NULL;
    if (rest && (!path || !http_text_decode(path, false)))
        status = 400;
    if (status)
        refuse(client, status);
    else if (!rest)
        refuse(client, 301);
    else {
        const struct http_question question = {path, request.query};
        client->reply = (struct http_reply){.status = 404};
        server->site.answer(server->site.context, &question, &client->reply);
        if (client->reply.status != 200 && !client->reply.body)
            refuse(client, client->reply.status);
    }
    free(path);
    if (client->reply.status == 301)
        client->reply.next = server->home;
    make_head(client);
    if (!status && request.is_head)
        client->reply.bytes = 0;
}

// --- clients ------------------------------------------------------------------------------

// False: the client is done with.
static bool receive(struct http_server *server, struct http_client *client)
{
    const ssize_t got =
        recv(client->descriptor, client->request + client->got, HTTP_HEAD_BYTES - client->got, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (!got)
        return false;
    client->got += (size_t)got;
    const size_t length = http_request_length(client->request, client->got);
    if (length)
        answer(server, client, length);
    else if (client->got == HTTP_HEAD_BYTES) {
        refuse(client, 431);
        make_head(client);
    }
    if (client->head_bytes) // an answer may have taken longer than our patience with a client
        client->since_ms = now_ms();
    return true;
}

static bool transmit(struct http_client *client)
{
    const bool in_head = client->sent < client->head_bytes;
    const size_t all = client->head_bytes + client->reply.bytes;
    const char *from = in_head ? client->head + client->sent
                               : client->reply.body + (client->sent - client->head_bytes);
    const size_t left = (in_head ? client->head_bytes : all) - client->sent;
    const ssize_t sent = send(client->descriptor, from, left, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    client->sent += (size_t)sent;
    client->since_ms = now_ms();
    if (client->sent < all)
        return true;
    shutdown(client->descriptor, SHUT_WR);
    return false;
}

// A place for one more: a free one, or that of the one who has been without a token for
// longest. NULL: all have one.
static struct http_client *find_place(struct http_server *server)
{
    struct http_client *oldest = NULL;
    if (server->client_count < MOST_CLIENTS)
        return &server->clients[server->client_count];
    for (size_t i = 0; i < MOST_CLIENTS; i++) {
        struct http_client *client = &server->clients[i];
        if (!client->is_admitted && (!oldest || client->since_ms < oldest->since_ms))
            oldest = client;
    }
    return oldest;
}

// A browser sends its request at once: it is read at once, so that nobody who comes behind
// it can take its place.
static void take_clients(struct http_server *server)
{
    for (int i = 0; i < MOST_CLIENTS; i++) {
        struct http_client *place = find_place(server);
        const int descriptor =
            place ? accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
        if (descriptor < 0)
            return;
        if (place == &server->clients[server->client_count])
            server->client_count++;
        else
            end_client(place);
        *place = (struct http_client){.descriptor = descriptor, .since_ms = now_ms()};
        if (!receive(server, place)) {
            end_client(place);
            *place = server->clients[--server->client_count];
        }
    }
}

// A whole request has one deadline: a byte now and then does not put it off.
static void serve(struct http_server *server, const struct pollfd *polled)
{
    const size_t count = server->client_count;
    server->client_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct http_client *client = &server->clients[i];
        bool stays = true;
        if (polled[i].revents)
            stays = client->head_bytes ? transmit(client) : receive(server, client);
        if (!stays || now_ms() - client->since_ms >= server->patience_ms)
            end_client(client);
        else if (server->client_count++ != i)
            server->clients[server->client_count - 1] = *client;
    }
}

int http_server_run(struct http_server *server, const volatile int *stop)
{
    while (!*stop) {
        struct pollfd polled[MOST_CLIENTS + 1];
        const size_t count = server->client_count;
        for (size_t i = 0; i < count; i++)
            polled[i] = (struct pollfd){.fd = server->clients[i].descriptor,
                                        .events = server->clients[i].head_bytes ? POLLOUT : POLLIN};
        polled[count] =
            (struct pollfd){.fd = find_place(server) ? server->listener : -1, .events = POLLIN};
        if (poll(polled, count + 1, 1000) < 0 && errno != EINTR)
            return fail(GAIT_ERR_IO, "cannot wait for clients: %s", strerror(errno));
        if (*stop)
            break;
        serve(server, polled);
        if (polled[count].revents & POLLIN)
            take_clients(server);
    }
    return GAIT_OK;
}
