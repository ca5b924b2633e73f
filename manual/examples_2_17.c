/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The examples of the pages about functions that came with the API of 2.15 and 2.17: each begins with a comment and ends with the
 * function that it is. */
#define LNET_API 0x21100
#include <errno.h>
#include <lnet/api.h>
#include <lnet/nidstr.h>
#include <stdio.h>

/* Example: Prints the NIDs of this node, the one by which other nodes know it first, and those of the node with another NID. With 2.17. */
int show_nids(const char *text)
{
	struct lnet_nid primary, other, nids[16];
	int count = LNetLocalPrimaryNID(&primary);

	if (count < 0)
		return count;
	printf("this node is %s\n", libcfs_nidstr(&primary));
	if (libcfs_strnid(&other, text) < 0)
		return -EINVAL;
	if (LNetIsPeerLocal(&other))
		printf("%s is this node's\n", text);
	count = LNetFetchNIDs(&other, nids, 16);
	for (int i = 0; i < count && i < 16; i++)
		printf("%s has %s\n", text, libcfs_nidstr(&nids[i]));
	return count;
}

/* Example: Unlinks a descriptor, and makes sure that its handler is called no more before the handler's code is unloaded. */
void end_use(struct lnet_handle_md md, lnet_handler_t handler)
{
	LNetMDUnlink(md);
	lnet_assert_handler_unused(handler);
}

static void on_nid(const struct lnet_nid *nid, bool is_there, void *data)
{
	printf("%s: %s %s\n", (const char *)data, libcfs_nidstr(nid), is_there ? "has come" : "is gone");
}

/* Example: Lets a function be called when the NIDs of this node change, until it is called no more. */
int watch_nids(char *name, void (*wait_for_end)(void))
{
	int rc = LNetRegisterNIDUpdates(on_nid, name);

	if (rc < 0)
		return rc;
	wait_for_end();
	return LNetUnRegisterNIDUpdates(on_nid, name);
}

/* Example: Prints the sender of a message, and whether its NID is one that the program was given. */
void show_sender(const struct lnet_event *event, const char *allowed)
{
	struct lnet_processid sender = event->initiator;
	struct lnet_nid nid;

	printf("a message of %s\n", libcfs_idstr(&sender));
	if (libcfs_stranynid(&nid, allowed) && (LNET_NID_IS_ANY(&nid) || nid_same(&nid, &sender.nid)))
		printf("it is allowed\n");
}
