/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The examples of the manual pages of section 3. A page has the first of these functions that calls its function; the comment before
 * it is the text above it. */
#include <lnet/api.h>
#include <lnet/lib-lnet.h>
#include <lnet/lnetctl.h>
#include <lnet/lnet.h>
#include <lnet/lnetconfig/cyaml.h>
#include <lnet/lnetconfig/liblnd.h>
#include <lnet/lnetconfig/liblnetconfig.h>
#include <lnet/lnetconfig/lnetconfig_hld.h>
#include <lnet/selftest.h>
#include <libcfs/libcfs_ioctl.h>
#include <libcfs/libcfs_string.h>
#include <libcfs/util/ioctl.h>
#include <libcfs/util/list.h>
#include <libcfs/util/parser.h>
#include <ptlrpc/ptlrpc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Example: Starts a node, prints its NIDs and stops it. A positive result of LNetNIInit is no error. */
int print_nids(void)
{
	struct lnet_process_id id;
	int rc = LNetNIInit(LNET_PID_LUSTRE);

	if (rc < 0)
		return rc;
	for (unsigned int i = 0; LNetGetId(i, &id) == 0; i++)
		printf("%s\n", libcfs_id2str(id));
	return LNetNIFini();
}

/* Example: Gives memory to one message that any node may put to portal 10 with the match bits 42. */
int receive_one(struct lnet_handle_eq eq, void *memory, unsigned int length)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_md md = { .start = memory, .length = length, .threshold = 1,
		.options = LNET_MD_OP_PUT, .eq_handle = eq };
	struct lnet_handle_me me;
	struct lnet_handle_md handle;
	int rc = LNetMEAttach(10, anyone, 42, 0, LNET_UNLINK, LNET_INS_AFTER, &me);

	if (rc < 0)
		return rc;
	rc = LNetMDAttach(me, md, LNET_UNLINK, &handle);
	if (rc < 0)
		LNetMEUnlink(me);
	return rc;
}

/* Example: Puts memory to a node and waits until the node has it. The threshold is 2: the PUT, and its ACK. */
int send_and_wait(struct lnet_handle_eq eq, struct lnet_process_id target,
		void *memory, unsigned int length)
{
	struct lnet_md md = { .start = memory, .length = length, .threshold = 2,
		.eq_handle = eq };
	struct lnet_handle_md handle;
	struct lnet_event event;
	int taken = -ETIMEDOUT, rc = LNetMDBind(md, LNET_UNLINK, &handle);

	if (rc < 0)
		return rc;
	rc = LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, target, 10, 42, 0, 0);
	if (rc < 0) {
		LNetMDUnlink(handle);
		return rc;
	}
	do {
		rc = LNetEQWait(eq, &event);
		if (rc < 0)
			return rc;
		if (event.type == LNET_EVENT_ACK && event.status == 0)
			taken = (int)event.mlength;
	} while (!event.unlinked);
	return event.status < 0 ? event.status : taken;
}

/* Example: Fetches memory of a node into an MD, whose two operations are the GET and its REPLY. */
int fetch(struct lnet_handle_eq eq, struct lnet_process_id target,
		void *memory, unsigned int length)
{
	struct lnet_md md = { .start = memory, .length = length, .threshold = 2,
		.eq_handle = eq };
	struct lnet_handle_md handle;
	int rc = LNetMDBind(md, LNET_UNLINK, &handle);

	if (rc == 0)
		rc = LNetGet(LNET_NID_ANY, handle, target, 10, 42, 0);
	return rc;
}

/* Example: Makes a queue of 64 events, prints those that come within a second of each other, and frees the queue. */
int print_events(void)
{
	struct lnet_handle_eq eq;
	struct lnet_event event;
	int which, rc = LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq);

	if (rc < 0)
		return rc;
	while ((rc = LNetEQPoll(&eq, 1, 1000, &event, &which)) != 0) {
		if (rc < 0 && rc != -EOVERFLOW)
			break;
		printf("event %d of %u bytes from %s: %d\n", event.type,
			event.mlength, libcfs_nid2str(event.initiator.nid), event.status);
	}
	LNetEQFree(eq);
	return rc;
}

