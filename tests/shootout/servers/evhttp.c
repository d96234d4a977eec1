/* libevent's HTTP server, a loop a thread, each with a listener of its own.
 *
 *     evhttp PORT THREADS BODY
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static unsigned short port;
static const char *body;

static void answer(struct evhttp_request *request, void *unused)
{
    struct evbuffer *out = evbuffer_new();
    (void)unused;
    evbuffer_add(out, body, strlen(body));
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain");
    evhttp_send_reply(request, HTTP_OK, "OK", out);
    evbuffer_free(out);
}

static int open_listener(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 4096)) {
        perror("evhttp: cannot listen");
        exit(1);
    }
    return fd;
}

static void *serve(void *unused)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    evhttp_set_gencb(http, answer, NULL);
    evhttp_accept_socket(http, open_listener());
    event_base_dispatch(base);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 4) {
        fputs("usage: evhttp PORT THREADS BODY\n", stderr);
        return 2;
    }
    port = (unsigned short)atoi(argv[1]);
    body = argv[3];
    signal(SIGPIPE, SIG_IGN); /* libevent leaves it to its users */
    for (int i = 1; i < atoi(argv[2]); ++i) pthread_create(&thread, NULL, serve, NULL);
    serve(NULL);
    return 0;
}
