/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Is linked into a test program. It gives the program, and the libraries that the program uses, a node of lnetd in place of a
 * node in the process: the first LNetNIInit starts a daemon with the environment of the process and attaches to it, the last LNetNIFini
 * ends the daemon. A process that is started with LNET_ATTACH uses the daemon of that name. LNETD is the path of lnetd. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lnet/api.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef LNETD
#define LNETD "/usr/local/sbin/lnetd"
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All below is protected by the lock. */
static int references;
/* The process that has started lnetd. */
static pid_t keeper;
/* The connection to the keeper, which kills the daemon when no process has this end any more. A byte lets it end the daemon in order. */
static int life = -1;
static int daemons;
/* As they were when the program was started: lnetd does not have the limits that the program sets itself. */
static struct rlimit limits[RLIM_NLIMITS];
static bool has_daemon;
static char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];

/* A child of fork has no node. */
static void in_child(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	references = 0;
	if (life >= 0)
		close(life);
	life = -1;
}

__attribute__((constructor)) static void at_start(void)
{
	const char *runtime_dir = getenv("LNET_RUNTIME_DIR");

	has_daemon = getenv("LNET_ATTACH") != NULL;
	snprintf(directory, sizeof(directory), "%s", runtime_dir != NULL ? runtime_dir : "/tmp");
	for (int limit = 0; limit < RLIM_NLIMITS; limit++)
		getrlimit(limit, &limits[limit]);
	pthread_atfork(NULL, NULL, in_child);
}

static void failed(const char *what)
{
	fprintf(stderr, "attached.c: %s: %s\n", what, strerror(errno));
	abort();
}

/* The numbers of the standard files may be free, but are the program's. */
static int above_standard(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return moved;
}

static void *real(const char *function)
{
	void *found = dlsym(RTLD_NEXT, function);

	if (found == NULL) {
		fprintf(stderr, "attached.c: no %s: %s\n", function, dlerror());
		abort();
	}
	return found;
}

/* Whether the environment configures nets: a node without any is on the loopback only. */
static bool has_nets(void)
{
	static const char *const names[] = { "LNET_NETWORKS", "LNET_IP2NETS", "LNET_CONFIG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			return true;
	}
	return false;
}

/* Becomes lnetd, which has a descriptor that nobody else has: the end of `ended` that closes with it. */
static void exec_daemon(int ended, const char *name, char **environment)
{
	const char *nets = has_nets() ? "--from-environment" : "--loopback-only";
	char *arguments[] = { "lnetd", "--node", (char *)name, (char *)nets, "--log-level", "warn", NULL };
	sigset_t none;

	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		signal(signal_number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int limit = 0; limit < RLIM_NLIMITS; limit++)
		setrlimit(limit, &limits[limit]);
	dup2(ended, 3);
	close_range(4, ~0U, 0);
	execve(LNETD, arguments, environment);
	_exit(1);
}

/* Starts lnetd and keeps it until the program ends it, or has ended itself: the keeper, and whoever waits for the end of a pipe of the
 * program does not wait for it. Does not return. */
static void keep_daemon(const char *name, char **environment, int its_life)
{
	struct pollfd fds[2] = { { 3, POLLIN, 0 }, { -1, POLLIN, 0 } };
	int status = 1 << 8, ended[2];
	pid_t daemon;
	char byte;

	dup2(its_life, 3);
	close_range(4, ~0U, 0);
	if (pipe(ended) != 0)
		_exit(1);
	daemon = fork();
	if (daemon == 0)
		exec_daemon(ended[1], name, environment);
	close(ended[1]);
	fds[1].fd = ended[0];
	while (poll(fds, 2, -1) < 0)
		;
	if (fds[0].revents != 0)
		kill(daemon, read(3, &byte, 1) == 1 ? SIGTERM : SIGKILL);
	while (waitpid(daemon, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status));
}

/* Waits until the daemon admits programs. Returns 0, or the error with which it has ended. */
static int wait_until_ready(int notify)
{
	/* The keeper closes its end of the connection when it ends. */
	struct pollfd fds[2] = { { notify, POLLIN, 0 }, { life, POLLIN, 0 } };
	char text[512], *number;
	int rc = -ENETDOWN;

	for (;;) {
		ssize_t length;
		bool has_ended;

		poll(fds, 2, -1);
		/* Before the message is looked for: it says why it ends. */
		has_ended = fds[1].revents != 0;
		length = recv(notify, text, sizeof(text) - 1, MSG_DONTWAIT);
		if (length < 0 && has_ended)
			break;
		if (length < 0)
			continue;
		text[length] = '\0';
		number = strstr(text, "ERRNO=");
		if (number != NULL)
			rc = -atoi(number + strlen("ERRNO="));
		if (strstr(text, "READY=1") != NULL) {
			rc = 0;
			break;
		}
	}
	return rc;
}

