/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages and bulk data over Motr's network layer:
 *
 *   m0_ping server             prints its address, serves until SIGTERM or SIGINT
 *   m0_ping client NID         runs its loops with the server of that NID
 *   m0_ping both               a server and clients in one process
 *
 *   -k THREADS    client threads                -l LOOPS      loops of each client; or
 *   -m BYTES      of a text message, 16..4096   -s SECONDS    the duration, with a line each second
 *   -d BYTES      of bulk data                  -n BUFFERS    of the server
 *   -p PORTAL, -t TMID   of the server          -i NID        the own NID, if not the first one
 *   -A            the transfer machine's thread delivers the server's events
 *
 * The environment configures the networks, as for every program that uses LNet. In two terminals of one machine:
 *
 *   LNET_NETWORKS='tcp(127.0.1.2)' LNET_ACCEPT=all m0_ping server
 *   LNET_NETWORKS='tcp(127.0.1.1)' LNET_ACCEPT=all m0_ping client 127.0.1.2@tcp -k 4 -s 5 */
#include "m0_ping.h"
#include <lib/getopts.h>

enum { MOST_THREADS = 64, MOST_BUFFERS = 256, MOST_BULK = 1 << 20, MOST_MESSAGE = 4096, LEAST_MESSAGE = 16 };

static volatile sig_atomic_t ended;
static struct server *server;

static void set_of_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

/* All threads have these signals blocked; this one waits for them. */
static void wait_for_signals(int unused)
{
	sigset_t set;
	int number;

	(void)unused;
	set_of_signals(&set);
	sigwait(&set, &number);
	ended = 1;
	if (server != NULL)
		server_end(server);
}

static int usage(void)
{
	fprintf(stderr, "usage: m0_ping server | client NID | both  [options]; m0_ping both -h lists them\n");
	return 2;
}

static int end_of(struct served served)
{
	printf("server: %llu texts, %llu received, %llu sent, %llu failed, %llu wrong\n", served.texts, served.received, served.sent,
	       served.failed, served.wrong);
	return served.wrong != 0;
}

int main(int argc, char **argv)
{
	static struct settings settings = { .portal = SERVER_PORTAL, .tmid = SERVER_TMID, .buffers = 20, .message = 64,
					    .bulk = 8 * SEGMENT, .threads = 1, .loops = 1 };
	const char *command = argc > 1 ? argv[1] : "";
	struct settings of_server;
	bool serves = strcmp(command, "server") == 0, both = strcmp(command, "both") == 0;
	struct m0_thread signals, serving;
	sigset_t set;
	int skip = strcmp(command, "client") == 0 ? 2 : 1, rc = 0;

	if ((!serves && !both && skip == 1) || argc <= skip)
		return usage();
	settings.server = argv[skip];
	rc = M0_GETOPTS("m0_ping", argc - skip, argv + skip, M0_FORMATARG('k', "client threads", "%u", &settings.threads),
			M0_FORMATARG('l', "loops of each", "%u", &settings.loops),
			M0_FORMATARG('s', "seconds", "%lf", &settings.seconds),
			M0_FORMATARG('m', "bytes of a text message", "%u", &settings.message),
			M0_FORMATARG('d', "bytes of bulk data", "%u", &settings.bulk),
			M0_FORMATARG('n', "buffers of the server", "%u", &settings.buffers),
			M0_FORMATARG('p', "portal of the server", "%u", &settings.portal),
			M0_FORMATARG('t', "TMID of the server", "%u", &settings.tmid),
			M0_STRINGARG('i', "own NID", LAMBDA(void, (const char *nid) { settings.nid = nid; })),
			M0_FLAGARG('A', "asynchronous delivery at the server", &settings.asynchronous));
	if (rc != 0)
		return 2;
	if (settings.threads < 1 || settings.threads > MOST_THREADS || settings.buffers < 4 || settings.buffers > MOST_BUFFERS ||
	    settings.message < LEAST_MESSAGE || settings.message > MOST_MESSAGE || settings.bulk < 1 || settings.bulk > MOST_BULK)
		return usage();
	/* A server takes all lengths. */
	of_server = settings;
	of_server.message = MOST_MESSAGE;
	of_server.bulk = MOST_BULK;

	set_of_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	must(m0_init(NULL), "m0_init");
	if (serves || both) {
		server = server_start(&of_server);
		printf("%s is waiting\n", server_address(server));
		fflush(stdout);
	}
	M0_SET0(&signals);
	must(M0_THREAD_INIT(&signals, int, NULL, wait_for_signals, 0, "signals"), "a thread");
	if (serves) {
		server_run(server);
	} else if (both) {
		char nid[M0_NET_LNET_XEP_ADDR_LEN];

		snprintf(nid, sizeof(nid), "%.*s", (int)strcspn(server_address(server), ":"), server_address(server));
		settings.server = nid;
		M0_SET0(&serving);
		must(M0_THREAD_INIT(&serving, struct server *, NULL, server_run, server, "server"), "a thread");
		rc = clients_run(&settings, &ended);
		server_end(server);
		m0_thread_join(&serving);
		m0_thread_fini(&serving);
	} else {
		rc = clients_run(&settings, &ended);
	}
	if (!ended)
		kill(getpid(), SIGTERM);
	m0_thread_join(&signals);
	m0_thread_fini(&signals);
	if (server != NULL)
		rc |= end_of(server_stop(server));
	m0_fini();
	return rc;
}
