/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stops and continues the node of another process, which may be that of a daemon: see attached.c. */
#ifndef NODE_PROCESS_H
#define NODE_PROCESS_H

#ifndef _GNU_SOURCE
#error "struct ucred needs _GNU_SOURCE"
#endif
#include "check.h"
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The process that has the first node of `program`. */
static inline pid_t node_process(pid_t program)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred listener = { 0 };
	socklen_t length = sizeof(listener);

	if (!attached()) {
		close(fd);
		return program;
	}
	snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/t%d-1.sock", getenv("LNET_RUNTIME_DIR"), program);
	CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &length), 0);
	close(fd);
	return listener.pid;
}

static inline bool thread_has_stopped(pid_t process, const char *thread)
{
	char path[320], text[512], *state = NULL;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", process, thread);
	stat = fopen(path, "r");
	if (stat != NULL && fgets(text, sizeof(text), stat) != NULL)
		state = strrchr(text, ')');
	if (stat != NULL)
		fclose(stat);
	return state != NULL && state[2] == 'T';
}

/* Whether all threads of a process have stopped. */
static inline bool has_stopped(pid_t process)
{
	bool all = true;
	struct dirent *thread;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	threads = opendir(path);
	while ((thread = readdir(threads)) != NULL)
		if (thread->d_name[0] != '.')
			all = all && thread_has_stopped(process, thread->d_name);
	closedir(threads);
	return all;
}

static inline void stop_node_process(pid_t process)
{
	CHECK_EQ(kill(process, SIGSTOP), 0);
	while (!has_stopped(process))
		usleep(1000);
}

#endif
