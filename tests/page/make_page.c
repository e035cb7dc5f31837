// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render */

/*
 * make_page KIND [NUMBER]: writes the page of a made-up profile to stdout, for the tests beside this file.
 *
 *   small      a dozen nodes with round numbers
 *   hostile    names from strangers: markup, controls, bidi, invalid UTF-8, 100 kB
 *   deep N     one stack of N frames, and a short one
 *   random N   about N nodes with long C++ names, each function with a few instructions; the names are made
 *              up, or, with a third argument, the lines of that file
 *   diff       two of the small one: in the second there is more of an instruction, and a function for another
 *   service    a host with a web server, a JIT, and the kernel below them, to be looked at
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "render/render.h"

enum { STACK_MAX = 128, PERIOD = 10101010 };

/* What is said about the profile; tests look for these words. */
static const struct hl_loss losses[] = {
	{ "stack cut", "deeper than 127 frames; raise max-depth", 7, HL_LOSS_CUT },
	{ "stack map full", "more different stacks than fit in a second; raise stacks", 0, HL_LOSS_LOST },
	{ "no text", "the code bytes at the instruction could not be read", 2, HL_LOSS_NOTED },
};
static const char *const notes[] = { "no PMU: sampling by the CPU clock" };

static struct hl_profile_meta meta = {
	.host = "web-03",
	.kernel = "6.18.5-cloud-amd64",
	.version = "0.1.0",
	.event = "cpu-clock",
	.decoders = "capstone 4.0.2, Zydis 4.0.0",
	.unit = "nanoseconds",
	.frequency = 99,
	.cpus = 2,
	.start_ns = 1796040000000000000, /* 2026-11-30T12:00:00Z */
	.end_ns = 1796040060000000000,
	.expected = 11880,
	.seen = 11878,
	.idle = 1200,
	.busy_cpus = 1.62,
	.cost_programs = 0.0009,
	.cost_process = 0.0021,
	.losses = losses,
	.n_losses = 3,
	.notes = notes,
	.n_notes = 1,
};

static struct hl_profile *profile;
static uint64_t seed = 88172645463325252;

static void must(int rc)
{
	if (rc) {
		fprintf(stderr, "make_page: %s\n", strerror(-rc));
		exit(1);
	}
}

/* xorshift64 (Marsaglia, 2003): the same on every host. */
static uint32_t chance(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 16) % below);
}

static uint32_t frame(enum hl_frame_kind kind, const char *module, uint64_t address, const char *name,
		      size_t len)
{
	struct hl_frame f = { .kind = kind, .address = address, .name = name, .name_len = len };
	uint32_t ret;

	f.module = module;
	f.module_len = strlen(module);
	if (kind > HL_FRAME_MARK)
		f.binary = hl_id_of(module, strlen(module) + 1);
	must(hl_profile_frame(profile, &f, &ret));
	return ret;
}

static uint32_t function(enum hl_frame_kind kind, const char *module, uint64_t address, const char *name)
{
	return frame(kind, module, address, name, strlen(name));
}

static uint32_t insn(const char *module, bool kernel, uint64_t start, uint64_t offset, const char *text,
		     int class_)
{
	struct hl_frame f = { .kind = HL_FRAME_INSN, .insn_class = (uint8_t)class_, .kernel = kernel };
	uint32_t ret;

	f.address = start + offset;
	f.offset = offset;
	f.name = text;
	f.name_len = strlen(text);
	f.module = module;
	f.module_len = strlen(module);
	f.binary = hl_id_of(module, strlen(module) + 1);
	must(hl_profile_frame(profile, &f, &ret));
	return ret;
}

static void add(const uint32_t *stack, size_t n, uint64_t count)
{
	must(hl_profile_add(profile, stack, n, count, count * PERIOD));
}

/* ---- small -------------------------------------------------------------------------------------- */

