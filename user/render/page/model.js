// SPDX-License-Identifier: BSD-2-Clause
// The calling-context tree: layout, search, sums. Free of the DOM. Nodes stand in preorder; every walk is a
// loop, since a profile may be deeper than the JavaScript stack.

export const KIND = { ROOT: 0, MARK: 1, USER: 2, INLINED: 3, JIT: 4, KERNEL: 5, INSN: 6, PART: 7 };

// @self is the measure: samples or weights of each node alone. A node's place, in units of the measure, runs
// from start to start + total; what it does itself lies right of its children.
export function buildModel(profile, self) {
  const { n, depth, frame } = profile.nodes;
  const parent = new Int32Array(n);
  const end = new Int32Array(n);
  const total = Float64Array.from(self);
  const start = new Float64Array(n);
  const cursor = new Float64Array(n);
  const last = [0];

  for (let i = 1; i < n; i++) {
    parent[i] = last[depth[i] - 1];
    last[depth[i]] = i;
  }
  for (let i = n - 1; i >= 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    if (i === 0) break;
    const p = parent[i];
    total[p] += total[i];
    if (end[p] === 0) end[p] = end[i];
  }
  for (let i = 1; i < n; i++) {
    const p = parent[i];
    start[i] = cursor[i] = cursor[p];
    cursor[p] += total[i];
  }
  return {
    n,
    depth,
    frame,
    parent,
    end,
    start,
    total,
    self,
    frames: profile.frames,
    strings: profile.strings,
  };
}

// The node of the function that @node, an instruction or a loop, stands under.
function functionAbove(m, node) {
  let at = m.parent[node];
  while (m.frames.kind[m.frame[at]] === KIND.PART) at = m.parent[at];
  return at;
}

export function isLeaf(m, node) {
  return m.frames.kind[m.frame[node]] === KIND.INSN;
}

// The samples of a node that belong to none of the functions below it: its own and its instructions'.
export function ownTotal(m, node) {
  let own = m.self[node];
  for (let c = node + 1; c < m.end[node]; c = m.end[c]) if (isLeaf(m, c)) own += m.total[c];
  return own;
}

export function path(m, node) {
  const nodes = [node];
  while (node !== 0) nodes.push((node = m.parent[node]));
  return nodes.reverse();
}

// Calls emit(node, x, width, row) for what is drawn of the rows first … last, parents before children. Below
// @min pixels a node is still emitted (the caller merges such slivers), what is under it is not.
export function layout(m, view, emit) {
  const { zoom, width, first, last, min, instructions } = view;
  const { depth, end, start, total } = m;
  const scale = total[zoom] > 0 ? width / total[zoom] : 0;

  for (let a = zoom; a !== 0;) {
    a = m.parent[a];
    if (depth[a] >= first && depth[a] <= last) emit(a, 0, width, depth[a]);
  }
  for (let i = zoom; i < end[zoom];) {
    if (depth[i] > last || (!instructions && isLeaf(m, i))) {
      i = end[i];
      continue;
    }
    const w = i === zoom ? width : total[i] * scale;
    if (depth[i] >= first) emit(i, (start[i] - start[zoom]) * scale, w, depth[i]);
    i = w < min ? end[i] : i + 1;
  }
}

// How many rows the zoomed graph has: down to the deepest node of at least @min pixels.
export function rowCount(m, { zoom, width, min, instructions }) {
  const limit = (m.total[zoom] * min) / width;
  let deepest = m.depth[zoom];
  for (let i = zoom; i < m.end[zoom];) {
    if (m.total[i] < limit || (!instructions && isLeaf(m, i))) {
      i = m.end[i];
      continue;
    }
    if (m.depth[i] > deepest) deepest = m.depth[i];
    i++;
  }
  return deepest + 1;
}

// The node at pixel @x of @row, or -1.
export function nodeAt(m, { zoom, width, instructions }, x, row) {
  if (row < 0 || x < 0 || x >= width) return -1;
  let node = zoom;
  while (m.depth[node] > row) node = m.parent[node];
  const at = m.start[zoom] + (x / width) * m.total[zoom];
  while (m.depth[node] < row) {
    let child = node + 1;
    while (child < m.end[node] && at >= m.start[child] + m.total[child]) child = m.end[child];
    if (child >= m.end[node] || (!instructions && isLeaf(m, child))) return -1;
    node = child;
  }
  return node;
}

// The neighbour of @node in its row, @step +1 or -1, that is at least @least wide; or @node.
export function neighbour(m, node, step, zoom, instructions, least) {
  const d = m.depth[node];
  const shown = (i) => m.depth[i] === d && m.total[i] >= least && (instructions || !isLeaf(m, i));
  for (let i = node + step; i > zoom && i < m.end[zoom]; i += step) if (shown(i)) return i;
  return node;
}

export function largestChild(m, node, instructions) {
  let best = -1;
  for (let c = node + 1; c < m.end[node]; c = m.end[c]) {
    if (!instructions && isLeaf(m, c)) continue;
    if (best < 0 || m.total[c] > m.total[best]) best = c;
  }
  return best;
}