/* Ends the daemon, which must end as one without mistakes does. */
static void end_daemon(bool was_ready)
{
	int status = 0;

	/* The keeper may have ended with the daemon. */
	send(life, "e", 1, MSG_NOSIGNAL);
	close(life);
	life = -1;
	while (waitpid(keeper, &status, 0) < 0 && errno == EINTR)
		;
	if (was_ready && status != 0) {
		fprintf(stderr, "attached.c: lnetd ended with status %#x\n", status);
		abort();
	}
}

/* The socket for the message of the daemon that it is up. */
static int notify_socket(struct sockaddr_un *at)
{
	int notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	mode_t mask = umask(0);

	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(at->sun_path, sizeof(at->sun_path), "%.80s/%d-%d.notify", directory, getpid(), daemons);
	if (bind(notify, (struct sockaddr *)at, sizeof(*at)) != 0)
		failed("the socket for the daemon's message");
	umask(mask);
	return notify;
}

/* Starts a daemon of this name. Returns 0 when a process can attach to it. */
static int start_named(const char *name)
{
	struct sockaddr_un notify_at;
	int notify = notify_socket(&notify_at), ends[2], rc;
	char notify_variable[sizeof(notify_at.sun_path) + 16], *environment[512];
	size_t count = 0;

	snprintf(notify_variable, sizeof(notify_variable), "NOTIFY_SOCKET=%s", notify_at.sun_path);
	for (char **variable = environ; *variable != NULL && count + 3 < sizeof(environment) / sizeof(environment[0]); variable++)
		environment[count++] = *variable;
	environment[count++] = notify_variable;
	/* As a node of the process: unless the program says otherwise, an interface that is not there ends the start. */
	environment[count++] = "LNET_WAIT_FOR_INTERFACES=disabled";
	environment[count] = NULL;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		failed("the connection to the keeper");
	life = above_standard(ends[1]);
	keeper = fork();
	if (keeper == 0)
		keep_daemon(name, environment, ends[0]);
	if (keeper < 0)
		failed("fork");
	close(ends[0]);
	rc = wait_until_ready(notify);
	close(notify);
	unlink(notify_at.sun_path);
	if (rc != 0)
		end_daemon(false);
	return rc;
}

/* Starts a daemon for this process. Returns 0 when the process can attach to it. */
static int start_daemon(void)
{
	static const int kinds[] = { RLIMIT_NOFILE, RLIMIT_NPROC };
	const char *name = getenv("LNET_NODE");
	struct rlimit own[2];
	char own_name[32];
	int rc;

	daemons++;
	if (name == NULL || *name == '\0') {
		snprintf(own_name, sizeof(own_name), "t%d-%d", getpid(), daemons);
		name = own_name;
	}
	/* The program may have little left for itself. */
	for (int i = 0; i < 2; i++) {
		getrlimit(kinds[i], &own[i]);
		setrlimit(kinds[i], &limits[kinds[i]]);
	}
	rc = start_named(name);
	for (int i = 0; i < 2; i++)
		setrlimit(kinds[i], &own[i]);
	if (rc == 0)
		setenv("LNET_ATTACH", name, 1);
	return rc;
}

int LNetNIInit(lnet_pid_t pid)
{
	int (*init)(lnet_pid_t) = real("LNetNIInit");
	int rc;

	pthread_mutex_lock(&lock);
	/* LNET_PID_ANY starts no node. */
	if (references == 0 && pid != LNET_PID_ANY && !has_daemon) {
		rc = start_daemon();
		if (rc == 0) {
			rc = init(pid);
			if (rc < 0)
				end_daemon(true);
		}
	} else {
		rc = init(pid);
	}
	if (rc >= 0)
		references++;
	pthread_mutex_unlock(&lock);
	return rc;
}

int LNetNIFini(void)
{
	int (*fini)(void) = real("LNetNIFini");
	/* Without the lock: it waits for handlers, which may call these functions. */
	int rc = fini();

	if (rc == 0) {
		pthread_mutex_lock(&lock);
		if (--references == 0 && !has_daemon)
			end_daemon(true);
		pthread_mutex_unlock(&lock);
	}
	return rc;
}