/* Example: Empties a queue without waiting. */
void discard_events(struct lnet_handle_eq eq)
{
	struct lnet_event event;
	int rc;

	do {
		rc = LNetEQGet(eq, &event);
	} while (rc == 1 || rc == -EOVERFLOW);
}

/* Example: Adds a match entry for one node before the one for all others, both on the same portal. */
int one_node_first(struct lnet_handle_me others, lnet_nid_t nid,
		struct lnet_handle_me *handle)
{
	struct lnet_process_id node = { LNetPrimaryNID(nid), LNET_PID_ANY };

	return LNetMEInsert(others, node, 42, 0, LNET_RETAIN, LNET_INS_BEFORE, handle);
}

/* Example: Lets the messages for portal 10 wait until memory is attached, and later drops those that still wait. */
int be_lazy_for_a_while(void (*work)(void))
{
	int rc = LNetSetLazyPortal(10);

	if (rc < 0)
		return rc;
	work();
	return LNetClearLazyPortal(10);
}

/* Example: Claims all match bits of portal 10 whose upper 32 bits are 7, so that no other program on the node uses them. */
int claim_and_work(void (*work)(void))
{
	int rc = LNetClaimBits(10, 7ULL << 32, 0xffffffffULL);

	if (rc < 0)
		return rc;
	work();
	return LNetReleaseBits(10, 7ULL << 32, 0xffffffffULL);
}

/* Example: Allocates memory that the node accesses in place, also where the program is attached to the node of lnetd. */
int with_memory(int (*use)(void *memory, size_t length))
{
	void *memory = LNetMemAlloc(1 << 20);
	int rc = -ENOMEM;

	if (memory != NULL) {
		rc = use(memory, 1 << 20);
		LNetMemFree(memory);
	}
	return rc;
}

/* Example: Says what is wrong when a call fails, and when an operation has failed. */
int report(const char *call, int result, const struct lnet_event *event)
{
	if (result < 0)
		fprintf(stderr, "%s: %s\n", call, LNetErrorText(call, result));
	else if (event->status < 0)
		fprintf(stderr, "%s\n", LNetErrorText(NULL, event->status));
	return result < 0 ? result : event->status;
}

/* Example: Prints how far a node is, and by which of its own NIDs this node would send. */
void print_distance(const char *name)
{
	lnet_nid_t own, nid = libcfs_str2nid(name);
	__u32 order;
	int hops = LNetDist(nid, &own, &order);

	if (hops < 0)
		printf("%s: %s\n", name, strerror(-hops));
	else
		printf("%s: distance %d, from %s\n", name, hops, libcfs_nid2str(own));
}

/* Example: Declares that two NIDs belong to one node, starts its discovery, and logs what is known of it. */
int know_peer(lnet_nid_t first, lnet_nid_t second)
{
	lnet_nid_t nids[] = { first, second };
	struct lnet_process_id id = { first, LNET_PID_LUSTRE };
	int rc = LNetAddPeer(nids, 2);

	if (rc == 0 && LNetGetPeerDiscoveryStatus() == 1)
		rc = LNetPeerDiscovered(first);
	LNetDebugPeer(id);
	return rc;
}

/* Example: Drops one of ten messages that come from anywhere, to test what a program does then. */
int lose_messages(void)
{
	struct libcfs_ioctl_data command;
	struct lnet_fault_attr rule;

	memset(&command, 0, sizeof(command));
	memset(&rule, 0, sizeof(rule));
	rule.fa_src = LNET_NID_ANY;
	rule.fa_dst = LNET_NID_ANY;
	rule.u.drop.da_rate = 10;
	command.ioc_flags = LNET_CTL_DROP_ADD;
	command.ioc_inllen1 = sizeof(rule);
	command.ioc_inlbuf1 = (char *)&rule;
	return LNetCtl(IOC_LIBCFS_LNET_FAULT, &command);
}