/* 1,000 samples. recurse stands in itself, and parse_header is called from two places. */
static void make_small(void)
{
	uint32_t root = function(HL_FRAME_ROOT, "", 0, "nginx");
	uint32_t main_ = function(HL_FRAME_USER, "/usr/sbin/nginx", 0x1000, "main");
	uint32_t parse = function(HL_FRAME_USER, "/usr/sbin/nginx", 0x1360, "parse_header");
	uint32_t recurse = function(HL_FRAME_USER, "/usr/sbin/nginx", 0x1500, "recurse");
	uint32_t read = function(HL_FRAME_KERNEL, "[kernel]", 0x20000, "vfs_read");
	uint32_t imul = insn("/usr/sbin/nginx", false, 0x1360, 0x4d, "imul   $0x3b9aca07,%rax,%rdx", 0);
	uint32_t load = insn("/usr/sbin/nginx", false, 0x1360, 0x51, "mov    (%rdi),%rax", 1);
	uint32_t jump = insn("/usr/sbin/nginx", false, 0x1500, 0x10, "jne    0x1500", 3);
	uint32_t lock = insn("[kernel]", true, 0x20000, 0x8, "lock cmpxchg %rcx,(%rdi)", 6);

	add((uint32_t[]){ root, main_, parse, imul }, 4, 300);
	add((uint32_t[]){ root, main_, parse, load }, 4, 100);
	add((uint32_t[]){ root, main_, recurse, parse, imul }, 5, 60);
	add((uint32_t[]){ root, main_, recurse, recurse, parse, load }, 6, 40);
	add((uint32_t[]){ root, main_, recurse, recurse, jump }, 5, 200);
	add((uint32_t[]){ root, main_, read, lock }, 4, 250);
	add((uint32_t[]){ root, main_ }, 2, 50);
}

/* ---- hostile ------------------------------------------------------------------------------------ */

#define N(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}

static const struct {
	const char *bytes;
	size_t len;
} hostile[] = {
	N("</script><script>document.title='pwned'</script>"),
	N("<img src=x onerror=\"document.title='pwned'\">"),
	N("-->]]><svg onload=document.title='pwned'><style>*{display:none}</style>"),
	N("semi;colon \"quote' `tick` back\\slash ${7*7} @data@ @script@ %s%n"),
	N("new\nline\r\n\ttab\vvt\fff"),
	N("esc\x1b[31mred\x1b]0;title\x07\x01\x08\x7f"),
	N("bad\xff\xfe\xc3(\xe2\x82\x80\xed\xa0\x80utf8"),
	N("bidi \xe2\x80\xaegnp.exe\xe2\x80\xac zero\xe2\x80\x8bwidth \xf0\x9f\x94\xa5 \xf0\x9f\x94"),
	N("nul\0inside"),
	N("__proto__"),
	N("constructor"),
	N("\xc2\xa0"),
	N(""),
};

static void make_hostile(void)
{
	size_t i, big = 100 * 1024, n = sizeof(hostile) / sizeof(hostile[0]);
	char *name = malloc(big);
	uint32_t root = frame(HL_FRAME_ROOT, "", 0, hostile[0].bytes, hostile[0].len);
	uint32_t dispatch = function(HL_FRAME_USER, hostile[1].bytes, 0x1000, "h_dispatch");

	if (!name)
		must(-12);
	for (i = 0; i < n; i++) {
		uint32_t f = frame(HL_FRAME_USER, hostile[i].bytes, 0x2000 + i * 16, hostile[i].bytes,
				   hostile[i].len);
		uint32_t leaf = insn(hostile[1].bytes, false, 0x2000 + i * 16, 4, hostile[i].bytes, 255);

		add((uint32_t[]){ root, dispatch, f, leaf }, 4, 10);
	}
	memset(name, 'L', big);
	for (i = 0; i < 2; i++) {
		name[big - 1] = (char)('0' + i);
		add((uint32_t[]){ root, dispatch, frame(HL_FRAME_USER, "big", 0x9000 + i, name, big) }, 3,
		    10);
	}
	free(name);
	meta.host = hostile[0].bytes;
	meta.kernel = hostile[1].bytes;
	meta.event = hostile[7].bytes;
	meta.unit = hostile[5].bytes;
	meta.version = meta.decoders = hostile[2].bytes;
	meta.n_losses = 0;
}

/* ---- deep --------------------------------------------------------------------------------------- */

static void make_deep(size_t depth)
{
	uint32_t *stack = calloc(depth + 1, sizeof(*stack));
	char name[32];
	size_t i;

	if (!stack)
		must(-12);
	for (i = 0; i < depth; i++) {
		(void)snprintf(name, sizeof(name), "level_%zu", i);
		stack[i] = function(i ? HL_FRAME_USER : HL_FRAME_ROOT, "/bin/deep", i ? 0x1000 + i * 64 : 0,
				    name);
	}
	stack[depth] = insn("/bin/deep", false, 0x1000 + (depth - 1) * 64, 8, "addl   $0x1,-0x4(%rbp)", 2);
	add(stack, depth + 1, 900);
	add((uint32_t[]){ stack[0], function(HL_FRAME_USER, "/bin/deep", 0x900, "shallow") }, 2, 100);
	free(stack);
}

