// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_bodies.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "profile/profile.h"
#include "store/day_copy.h"
#include "store/day_reader.h"
#include "store/rows.h"

/* ---- into a day ------------------------------------------------------------------------------------------ */

int day_bodies_init(struct day_bodies *bodies, struct hl_db *db, struct hl_err *err)
{
	const struct {
		struct hl_query **query;
		const char *sql;
	} queries[] = {
		{ &bodies->same_code, "SELECT id, bytes FROM codes WHERE hash = ?" },
		{ &bodies->code, "INSERT INTO codes VALUES(?,?,?,?)" },
		{ &bodies->same, "SELECT 1 FROM functions WHERE frame = ? AND source = ? AND bits = ? AND"
				 " address = ? AND size = ? AND build_id = ? AND code = ? AND why = ?" },
		{ &bodies->function, "INSERT INTO functions VALUES(?,?,?,?,?,?,?,?,?,?)" },
	};
	int64_t bytes = 0;
	int code = 0;

	*bodies = (struct day_bodies){ 0 };
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		code = hl_query_new(db, queries[i].sql, queries[i].query, err);
	if (!code)
		code = hl_db_number(db, "SELECT sum(length(bytes)) FROM codes", &bytes, err);
	if (!code)
		code = hl_db_number(db, "SELECT max(id) FROM codes", &bodies->last_code, err);
	bodies->bytes = bytes > 0 ? (uint64_t)bytes : 0;
	return code ? code : hl_db_number(db, "SELECT max(id) FROM functions", &bodies->last, err);
}

void day_bodies_done(struct day_bodies *bodies)
{
	hl_query_free(bodies->same_code);
	hl_query_free(bodies->code);
	hl_query_free(bodies->same);
	hl_query_free(bodies->function);
	hl_str_done(&bodies->room);
	*bodies = (struct day_bodies){ 0 };
}

static int insert(struct day_bodies *bodies, struct hl_query *query, enum hl_table table, int64_t id,
		  const struct hl_value *values, struct hl_err *err)
{
	size_t n = (size_t)hl_tables[table].columns;
	struct hl_value number = hl_int(id), checksum;
	struct hl_id key;

	if (hl_row_key(&bodies->room, table, values, n, &key))
		return hl_err_set(err, -ENOMEM, "no memory to store the code of a function");
	checksum = hl_int(hl_row_checksum(key, (uint64_t)id));
	hl_query_bind(query, 1, &number, 1);
	hl_query_bind(query, 2, values, n);
	hl_query_bind(query, 2 + (int)n, &checksum, 1);
	return hl_query_run(query, err);
}

/* The number of equal bytes; 0: they are not there yet. Equal hashes alone prove nothing: the key is known. */
static int find_code(struct day_bodies *bodies, const struct hl_id *hash, const struct hl_body *body,
		     int64_t *ret, struct hl_err *err)
{
	const char *bytes;
	size_t len;
	int code = 0;

	*ret = 0;
	hl_query_give(bodies->same_code, hl_blob(hash, sizeof(*hash)));
	while (!*ret && (code = hl_query_step(bodies->same_code, err)) == 1) {
		bytes = hl_query_bytes(bodies->same_code, 1, &len);
		if (len == body->size && memcmp(bytes, body->bytes, len) == 0)
			*ret = hl_query_int(bodies->same_code, 0);
	}
	hl_query_reset(bodies->same_code);
	return *ret ? 0 : code;
}

/* The number of the bytes of @body; 0: there is no room for them. */
static int put_code(struct day_bodies *bodies, const struct hl_body *body, uint64_t limit, int64_t *ret,
		    struct hl_err *err)
{
	struct hl_id hash = hl_id_of(body->bytes, body->size);
	const struct hl_value values[] = { hl_blob(&hash, sizeof(hash)), hl_blob(body->bytes, body->size) };
	int code = find_code(bodies, &hash, body, ret, err);

	if (code || *ret || bodies->bytes + body->size > limit)
		return code;
	code = insert(bodies, bodies->code, HL_TABLE_CODES, bodies->last_code + 1, values, err);
	if (code)
		return code;
	bodies->bytes += body->size;
	*ret = ++bodies->last_code;
	return 0;
}

