# SPDX-License-Identifier: BSD-2-Clause
# One makefile, no recursion, no configure. `make help` lists the targets.

# ---- knobs -------------------------------------------------------------------
O       ?= build
prefix  ?= /usr/local
bindir  ?= $(prefix)/bin
mandir  ?= $(prefix)/share/man
V       ?= 0
SAN     ?= 0
WERROR  ?= 0
FUZZ    ?= 300
SOAK    ?= 3600

# ---- tools -------------------------------------------------------------------
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGCONF ?= pkg-config
INSTALL ?= install

# ---- flags: ours first, the user's CPPFLAGS, CFLAGS and LDFLAGS last ------------
VERSION   := 0.1.0
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
WARN      += $(if $(filter 1,$(WERROR)),-Werror)
OUR_CPP   := -D_GNU_SOURCE -DHL_VERSION='"$(VERSION)"' -Iinclude -Iuser -I$(O)
OUR_C     := -std=gnu11 -g -O2 $(WARN) -fno-omit-frame-pointer -fstack-protector-strong
ifneq ($(SAN),0)
OUR_C     += -fsanitize=address,undefined $(if $(filter fuzz,$(SAN)),-fsanitize=fuzzer-no-link) \
             -fno-sanitize-recover=undefined -O1
endif
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g -std=gnu11 -D__TARGET_ARCH_x86 -Iinclude -Ibpf \
             -I/usr/include/$(shell $(CC) -dumpmachine) -Wall -Wextra -Wno-unused-parameter
COMPILE   = $(CC) $(OUR_CPP) $(CPPFLAGS) $(OUR_C) $(CFLAGS) -MMD -MP -c
LINK      = $(CC) $(OUR_C) $(CFLAGS) $(LDFLAGS)

# ---- quiet block: V=1 shows the commands --------------------------------------
ifeq ($(V),0)
Q := @
say = @printf '  %-7s %s\n' '$(1)' '$(2)';
endif

