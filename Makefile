# cprof: `make help` says what there is.
#
# Everything that is made lands in build/. Nothing here needs root but demo and test, which install
# what is missing (scripts/setup.sh) and use the real kernel.

PREFIX  ?= /usr/local
DESTDIR ?=
# The machine that cprof is for: x86 or arm64. For another than ours it is built in a folder of its own, with Debian's
# cross compiler and the libraries that `make setup-arm64` unpacks there, and what is run is run by qemu-user.
ours    := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
ARCH    ?= $(ours)
override ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(ARCH)))
ifeq ($(ARCH),$(ours))
BUILD   ?= build
else
BUILD   ?= build/$(ARCH)
SYSROOT ?= $(CURDIR)/build/$(ARCH)/root
TRIPLET := $(patsubst x86,x86_64,$(patsubst arm64,aarch64,$(ARCH)))-linux-gnu
CC      := $(TRIPLET)-gcc --sysroot=$(SYSROOT)
CXX     := $(TRIPLET)-g++ --sysroot=$(SYSROOT)
AR      := $(TRIPLET)-ar
export EMULATOR := qemu-$(firstword $(subst -, ,$(TRIPLET))) -L $(SYSROOT)
endif
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(shell command -v bpftool) /usr/sbin/bpftool)
VERSION := 0.1.0

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings \
           -Wundef -Wformat=2 -Wpointer-arith -Wno-format-nonliteral -fno-common
ifdef DEVELOPER
WARN    += -Werror
endif
DEFS    := -std=gnu11 -D_GNU_SOURCE -DCPROF_VERSION='"$(VERSION)"'
INCS    := -Iuser -Ibpf -I$(BUILD)/gen
# Without libzstd, debug information that is compressed with it is not read: cprof doctor says so.
ZSTD    := $(shell printf '\#include <zstd.h>\n' | $(CC) $(CFLAGS) -E -x c - >/dev/null 2>&1 && echo -lzstd)
DEFS    += -DCPROF_HAS_ZSTD=$(if $(ZSTD),1,0)
LIBS    := -lbpf -ldw -lelf -llzma -lprotobuf-c -lZydis -lisal $(ZSTD) -lz -liberty -lm

# BPF: v3 instructions (5.1) whatever the compiler's default; the kernel's own types by CO-RE.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Ivmlinux -Ibpf \
              -idirafter $(SYSROOT)/usr/include/$(shell $(CC) -print-multiarch) \
              -Wall -Wextra -Wno-unused-parameter -Wno-missing-declarations