int day_bodies_put(struct day_bodies *bodies, uint32_t frame, const struct hl_body *body, uint64_t limit,
		   struct hl_err *err)
{
	const char *why = body->why ? body->why : "";
	uint8_t source = body->source;
	int64_t number = 0;
	int code = 0;

	if (body->bytes)
		code = put_code(bodies, body, limit, &number, err);
	if (code)
		return code;
	if (body->bytes && !number) {
		source = HL_BODY_NONE;
		why = "the day has no room for more code";
	}
	const struct hl_value values[] = {
		hl_int(frame),      hl_int(source),
		hl_int(body->bits), hl_int(body->address),
		hl_int(body->size), hl_blob(body->build_id ? body->build_id : "", body->build_id_len),
		hl_int(number),     hl_text(why, strlen(why))
	};

	hl_query_bind(bodies->same, 1, values, sizeof(values) / sizeof(values[0]));
	code = hl_query_step(bodies->same, err);
	hl_query_reset(bodies->same);
	if (code)
		return code < 0 ? code : 0;
	return insert(bodies, bodies->function, HL_TABLE_FUNCTIONS, ++bodies->last, values, err);
}

/* ---- out of one ------------------------------------------------------------------------------------------ */

/* The rows of one day. */
struct rows {
	struct day_reader *day;
	struct hl_query *function, *code;
};

static void rows_done(struct rows *rows)
{
	hl_query_free(rows->function);
	hl_query_free(rows->code);
}

static int rows_init(struct rows *rows, struct day_reader *day, struct hl_err *err)
{
	int code = hl_query_new(day->db, "SELECT * FROM functions ORDER BY id", &rows->function, err);

	rows->day = day;
	return code ? code : hl_query_new(day->db, "SELECT * FROM codes WHERE id = ?", &rows->code, err);
}

static int damaged(const struct rows *rows, struct hl_err *err)
{
	return hl_err_set(err, -EBADMSG, "its code of function %lld is damaged",
			  (long long)hl_query_int(rows->function, 0));
}

/* The bytes of the row; NULL where it has none. */
static int read_code(struct rows *rows, uint64_t size, const void **ret, struct hl_err *err)
{
	int64_t number = hl_query_int(rows->function, 7);
	struct hl_id hash;
	const char *told;
	size_t len;
	int code;

	*ret = NULL;
	if (!number)
		return 0;
	hl_query_reset(rows->code);
	hl_query_give(rows->code, hl_int(number));
	code = hl_query_step(rows->code, err);
	if (code == 1)
		code = hl_row_check(&rows->day->room, HL_TABLE_CODES, rows->code, /* ret_key= */ NULL, err);
	else if (!code)
		code = damaged(rows, err);
	if (code)
		return code;
	told = hl_query_bytes(rows->code, 1, &len);
	if (len != sizeof(hash))
		return damaged(rows, err);
	memcpy(&hash, told, sizeof(hash));
	*ret = hl_query_bytes(rows->code, 2, &len);
	if (len != size || len > HL_BODY_MAX || !hl_id_equal(hash, hl_id_of(*ret, len)))
		return damaged(rows, err);
	return 0;
}

/* The body of the row that is the next, which lives until the one after. -EBADMSG: it is damaged. */
static int read_body(struct rows *rows, uint32_t *ret_frame, struct hl_body *ret, struct hl_err *err)
{
	const struct hl_query *q = rows->function;
	int64_t frame = hl_query_int(q, 1);
	size_t len;
	int code = hl_row_check(&rows->day->room, HL_TABLE_FUNCTIONS, q, /* ret_key= */ NULL, err);

	if (code)
		return code;
	if (frame < 1 || frame > UINT32_MAX || hl_query_int(q, 2) < 0 ||
	    hl_query_int(q, 2) >= HL_BODY_SOURCES)
		return damaged(rows, err);
	*ret_frame = (uint32_t)frame;
	*ret = (struct hl_body){ .source = (uint8_t)hl_query_int(q, 2),
				 .bits = (uint8_t)hl_query_int(q, 3),
				 .address = (uint64_t)hl_query_int(q, 4),
				 .size = (uint64_t)hl_query_int(q, 5),
				 .why = hl_query_bytes(q, 8, &len) };
	ret->build_id = hl_query_bytes(q, 6, &ret->build_id_len);
	return read_code(rows, ret->size, &ret->bytes, err);
}

