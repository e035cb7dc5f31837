// SPDX-License-Identifier: BSD-2-Clause
// Two profiles in one tree: how wide, how much more or less, and whether that is more than chance. Free of the
// DOM. The test is that of user/profile/diff.c, which says why.

export const BEFORE = 0;
export const AFTER = 1;
export const WIDTHS = ['both', 'after', 'before'];

const sum = (column) => column.reduce((all, value) => all + value, 0);

// How to compare the profile: by time, CPUs that were busy, or by samples, shares of all.
export function comparison(profile, byTime) {
  const { diff, nodes, meta } = profile;
  const samples = [sum(nodes.weight), sum(nodes.samples)];
  const cpus = [diff.before.cpus, meta.cpus];
  const trials = byTime ? diff.due : samples;
  return {
    byTime,
    trials,
    samples,
    noise: diff.noise,
    scale: trials.map((n, side) => (byTime ? cpus[side] / n : 1 / n)),
    unit: byTime ? 'CPUs' : 'points',
  };
}

export const canCompareByTime = (diff) => diff.due.every((n) => n > 0);

// What each node is as wide as: the samples of one side, or of both the larger, in samples after.
export function widths(profile, how, which) {
  const { samples, weight } = profile.nodes;
  const ratio = how.scale[BEFORE] / how.scale[AFTER];
  if (which === 'after') return samples;
  if (which === 'before') return weight;
  return samples.map((after, i) => Math.max(after, weight[i] * ratio));
}

// Totals of both sides for a tree built by buildModel().
export function totals(m, profile) {
  const add = (self) => {
    const total = Float64Array.from(self);
    for (let i = m.n - 1; i > 0; i--) total[m.parent[i]] += total[i];
    return total;
  };
  const self = [profile.nodes.weight, profile.nodes.samples];
  return { self, total: self.map(add) };
}

const term = (observed, expected) =>
  observed > 0 && expected > 0 ? observed * Math.log(observed / expected) : 0;

// What was @before samples and is @after.
export function changeOf(how, before, after) {
  const trials = [Math.max(how.trials[BEFORE], before), Math.max(how.trials[AFTER], after)];
  const p = (before + after) / (trials[BEFORE] + trials[AFTER]);
  const g =
    term(before, trials[BEFORE] * p) +
    term(after, trials[AFTER] * p) +
    term(trials[BEFORE] - before, trials[BEFORE] * (1 - p)) +
    term(trials[AFTER] - after, trials[AFTER] * (1 - p));
  const values = [before * how.scale[BEFORE], after * how.scale[AFTER]];
  const sign = Math.sign(after * trials[BEFORE] - before * trials[AFTER]);
  const z = sign * Math.sqrt(Math.max(0, 2 * g));
  return {
    counts: [before, after],
    values,
    delta: values[AFTER] - values[BEFORE],
    z,
    noise: Math.abs(z) <= how.noise,
  };
}

export function changeAt(m, node) {
  const { how, total } = m.compare;
  return changeOf(how, total[BEFORE][node], total[AFTER][node]);
}

// In which of the colours of palette.js a change is shown.
export function degree(change) {
  const [before, after] = change.values;
  if (change.noise) return 'same';
  if (before === 0) return 'new';
  if (after === 0) return 'gone';
  if (change.delta < 0) return 2 * after < before ? 'half' : 'less';
  return after > 2 * before ? 'twice' : 'more';
}

export const valueText = (how, value) => (how.byTime ? value.toFixed(3) : `${(100 * value).toFixed(2)} %`);

export function deltaText(how, delta) {
  const size = Math.abs(delta);
  const sign = delta < 0 ? '\u2212' : '+';
  return sign + (how.byTime ? size.toFixed(3) : (100 * size).toFixed(2));
}

export function relativeText({ counts, values, delta }) {
  if (counts[BEFORE] === 0) return counts[AFTER] ? 'new' : '';
  if (counts[AFTER] === 0) return 'gone';
  const share = (100 * delta) / values[BEFORE];
  return `${share < 0 ? '\u2212' : '+'}${Math.abs(share).toFixed(Math.abs(share) < 10 ? 1 : 0)} %`;
}

// Frames below @zoom that changed, the largest change of their own samples first.
export function changedFrames(m, zoom, keep, limit) {
  const { how, self, total } = m.compare;
  const sums = [BEFORE, AFTER].map((side) => sumFrames({ ...m, self: self[side], total: total[side] }, zoom));
  const list = [];
  for (let f = 1; f < m.frames.n; f++) {
    const leaf = m.frames.kind[f] === KIND.INSN;
    const [before, after] = sums.map((one) => (leaf ? one.total[f] : one.own[f]));
    if ((before === 0 && after === 0) || !keep(f)) continue;
    const change = changeOf(how, before, after);
    if (!change.noise) list.push({ frame: f, change });
  }
  return list.sort((a, b) => Math.abs(b.change.delta) - Math.abs(a.change.delta)).slice(0, limit);
}