/* ---- random ------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	int class_;
} texts[] = {
	{ "mov    %s0x%x(%%r%u),%%rax", 1 },
	{ "mov    %%rax,%s0x%x(%%r%u)", 2 },
	{ "cmpq   $%s0x%x,0x8(%%r%u)", 1 },
	{ "jne    %s0x%x000 # r%u", 3 },
	{ "vfmadd231ps %s0x%x(%%r%u),%%ymm1,%%ymm0", 1 },
	{ "vaddps %%ymm%2$x,%%ymm%3$u,%%ymm0%1$s", 5 },
	{ "divq   %s0x%x(%%r%u)", 4 },
	{ "lock xadd %%eax,%s0x%x(%%r%u)", 6 },
	{ "lea    %s0x%x(%%r%u),%%rdi", 0 },
	{ "imul   $%s0x%x,%%r%u,%%rdx", 0 },
};

static const char *const words[] = { "std",      "vector", "allocator",     "basic_string", "detail",
				     "map",      "absl",   "flat_hash_map", "rocksdb",      "Iterator",
				     "blink",    "Node",   "layout",        "grpc",         "unique_ptr",
				     "Callback", "pair",   "tuple",         "char_traits",  "Impl" };

static const char *word(void)
{
	return words[chance(sizeof(words) / sizeof(words[0]))];
}

/* A C++ name: mostly some 80 characters, one in a hundred near a thousand. */
static size_t random_name(char *name, size_t size, uint32_t number)
{
	size_t parts = 3 + chance(7) + (chance(60) == 0 ? 60 + chance(60) : 0), n = 0, i, open = 0;

	for (i = 0; i < parts && n + 64 < size; i++) {
		n += (size_t)snprintf(name + n, size - n, "%s%s", word(), chance(3) == 0 ? "<" : "::");
		open += name[n - 1] == '<';
	}
	n += (size_t)snprintf(name + n, size - n, "%s", word());
	for (; open && n + 24 < size; open--)
		name[n++] = '>';
	return n + (size_t)snprintf(name + n, size - n, "::run%u(int)", number);
}

static void random_text(char *text, size_t size, int *ret_class)
{
	uint32_t row = chance(sizeof(texts) / sizeof(texts[0]));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, size, texts[row].text, "", chance(64) * 8, 8 + chance(8));
#pragma GCC diagnostic pop
	*ret_class = texts[row].class_;
}

/* Each function calls eight others, and a few of its 128 instructions are hot. */
static size_t callee(size_t caller, size_t pool)
{
	uint64_t key[2] = { caller, chance(8) * chance(8) / 8 };

	return hl_hash(key, sizeof(key), 0) % pool;
}

static uint32_t random_insn(size_t function_number, const char *module)
{
	uint64_t offset = (uint64_t)chance(12) * chance(12) * 4, kept = seed;
	char text[128];
	int class_;

	seed = (function_number << 20 | offset) + 1; /* one place, one text */
	(void)chance(2);
	random_text(text, sizeof(text), &class_);
	seed = kept;
	return insn(module, module[0] == '[', 0x100000 + function_number * 512, offset, text, class_);
}

