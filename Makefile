# Everything that people do with this repository. `make help` lists it.
#
# The programs that cargo builds lie in its own target directory, CARGO_TARGET_DIR (target by default);
# so do the C programs built here.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
SBINDIR ?= $(PREFIX)/sbin
DATADIR ?= $(PREFIX)/share
DESTDIR ?=

CC ?= gcc
CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Werror

# rustup puts cargo where a shell finds it only after the next login.
export PATH := $(PATH):$(HOME)/.cargo/bin
export CARGO_TARGET_DIR ?= target
override CARGO_TARGET_DIR := $(abspath $(CARGO_TARGET_DIR))

RELEASE := $(CARGO_TARGET_DIR)/release
C_PROGRAMS := $(CARGO_TARGET_DIR)/c-programs
CARGO_PROFILE := release
# What is shipped; and beside it what makes the files that go with it.
SHIPPED := lnet lnetctl lnetd lst ptlrpc m0net lnet-selftest
PACKAGES := $(SHIPPED) lnet-manual lnet-inventory
LIBRARY := $(RELEASE)/liblnet.so.1
PTLRPC := $(RELEASE)/libptlrpc.so.1
M0NET := $(RELEASE)/libm0net.so.1
SELFTEST := $(RELEASE)/liblnet_selftest.so.1
LNETCONFIG := $(RELEASE)/liblnetconfig.so.4
BUILT := $(RELEASE)/.built
NOTICES := $(CARGO_TARGET_DIR)/third-party-notices.txt
SBOM := $(CARGO_TARGET_DIR)/liblnet.cdx.json
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

.PHONY: help demo test test-fast bench bench-quick lint install build clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       two LNet nodes with two rails each on this machine, what they say, and how they go on when rails break"
	@echo "make test       all tests"
	@echo "make test-fast  unit and table tests: under a minute once they are built"
	@echo "make test-o2ib  RDMA between two virtual machines with soft-RoCE, in QEMU: tests/o2ib (SCENARIOS=device: only some; scripts/setup o2ib installs what it needs)"
	@echo "make bench-o2ib the InfiniBand driver beside ib_send_lat and ib_write_bw, in the same machines"
	@echo "make soak       for SOAK_MINUTES=$(SOAK_MINUTES) each: simulated worlds made by chance, from the seed SOAK_SEED on, real nodes whose rails come and go, and attached programs that are killed"
	@echo "make valgrind   the C programs, and the Rust tests of whatever ends early, under valgrind"
	@echo "make failover   rails that die under load, beside what the kernel does; needs root or user namespaces"
	@echo "make rail-throughput  throughput over time while a rail is broken, for a picture: docs/pictures; takes two minutes"
	@echo "make wheel      the Python package with the library inside: $(CARGO_TARGET_DIR)/python/dist"
	@echo "make docs       the site of the documents, with search and the manual pages: $(CARGO_TARGET_DIR)/book/html"
	@echo "make lint       formats, lints, licences, drift of generated files"
	@echo "make bench      criterion, LNet beside raw TCP, libfabric and UCX, and the grid of LNet selftest beside iperf3: docs/performance.md and its pictures"
	@echo "make bench-quick  the rows of the side-by-side that tell most, in under three minutes, printed and not written anywhere (COMPARE_FLAGS='--congestion reno': with another TCP congestion control)"
	@echo "make bench-motr  Motr's network layer beside bare LNet"
	@echo "make message-costs  counts instructions, copies, work of RDMA devices, system calls and allocations of a message against their limits"
	@echo "make build      the library, optimised: $(RELEASE)/liblnet.so"
	@echo "make notices    the crates that are linked into it, with the texts of their licences: $(NOTICES)"
	@echo "make sbom       the same crates as a bill of materials in the format CycloneDX 1.5: $(SBOM)"
	@echo "make generated-files  makes include/, the documents and the tables in documents anew that come from sources"
	@echo "make install    libraries, headers, lnet.pc, ptlrpc.pc, m0net.pc, lnetctl, lnetd, lst and the manual under PREFIX=$(PREFIX) (DESTDIR=, LIBDIR=, INCLUDEDIR=, SBINDIR=; WITH_LUSTRE_NAMES=1 also where Lustre's own lnetctl is)"
	@echo "make deb        Debian packages: $(CARGO_TARGET_DIR)/packages/*.deb (apt install ./liblnet1_*.deb ./lnet-utils_*.deb ./lnetd_*.deb)"
	@echo "make rpm        RPM packages: $(CARGO_TARGET_DIR)/packages/*.rpm"
	@echo "make image      a container image with lnetd and lnetctl as static programs, for podman, docker, chroot: $(CARGO_TARGET_DIR)/packages/lnetd-*.tar"
	@echo "make clean      removes all that was built"

