// SPDX-License-Identifier: Apache-2.0
// A server for one reader on this machine: GET and HEAD, one token, one thread. Each answer
// ends its connection.
#ifndef GAIT_VIEW_HTTP_SERVER_H
#define GAIT_VIEW_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

enum { HTTP_TOKEN_BYTES = 33 }; // 128 random bits as hex, and a zero

struct http_reply {
    int status; // 200
    const char *type;
    bool may_stay; // for a browser's cache: the bytes of this URL never change
    char *body;    // of malloc()
    size_t bytes;
    const char *next; // where a status of 301 leads to, with the end of its line
};

struct http_question {
    const char *path;  // behind the token, decoded: "report.json"
    const char *query; // as sent
};

struct http_site {
    // Fills the reply, whose status is 404 without a body.
    void (*answer)(void *context, const struct http_question *question, struct http_reply *reply);
    void *context;
};

struct http_server {
    int listener;
    uint16_t port; // of TCP; 0: a socket in the file system
    char token[HTTP_TOKEN_BYTES];
    char home[HTTP_TOKEN_BYTES + 8]; // "/TOKEN/", with the end of a line
    const char *socket_path;         // NULL: TCP
    struct http_site site;
    int64_t patience_ms; // with a client that sends no whole request, or takes nothing
    struct http_client *clients;
    size_t client_count;
};

// Listens on 127.0.0.1, port 0 being any that is free, or on a socket in the file system
// that only this user may open.
GAIT_CHECK int http_server_open(struct http_server *server, const char *socket_path, uint16_t port);
// Serves until `stop` is set by a signal. Failures of single clients end those alone.
GAIT_CHECK int http_server_run(struct http_server *server, const volatile int *stop);
void http_server_close(struct http_server *server);

// The status that refuses a request for its host, its origin, its token or its method; 0:
// none. Then *ret_rest is what stands in the path behind the token.
struct http_request;
int http_server_admit(const struct http_server *server, const struct http_request *request,
                      const char **ret_rest);

#endif
