/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests what a program may do with its process while a node runs in it: signals, descriptors, umask, directories,
 * users, limits. Each case is a separate process, whose node exchanges messages with that of another process over
 * TCP. */
#define _GNU_SOURCE
#include "own_address.h"
#include <dirent.h>
#include <fcntl.h>
#include <lnet/lnetconfig/liblnetconfig.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#define PORTAL 20
#define MESSAGES 50
#define NOBODY 65534

static char peer_ip[32], directory[256];
static struct lnet_handle_eq eq;

/* ---- two nodes ---- */

static struct lnet_process_id peer(void)
{
	struct lnet_process_id id = { 0, LNET_PID_LUSTRE };
	char text[80];

	snprintf(text, sizeof(text), "%s@tcp", peer_ip);
	id.nid = libcfs_str2nid(text);
	return id;
}

static void ignore_event(struct lnet_event *event)
{
	(void)event;
}

/* The node of the other process: accepts every PUT, until the pipe is closed. */
static void serve(int ready, int end)
{
	static char memory[16];
	struct lnet_handle_eq events;
	struct lnet_handle_md md;
	char networks[64], byte = 'r';

	snprintf(networks, sizeof(networks), "tcp(%s)", peer_ip);
	setenv("LNET_NETWORKS", networks, 1);
	setenv("LNET_NODE", "other", 1);
	if (LNetNIInit(LNET_PID_LUSTRE) != 0)
		_exit(1);
	LNetEQAlloc(0, ignore_event, &events);
	LNetMDAttach(attach_me(PORTAL, 1, LNET_RETAIN),
		     make_md(memory, sizeof(memory), LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, NULL,
			     events), LNET_RETAIN, &md);
	if (write(ready, &byte, 1) != 1 || read(end, &byte, 1) != 0)
		_exit(1);
	LNetNIFini();
	_exit(failures != 0);
}

/* Sends PUTs to the other node, each with an ACK. */
static void exchange(int count)
{
	char byte = 'x';

	for (int i = 0; i < count; i++) {
		struct lnet_handle_md md;
		struct lnet_event event;
		int which, last = 0;

		CHECK_EQ(LNetMDBind(make_md(&byte, 1, 2, 0, NULL, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, peer(), PORTAL, 1, 0, 0), 0);
		while (!last && failures == 0) {
			CHECK_EQ(i % 2 ? LNetEQWait(eq, &event) : LNetEQPoll(&eq, 1, 30000, &event, &which), 1);
			CHECK_EQ(event.status, 0);
			last = event.unlinked;
		}
	}
}

static void start(void)
{
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), 0);
	exchange(1);
}

static void end(void)
{
	exchange(1);
	CHECK_EQ(LNetEQFree(eq), 0);
	CHECK_EQ(LNetNIFini(), 0);
}

/* Whether the node replies to another process at its control socket. */
static int answers(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct cYAML *shown = NULL, *errors = NULL;

		_exit(lustre_lnet_show_numa_range(-1, &shown, &errors) != 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status == 0;
}

/* ---- signals ---- */

static __thread int is_the_programs;
static volatile sig_atomic_t handled, elsewhere;

static void count_signal(int signal)
{
	(void)signal;
	handled++;
	if (!is_the_programs)
		elsewhere++;
}

/* Tests a handler that interrupts system calls again and again; the library's threads run no handler of the program. */
static void handlers_without_restart(void)
{
	struct sigaction action = { .sa_handler = count_signal };
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };

	is_the_programs = 1;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	start();
	exchange(20 * MESSAGES);
	CHECK(answers());
	end();
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(handled > 0);
	CHECK_EQ(elsewhere, 0);
}

/*
 * Tests that a signal to the process stays pending if all threads of the program block it: no thread of the library
 * handles it.
 */
static void signals_blocked(void)
{
	struct sigaction action = { .sa_handler = count_signal };
	sigset_t all, pending;

	sigaction(SIGUSR1, &action, NULL);
	start();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	kill(getpid(), SIGUSR1);
	exchange(MESSAGES);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_EQ(handled, 0);
	end();
}

/* ---- descriptors ---- */

/* The descriptors that are open, as bits. */
static __u64 descriptors(void)
{
	__u64 open = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open |= 1ULL << fd;
	return open;
}

static void descriptors_are_closed_on_exec(void)
{
	__u64 before = descriptors(), now;

	start();
	now = descriptors() & ~before;
	CHECK(now != 0);
	for (int fd = 0; fd < 64; fd++)
		if (now >> fd & 1)
			CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	end();
	/* Only the descriptors of this program are left. */
	CHECK_EQ(descriptors() & ~before, 0);
}

/* Tests that a program which has closed its standard files keeps their numbers for itself. */
static void standard_files_closed(void)
{
	int kept = dup(2);

	close(0);
	close(1);
	close(2);
	start();
	CHECK(answers());
	exchange(MESSAGES);
	CHECK_EQ(descriptors() & 7, 0);
	for (int fd = 0; fd < 3; fd++)
		CHECK_EQ(open("/dev/null", O_RDWR), fd);
	end();
	dup2(kept, 2);
}

/* Tests a process that has no descriptor left: existing connections continue, and new ones wait. */
static void descriptors_exhausted(void)
{
	struct rlimit had, few;

	start();
	getrlimit(RLIMIT_NOFILE, &had);
	few = had;
	few.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	exchange(MESSAGES);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
	CHECK(answers());
	end();
}