int day_bodies_copy(struct day_bodies *bodies, struct day_reader *from, struct day_copy *copy,
		    struct hl_err *err)
{
	_cleanup_(rows_done) struct rows rows = { 0 };
	struct hl_body body = { 0 };
	uint32_t frame = 0, to;
	int code;

	if (!from->has_bodies)
		return 0;
	code = rows_init(&rows, from, err);
	while (!code && (code = hl_query_step(rows.function, err)) == 1) {
		code = read_body(&rows, &frame, &body, err);
		to = code ? 0 : day_copy_is_frame_copied(copy, frame);
		if (to)
			code = day_bodies_put(bodies, to, &body, UINT64_MAX, err);
	}
	return code;
}

/* The function whose body stands there. */
static int read_function(struct rows *rows, uint32_t number, struct hl_frame *ret, struct hl_err *err)
{
	const struct hl_query *frame, *module, *binary;
	int code = hl_rows_get(rows->day->rows, HL_TABLE_FRAMES, number, &frame, err);
	const char *hash;
	size_t len;

	if (code)
		return code;
	*ret = (struct hl_frame){ .kind = (uint8_t)hl_query_int(frame, 2),
				  .address = (uint64_t)hl_query_int(frame, 7) };
	ret->name = hl_query_bytes(frame, 9, &ret->name_len);
	code = hl_rows_get(rows->day->rows, HL_TABLE_MODULES, (uint32_t)hl_query_int(frame, 6), &module, err);
	if (code)
		return code;
	ret->module = hl_query_bytes(module, 1, &ret->module_len);
	if (!hl_query_int(frame, 5))
		return 0;
	code = hl_rows_get(rows->day->rows, HL_TABLE_BINARIES, (uint32_t)hl_query_int(frame, 5), &binary,
			   err);
	if (code)
		return code;
	hash = hl_query_bytes(binary, 1, &len);
	if (len != sizeof(ret->binary))
		return hl_err_set(err, -EBADMSG, "its binary %lld is damaged",
				  (long long)hl_query_int(frame, 5));
	memcpy(&ret->binary, hash, sizeof(ret->binary));
	return 0;
}

int day_bodies_each(struct day_reader *day, hl_body_fn take, void *ctx, struct hl_body_sum *sum,
		    struct hl_err *err)
{
	_cleanup_(rows_done) struct rows rows = { 0 };
	struct hl_frame function;
	struct hl_body body = { 0 };
	int64_t bytes = 0, without = 0;
	uint32_t frame = 0;
	int code;

	sum->days++;
	sum->old += !day->has_bodies;
	if (!day->has_bodies)
		return 0;
	code = hl_db_number(day->db, "SELECT sum(length(bytes)) FROM codes", &bytes, err);
	if (!code)
		code = hl_db_number(
			day->db,
			"SELECT count(DISTINCT frame) FROM functions WHERE code = 0 AND frame NOT IN"
			" (SELECT frame FROM functions WHERE code <> 0)",
			&without, err);
	if (!code)
		code = rows_init(&rows, day, err);
	while (!code && (code = hl_query_step(rows.function, err)) == 1) {
		code = read_body(&rows, &frame, &body, err);
		if (!code)
			code = read_function(&rows, frame, &function, err);
		if (code == -EBADMSG) {
			sum->damaged++;
			code = 0;
			continue;
		}
		if (code)
			break;
		sum->kept += body.bytes != NULL;
		code = take ? take(ctx, &function, &body) : 0;
	}
	sum->bytes += bytes > 0 ? (uint64_t)bytes : 0;
	sum->without += (uint64_t)without;
	return code;
}