# ---- sources: by wildcard, a folder's libraries beside it ----------------------
LIBS_cli     := -linih
LIBS_elf     := -lz -lzstd
LIBS_symbol  := -l:libiberty.a -llzma
LIBS_import  := -lz
LIBS_process := -ljson-c -lsqlite3
LIBS_insn    := -lcapstone -lZydis
LIBS_symd    := -lcrypto
LIBS_capture := -lbpf
LIBS_render  := -lz -lcrypto -lm
LIBS_store   := -lsqlite3
LIBS_tests/dw := -ldw -lelf
FOLDERS      := $(sort $(patsubst user/%/,%,$(dir $(wildcard user/*/*.c))))
LIBS         := $(foreach f,$(FOLDERS),$(LIBS_$(f))) -lpthread
objs           = $(patsubst %.c,$(O)/%.o,$(wildcard user/$(1)/*.c))
USER_OBJS    := $(foreach f,$(FOLDERS),$(call objs,$(f))) $(O)/user/main.o

all: $(O)/hotleaf ## build $(O)/hotleaf
$(O)/hotleaf: $(USER_OBJS)
	$(call say,LINK,$@) $(LINK) $^ $(LIBS) -o $@

# ---- pattern rules: BPF object → skeleton → object ------------------------------
.DELETE_ON_ERROR:
.SECONDARY:
$(O)/%.bpf.o: %.bpf.c | setup-check
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(CLANG) $(BPF_FLAGS) -MMD -MP -c $< -o $@

$(O)/%.skel.h: $(O)/%.bpf.o
	$(call say,SKEL,$@) $(BPFTOOL) gen skeleton $< name $(subst .bpf,,$(notdir $(basename $<)))_bpf > $@

$(O)/%.o: %.c | setup-check
	@mkdir -p $(@D)
	$(call say,CC,$<) $(COMPILE) $< -o $@

# A skeleton must stand before the objects that include it are first compiled; later the depfiles know.
$(call objs,capture): $(patsubst %.bpf.c,$(O)/%.skel.h,$(wildcard bpf/*.bpf.c))
# The self-test walks its own stack, sanitized or not.
$(O)/user/capture/selftest.o: OUR_C += -fno-optimize-sibling-calls -mno-omit-leaf-frame-pointer
$(O)/user/render/assets.o: $(wildcard user/render/page/*)

# ---- tests: a test names the folders that it links in a line "needs: base elf …", or "needs: all" ---
C_TESTS    := unit/*.c bpf/*_test.c system/*_test.c bench/*.c fuzz/*.c
TEST_NAMES := $(filter-out %.bpf,$(patsubst %.c,%,$(wildcard $(addprefix tests/,$(C_TESTS)))))
UNIT       := $(patsubst %,$(O)/%,$(filter tests/unit/%,$(TEST_NAMES)))
KERNEL     := $(patsubst %,$(O)/%,$(filter tests/bpf/% tests/system/%,$(TEST_NAMES)))
needs       = $(subst all,$(FOLDERS),$(shell sed -n 's@^/\* needs: \(.*\) \*/$$@\1@p' $(1).c))
test_objs   = $(foreach f,$(call needs,$(1)),$(if $(wildcard user/$(f)),$(call objs,$(f)),$(O)/$(f).o))
define test_rule
$(O)/$(1): $(O)/$(1).o $(if $(filter tests/bench/% tests/fuzz/%,$(1)),,$(O)/tests/harness.o) $(call test_objs,$(1))
	$$(call say,LINK,$$@) $$(LINK) $(if $(filter tests/fuzz/%,$(1)),-fsanitize=fuzzer) $$^ \
	  $(foreach f,$(call needs,$(1)),$(LIBS_$(f))) -lm -lpthread -o $$@
endef
$(foreach t,$(TEST_NAMES),$(eval $(call test_rule,$(t))))
BPF_TESTS  := $(filter tests/bpf/%,$(TEST_NAMES))
$(BPF_TESTS:%=$(O)/%.o): $(patsubst %.bpf.c,$(O)/%.skel.h,$(wildcard tests/bpf/*.bpf.c))
$(O)/tests/%.o: OUR_CPP += -Itests
WORKLOADS  := $(patsubst %.c,$(O)/%,$(wildcard tests/workload/*.c))
$(O)/tests/workload/%: tests/workload/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread $< -o $@

$(O)/tests/page/make_page: $(O)/tests/page/make_page.o $(foreach f,base profile render,$(call objs,$(f)))
	$(call say,LINK,$@) $(LINK) $^ $(LIBS_render) -o $@
BENCHES    := $(addprefix $(O)/,$(filter tests/bench/%,$(TEST_NAMES)))
$(BENCHES:=.o): $(patsubst %.bpf.c,$(O)/%.skel.h,$(wildcard tests/bench/*.bpf.c))
bench: $(O)/hotleaf $(BENCHES) $(O)/tests/workload/load ## timings beside other tools, printed as tables
	$(Q)O=$(O) tests/bench/all
bench-unwind: $(O)/hotleaf $(O)/tests/bench/walk $(O)/tests/workload/frames ## user stacks beside those of perf
	$(Q)$(O)/tests/bench/walk && O=$(O) tests/bench/unwind
soak: $(O)/hotleaf $(WORKLOADS) ## the agent under load, for SOAK=3600 seconds: nothing grows, nothing is lost
	$(Q)O=$(O) tests/bench/soak $(SOAK)
unit: $(UNIT) ## the unit tests alone (SAN=1 O=build/asan: under ASan and UBSan)
	$(Q)tests/run $^
page: $(O)/tests/page/make_page ## the tests of the HTML page, in node and in a browser
	$(Q)O=$(O) tests/run tests/page/run
fuzzers: $(patsubst %,$(O)/%,$(filter tests/fuzz/%,$(TEST_NAMES)))
fuzz: setup-tests ## every fuzzer of the parsers, for FUZZ=300 seconds each
	$(Q)$(MAKE) --no-print-directory O=$(O)/fuzz CC=clang SAN=fuzz fuzzers
	$(Q)O=$(O) FUZZ=$(FUZZ) tests/run tests/fuzz/run
check: setup-tests ## set up, build, run every test
	$(Q)tests/check/all $(O)
check-vm: $(O)/hotleaf $(BPF_TESTS:%=$(O)/%) $(WORKLOADS) ## on other kernels, and under systemd, emulated (VM=SUITE)
	$(Q)tests/vm/run $(O) $(VM)
programs: $(O)/hotleaf $(UNIT) $(KERNEL) $(WORKLOADS) $(O)/tests/page/make_page

# ---- run, install, housekeeping -----------------------------------------------------
setup setup-tests setup-vm setup-check:
	$(Q)tools/setup $(patsubst setup-%,--%,$(@:setup=))

run: setup ## set up, build, profile this host for ten seconds, name the files written
	$(Q)$(MAKE) --no-print-directory all $(O)/tests/workload/load
	$(Q)tools/demo $(O)

install: all ## into $(prefix)
	$(INSTALL) -D -m 0755 -t $(DESTDIR)$(bindir) $(O)/hotleaf tools/hotleaf-mail
	$(INSTALL) -D -m 0644 -t $(DESTDIR)$(mandir)/man8 tools/man/*.8
	$(INSTALL) -D -m 0644 -t $(DESTDIR)$(mandir)/man5 tools/man/*.5
uninstall: ; $(RM) $(addprefix $(DESTDIR),$(bindir)/hotleaf $(bindir)/hotleaf-mail $(mandir)/man[58]/hotleaf*.[58])
format: ; clang-format -i $(shell git ls-files '*.c' '*.h')
clean: ; $(RM) -r $(O)
help:
	$(Q)sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' Makefile | expand -t 14
	@echo 'knobs: O=build prefix=/usr/local DESTDIR= CC= CLANG= CFLAGS= V=1 WERROR=1 SAN=1 FUZZ=300 SOAK=3600 VM='

-include $(shell find $(O) -name '*.d' 2>/dev/null)
.PHONY: all unit page bench bench-unwind soak check check-vm fuzz fuzzers programs setup setup-tests setup-vm \
        setup-check run install uninstall format clean help