/* Random walks over a pool of functions; each walk ends in an instruction of its last function. */
static void make_random(size_t n_nodes, FILE *names)
{
	size_t pool = n_nodes / 20 + 50, depth = 1, i, at[STACK_MAX] = { 0 };
	uint32_t *functions = calloc(pool, sizeof(*functions));
	uint32_t stack[STACK_MAX];
	char name[4400];

	if (!functions)
		must(-12);
	for (i = 0; i < pool; i++) {
		size_t len = names && fgets(name, sizeof(name), names)
				     ? strcspn(name, "\n")
				     : random_name(name, sizeof(name), (uint32_t)i);

		functions[i] =
			i % 7 ? frame(HL_FRAME_USER, "/opt/app/bin/server", 0x100000 + i * 512, name, len)
			      : frame(HL_FRAME_KERNEL, "[kernel]", 0x100000 + i * 512, name, len);
	}
	stack[0] = function(HL_FRAME_ROOT, "", 0, "server");
	for (; n_nodes > 0; n_nodes -= n_nodes > 4 ? 4 : n_nodes) {
		size_t back = chance(8), grow = 1 + chance(8);

		depth = depth > back + 1 ? depth - back : 1;
		for (i = 0; i < grow && depth < 60; i++, depth++) {
			at[depth] = callee(at[depth - 1], pool);
			stack[depth] = functions[at[depth]];
		}
		stack[depth] =
			random_insn(at[depth - 1], at[depth - 1] % 7 ? "/opt/app/bin/server" : "[kernel]");
		add(stack, depth + 1, 1 + chance(4) * chance(4));
	}
	free(functions);
}

/* ---- service ------------------------------------------------------------------------------------ */

/* kind:module:name separated by ";", then samples. k kernel, u user, i inlined, j JIT, m mark, r root. */
static const struct {
	const char *stack;
	uint32_t count;
} service[] = {
#define NGX                                                                                              \
	"r::nginx;u:nginx:_start;u:libc.so.6:__libc_start_main;u:nginx:main;u:nginx:ngx_master_process_" \
	"cycle;"                                                                                         \
	"u:nginx:ngx_spawn_process;u:nginx:ngx_worker_process_cycle;u:nginx:ngx_process_events_and_timers;"
#define EPOLL NGX "u:nginx:ngx_epoll_process_events;"
#define HTTP  EPOLL "u:nginx:ngx_http_wait_request_handler;u:nginx:ngx_http_process_request_line;"
#define SYS   "k:[kernel]:entry_SYSCALL_64_after_hwframe;k:[kernel]:do_syscall_64;"
#define NET                                                                                            \
	"k:[kernel]:__x64_sys_writev;k:[kernel]:vfs_writev;k:[kernel]:sock_write_iter;k:[kernel]:tcp_" \
	"sendmsg;"                                                                                     \
	"k:[kernel]:tcp_sendmsg_locked;"
	{ HTTP "u:nginx:ngx_http_process_request_headers;u:nginx:ngx_http_parse_header_line", 1480 },
	{ HTTP "u:nginx:ngx_http_process_request_headers;u:nginx:ngx_hash_find", 420 },
	{ HTTP "u:nginx:ngx_http_process_request_headers;u:nginx:ngx_http_process_request;u:nginx:ngx_http_"
	       "handler;"
	       "u:nginx:ngx_http_core_run_phases;u:nginx:ngx_http_gzip_body_filter;u:libz.so.1:deflate;"
	       "u:libz.so.1:deflate_fast;i:libz.so.1:longest_match",
	  1320 },
	{ HTTP "u:nginx:ngx_http_process_request_headers;u:nginx:ngx_http_process_request;u:nginx:ngx_http_"
	       "handler;"
	       "u:nginx:ngx_http_core_run_phases;u:nginx:ngx_http_gzip_body_filter;u:libz.so.1:deflate;"
	       "u:libz.so.1:crc32_z",
	  360 },
	{ HTTP "u:nginx:ngx_http_process_request_headers;u:nginx:ngx_http_process_request;u:nginx:ngx_http_"
	       "handler;"
	       "u:nginx:ngx_http_core_run_phases;u:nginx:ngx_output_chain;u:libc.so.6:__writev;" SYS NET
	       "k:[kernel]:__tcp_push_pending_frames;k:[kernel]:tcp_write_xmit;k:[kernel]:__tcp_transmit_skb;"
	       "k:[kernel]:ip_queue_xmit;k:[kernel]:ip_finish_output2;k:[kernel]:__dev_queue_xmit",
	  510 },
	{ HTTP "u:nginx:ngx_http_process_request_headers;u:nginx:ngx_http_process_request;u:nginx:ngx_http_"
	       "handler;"
	       "u:nginx:ngx_http_core_run_phases;u:nginx:ngx_output_chain;u:libc.so.6:__writev;" SYS NET
	       "k:[kernel]:_copy_from_iter",
	  640 },
	{ EPOLL "u:libcrypto.so.3:EVP_DecryptUpdate;u:libcrypto.so.3:aesni_gcm_decrypt", 520 },
	{ EPOLL "u:libc.so.6:epoll_wait;" SYS "k:[kernel]:do_epoll_wait;k:[kernel]:ep_send_events", 230 },
	{ "r::java;u:libc.so.6:start_thread;u:libjvm.so:thread_native_entry(Thread*);u:libjvm.so:JavaThread::"
	  "run();"
	  "j::com.shop.Server$$Lambda.run();j::com.shop.cart.Pricing.total(java.util.List<Item>);"
	  "j::java.math.BigDecimal.divide(BigDecimal, int, RoundingMode)",
	  870 },
	{ "r::java;u:libc.so.6:start_thread;u:libjvm.so:thread_native_entry(Thread*);u:libjvm.so:JavaThread::"
	  "run();"
	  "j::com.shop.Server$$Lambda.run();j::com.shop.cart.Pricing.total(java.util.List<Item>)",
	  310 },
	{ "r::java;u:libc.so.6:start_thread;u:libjvm.so:thread_native_entry(Thread*);u:libjvm.so:"
	  "WorkerThread::run();"
	  "u:libjvm.so:G1ParScanThreadState::trim_queue_to_threshold(unsigned int);"
	  "i:libjvm.so:G1ParScanThreadState::do_oop_evac<narrowOop>(narrowOop*)",
	  780 },
	{ "r::postgres;u:postgres:PostmasterMain;u:postgres:exec_simple_query;u:postgres:PortalRun;u:"
	  "postgres:ExecutorRun;"
	  "u:postgres:ExecHashJoin;u:postgres:ExecScanHashBucket;u:postgres:ExecInterpExpr",
	  760 },
	{ "r::postgres;u:postgres:PostmasterMain;u:postgres:exec_simple_query;u:postgres:PortalRun;u:"
	  "postgres:ExecutorRun;"
	  "u:postgres:ExecHashJoin;u:postgres:LWLockAcquire",
	  280 },
	{ "r::postgres;m::[truncated];u:postgres:heap_hot_search_buffer", 90 },
	{ "r::[kernel "
	  "threads];k:[kernel]:ret_from_fork;k:[kernel]:kthread;k:[kernel]:kswapd;k:[kernel]:shrink_node",
	  210 },
	{ "r::[idle task];m::[irq];k:[kernel]:net_rx_action;k:virtio_net:virtnet_poll", 330 },
	{ "r::redis-server;u:redis-server:main;u:redis-server:aeMain;u:redis-server:processCommand;u:redis-"
	  "server:dictFind;"
	  "i:redis-server:std::equal_to<std::basic_string<char, std::char_traits<char>, "
	  "std::allocator<char>>>::"
	  "operator()(std::basic_string<char> const&, std::basic_string<char> const&) const",
	  430 },
};

