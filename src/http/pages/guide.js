// The search of the guides: every word has to be in the section, its heading or the title of its page. The index is
// fetched when somebody first goes to the box. Without this script the box is not shown.
const box = document.getElementById('docs-search');
const input = document.getElementById('docs-query');
const list = document.getElementById('docs-results');
const status = document.getElementById('docs-status');
const most = 12;
const around = 70;

let loading;
function loadIndex() {
  loading ??= fetch('/docs/search.json')
    .then(answer => (answer.ok ? answer.json() : Promise.reject(new Error(String(answer.status)))))
    .then(entries =>
      entries.map(entry => ({
        ...entry,
        folded: {
          heading: entry.heading.toLowerCase(),
          page: entry.page.toLowerCase(),
          words: entry.words.toLowerCase(),
        },
      })),
    );
  loading.catch(() => (loading = undefined));
  return loading;
}

/** Where a word begins with the letters; else wherever they are; -1 where they are not. */
function placeOf(text, letters) {
  for (let at = text.indexOf(letters); at >= 0; at = text.indexOf(letters, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
  }
  return text.indexOf(letters);
}

/** A heading says more about a section than its text, and a whole word more than a part of one. */
function scoreOf({ folded, heading }, words) {
  let score = 0;
  for (const word of words) {
    const inHeading = placeOf(folded.heading, word) >= 0;
    const inPage = placeOf(folded.page, word) >= 0;
    const times = folded.words.split(word).length - 1;
    if (!inHeading && !inPage && times === 0) return 0;
    score += (inHeading ? 20 : 0) + (inPage ? (heading ? 3 : 20) : 0) + Math.min(times, 5);
  }
  return score;
}

function find(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return undefined;
  const scored = entries.map(entry => ({ entry, score: scoreOf(entry, words) })).filter(({ score }) => score > 0);
  scored.sort((a, b) => b.score - a.score);
  return { words, hits: scored.map(({ entry }) => entry) };
}

/** The words around the first hit. */
function excerptOf({ words: text, folded }, words) {
  const places = words.map(word => placeOf(folded.words, word)).filter(at => at >= 0);
  const at = places.length > 0 ? Math.min(...places) : 0;
  const from = at <= around ? 0 : text.indexOf(' ', at - around) + 1;
  const cut = text.slice(from, at + around * 2);
  return (from > 0 ? '… ' : '') + cut + (at + around * 2 < text.length ? ' …' : '');
}

/** Marks the words that were asked for; the text stays text. */
function marked(text, words) {
  const parts = words.map(word => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).sort((a, b) => b.length - a.length);
  const pieces = text.split(new RegExp(`(${parts.join('|')})`, 'i'));
  return pieces.map((piece, i) => {
    if (i % 2 === 0) return piece;
    const mark = document.createElement('mark');
    mark.textContent = piece;
    return mark;
  });
}

function show(found) {
  list.replaceChildren();
  list.hidden = !found || found.hits.length === 0;
  if (!found) status.textContent = '';
  else if (found.hits.length === 0) status.textContent = 'No results';
  else status.textContent = found.hits.length === 1 ? '1 result' : `${found.hits.length} results`;
  for (const hit of found?.hits.slice(0, most) ?? []) {
    const link = document.createElement('a');
    link.href = hit.address;
    const heading = document.createElement('strong');
    heading.append(...marked(hit.heading ? `${hit.page} › ${hit.heading}` : hit.page, found.words));
    const excerpt = document.createElement('span');
    excerpt.append(...marked(excerptOf(hit, found.words), found.words));
    link.append(heading, excerpt);
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
}

let asked = 0;
async function search() {
  const turn = ++asked;
  try {
    const found = find(await loadIndex(), input.value);
    if (turn === asked) show(found);
  } catch {
    show(undefined);
    status.textContent = 'The search index could not be loaded. Try again.';
  }
}

function close() {
  asked++;
  show(undefined);
}

/** Arrow keys go from the box through the results and back. */
function step(by) {
  const stops = [input, ...list.querySelectorAll('a')];
  stops[Math.min(Math.max(stops.indexOf(document.activeElement) + by, 0), stops.length - 1)].focus();
}

box.hidden = false;
input.addEventListener('focus', () => void loadIndex().catch(() => {}), { once: true });
input.addEventListener('input', search);
box.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    step(event.key === 'ArrowDown' ? 1 : -1);
  } else if (event.key === 'Escape') {
    event.preventDefault();
    input.value = '';
    close();
    input.focus();
  } else if (event.key === 'Enter' && document.activeElement === input) {
    list.querySelector('a')?.click();
  }
});
// A result may be on this very page.
list.addEventListener('click', event => event.target.closest('a') && close());
box.addEventListener('focusout', event => {
  if (event.relatedTarget && !box.contains(event.relatedTarget)) close();
});
document.addEventListener('pointerdown', event => {
  if (!box.contains(event.target)) close();
});
document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === input) return;
  event.preventDefault();
  input.focus();
});
