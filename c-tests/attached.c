/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Is linked into a test program. It gives the program, and the libraries that the program uses, a node of lnetd in place of a
 * node in the process: the first LNetNIInit starts a daemon with the environment of the process and attaches to it, the last LNetNIFini
 * ends the daemon. LNETD is the path of lnetd. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <lnet/api.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All below is protected by the lock. */
static int references;
static pid_t daemon_pid;
static int daemons;

/* A child of fork has no node. */
static void in_child(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	references = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
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

/* Becomes lnetd. Called in the child of fork of `program`. */
static void exec_daemon(pid_t program, const char *name, char **environment)
{
	const char *nets = has_nets() ? "--from-environment" : "--loopback-only";
	char *arguments[] = { "lnetd", "--node", (char *)name, (char *)nets, "--log-level", "warn", NULL };
	sigset_t none;

	/* It ends with the thread that has started it; in the test programs that is one that ends with the program. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != program)
		_exit(1);
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		signal(signal_number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Whoever waits for the end of a pipe of the program does not wait for the daemon. */
	close_range(3, ~0U, 0);
	execve(LNETD, arguments, environment);
	_exit(1);
}

/* Waits until the daemon admits programs. Returns 0, or the error with which it has ended. */
static int wait_until_ready(int notify)
{
	int process = syscall(SYS_pidfd_open, daemon_pid, 0);
	struct pollfd fds[2] = { { notify, POLLIN, 0 }, { process, POLLIN, 0 } };
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
	close(process);
	return rc;
}

/* Ends the daemon, which must end as one without mistakes does. */
static void end_daemon(bool was_ready)
{
	int status = 0;

	kill(daemon_pid, SIGTERM);
	while (waitpid(daemon_pid, &status, 0) < 0 && errno == EINTR)
		;
	if (was_ready && status != 0) {
		fprintf(stderr, "attached.c: lnetd ended with status %#x\n", status);
		abort();
	}
}

/* Starts a daemon for this process. Returns 0 when the process can attach to it. */
static int start_daemon(void)
{
	const char *name = getenv("LNET_NODE");
	struct sockaddr_un notify_at = { .sun_family = AF_UNIX };
	char own_name[32], notify_variable[sizeof(notify_at.sun_path) + 16], *environment[512];
	pid_t program = getpid();
	size_t count = 0;
	int notify, rc;

	daemons++;
	if (name == NULL || *name == '\0') {
		snprintf(own_name, sizeof(own_name), "t%d-%d", program, daemons);
		name = own_name;
	}
	snprintf(notify_at.sun_path, sizeof(notify_at.sun_path), "%s/%d-%d.notify", getenv("LNET_RUNTIME_DIR"), program, daemons);
	snprintf(notify_variable, sizeof(notify_variable), "NOTIFY_SOCKET=%s", notify_at.sun_path);
	for (char **variable = environ; *variable != NULL && count + 2 < sizeof(environment) / sizeof(environment[0]); variable++)
		environment[count++] = *variable;
	environment[count++] = notify_variable;
	environment[count] = NULL;

	notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify < 0 || bind(notify, (struct sockaddr *)&notify_at, sizeof(notify_at)) != 0) {
		perror("attached.c: the socket for the daemon's message");
		abort();
	}
	daemon_pid = fork();
	if (daemon_pid == 0)
		exec_daemon(program, name, environment);
	rc = wait_until_ready(notify);
	close(notify);
	unlink(notify_at.sun_path);
	if (rc == 0)
		setenv("LNET_ATTACH", name, 1);
	else
		end_daemon(false);
	return rc;
}

int LNetNIInit(lnet_pid_t pid)
{
	int (*init)(lnet_pid_t) = real("LNetNIInit");
	int rc;

	pthread_mutex_lock(&lock);
	if (references == 0) {
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
		if (--references == 0)
			end_daemon(true);
		pthread_mutex_unlock(&lock);
	}
	return rc;
}