static const struct {
	const char *text;
	int class_;
} code[] = {
	{ "movzbl (%rsi),%eax", 1 },
	{ "mov    0x18(%rbx),%rdx", 1 },
	{ "cmp    %al,(%rcx,%rdx,1)", 1 },
	{ "jne    0x2f4c0", 3 },
	{ "imul   $0x3b9aca07,%rax,%rdx", 0 },
	{ "mov    %rdx,0x20(%r12)", 2 },
	{ "vpcmpeqb (%rdi),%ymm0,%ymm1", 1 },
	{ "div    %rcx", 4 },
	{ "lock cmpxchg %edx,(%rdi)", 6 },
	{ "vpxor  %ymm1,%ymm2,%ymm2", 5 },
	{ "rep movsb %ds:(%rsi),%es:(%rdi)", 2 },
	{ "add    $0x1,%r8", 0 },
	{ "test   %eax,%eax", 0 },
	{ "call   0x41a20", 3 },
	{ "aesdec %xmm15,%xmm2", 5 },
	{ "shl    $0x4,%rcx", 0 },
};

static uint32_t part_frame(char *part, char *ret_kind, const char **ret_module, uint64_t *ret_address)
{
	char *colon = strchr(part + 2, ':'), *name = colon + 1;
	static const char letters[] = "rmuijk";
	int kind = (int)(strchr(letters, part[0]) - letters);
	static char module[128];

	*colon = 0;
	(void)snprintf(module, sizeof(module), "%s%s", part[0] == 'u' || part[0] == 'i' ? "/usr/lib/" : "",
		       part + 2);
	*ret_kind = part[0];
	*ret_module = module;
	*ret_address = kind > HL_FRAME_MARK ? 0x1000 + (hl_id_of(name, strlen(name)).lo & 0x3ffff0) : 0;
	return function((enum hl_frame_kind)kind, module, *ret_address, name);
}

