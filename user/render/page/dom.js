// SPDX-License-Identifier: BSD-2-Clause
// The only way from a string to the page: text nodes.

export const byId = (id) => document.getElementById(id);

// An element with properties, data-* under dataset, and children: nodes, strings or nothing.
export function element(tag, properties = {}, ...children) {
  const { dataset, ...plain } = properties;
  const node = Object.assign(document.createElement(tag), plain);
  Object.assign(node.dataset, dataset);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function button(text, title, onclick, className = '') {
  return element('button', { type: 'button', textContent: text, title, onclick, className });
}

// A list of terms and descriptions; rows without a description are left out.
export function facts(list, rows) {
  for (const [term, text, title] of rows) {
    if (text === null || text === undefined || text === '') continue;
    list.append(element('div', { title: title || '' }, element('dt', {}, term), element('dd', {}, text)));
  }
  return list;
}

// A cell with the share in text and as a bar behind it.
export function shareCell(part, whole, text) {
  const bar = element('span', { className: 'bar', ariaHidden: 'true' });
  bar.style.width = `${whole > 0 ? Math.min(100, (100 * part) / whole) : 0}%`;
  return element('td', { className: 'share' }, bar, element('span', {}, text));
}

// A heading that starts with # stands over numbers.
export function table(caption, headings, rows) {
  const head = headings.map((text) =>
    element('th', { scope: 'col', className: text[0] === '#' ? 'number' : '' }, text.replace('#', '')),
  );
  return element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows),
  );
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element('textarea', { value: text, className: 'unseen' });
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