static void too_few_descriptors_to_start(void)
{
	struct rlimit had, few;

	getrlimit(RLIMIT_NOFILE, &had);
	few = had;
	for (few.rlim_cur = 3; few.rlim_cur < 24; few.rlim_cur++) {
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
		int rc = LNetNIInit(LNET_PID_LUSTRE);

		CHECK(rc == 0 || rc < 0);
		if (rc == 0)
			CHECK_EQ(LNetNIFini(), 0);
	}
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
	start();
	end();
}

/* ---- directories, users, limits ---- */

static void umask_that_permits_nothing(void)
{
	struct stat found;
	char path[300];

	/* Root may do what modes do not permit. */
	if (geteuid() == 0)
		CHECK(chmod(directory, 0777) == 0 && setuid(NOBODY) == 0);
	snprintf(path, sizeof(path), "%s/below", directory);
	setenv("LNET_RUNTIME_DIR", path, 1);
	umask(0777);
	start();
	CHECK(answers());
	end();
	/* Starts the node again, with the files that the first run left. */
	start();
	CHECK(answers());
	CHECK(stat(path, &found) == 0 && (found.st_mode & 0777) == 0755);
	end();
}

static void another_directory(void)
{
	CHECK_EQ(chdir(directory), 0);
	setenv("LNET_RUNTIME_DIR", ".", 1);
	start();
	CHECK_EQ(chdir("/"), 0);
	exchange(MESSAGES);
	setenv("LNET_RUNTIME_DIR", directory, 1);
	CHECK(answers());
	end();
	CHECK(!answers());
}

static void another_root(void)
{
	start();
	if (geteuid() == 0)
		CHECK(chroot(directory) == 0 && chdir("/") == 0);
	exchange(MESSAGES);
	end();
}

static void another_user(void)
{
	start();
	if (geteuid() == 0)
		CHECK_EQ(setuid(NOBODY), 0);
	exchange(MESSAGES);
	end();
}

/* The memory that the node of another process copies to and from is a file: without one no MD can be made, but the program goes on. */
static void no_file_may_grow(void)
{
	struct lnet_handle_md md;
	struct rlimit had, none;
	char byte = 'x';

	getrlimit(RLIMIT_FSIZE, &had);
	none = had;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), 0);
	CHECK_EQ(LNetMDBind(make_md(&byte, 1, 2, 0, NULL, eq), LNET_UNLINK, &md), -ENOMEM);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &had), 0);
	exchange(1);
}

/* Tests limits that may be 0, either from the start on or from when the node runs. */
static void limits(void)
{
	static const int kinds[] = { RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_CORE, RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING, RLIMIT_NICE,
				     RLIMIT_RTPRIO };
	struct rlimit none = { 0, 0 };

	signal(SIGXFSZ, SIG_DFL);
	if (attached())
		no_file_may_grow();
	for (size_t i = 0; i < LENGTH(kinds); i++)
		CHECK_EQ(setrlimit(kinds[i], &none), 0);
	if (!attached())
		start();
	exchange(MESSAGES);
	CHECK(answers());
	end();
}

/*
 * Tests that a start fails if no thread can be created, and that the next start succeeds when that is possible again.
 * The limit does not apply to root.
 */
static void no_threads(void)
{
	struct rlimit had, none;
	char path[300];

	if (geteuid() == 0)
		CHECK(chmod(directory, 0777) == 0 && setuid(NOBODY) == 0);
	snprintf(path, sizeof(path), "%s/limited", directory);
	setenv("LNET_RUNTIME_DIR", path, 1);
	getrlimit(RLIMIT_NPROC, &had);
	none = had;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
	CHECK(LNetNIInit(LNET_PID_LUSTRE) < 0);
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &had), 0);
	start();
	/* A running node creates no threads for its messages. */
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
	exchange(MESSAGES);
	end();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "signals handled without SA_RESTART", handlers_without_restart },
	{ "signals blocked", signals_blocked },
	{ "descriptors are closed on exec", descriptors_are_closed_on_exec },
	{ "standard files closed", standard_files_closed },
	{ "descriptors exhausted", descriptors_exhausted },
	{ "too few descriptors to start", too_few_descriptors_to_start },
	{ "umask 0777", umask_that_permits_nothing },
	{ "chdir", another_directory },
	{ "chroot", another_root },
	{ "setuid", another_user },
	{ "limits of 0", limits },
	{ "no threads", no_threads },
};

int main(void)
{
	int ready[2], stop[2], status;
	char byte;
	pid_t other, child;

	find_own_address(1);
	strcpy(peer_ip, own_address);
	strcpy(strrchr(peer_ip, '.'), ".2");
	snprintf(directory, sizeof(directory), "%s", getenv("LNET_RUNTIME_DIR"));
	CHECK(pipe2(ready, O_CLOEXEC) == 0 && pipe2(stop, O_CLOEXEC) == 0);
	other = fork();
	if (other == 0) {
		close(stop[1]);
		serve(ready[1], stop[0]);
	}
	close(stop[0]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	setenv("LNET_NODE", "one", 1);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		child = fork();
		if (child == 0) {
			close(stop[1]);
			failures = 0;
			cases[i].run();
			_exit(failures != 0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		if (status != 0) {
			fprintf(stderr, "%s: status %#x\n", cases[i].name, status);
			failures++;
		}
	}
	close(stop[1]);
	CHECK_EQ(waitpid(other, &status, 0), other);
	CHECK_EQ(status, 0);
	return failures != 0;
}