/* A sample's instruction: a few of a function's are hot, as in life. */
static uint32_t part_insn(char kind, const char *module, uint64_t address)
{
	uint32_t k = chance(14), place = k * k / 12, pick = (uint32_t)(address >> 4) + place * 7;
	size_t row = pick % (sizeof(code) / sizeof(code[0]));

	return insn(module, kind == 'k', address, 0x11 + place * 9 % 64 * 4, code[row].text,
		    code[row].class_);
}

static void make_service(void)
{
	uint32_t stack[STACK_MAX], i, j;
	char text[2048];

	for (i = 0; i < sizeof(service) / sizeof(service[0]); i++) {
		for (j = 0; j < service[i].count; j++) {
			const char *module = "";
			uint64_t address = 0;
			size_t n = 0;
			char kind = 0, *save, *part;

			(void)snprintf(text, sizeof(text), "%s", service[i].stack);
			for (part = strtok_r(text, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
				/* A few samples hit the callers themselves. */
				if (n > 2 && kind != 'm' && chance(160) == 0)
					break;
				stack[n++] = part_frame(part, &kind, &module, &address);
			}
			if (kind != 'm' && kind != 'r')
				stack[n++] = part_insn(kind, module, address);
			add(stack, n, 1);
		}
	}
}

/* ---- diff --------------------------------------------------------------------------------------- */

/* make_small() with @hot more samples of its imul, and a function @name with 200. */
static struct hl_profile *make_side(uint64_t hot, const char *name)
{
	uint32_t root, main_, parse, imul, other;

	profile = hl_profile_new();
	if (!profile)
		must(-12);
	make_small();
	root = function(HL_FRAME_ROOT, "", 0, "nginx");
	main_ = function(HL_FRAME_USER, "/usr/sbin/nginx", 0x1000, "main");
	parse = function(HL_FRAME_USER, "/usr/sbin/nginx", 0x1360, "parse_header");
	imul = insn("/usr/sbin/nginx", false, 0x1360, 0x4d, "imul   $0x3b9aca07,%rax,%rdx", 0);
	other = function(HL_FRAME_USER, "/usr/sbin/nginx", 0x1900, name);
	add((uint32_t[]){ root, main_, parse, imul }, 4, hot);
	add((uint32_t[]){ root, main_, other }, 3, 200);
	must(hl_profile_finish(profile));
	hl_profile_set_meta(profile, &meta);
	return profile;
}

static int write_diff(void)
{
	struct hl_profile *before = make_side(1, "old_way"), *after = make_side(600, "new_way");
	struct hl_diff *diff = NULL;
	struct hl_err err = { "" };
	int rc = hl_diff_new(before, after, HL_DIFF_BY_SAMPLES, &diff, &err);

	if (!rc)
		rc = hl_writer_html.write_diff(diff, NULL, stdout, &err);
	if (rc)
		fprintf(stderr, "make_page: %s\n", err.text);
	hl_diff_free(diff);
	hl_profile_free(before);
	hl_profile_free(after);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	size_t number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct hl_err err = { "" };
	int rc;

	if (strcmp(kind, "diff") == 0)
		return write_diff();
	profile = hl_profile_new();
	if (!profile)
		must(-12);
	if (strcmp(kind, "small") == 0)
		make_small();
	else if (strcmp(kind, "hostile") == 0)
		make_hostile();
	else if (strcmp(kind, "deep") == 0)
		make_deep(number ? number : 5000);
	else if (strcmp(kind, "random") == 0)
		make_random(number ? number : 200000, argc > 3 ? fopen(argv[3], "re") : NULL);
	else if (strcmp(kind, "service") == 0)
		make_service();
	else {
		fputs("usage: make_page small | hostile | deep N | random N | diff | service\n", stderr);
		return 2;
	}
	must(hl_profile_finish(profile));
	hl_profile_set_meta(profile, &meta);
	rc = hl_writer_html.write(profile, NULL, stdout, &err);
	hl_profile_free(profile);
	if (rc)
		fprintf(stderr, "make_page: %s\n", err.text);
	return rc ? 1 : 0;
}
