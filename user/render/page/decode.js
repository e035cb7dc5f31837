// SPDX-License-Identifier: BSD-2-Clause
// Base64 text → gzip → columns → arrays. user/render/html_data.h describes the columns.

function fromBase64(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function unpack(base64) {
  const stream = new Blob([fromBase64(base64.trim())])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Values may exceed 32 bits, so a varint is summed as a double: exact to 2^53, rounded beyond.
function reader(bytes) {
  let at = 0;

  function number() {
    let byte = bytes[at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let unit = 128;
    do {
      if (at >= bytes.length) throw new Error('the profile data ends too early');
      byte = bytes[at++];
      value += (byte & 0x7f) * unit;
      unit *= 128;
    } while (byte >= 0x80);
    return value;
  }

  return {
    number,
    signed() {
      const value = number();
      return value % 2 ? -(value + 1) / 2 : value / 2;
    },
    text(length) {
      at += length;
      return new TextDecoder().decode(bytes.subarray(at - length, at));
    },
    column(array, from = 0) {
      for (let i = from; i < array.length; i++) array[i] = bytes[at] < 0x80 ? bytes[at++] : number();
      return array;
    },
    ended: () => at === bytes.length,
  };
}

function readHeader(r, strings) {
  const string = () => strings[r.number()];
  // Microunits plus one; zero stands for "not known".
  const maybe = () => {
    const value = r.number();
    return value ? (value - 1) / 1e6 : null;
  };
  const time = () => r.number() * 1000 + r.number() / 1e6;
  const meta = {};

  for (const key of ['title', 'host', 'kernel', 'version', 'event', 'decoders', 'unit'])
    meta[key] = string();
  meta.precise = r.number() === 1;
  meta.frequency = r.number();
  meta.cpus = r.number();
  meta.start = time();
  meta.end = time();
  for (const key of ['expected', 'seen', 'idle', 'filtered', 'leftOut']) meta[key] = r.number();
  for (const key of ['busy', 'costPrograms', 'costProcess']) meta[key] = maybe();
  meta.losses = Array.from({ length: r.number() }, () => ({
    name: string(),
    help: string(),
    count: r.number(),
    kind: r.number(),
  }));
  meta.notes = Array.from({ length: r.number() }, string);
  return meta;
}

// What a comparison has beyond a profile, or null. Samples of its nodes are those after, weights those before.
function readDiff(r, strings) {
  if (r.number() === 0) return null;
  const before = readHeader(r, strings);
  const byTime = r.number() === 1;
  return { before, byTime, due: [r.number(), r.number()], noise: r.number() / 1000 };
}

const CALLEES = 64;

// Reads the two columns of the nodes' frames: a place in the list of what the caller's frame called so far,
// and for what is not there a number, 0 for the next new one.
function readNodeFrames(r, depth) {
  const n = depth.length;
  const place = r.column(new Uint8Array(n), 1);
  const frame = new Uint32Array(n);
  const caller = [0]; // of each frame, by which frame it was called first
  const lists = [];
  const stack = [0];
  for (let i = 1; i < n; i++) {
    const above = stack[depth[i] - 1];
    const list = (lists[above] ||= []);
    if (place[i]) frame[i] = list[place[i] - 1];
    else {
      frame[i] = r.number();
      if (frame[i] === 0) frame[i] = caller.push(above) - 1;
      if (list.length < CALLEES) list.push(frame[i]);
    }
    stack[depth[i]] = frame[i];
  }
  return { frame, caller };
}

function readNodes(r) {
  const n = r.number();
  const period = r.number();
  const depth = new Int32Array(n);
  for (let i = 1; i < n; i++) depth[i] = depth[i - 1] + 1 - r.number();
  const { frame, caller } = readNodeFrames(r, depth);
  const samples = r.column(new Float64Array(n));
  const weight = new Float64Array(n);
  for (let i = 0; i < n; i++) weight[i] = samples[i] * period + r.signed();
  return { n, depth, frame, caller, samples, weight };
}

// Frame 0 is the root of roots and stands in no column.
function readFrames(r, caller) {
  const n = r.number() + 1;
  const kind = r.column(new Uint8Array(n), 1);
  const type = r.column(new Uint8Array(n), 1);
  const name = r.column(new Uint32Array(n), 1);
  const module = r.column(new Uint32Array(n), 1);
  const high = r.column(new Uint32Array(n), 1);
  const start = new Uint32Array(n);
  for (let i = 1; i < n; i++) start[i] = r.signed();
  const offset = r.column(new Float64Array(n), 1);
  const low = new Uint32Array(n);
  for (let i = 1, last = 0; i < n; i++) {
    const leaf = kind[i] === 6;
    const from = start[i] + (leaf ? low[caller[i]] : last);
    low[i] = from + (offset[i] % 2 ** 32);
    if (!leaf) last = from;
  }
  return { n, kind, type, name, module, high, low, offset };
}

// Column @type of a frame is its instruction class, times two, plus one for kernel code.
export function decode(bytes) {
  const r = reader(bytes);
  if (r.number() !== 2) throw new Error('the profile data is of another version than the page');
  const strings = r.text(r.number()).split('\n');
  const meta = readHeader(r, strings);
  const diff = readDiff(r, strings);
  const nodes = readNodes(r);
  const frames = readFrames(r, nodes.caller);
  if (!r.ended()) throw new Error('the profile data does not end where it should');
  return { strings, meta, diff, frames, nodes };
}
