// SPDX-License-Identifier: BSD-2-Clause
// What the profile says about itself: the line everybody needs, and behind a button everything.

const SKID =
  'This event is not precise: an interrupt arrives a little late, so the sampled instruction is usually ' +
  'the one after the slow one. Look at its predecessor; at a branch target, at every predecessor.';

const NOISE =
  'Grey is what chance makes of two profiles of the same: a change counts if the likelihood ratio of its ' +
  'two counts exceeds a bound that grows with the number of frames, so that one comparison in a hundred ' +
  'shows a change that is none.';

const cpus = (value) =>
  value === null ? '' : `${value < 10 ? value.toFixed(2) : value.toFixed(1)} CPUs`;
const cost = (value) => (value === null ? 'not known' : `${(100 * value).toFixed(2)} % of a CPU`);

// Kinds of losses, as enum hl_loss_kind numbers them: samples that are not shown, stacks that do not reach
// their start, samples that lack something else.
const LOST = 0;
const CUT = 1;
const LOSS_KINDS = ['lost', 'stack cut', 'noted'];

const sumOfLosses = (meta, kind) =>
  meta.losses.reduce((sum, loss) => sum + (loss.kind === kind ? loss.count : 0), 0);

// Of windows that could not be kept, what was due and seen is not known.
const notStored = (meta) =>
  meta.losses.reduce((sum, loss) => sum + (loss.name === 'not stored' ? loss.count : 0), 0);

// What a loss is a share of: of the samples that were due, or of those that are shown, and of those left out
// if they were counted before that.
const lossBase = (meta, kind, total) =>
  kind === LOST ? Math.max(meta.expected, meta.seen) + notStored(meta) : total + meta.leftOut;

function sumText(meta, kind, total) {
  const sum = sumOfLosses(meta, kind);
  return sum ? `${count(sum)} (${percent(sum, lossBase(meta, kind, total))})` : 'none';
}

function lossTable(meta, total) {
  const losses = meta.losses.filter((loss) => loss.count > 0);
  if (!losses.length) return element('p', {}, 'No sample was lost or cut.');
  const rows = losses.map((loss) =>
    element(
      'tr',
      {},
      element('td', { className: 'number' }, count(loss.count)),
      element('td', { className: 'number' }, percent(loss.count, lossBase(meta, loss.kind, total))),
      element('td', {}, LOSS_KINDS[loss.kind] || ''),
      element('td', {}, loss.name),
      element('td', {}, loss.help),
    ),
  );
  return table(
    'Samples not shown, or not wholly',
    ['#Samples', '#Share', 'Kind', 'Reason', 'What it means'],
    rows,
  );
}

const rangeOf = (meta) => `${time(meta.start)}, ${duration(meta.end - meta.start)}`;
const titleOf = (meta) => `${meta.host || 'unnamed host'} · ${rangeOf(meta)}`;
const busyShare = (meta) =>
  meta.busy !== null && meta.cpus ? ` of ${meta.cpus} (${percent(meta.busy, meta.cpus)})` : '';

function showDiffHeader({ meta, diff }, [before, after]) {
  const side = (header, total) =>
    `${titleOf(header)}: ${count(total)} samples, lost ${sumText(header, LOST, total)}`;
  byId('title').textContent = meta.title || `${titleOf(diff.before)} → ${titleOf(meta)}`;
  facts(byId('facts'), [
    ['Before', side(diff.before, before)],
    ['After', side(meta, after)],
    ['Event', meta.event || 'unknown'],
    ['Noise', `up to ${diff.noise.toFixed(1)} standard deviations`, NOISE],
  ]);
  byId('facts').classList.toggle(
    'lossy',
    sumOfLosses(meta, LOST) + sumOfLosses(diff.before, LOST) > 0,
  );
  byId('about').append(
    element('p', {}, NOISE),
    element('h2', {}, 'Before'),
    ...about(diff.before, before),
    element('h2', {}, 'After'),
    ...about(meta, after),
  );
}

export function showHeader(profile, total) {
  const { meta } = profile;
  const share = busyShare(meta);

  byId('title').textContent = meta.title || titleOf(meta);
  facts(
    byId('facts'),
    [
      ['Samples', count(total)],
      ['Busy', meta.busy !== null && `${cpus(meta.busy)}${share}`, 'CPUs that were not idle, on average'],
      ['Event', `${meta.event || 'unknown'}${meta.frequency ? `, ${count(meta.frequency)} Hz` : ''}`],
      ['Leaf', meta.precise ? 'exact instruction' : 'may be one late', meta.precise ? '' : SKID],
      ['Lost', sumText(meta, LOST, total), 'samples that were due and are not shown'],
      ['Cut stacks', sumText(meta, CUT, total), 'samples whose stack does not reach its start'],
      [
        'hotleaf itself',
        meta.costPrograms === null && meta.costProcess === null
          ? ''
          : cost((meta.costPrograms || 0) + (meta.costProcess || 0)),
        'BPF programs and process together',
      ],
    ].filter((row) => row[1] !== false),
  );
  byId('facts').lastElementChild?.parentNode.classList.toggle('lossy', sumOfLosses(meta, LOST) > 0);
  byId('about').append(...about(meta, total));
}

// Everything that is known of a profile.
function about(meta, total) {
  const share = busyShare(meta);
  return [
    facts(element('dl', {}), [
      ['Host', meta.host],
      ['Kernel', meta.kernel],
      ['Time', `${rangeOf(meta)} (to ${time(meta.end)})`],
      ['Event', `${meta.event}, ${meta.precise ? 'precise' : 'not precise'}`],
      ['Frequency', meta.frequency ? `${count(meta.frequency)} Hz on each of ${meta.cpus} CPUs` : ''],
      [
        'Samples',
        `${count(meta.expected)} expected, ${count(meta.seen)} seen, ${count(meta.idle)} idle, ` +
          `${count(meta.filtered)} not asked for, ${count(total)} in this graph`,
      ],
      ['Busy CPUs', meta.busy === null ? 'not known' : `${cpus(meta.busy)}${share}`],
      ['Cost of the BPF programs', cost(meta.costPrograms)],
      ['Cost of the process', cost(meta.costProcess)],
      ['Decoders', meta.decoders],
      ['Version', meta.version && `hotleaf ${meta.version}`],
    ]),
    lossTable(meta, total),
    element(
      'ul',
      {},
      ...(meta.precise ? [] : [SKID]).concat(meta.notes).map((note) => element('li', {}, note)),
    ),
  ];
}
