/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that a program learns which NIDs of its node come and go, with the API of 2.17. */
#define LNET_API 0x21100
#include "check.h"
#include <semaphore.h>
#include <lnet/lnetconfig/liblnetconfig.h>

/* What a function was called with. */
struct changes {
	pthread_mutex_t lock;
	pthread_cond_t more;
	int count;
	char last[80];
	/* Whether the function ends its own registration, and the result. */
	bool leaves;
	int left;
};

/* The calls of 2.10 that wait, which the headers of 2.17 have not. */
struct queue {
	__u64 cookie;
};
int LNetEQAlloc(unsigned int count, void (*handler)(void *), struct queue *queue);
int LNetEQPoll(struct queue *queues, int count, int timeout_ms, void *event, int *which);

static struct changes first = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };
static struct changes second = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .leaves = true };
static struct changes late = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };
static int ended;

static void changed(const struct lnet_nid *nid, bool is_there, void *data)
{
	struct changes *changes = data;

	pthread_mutex_lock(&changes->lock);
	snprintf(changes->last, sizeof(changes->last), "%s %s", libcfs_nidstr(nid), is_there ? "has come" : "is gone");
	if (changes->leaves) {
		changes->left = LNetUnRegisterNIDUpdates(changed, changes);
		ended = LNetNIFini();
	}
	changes->count++;
	pthread_cond_signal(&changes->more);
	pthread_mutex_unlock(&changes->lock);
}

/* Adds the net tcp5, or removes it. */
static void have_tcp5(bool is_there)
{
	struct lnet_dlc_network_descr net;
	struct cYAML *errors = NULL;
	char interfaces[] = "127.0.0.1";

	lustre_lnet_init_nw_descr(&net);
	net.nw_id = libcfs_str2net("tcp5");
	CHECK_EQ(lustre_lnet_parse_interfaces(interfaces, &net), 0);
	if (is_there)
		CHECK_EQ(lustre_lnet_config_ni(&net, NULL, NULL, NULL, -1, -1, &errors), 0);
	else
		CHECK_EQ(lustre_lnet_del_ni(&net, -1, &errors), 0);
	cYAML_free_tree(errors);
}

static sem_t waits;
static int waited;

/* Waits for an event that does not come. */
static void waits_for_ever(const struct lnet_nid *nid, bool is_there, void *data)
{
	__u64 event[64];
	int which;

	(void)nid;
	(void)is_there;
	sem_post(&waits);
	waited = LNetEQPoll(data, 1, -1, event, &which);
}

/* The end of the node ends the wait of a function that is being called, and comes after its return. */
static void a_function_that_waits_returns_when_the_node_ends(void)
{
	struct queue queue;

	waited = 1;
	sem_init(&waits, 0, 0);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(1, NULL, &queue), 0);
	CHECK_EQ(LNetRegisterNIDUpdates(waits_for_ever, &queue), 0);
	have_tcp5(true);
	sem_wait(&waits);
	CHECK_EQ(LNetNIFini(), 0);
	CHECK_EQ(waited, -ENETDOWN);
}

static void wait_for(struct changes *changes, int count)
{
	pthread_mutex_lock(&changes->lock);
	while (changes->count < count)
		pthread_cond_wait(&changes->more, &changes->lock);
	pthread_mutex_unlock(&changes->lock);
}

int main(void)
{
	CHECK_EQ(LNetRegisterNIDUpdates(changed, &first), -ENETDOWN);
	CHECK_EQ(LNetUnRegisterNIDUpdates(changed, &first), -ENETDOWN);
	setenv("LNET_ACCEPT", "none", 1);
	setenv("LNET_NETWORKS", "tcp(127.0.0.1)", 1);
	for (int round = 0; round < 2; round++) {
		first.count = second.count = late.count = 0;
		CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
		CHECK_EQ(LNetRegisterNIDUpdates(NULL, &first), -EINVAL);
		CHECK_EQ(LNetUnRegisterNIDUpdates(changed, &first), -ENOENT);
		CHECK_EQ(LNetRegisterNIDUpdates(changed, &first), 0);
		CHECK_EQ(LNetRegisterNIDUpdates(changed, &first), -EEXIST);
		CHECK_EQ(LNetRegisterNIDUpdates(changed, &second), 0);
		have_tcp5(true);
		/* What is there at its registration, a function is not called for, though others are still to be called. */
		CHECK_EQ(LNetRegisterNIDUpdates(changed, &late), 0);
		wait_for(&first, 1);
		wait_for(&second, 1);
		CHECK_STR(first.last, "127.0.0.1@tcp5 has come");
		CHECK_STR(second.last, "127.0.0.1@tcp5 has come");
		/* It has ended its registration, and could not end the node. */
		CHECK_EQ(second.left, 0);
		CHECK_EQ(ended, -EBUSY);
		CHECK_EQ(LNetUnRegisterNIDUpdates(changed, &second), -ENOENT);
		have_tcp5(false);
		wait_for(&first, 2);
		CHECK_STR(first.last, "127.0.0.1@tcp5 is gone");
		CHECK_EQ(second.count, 1);
		wait_for(&late, 1);
		CHECK_STR(late.last, "127.0.0.1@tcp5 is gone");
		if (round == 0)
			CHECK_EQ(LNetUnRegisterNIDUpdates(changed, &first), 0);
		/* In the second round the end of the node ends the registration, too. */
		CHECK_EQ(LNetNIFini(), 0);
		CHECK_EQ(first.count, 2);
		CHECK_EQ(late.count, 1);
	}
	a_function_that_waits_returns_when_the_node_ends();
	return failures != 0;
}
