/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* liblnetconfig.so.4: nothing but the need for liblnet.so.1, which has its functions. */
extern const char lnetconfig_is_in_liblnet;
const char lnetconfig_is_in_liblnet = 1;