# ---- the library and C programs against it ----

build: $(LIBRARY) $(PTLRPC) $(M0NET) $(SELFTEST) $(LNETCONFIG)
	@scripts/generate-manual $(RELEASE)
	@$(RELEASE)/lnet-inventory notices . $(NOTICES) $(SHIPPED)
	@mv $(BUILT).begun $(BUILT)

# Cargo knows what has changed, make does not: hence FORCE. The link is what the library calls itself.
$(LIBRARY): FORCE
	@scripts/setup build
	@mkdir -p $(RELEASE) && touch $(BUILT).begun
	cargo build --profile $(CARGO_PROFILE) $(addprefix --package ,$(PACKAGES))
	@ln -sf liblnet.so $@

# Built beside it. What they call of LNet they find in liblnet.so.1, which programs link too.
$(PTLRPC): $(LIBRARY)
	@ln -sf libptlrpc.so $@

$(M0NET): $(LIBRARY)
	@ln -sf libm0net.so $@

$(SELFTEST): $(LIBRARY)
	@ln -sf liblnet_selftest.so $@

# Programs that were linked to liblnetconfig need a library of that name; what they call is in liblnet.
$(LNETCONFIG): scripts/liblnetconfig.c $(LIBRARY)
	$(CC) $(CFLAGS) -shared -fPIC -Wl,-soname,$(@F) -Wl,--no-as-needed $< -o $@ -L$(RELEASE) -llnet

.PHONY: FORCE
FORCE:

$(C_PROGRAMS)/kv_%: examples/kv_%.c examples/kv.h $(PTLRPC)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iinclude $< -o $@ -L$(RELEASE) -lptlrpc -llnet -Wl,-rpath,$(RELEASE)

$(C_PROGRAMS)/m0_ping: $(wildcard examples/m0_ping*.c examples/m0_ping*.h) $(M0NET)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iconsumers/motr-net/include -Iinclude $(filter %.c,$^) -o $@ -L$(RELEASE) -lm0net -llnet -lpthread -Wl,-rpath,$(RELEASE)

$(C_PROGRAMS)/%: examples/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iinclude $< -o $@ -L$(RELEASE) -llnet -Wl,-rpath,$(RELEASE)

$(C_PROGRAMS)/m0net_perf: benches/compare/c/m0net_perf.c $(M0NET)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iconsumers/motr-net/include -Iinclude $< -o $@ -L$(RELEASE) -lm0net -llnet -Wl,-rpath,$(RELEASE)

$(C_PROGRAMS)/%: benches/compare/c/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iinclude $< -o $@ -L$(RELEASE) -llnet -Wl,-rpath,$(RELEASE)

$(C_PROGRAMS)/lib%.so: benches/compare/c/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -fPIC $< -o $@

# ---- what people run ----

# With a build of its own, which has only what it shows and takes half the time of `make build`.
DEMO := $(CARGO_TARGET_DIR)/demo
demo:
	@$(MAKE) --no-print-directory RELEASE=$(DEMO) C_PROGRAMS=$(DEMO)/c-programs CARGO_PROFILE=demo \
		PACKAGES="lnet lnetctl lnetd ptlrpc m0net" show-demo