/* Example: Prints how many messages the node has sent, received and dropped. */
void print_counters(void)
{
	struct lnet_counters counters;

	lnet_counters_get(&counters);
	printf("%u sent, %u received, %u dropped\n", counters.send_count,
		counters.recv_count, counters.drop_count);
}

/* Example: Prints the NUMA distance of all memory from the CPU partition that serves a peer. */
void print_partition(lnet_nid_t nid)
{
	int cpt = lnet_cpt_of_nid(nid, NULL);

	printf("partition %d, distance %u\n", cpt,
		cfs_cpt_distance(lnet_cpt_table(), cpt, CFS_CPT_ANY));
}

/* Example: Makes a NID from a net and an address, and takes both from it again. */
void take_apart(void)
{
	lnet_nid_t nid = LNET_MKNID(LNET_MKNET(SOCKLND, 1), 0x0a000001);
	__u32 net = LNET_NIDNET(nid);

	printf("%s is on %s: type %u, number %u, address %#x\n", libcfs_nid2str(nid),
		libcfs_net2str(net), LNET_NETTYP(net), LNET_NETNUM(net), LNET_NIDADDR(nid));
}

/* Example: Marks handles that name nothing yet, so that cleaning up knows which to unlink. */
void clean_up(struct lnet_handle_md *md, struct lnet_handle_eq *eq)
{
	if (!LNetMDHandleIsInvalid(*md))
		LNetMDUnlink(*md);
	LNetInvalidateMDHandle(md);
	if (!LNetEQHandleIsInvalid(*eq))
		LNetEQFree(*eq);
	LNetInvalidateEQHandle(eq);
}

/* Example: Tells whether a NID is in a list that a user has written. */
int is_listed(lnet_nid_t nid, char *text)
{
	struct list_head list;
	int found = 0;

	if (cfs_parse_nidlist(text, (int)strlen(text), &list) == 1) {
		found = cfs_match_nid(nid, &list);
		cfs_free_nidlist(&list);
	}
	return found;
}

/* Example: Reads the NID of an argument, for which * stands for any. */
int read_nid(const char *text, lnet_nid_t *nid)
{
	return libcfs_str2anynid(nid, text) == 1 ? 0 : -EINVAL;
}

/* Example: Adds eth0 and eth1 to the net tcp, and prints the errors if the node refuses one of them. */
int add_interfaces(void)
{
	struct lnet_dlc_network_descr net;
	struct cYAML *errors = NULL;
	int rc;

	lustre_lnet_init_nw_descr(&net);
	net.nw_id = libcfs_str2net("tcp");
	rc = lustre_lnet_parse_interfaces("eth0,eth1", &net);
	if (rc == LUSTRE_CFG_RC_NO_ERR)
		rc = lustre_lnet_config_ni(&net, NULL, NULL, NULL, -1, -1, &errors);
	if (rc != LUSTRE_CFG_RC_NO_ERR)
		cYAML_print_tree2file(stderr, errors);
	cYAML_free_tree(errors);
	return rc;
}

/* Example: Prints the interfaces of a net as lnetctl net show -v does. */
int print_net(char *net)
{
	struct cYAML *shown = NULL, *errors = NULL;
	int rc = lustre_lnet_show_net(net, 1, -1, &shown, &errors, false);

	cYAML_print_tree(rc == LUSTRE_CFG_RC_NO_ERR ? shown : errors);
	cYAML_free_tree(shown);
	cYAML_free_tree(errors);
	return rc;
}

/* Example: Adds a route to the net o2ib by two gateways, and prints all routes. */
int add_route(void)
{
	int rc = lustre_lnet_config_route("o2ib", "10.0.0.[1-2]@tcp", -1, -1, -1,
		-1, NULL);

	if (rc == LUSTRE_CFG_RC_NO_ERR)
		rc = lustre_lnet_show_route(NULL, NULL, -1, -1, 0, -1, NULL, NULL, false);
	return rc;
}