# ROOMS: these alone, for a machine that has not the libraries of the others (make portable).
ROOMS    ?=
# What injects knows the registers, the signal frames and the system calls of x86-64.
injector := $(addprefix user/inject/,injector.c ownstack.c safety.c sigframe.c slotwatch.c threadstop.c tracee.c xstate.c)
elsewhere := $(if $(filter x86,$(ARCH)),user/inject/noinjector.c,$(injector))
user_src := $(if $(ROOMS),$(wildcard $(ROOMS:%=user/%/*.c)),$(filter-out user/main.c $(elsewhere),$(wildcard user/*.c user/*/*.c)))
user_obj := $(user_src:%.c=$(BUILD)/%.o)
# First the files that define maps for others: bpftool 7.1 takes an extern map that it meets before its definition
# for the first of all maps.
bpf_maps := bpf/scratch.bpf.c bpf/stats.bpf.c bpf/tables.bpf.c bpf/runtime.bpf.c
# Objects of their own, which share no variable with the others.
bpf_own  := bpf/probe.bpf.c bpf/python.bpf.c bpf/php.bpf.c bpf/v8.bpf.c bpf/ruby.bpf.c bpf/perl.bpf.c
bpf_src  := $(bpf_maps) $(filter-out $(bpf_own) $(bpf_maps),$(wildcard bpf/*.bpf.c))
bpf_obj  := $(bpf_src:%.bpf.c=$(BUILD)/%.bpf.o)
gen      := $(addprefix $(BUILD)/gen/,profile.pb-c.h $(if $(ROOMS),,cprof.skel.h $(bpf_own:bpf/%.bpf.c=%.skel.h)) flame_page.h)
unit     := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
bpftest  := $(patsubst tests/bpf/%.c,$(BUILD)/bpftest/%,$(wildcard tests/bpf/test_*.c)) $(BUILD)/bpftest/test_walks_arm64_bpf
# Forgeries of interpreters whose machine code is x86's.
forged   := $(if $(filter x86,$(ARCH)),,$(addprefix tests/e2e/workloads/,forgedruby.c forgedv8.c))
load     := $(patsubst tests/e2e/workloads/%.c,$(BUILD)/workloads/%,$(filter-out $(forged),$(wildcard tests/e2e/workloads/*.c))) \
            $(patsubst tests/e2e/workloads/%.cc,$(BUILD)/workloads/%,$(wildcard tests/e2e/workloads/*.cc))
bench    := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
oracle   := $(addprefix $(BUILD)/oracle/,oracle producer reencode)
vm       := $(BUILD)/vm/verify $(BUILD)/vm/inkernel
fuzz     := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c)) \
            $(patsubst tests/bpf/%.c,$(BUILD)/fuzz/%,$(wildcard tests/bpf/fuzz_*.c))

V ?= 0
ifeq ($(V),0)
Q   = @
msg = @printf '  %-8s %s\n' $(1) $(2)
else
Q   =
msg = @:
endif

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all demo test check install clean help setup setup-arm64 unit workloads fuzz fmt kernels kills faults zoo stories bench-unwind bench-complete bench-heap bench-overhead bench-algebra bench-symbols bench-pgo names-oracle architecture injections

all: $(BUILD)/cprof $(BUILD)/libcprof-heap.so  ## build build/cprof; no root, no BTF needed

$(BUILD)/cprof: $(BUILD)/user/main.o $(BUILD)/libcprof.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libcprof.a: $(user_obj) $(BUILD)/gen/profile.pb-c.o
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Generated headers first: nobody can say yet which file includes them. The compiler's words stay beside the object,
# for check.
$(BUILD)/user/%.o: user/%.c | $(gen)
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) $(CFLAGS) -MMD -MP -c -o $@ $< 2>$(@:.o=.warnings); code=$$?; \
		cat $(@:.o=.warnings) >&2; exit $$code

$(BUILD)/gen/profile.pb-c.h $(BUILD)/gen/profile.pb-c.c &: proto/profile.proto
	$(call msg,PROTOC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(@D) --proto_path=proto $<

$(BUILD)/gen/profile.pb-c.o: $(BUILD)/gen/profile.pb-c.c
	$(Q)$(CC) $(DEFS) $(CFLAGS) -I$(@D) -c -o $@ $<

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/arch/*.h vmlinux/*.h)
	$(call msg,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(BUILD)/gen/cprof.bpf.o: $(bpf_obj)
	$(call msg,BPFLINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $@ $^

$(bpf_own:bpf/%.bpf.c=$(BUILD)/gen/%.bpf.o): $(BUILD)/gen/%: $(BUILD)/bpf/%
	$(Q)mkdir -p $(@D) && cp $< $@

$(BUILD)/gen/%.skel.h: $(BUILD)/gen/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Flame graphs: the parts of the page's script, in the order in which they need one another.
flame    := $(addsuffix .js,profile labels tree format colour words graph table sandwich link raw around keys page)

$(BUILD)/gen/flame_page.h: scripts/embed.sh $(wildcard user/output/flame/*)
	$(call msg,EMBED,$@)
	$(Q)mkdir -p $(@D)
	$(Q)scripts/embed.sh user/output/flame $(flame) > $@

# The library that targets are given to sample by themselves. Flags of its own: it is in their processes, where nothing
# may be instrumented, and thread-local variables must not need an allocation.
INSIDE      = -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-builtin \
              -fno-stack-protector $(INSIDE_$(ARCH))
# Nothing of libgcc for atomics; and return addresses are signed where the target's are.
INSIDE_arm64 := -mno-outline-atomics -mbranch-protection=standard
inside_obj := $(patsubst inside/%,$(BUILD)/inside/%.o,$(basename $(wildcard inside/*.c inside/*.S)))

$(BUILD)/libcprof-heap.so: $(inside_obj)
	$(call msg,LINK,$@)
	$(Q)$(CC) -shared -Wl,-z,now,-z,relro,-z,noexecstack,-z,separate-code,-z,defs -Wl,-soname,$(@F),-e,heap_redirect -o $@ $^

$(BUILD)/inside/%.o: inside/%.c
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(INSIDE) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/inside/%.o: inside/%.S $(wildcard inside/arch/*.S)
	$(call msg,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -g -c -o $@ $<

# Tests -------------------------------------------------------------------------------------------

unit: $(unit) $(if $(EMULATOR),,$(bpftest)) ## build and run the unit tests; no root needed
	$(Q)BUILD=$(BUILD) scripts/run-tests.sh unit

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libcprof.a
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) -Itests -DTESTS_DIR='"$(CURDIR)/tests"' $(CFLAGS) -MMD -MP -o $@ $< $(BUILD)/libcprof.a $(LIBS) -lcmocka

# What stands in the library, in a program, with the library beside it.
$(BUILD)/unit/test_inside: tests/unit/test_inside.c $(BUILD)/libcprof.a inside/blocks.c inside/chance.c inside/sampler.c $(wildcard inside/*.h inside/arch/*.h) $(BUILD)/libcprof-heap.so
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) -I. -Itests -DLIBRARY='"$(abspath $(BUILD)/libcprof-heap.so)"' $(CFLAGS) -pthread -o $@ $(filter %.c,$^) $(BUILD)/libcprof.a $(LIBS) -lcmocka

$(BUILD)/unit/test_inside_calls: tests/unit/test_inside_calls.c $(BUILD)/libcprof.a $(wildcard inside/*.h inside/arch/*.h) $(BUILD)/libcprof-heap.so
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) -I. -Itests -DLIBRARY='"$(abspath $(BUILD)/libcprof-heap.so)"' $(CFLAGS) -fno-builtin -pthread -o $@ $< $(BUILD)/libcprof.a $(LIBS) -lcmocka

# BPF code compiled for the host, unchanged, behind the headers of tests/bpf/shim; sanitized, since a
# wrong index there is what the verifier cannot see.
HOSTBPF := $(DEFS) $(INCS) -Ivmlinux -Itests/bpf/shim -Itests/bpf -g -O1 -fno-strict-aliasing \
           -fsanitize=address,undefined -fno-sanitize-recover=undefined
hostbpf := $(bpf_src:bpf/%.bpf.c=$(BUILD)/bpftest/bpf/%.o) \
           $(patsubst tests/bpf/shim/%.c,$(BUILD)/bpftest/shim/%.o,$(wildcard tests/bpf/shim/*.c))

$(BUILD)/bpftest/bpf/%.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/arch/*.h vmlinux/*.h tests/bpf/shim/bpf/*.h)
	$(call msg,HOSTBPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOSTBPF) -Wall -Wno-unknown-pragmas -c -o $@ $<

# the BPF object is inside: shim/map.c makes the maps that it names
$(BUILD)/bpftest/shim/%.o: tests/bpf/shim/%.c $(wildcard tests/bpf/shim/*.h bpf/*.h bpf/arch/*.h vmlinux/*.h) $(gen)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOSTBPF) $(WARN) -Wno-unknown-pragmas -c -o $@ $<

$(BUILD)/bpftest/%: tests/bpf/%.c $(hostbpf) $(BUILD)/libcprof.a
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOSTBPF) $(WARN) -Wno-unknown-pragmas -MMD -MP -o $@ $< $(hostbpf) $(BUILD)/libcprof.a $(LIBS) -lcmocka

# The same compiled for arm64, and run here.
$(BUILD)/bpftest/arm64/bpf/%.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/arch/*.h vmlinux/*.h tests/bpf/shim/bpf/*.h)
	$(call msg,HOSTBPF,$< for arm64)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOSTBPF) -Wno-attributes -D__TARGET_ARCH_arm64 -Wall -Wno-unknown-pragmas -c -o $@ $<

$(BUILD)/bpftest/arm64/shim/%.o: tests/bpf/shim/%.c $(wildcard tests/bpf/shim/*.h bpf/*.h bpf/arch/*.h vmlinux/*.h) $(gen)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOSTBPF) -Wno-attributes -D__TARGET_ARCH_arm64 $(WARN) -Wno-unknown-pragmas -c -o $@ $<

$(BUILD)/bpftest/test_%_arm64_bpf: tests/bpf/test_%_bpf.c $(hostbpf:$(BUILD)/bpftest/%=$(BUILD)/bpftest/arm64/%) $(BUILD)/libcprof.a
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(HOSTBPF) -Wno-attributes -D__TARGET_ARCH_arm64 $(WARN) -Wno-unknown-pragmas -o $@ $< $(hostbpf:$(BUILD)/bpftest/%=$(BUILD)/bpftest/arm64/%) $(BUILD)/libcprof.a $(LIBS) -lcmocka

# Judges of what is read and written: pprof's own package, and a driver that does many files at once.
$(BUILD)/oracle/oracle: $(wildcard tests/oracle/*.go) tests/oracle/build.sh
	$(call msg,GO,$@)
	$(Q)tests/oracle/build.sh $@

$(BUILD)/oracle/producer: tests/oracle/producer/main.go
	$(call msg,GO,$@)
	$(Q)GO111MODULE=off GOTOOLCHAIN=local go build -o $@ $<

$(BUILD)/oracle/%: tests/oracle/%.c $(BUILD)/libcprof.a
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) $(CFLAGS) -o $@ $< $(BUILD)/libcprof.a $(LIBS)

workloads: $(load)

# Frame pointers: the workloads' stacks are known answers for every unwinder.
$(BUILD)/workloads/%: tests/e2e/workloads/%.c $(wildcard tests/e2e/workloads/*.h)
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O1 -g -fno-omit-frame-pointer -fno-inline -fno-optimize-sibling-calls -pthread -o $@ $< $(shell sed -n 's/^.*LDLIBS: //p' $<)

$(BUILD)/workloads/%: tests/e2e/workloads/%.cc
	$(call msg,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O1 -g -fno-omit-frame-pointer -fno-inline -fno-optimize-sibling-calls -pthread -o $@ $<

# What tests/vm runs in its machines, besides cprof and the workloads.
$(BUILD)/vm/verify: tests/vm/verify.c user/collect/userreads.c $(gen)
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) $(CFLAGS) -o $@ $(filter %.c,$^) -lbpf

$(BUILD)/vm/inkernel: tests/vm/inkernel.c
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -I. -O1 -g -fno-omit-frame-pointer -o $@ $<

# What tests/vm/runtimes.sh asks of interpreters' files.
$(BUILD)/vm/runtimes.bin: tests/vm/runtimes.c $(BUILD)/libcprof.a
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) $(CFLAGS) -o $@ $< $(BUILD)/libcprof.a $(LIBS)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined

.PHONY: asan
asan:                                  ## the unit tests under the address and undefined behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS='-O1 -g -fno-omit-frame-pointer $(SANITIZE)' unit

.PHONY: asan-e2e
asan-e2e:                              ## the end-to-end tests with a cprof under these sanitizers (root; an hour); TESTS="e2e/test_heap*": some
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS='-O1 -g -fno-omit-frame-pointer $(SANITIZE)' all workloads $(oracle:$(BUILD)/%=$(BUILD)/asan/%)
	$(Q)BUILD=$(BUILD)/asan SANITIZED=1 scripts/run-tests.sh e2e

.PHONY: analyze
analyze:                               ## gcc -fanalyzer over all of user/ (5 minutes); any finding fails
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/analyze CFLAGS='-O2 -g -fanalyzer' all
	$(Q)! cat $$(find $(BUILD)/analyze/user -name '*.warnings') /dev/null | grep .

# libFuzzer targets: the rooms they need, and the encoder, are built a second time, with its
# instrumentation.
fuzz: $(fuzz)                          ## build the fuzz targets (clang, libFuzzer)

.PHONY: fuzz-long
fuzz-long: $(fuzz)                     ## run each for SECONDS_EACH (600), or RUNS executions; fail below MIN_RUNS; TARGETS="NAME ...": some of them
	$(Q)scripts/fuzz-long.sh $(TARGETS)

FUZZFLAGS := $(DEFS) $(INCS) -Itests -g -O1 -fno-sanitize-recover=undefined
fuzz_src  := $(wildcard $(addprefix user/,$(addsuffix /*.c,base object unwind runtime process profile input))) $(wildcard user/probes/probesite*.c) user/probes/usdt.c user/sandbox/reply.c user/sandbox/namesreply.c user/sandbox/jvmreply.c user/sandbox/jitsymreply.c user/sandbox/funcreply.c \
             user/output/pprof.c user/output/gzip.c
fuzz_src  += user/symbolize/namefile.c user/sandbox/transfer.c user/debuginfod/fetching.c
fuzz_obj  := $(fuzz_src:%.c=$(BUILD)/fuzzobj/%.o) $(BUILD)/fuzzobj/profile.pb-c.o

$(BUILD)/fuzzobj/%.o: %.c | $(gen)
	$(call msg,FUZZCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZFLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(BUILD)/fuzzobj/%.o: $(BUILD)/gen/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZFLAGS) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

$(BUILD)/fuzzobj/libcprof.a: $(fuzz_obj)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/fuzz/%: tests/fuzz/%.c $(BUILD)/fuzzobj/libcprof.a $(wildcard tests/fuzz/*.h tests/*.h)
	$(call msg,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(BUILD)/fuzzobj/libcprof.a -ldw -lelf -llzma -lprotobuf-c -lZydis -lisal $(ZSTD) -lz -liberty -lm

$(BUILD)/fuzz/%: tests/bpf/%.c $(bpf_src) $(addprefix tests/bpf/shim/,host.c map.c) user/base/alloc.c user/base/hash.c $(gen)
	$(call msg,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(HOSTBPF) -D'preserve_access_index=annotate("")' -fsanitize=fuzzer -o $@ $(filter-out $(gen),$^) -lbpf

# What is measured is stock code: no frame pointers.
$(BUILD)/bench/deep: tests/bench/deep.c
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -fomit-frame-pointer -o $@ $<

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libcprof.a
	$(call msg,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DEFS) $(WARN) $(INCS) $(CFLAGS) -o $@ $< $(BUILD)/libcprof.a $(LIBS)

bench-unwind: all $(bench)             ## figures of the unwinder beside their targets (root)
	$(Q)python3 tests/bench/bench_unwind.py

simulate-gate: $(BUILD)/bench/simulate_gate  ## false alarms and power of check, simulated
	$(Q)$<

bench-complete: all                    ## how many stacks are whole, and how frames are named, on stock binaries, beside targets (root)
	$(Q)tests/bench/complete.py

setup-arm64:                           ## what ARCH=arm64 needs on another machine, its libraries below build/ (root, Debian)
	$(Q)scripts/setup.sh arm64

setup:                                 ## install what is missing (root, Debian)
	$(Q)scripts/setup.sh all

demo:                                  ## install, build, profile a bundled workload, show it (root)
	$(Q)scripts/setup.sh demo
	$(Q)$(MAKE) --no-print-directory all workloads
	$(Q)scripts/demo.sh

test:                                  ## install, build, run every test (root)
	$(Q)scripts/setup.sh all
	$(Q)$(MAKE) --no-print-directory all workloads $(unit) $(bpftest) $(fuzz) $(vm) $(oracle)
	$(Q)scripts/run-tests.sh all

kernels: all workloads $(vm)            ## Debian's kernels under qemu, each with every lockdown, and without root (10 minutes)
	$(Q)ARCH=$(ARCH) BUILD=$(BUILD) tests/vm/run.sh $(if $(filter x86,$(ARCH)),--all)

.PHONY: interpreters
interpreters: $(BUILD)/vm/runtimes.bin ## Debian's interpreters: is the same found in their arm64 builds? (network; 1 minute)
	$(Q)tests/vm/runtimes.sh

.PHONY: truth
truth:                                 ## stacks of Debian's arm64 programs against elfutils', in emulated machines (10 minutes)
	$(Q)$(MAKE) --no-print-directory ARCH=arm64 all
	$(Q)tests/vm/truth.py

.PHONY: portable
portable:                              ## what reads profiles, on a big-endian machine under qemu-user (root; 3 minutes)
	$(Q)tests/portable/run.sh

kills: all workloads                   ## 1,000 times: kill cprof record, and heap, and see that nothing stays; 100 times its parser; 200 times: end it by timeout; 1,000 times: compare a program's output (root)
	$(Q)KILLS=1000 tests/e2e/test_record_killed.py
	$(Q)KILLS=1000 tests/e2e/test_heap_killed.py
	$(Q)MOMENTS=100 tests/e2e/test_record_sandbox.py killed_at_any_moment
	$(Q)TIMEOUTS=200 tests/e2e/test_cli_signals.py timeout_leaves_a_file
	$(Q)OUTPUTS=1000 tests/e2e/test_same_output.py heaps_of_allocating_programs
	$(Q)HANGS=20 tests/e2e/test_heap_hostile.py a_signal_while_a_thousand_files_are_probed a_killed_cprof_leaves_no_probe

COUNT ?= 1000
injections: all workloads              ## COUNT=1000 times each: heap --inject into redis, python3, node, java and 16 busy threads under load; a fifth of them killed (root)
	$(Q)COUNT=$(COUNT) tests/e2e/test_heap_injections.py

faults: all workloads $(vm)            ## inject 40 faults (signals, limits, full disks, missing privileges ...), a line for each (root)
	$(Q)HANGS=60 tests/faults/run.py

zoo: all workloads                     ## record -a and heap -a beside hostile programs and files, a minute of each (root, 25 minutes)
	$(Q)HANGS=60 tests/zoo/run.py

stories: all                           ## record gunicorn, nginx and PostgreSQL under load, installed if need be, beside perf (root, a minute)
	$(Q)tests/stories/stories.py

bench-heap: all workloads              ## what the heap profiler costs, beside its peers (root)
	$(Q)tests/bench/bench_heap.py
	$(Q)tests/bench/bench_inside.py

bench-overhead: all                    ## what the heap profiler says that it costs, beside what it costs (root)
	$(Q)tests/bench/bench_overhead.py

bench-algebra: all $(BUILD)/oracle/oracle  ## reading, writing, merging profiles, beside go tool pprof
	$(Q)tests/bench/bench_algebra.py

bench-symbols: $(BUILD)/bench/dwarflines  ## lines and inlines of addresses, beside addr2line, llvm-symbolizer, blazesym and Go
	$(Q)tests/bench/bench_symbols.py

names-oracle: all                      ## 100,000 names of each of many programs, judged by llvm-symbolizer, binutils and Go (root, 15 minutes)
	$(Q)TEST_LONG=1 ADDRESSES=100000 tests/e2e/test_names_oracle.py

bench-pgo: all                         ## what cprof's profiles are worth to clang and Go, beside their own (root)
	$(Q)tests/bench/bench_pgo.py

check: all                             ## rooms, headers, comments, the architecture page, format, warnings
	$(Q)scripts/check.sh
	$(Q)awk 'NF { print; found = 1 } END { exit found }' $(user_obj:.o=.warnings) $(BUILD)/user/main.warnings

architecture:                          ## write doc/architecture.md from the files' opening comments
	$(Q)scripts/architecture.sh > $(BUILD)/architecture.md && mv $(BUILD)/architecture.md doc/architecture.md

fmt:                                   ## format every C file in place
	$(Q)clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h' | grep -v '^vmlinux/')

# What is installed: in the source, and where it goes under PREFIX.
man      := $(wildcard doc/*.1)
bash_dir := share/bash-completion/completions
zsh_dir  := share/zsh/site-functions
fish_dir := share/fish/vendor_completions.d

install: all                           ## install cprof, its man pages and completions under PREFIX
	install -D -m 0755 $(BUILD)/cprof $(DESTDIR)$(PREFIX)/bin/cprof
	install -D -m 0644 $(BUILD)/libcprof-heap.so $(DESTDIR)$(PREFIX)/lib/cprof/libcprof-heap.so
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 0644 $(man) $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 0644 doc/completion/cprof.bash $(DESTDIR)$(PREFIX)/$(bash_dir)/cprof
	install -D -m 0644 doc/completion/_cprof $(DESTDIR)$(PREFIX)/$(zsh_dir)/_cprof
	install -D -m 0644 doc/completion/cprof.fish $(DESTDIR)$(PREFIX)/$(fish_dir)/cprof.fish

uninstall:                             ## remove what install has put there; folders stay
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/cprof lib/cprof/libcprof-heap.so $(man:doc/%=share/man/man1/%) \
		$(bash_dir)/cprof $(zsh_dir)/_cprof $(fish_dir)/cprof.fish)

clean:                                 ## remove build/
	rm -rf $(BUILD)

help:                                  ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | \
		while IFS="$$(printf '\t')" read -r target text; do printf '  make %-10s %s\n' "$$target" "$$text"; done
	@echo 'variables: PREFIX= DESTDIR= ARCH=arm64 BUILD= CC= CLANG= V=1 DEVELOPER=1 (warnings are errors)'

-include $(fuzz_obj:.o=.d) $(user_obj:.o=.d) $(BUILD)/user/main.d $(inside_obj:.o=.d) $(addsuffix .d,$(unit) $(bpftest))
