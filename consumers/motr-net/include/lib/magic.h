/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Marks of objects and of heads of lists. They distinguish objects within one process and are never sent; the values
 * are specific to this library. */
#ifndef M0_LIB_MAGIC_H
#define M0_LIB_MAGIC_H

/* Marks of the network layer. An object has its LINK mark in whatever list it is. */
#define M0_NET_BUFFER_LINK_MAGIC 0x6675627465306dULL
#define M0_NET_BUFFER_HEAD_MAGIC 0x68667562306d6dULL
#define M0_NET_POOL_TM_HEAD_MAGIC 0x686d74706c306dULL
#define M0_NET_POOL_LRU_HEAD_MAGIC 0x6875726c70306dULL

/* A mark for lists of programs, with any objects. */
#define M0_LIB_GENERIC_MAGIC 0x6369726e6567306dULL
#define M0_NET_TEST_SLIST_MAGIC 0x7473696c7374306dULL
#define M0_NET_TEST_BS_LINK_MAGIC 0x6b6e696c7362306dULL
#define M0_NET_TEST_BS_HEAD_MAGIC 0x646165687362306dULL
#define M0_NET_TEST_BSB_MAGIC 0x7473746e627362ULL

#endif