/* Example: Makes the node a router with more buffers for large messages. */
int become_router(void)
{
	int rc = lustre_lnet_enable_routing(1, -1, NULL);

	if (rc == LUSTRE_CFG_RC_NO_ERR)
		rc = lustre_lnet_config_buffers(-1, -1, 2048, -1, NULL);
	return rc;
}

/* Example: Configures a peer with two NIDs that need not be discovered. */
int add_peer(void)
{
	return lustre_lnet_modify_peer("10.0.0.9@tcp", "10.0.0.9@tcp,10.1.0.9@tcp1",
		true, LNETCTL_ADD_CMD, 0, -1, NULL);
}

/* Example: Prints the NIDs with which a node answers a ping within two seconds. */
int print_ping(char *nid)
{
	struct cYAML *shown = NULL;
	int rc = lustre_lnet_ping_nid(nid, NULL, 2000, -1, &shown, NULL);

	if (rc == LUSTRE_CFG_RC_NO_ERR)
		cYAML_print_tree(shown);
	cYAML_free_tree(shown);
	return rc;
}

/* Example: Lets operations take 20 seconds in place of 50, and prints the value. */
int set_timeout(void)
{
	int rc = lustre_lnet_config_transaction_to(20, -1, NULL);

	if (rc == LUSTRE_CFG_RC_NO_ERR)
		rc = lustre_lnet_show_transaction_to(-1, NULL, NULL);
	return rc;
}

/* Example: Prints the tunables of a TCP interface as lnetctl net show -v does, those of its driver as a tree has them. */
void print_tunables(struct cYAML *tree, struct lnet_ioctl_config_lnd_cmn_tunables *common)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL);
	struct lnet_lnd_tunables of_driver = { { { 0 } } };

	lustre_yaml_extract_lnd_tunables(tree, SOCKLND, &of_driver);
	lustre_net_show_tunables(cYAML_create_object(root, "tunables"), common);
	lustre_ni_show_tunables(cYAML_create_object(root, "lnd tunables"), SOCKLND, &of_driver);
	cYAML_print_tree(root);
	cYAML_free_tree(root);
}

/* Example: Imports a file as lnetctl import does, and prints what failed. */
int import_file(char *path)
{
	struct cYAML *errors = NULL;
	int rc = lustre_yaml_config(path, &errors);

	if (rc != LUSTRE_CFG_RC_NO_ERR)
		cYAML_print_tree2file(stderr, errors);
	cYAML_free_tree(errors);
	return rc;
}

/* Example: Prefers the net tcp to others. */
int prefer_tcp(void)
{
	union lnet_udsp_action action = { .udsp_priority = 0 };

	return lustre_lnet_add_udsp("tcp", NULL, NULL, "priority", &action, -1, -1, NULL);
}

/* Example: Prefers NIDs of this node, by the calls of the first design. */
int prefer_nids(void)
{
	return lustre_lnet_config_nid_selection_rule("10.0.0.[1-4]@tcp", 0, -1, NULL);
}

/* Example: Reads YAML from memory and prints the string of a key. */
int print_string(const char *text)
{
	struct cYAML *errors = NULL;
	struct cYAML *tree = cYAML_build_tree(NULL, text, strlen(text), &errors, false);
	struct cYAML *item = tree == NULL ? NULL : cYAML_get_object_item(tree, "name");

	if (item != NULL && item->cy_type == CYAML_TYPE_STRING)
		printf("%s\n", item->cy_valuestring);
	cYAML_free_tree(tree);
	cYAML_free_tree(errors);
	return item == NULL ? -ENOENT : 0;
}

/* Example: Makes a tree with a sequence and prints it. */
void print_tree(void)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL);
	struct cYAML *nets = cYAML_create_seq(root, "net");
	struct cYAML *net = cYAML_create_seq_item(nets);

	cYAML_create_string(net, "net type", "tcp");
	cYAML_create_number(net, "interfaces", 2);
	cYAML_print_tree(root);
	cYAML_free_tree(root);
}

