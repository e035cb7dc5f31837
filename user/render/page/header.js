// SPDX-License-Identifier: BSD-2-Clause
// What the profile says about itself: the line everybody needs, and behind a button everything.

const SKID =
  'This event is not precise: an interrupt arrives a little late, so the sampled instruction is usually ' +
  'the one after the slow one. Look at its predecessor; at a branch target, at every predecessor.';

const cpus = (value) =>
  value === null ? '' : `${value < 10 ? value.toFixed(2) : value.toFixed(1)} CPUs`;
const cost = (value) => (value === null ? 'not known' : `${(100 * value).toFixed(2)} % of a CPU`);

function lostSamples(meta) {
  return meta.losses.reduce((sum, loss) => sum + loss.count, 0);
}

function lossTable(meta) {
  const losses = meta.losses.filter((loss) => loss.count > 0);
  if (!losses.length) return element('p', {}, 'No sample was lost or cut.');
  const rows = losses.map((loss) =>
    element(
      'tr',
      {},
      element('td', { className: 'number' }, count(loss.count)),
      element('td', { className: 'number' }, percent(loss.count, meta.expected || meta.seen)),
      element('td', {}, loss.name),
      element('td', {}, loss.help),
    ),
  );
  return table(
    'Samples not shown, or not wholly',
    ['#Samples', '#Share', 'Reason', 'What it means'],
    rows,
  );
}

export function showHeader(profile, total) {
  const { meta } = profile;
  const range = `${time(meta.start)}, ${duration(meta.end - meta.start)}`;
  const lost = lostSamples(meta);
  const share =
    meta.busy !== null && meta.cpus ? ` of ${meta.cpus} (${percent(meta.busy, meta.cpus)})` : '';

  byId('title').textContent = meta.title || `${meta.host || 'unnamed host'} · ${range}`;
  facts(
    byId('facts'),
    [
      ['Samples', count(total)],
      ['Busy', meta.busy !== null && `${cpus(meta.busy)}${share}`, 'CPUs that were not idle, on average'],
      ['Event', `${meta.event || 'unknown'}${meta.frequency ? `, ${count(meta.frequency)} Hz` : ''}`],
      ['Leaf', meta.precise ? 'exact instruction' : 'may be one late', meta.precise ? '' : SKID],
      ['Lost or cut', lost ? `${count(lost)} (${percent(lost, meta.expected || meta.seen)})` : 'none'],
      [
        'hotleaf itself',
        meta.costPrograms === null && meta.costProcess === null
          ? ''
          : cost((meta.costPrograms || 0) + (meta.costProcess || 0)),
        'BPF programs and process together',
      ],
    ].filter((row) => row[1] !== false),
  );
  byId('facts').lastElementChild?.parentNode.classList.toggle('lossy', lost > 0);
  byId('about').append(
    facts(element('dl', {}), [
      ['Host', meta.host],
      ['Kernel', meta.kernel],
      ['Time', `${range} (to ${time(meta.end)})`],
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
    lossTable(meta),
    element(
      'ul',
      {},
      ...(meta.precise ? [] : [SKID]).concat(meta.notes).map((note) => element('li', {}, note)),
    ),
  );
}