.PHONY: show-demo
show-demo: $(addprefix $(C_PROGRAMS)/,demo failover kv_server kv_client m0_ping sharing)
	@scripts/demo $(C_PROGRAMS)/demo $(RELEASE)/lnetctl
	@echo
	@scripts/demo-failover $(C_PROGRAMS)/failover $(RELEASE)/lnetctl
	@echo
	@scripts/demo-rpc $(C_PROGRAMS)/kv_server $(C_PROGRAMS)/kv_client $(RELEASE)/lnetctl
	@echo
	@scripts/demo-motr $(C_PROGRAMS)/m0_ping $(RELEASE)/lnetctl
	@echo
	@scripts/demo-sharing $(C_PROGRAMS)/sharing $(RELEASE)/lnetctl

test:
	@scripts/setup test
	scripts/test

test-fast:
	@scripts/setup build
	scripts/test-fast

# One or some of them: SCENARIOS="device ...". BIN= is another directory with our programs; tests/o2ib/README.md has the rest.
.PHONY: test-o2ib
test-o2ib:
	@scripts/test-o2ib $(SCENARIOS)

.PHONY: bench-o2ib
bench-o2ib:
	@scripts/test-o2ib speed

# The Python package, with the library inside: target/python/dist.
.PHONY: wheel
wheel:
	@scripts/setup wheel
	@scripts/is-built $(BUILT) || $(MAKE) --no-print-directory build
	@scripts/wheel $(RELEASE)/liblnet.so

.PHONY: docs
docs:
	@scripts/setup docs
	scripts/docs

lint:
	@scripts/setup lint
	scripts/lint

ICEORYX2 := $(CARGO_TARGET_DIR)/iceoryx2
CONTESTANTS := $(CARGO_TARGET_DIR)/contestants
COMPARE = $(RELEASE)/compare --lnet-perf $(C_PROGRAMS)/lnet_perf --lnetd $(RELEASE)/lnetd --iceoryx2-perf $(ICEORYX2)/release/iceoryx2-perf --lst $(RELEASE)/lst \
	--mpirun $(CONTESTANTS)/bin/mpirun --mpi-perf $(C_PROGRAMS)/mpi_perf --ucx "$$(echo $(CONTESTANTS)/lib/python3*/site-packages/libucx/bin)" \
	--count-allocations $(C_PROGRAMS)/libcount_allocations.so

bench: compare-programs
	cargo bench --workspace
	cargo run --release --package lnet-sim --example scale
	$(COMPARE) $(COMPARE_FLAGS) --write docs/performance.md

# One or some of them: FAILOVER=cable,reset
.PHONY: failover
failover: build
	@scripts/setup test
	SELFTEST_LOAD=$(RELEASE)/lst cargo test --package lnet --test real_time_failover --quiet -- --ignored --nocapture all_scenarios
	cargo test --package ptlrpc --test real_time_rail_failure --quiet -- --ignored --nocapture

.PHONY: rail-throughput
rail-throughput:
	@scripts/setup test
	cargo test --package lnet --test real_time_failover --quiet -- --ignored --exact --nocapture record_throughput
	cargo run --quiet --package xtask -- generate docs/pictures/rail-throughput.svg

# Another seed every day, so that no two days try the same.
SOAK_MINUTES ?= 10
SOAK_SEED ?= $(shell date +%Y%m%d)000000

.PHONY: soak soak-simulator soak-routing soak-rails soak-programs
soak: soak-simulator soak-routing soak-rails soak-programs

soak-simulator:
	@scripts/setup test
	cargo run --release --package lnet-sim --example soak -- --seconds $$(($(SOAK_MINUTES) * 60)) --seed $(SOAK_SEED)

# Sites whose routers flap, on all processors from the seed SOAK_SEED on: hundreds of small ones in a second; and first
# every order of one operation and a router that dies and comes back.
soak-routing:
	@scripts/setup test
	LNET_SIM_ORDERS=100000 SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) \
		cargo test --release --package lnet-sim --test routing --quiet -- --ignored --nocapture --test-threads=1

# Needs root or user namespaces.
soak-rails: $(C_PROGRAMS)/kv_server $(C_PROGRAMS)/kv_client $(C_PROGRAMS)/m0_ping
	@scripts/setup test
	SELFTEST_LOAD=$(RELEASE)/lst SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) SOAK_RPC="$(C_PROGRAMS)/kv_server $(C_PROGRAMS)/kv_client" \
		SOAK_MOTR="$(C_PROGRAMS)/m0_ping" \
		cargo test --package lnet --test real_time_failover --quiet -- --ignored --exact --nocapture soak