/* Example: Prints the numbers of an expression such as [0-8/2,11]. */
int print_numbers(char *text)
{
	struct cfs_expr_list *list;
	__u32 *values;
	int count, rc = cfs_expr_list_parse(text, (int)strlen(text), 0, 255, &list);

	if (rc != 0)
		return rc;
	count = cfs_expr_list_values(list, 256, &values);
	for (int i = 0; i < count; i++)
		printf("%u\n", values[i]);
	if (count > 0)
		cfs_expr_list_values_free(values, count);
	cfs_expr_list_free(list);
	return count < 0 ? count : 0;
}

/* Example: Sends a query to the node in the form of the kernel's device. */
int first_nid(lnet_nid_t *nid)
{
	struct libcfs_ioctl_data data;
	int rc;

	memset(&data, 0, sizeof(data));
	data.ioc_hdr.ioc_len = sizeof(data);
	data.ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION;
	rc = l_ioctl(LNET_DEV_ID, IOC_LIBCFS_GET_NI, &data);
	*nid = data.ioc_nid;
	return rc;
}

/* Example: Runs the command of the command line, or asks for commands until the end. */
int run_commands(int argc, char **argv, struct parser_cmd *commands)
{
	Parser_init("demo > ", commands);
	if (argc > 1)
		return Parser_execarg(argc - 1, argv + 1, commands);
	return Parser_commands();
}

/* Example: Takes part in tests of LNet selftest while the program works. */
int be_tested_while(void (*work)(void))
{
	int rc = lnet_selftest_start();

	if (rc < 0)
		return rc;
	work();
	return lnet_selftest_stop();
}

/* Example: Sends a request with one buffer to a service, waits for the reply, and copies its buffer. */
int ask(struct obd_import *import, __u32 opcode, void *buffer, __u32 length)
{
	struct ptlrpc_request *request = ptlrpc_request_alloc(import, opcode, 1, &length);
	const void *reply;
	__u32 size;
	int rc;

	if (request == NULL)
		return -ENOMEM;
	memcpy(ptlrpc_req_buf(request, 1), buffer, length);
	rc = ptlrpc_req_set_repsize(request, 1, &length);
	if (rc == 0)
		rc = ptlrpc_queue_wait(request);
	if (rc == 0) {
		reply = ptlrpc_rep_buf(request, 1, &size);
		memcpy(buffer, reply, size < length ? size : length);
	}
	ptlrpc_req_finished(request);
	return rc;
}

/* Example: Sends several requests at once and waits for all. */
int ask_all(struct ptlrpc_request **requests, int count)
{
	struct ptlrpc_request_set *set = ptlrpc_prep_set();
	int rc = set == NULL ? -ENOMEM : 0;

	for (int i = 0; rc == 0 && i < count; i++)
		rc = ptlrpc_set_add_req(set, requests[i]);
	if (rc == 0)
		rc = ptlrpc_set_wait(set);
	ptlrpc_set_destroy(set);
	return rc;
}

/* Example: Names a node, and connects an import to the service there. */
int connect_to(const char *nid, struct ptlrpc_import_conf *conf,
		struct obd_import **import)
{
	int rc = class_add_uuid("server", libcfs_str2nid(nid));

	if (rc == 0)
		rc = ptlrpc_import_new(conf, import);
	if (rc == 0)
		rc = ptlrpc_connect_import(*import, 10000);
	return rc;
}

/* Example: Serves requests until a signal comes. */
int serve(const struct ptlrpc_service_conf *conf, svc_handler_t handler,
		int (*pause)(void))
{
	struct ptlrpc_service *service;
	int rc = ptlrpc_init(NULL);

	if (rc < 0)
		return rc;
	rc = ptlrpc_register_service(conf, handler, NULL, &service);
	if (rc == 0) {
		pause();
		ptlrpc_unregister_service(service);
	}
	ptlrpc_fini();
	return rc;
}