function compile(pattern, sensitive) {
  try {
    return new RegExp(pattern, sensitive ? '' : 'i');
  } catch {
    return null;
  }
}

// Which frames match. The pattern is tried on each name once. One that is no regular expression, or matches
// nothing as one, is taken as plain text: a pasted C++ name shall be found.
export function matchFrames(m, pattern, { sensitive = false, instructions = true } = {}) {
  const { n, kind, name } = m.frames;
  const used = new Uint8Array(m.strings.length);
  for (let f = 1; f < n; f++) if (instructions || kind[f] !== KIND.INSN) used[name[f]] = 1;

  const run = (test) => {
    let any = false;
    const hit = new Uint8Array(m.strings.length);
    for (let s = 0; s < hit.length; s++) if (used[s] && test(m.strings[s])) any = hit[s] = 1;
    return any && hit;
  };
  const regex = compile(pattern, sensitive);
  const fold = (text) => (sensitive ? text : text.toLowerCase());
  const wanted = fold(pattern);
  let hit = regex && run((text) => regex.test(text));
  const literal = !hit;
  if (!hit) hit = run((text) => fold(text).includes(wanted));

  const frames = new Uint8Array(n);
  if (hit)
    for (let f = 1; f < n; f++)
      frames[f] = hit[name[f]] && (instructions || kind[f] !== KIND.INSN) ? 1 : 0;
  return { frames, literal: literal && !!hit };
}

// Sums what matches below @zoom, a match inside a match once, and lists the outermost ones in order.
export function searchNodes(m, matched, zoom) {
  const nodes = [];
  let sum = 0;
  for (let a = m.parent[zoom]; a !== zoom && zoom !== 0; a = m.parent[a]) {
    if (matched[m.frame[a]]) return { sum: m.total[zoom], nodes };
    if (a === 0) break;
  }
  for (let i = zoom; i < m.end[zoom];) {
    if (!matched[m.frame[i]]) {
      i++;
      continue;
    }
    sum += m.total[i];
    nodes.push(i);
    i = m.end[i];
  }
  return { sum, nodes };
}

// The highest frame to zoom to that shows @node at no less than @share of the width.
export function zoomFor(m, node, share) {
  let zoom = node;
  while (zoom !== 0 && m.total[m.parent[zoom]] * share <= m.total[node]) zoom = m.parent[zoom];
  return zoom;
}

// Sums by frame below @zoom: total (under recursion the outermost alone) and own; and by instruction class.
export function sumFrames(m, zoom) {
  const { kind, type, n } = m.frames;
  const total = new Float64Array(n);
  const own = new Float64Array(n);
  const inside = new Int32Array(n);
  const classes = new Float64Array(8);

  for (let i = zoom; i < m.end[zoom]; i++) {
    const f = m.frame[i];
    if (i >= inside[f]) {
      total[f] += m.total[i];
      inside[f] = m.end[i];
    }
    own[kind[f] === KIND.PART ? m.frame[functionAbove(m, i)] : f] += m.self[i];
    if (kind[f] !== KIND.INSN) continue;
    classes[(type[f] >> 1) & 7] += m.total[i];
    if (i !== zoom) own[m.frame[functionAbove(m, i)]] += m.total[i];
  }
  return { total, own, classes };
}

// The @limit frames of the largest @value for which keep(frame) holds.
export function topFrames(value, keep, limit) {
  const list = [];
  for (let f = 1; f < value.length; f++) if (value[f] > 0 && keep(f)) list.push(f);
  return list.sort((a, b) => value[b] - value[a] || a - b).slice(0, limit);
}

// Everything about one function over all its callers: instances, callers and instructions.
export function functionSummary(m, wanted) {
  const summary = {
    frame: wanted,
    total: 0,
    own: 0,
    places: 0,
    callers: new Map(),
    insns: new Map(),
    heaviest: -1,
  };
  const add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);

  for (let i = 0, inside = 0; i < m.n; i++) {
    const f = m.frame[i];
    if (f === wanted) {
      summary.places++;
      summary.own += m.self[i];
      if (i >= inside) {
        summary.total += m.total[i];
        add(summary.callers, m.frame[m.parent[i]], m.total[i]);
        inside = m.end[i];
        if (summary.heaviest < 0 || m.total[i] > m.total[summary.heaviest]) summary.heaviest = i;
      }
    } else if (m.frames.kind[f] === KIND.INSN && m.frame[functionAbove(m, i)] === wanted) {
      summary.own += m.total[i];
      add(summary.insns, f, m.total[i]);
    }
  }
  return summary;
}

// Of each of @frames the node below @zoom with the largest total, as a map.
export function heaviestNodes(m, zoom, frames) {
  const best = new Map(frames.map((f) => [f, -1]));
  for (let i = zoom; i < m.end[zoom]; i++) {
    const other = best.get(m.frame[i]);
    if (other !== undefined && (other < 0 || m.total[i] > m.total[other])) best.set(m.frame[i], i);
  }
  return best;
}