# Programs on one node, which is killed from time to time like they are.
soak-programs:
	@scripts/setup test
	SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) \
		cargo test --package lnet-node --test real_time_programs --quiet -- --ignored --exact --nocapture soak

# Only what is definitely lost: the standard library keeps a thread's handle where valgrind does not look.
MEMCHECK = valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
	--errors-for-leak-kinds=definite --suppressions=$(CURDIR)/c-tests/valgrind.supp
RUNNER = CARGO_TARGET_$(shell rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)_RUNNER

.PHONY: valgrind valgrind-c-api
valgrind: valgrind-c-api
	@scripts/setup test
	cargo test --package lnet --test c_programs --quiet -- valgrind_finds_nothing_in
	env $(RUNNER)="$(MEMCHECK)" cargo test --package lnet-core --test shutdown_and_unlink --quiet
	env $(RUNNER)="$(MEMCHECK)" cargo test --package socklnd --test endings --quiet

# The conversions of C pointers, which Rust's tests of the C API call.
valgrind-c-api:
	@scripts/setup test
	env $(RUNNER)="$(MEMCHECK)" cargo test --package lnet --lib --quiet

bench-quick: compare-programs
	$(COMPARE) --quick $(COMPARE_FLAGS)

.PHONY: bench-motr
bench-motr: $(C_PROGRAMS)/lnet_perf $(C_PROGRAMS)/m0net_perf
	@scripts/bench-motr $^

.PHONY: compare-programs
compare-programs: $(C_PROGRAMS)/lnet_perf $(C_PROGRAMS)/libcount_allocations.so
	@scripts/setup bench
	$(CONTESTANTS)/bin/mpicc $(CFLAGS) -o $(C_PROGRAMS)/mpi_perf benches/compare/mpi/mpi_perf.c
	cargo build --release --package compare --package lst --package lnetd
	cargo build --release --locked --manifest-path benches/iceoryx2-perf/Cargo.toml --target-dir $(ICEORYX2)

# message-path apart: cargo would enable the features that the others need in its crates too, whose code they change.
# compare, which only counts here, and attach-calls, whose library is one for tests, without optimisation, which changes no system call.
.PHONY: message-costs
message-costs: $(C_PROGRAMS)/lnet_perf $(C_PROGRAMS)/libcount_allocations.so
	@scripts/setup test
	cargo build --release --package message-path
	cargo build --release --package tcp-path --package o2ib-path --package attach-path --package rpc-path
	cargo build --package compare
	cargo build --package attach-calls
	@scripts/message-costs $(RELEASE) $(C_PROGRAMS) $(CARGO_TARGET_DIR)/debug

.PHONY: generated-files
generated-files:
	@scripts/setup build
	cargo run --quiet --package xtask -- generate

.PHONY: notices sbom
notices sbom:
	@scripts/setup build
	@cargo run --quiet --package lnet-inventory -- $@ . $(if $(filter sbom,$@),$(SBOM),$(NOTICES)) $(SHIPPED)

clean:
	cargo clean

# ---- installing ----

# Not built again when nothing has changed: root often has no cargo, and should own nothing in the target directory.
install:
	@scripts/is-built $(BUILT) || { command -v cargo >/dev/null || \
		{ echo "Not built, or changed since: first run \`make build\`, as the user who has cargo" >&2; exit 1; }; \
		$(MAKE) --no-print-directory build; }
	PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" SBINDIR="$(SBINDIR)" DATADIR="$(DATADIR)" \
		DESTDIR="$(DESTDIR)" WITH_LUSTRE_NAMES="$(WITH_LUSTRE_NAMES)" RELEASE="$(RELEASE)" VERSION="$(VERSION)" \
		NOTICES="$(NOTICES)" scripts/install

# ---- packages ----

export RELEASE VERSION NOTICES

.PHONY: deb rpm image
deb rpm:
	@scripts/setup $@
	@scripts/is-built $(BUILT) || $(MAKE) --no-print-directory build
	@scripts/packages/$@

image:
	@scripts/setup build
	@scripts/packages/image
